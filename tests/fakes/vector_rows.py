"""In-memory rows of the exact back end."""

from __future__ import annotations

from collections import defaultdict
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence
    from datetime import datetime

    from threadkeep.ports import VectorRow


class FakeVectorRows:
    """Rows and their log in dictionaries; removed rows leave their revision behind.

    Attributes:
        loads: How often all rows of a user were read.
    """

    def __init__(self) -> None:
        self._rows: defaultdict[str, dict[str, VectorRow]] = defaultdict(dict)
        self._revisions: defaultdict[str, dict[str, int]] = defaultdict(dict)
        self._log: defaultdict[str, list[tuple[datetime, str, list[str]]]] = defaultdict(list)
        self.loads = 0

    def load(self, user_id: str) -> Iterator[VectorRow]:
        """Yield all rows."""
        self.loads += 1
        yield from list(self._rows[user_id].values())

    def get(self, user_id: str, refs: Sequence[str]) -> dict[str, VectorRow]:
        """Read rows."""
        rows = self._rows[user_id]
        return {ref: rows[ref] for ref in refs if ref in rows}

    def put(self, user_id: str, rows: Sequence[VectorRow], *, at: datetime) -> None:
        """Store rows that are not older than what is there."""
        for row in rows:
            document = row.document
            if self._revisions[user_id].get(document.ref, 0) <= document.revision:
                self._revisions[user_id][document.ref] = document.revision
                self._rows[user_id][document.ref] = row
        self._note(user_id, [row.document.ref for row in rows], at)

    def estimate(self, user_id: str) -> int:
        """Count the rows."""
        return len(self._rows[user_id])

    def remove(self, user_id: str, refs: Sequence[tuple[str, int]], *, at: datetime) -> None:
        """Remove rows that are not newer."""
        for ref, revision in refs:
            if self._revisions[user_id].get(ref, 0) <= revision:
                self._revisions[user_id][ref] = revision
                self._rows[user_id].pop(ref, None)
        self._note(user_id, [ref for ref, _ in refs], at)

    def changes(self, user_id: str, *, since: datetime) -> Mapping[str, Sequence[str]]:
        """Return what the log names."""
        return {batch: refs for at, batch, refs in self._log[user_id] if at >= since}

    def _note(self, user_id: str, refs: list[str], at: datetime) -> None:
        log = self._log[user_id]
        log.append((at, f"batch-{len(log)}", refs))
