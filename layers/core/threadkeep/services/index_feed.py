"""Following the marks: what the stream brings is indexed, what fails is tried again by id."""

from __future__ import annotations

from collections import defaultdict
from typing import TYPE_CHECKING

from threadkeep.errors import UnavailableError

if TYPE_CHECKING:
    from collections.abc import Iterable

    from threadkeep.ports import MemoryStore, Pending, RepairQueue
    from threadkeep.services.indexing import Indexing

RETRY_SECONDS = 60


class IndexFeed:
    """Indexes marks as they come; one that can not be indexed never holds up the others.

    Marks may come late, twice and in any order: each time the table is read as it is.
    """

    def __init__(self, indexing: Indexing, memories: MemoryStore, repairs: RepairQueue) -> None:
        self._indexing = indexing
        self._memories = memories
        self._repairs = repairs

    def follow(self, marks: Iterable[tuple[str, Pending]]) -> dict[str, int]:
        """Index marks by user; those that fail are queued for repair.

        Args:
            marks: ``(user_id, mark)``, in any order.

        Returns:
            How many marks were ``indexed`` and ``queued`` for repair.
        """
        by_user: defaultdict[str, dict[str, Pending]] = defaultdict(dict)
        for user_id, mark in marks:
            known = by_user[user_id].get(mark.ref)
            if known is None or known.revision < mark.revision:
                by_user[user_id][mark.ref] = mark
        counts = {"indexed": 0, "queued": 0}
        for user_id, wanted in by_user.items():
            left = self._index(user_id, list(wanted.values()))
            if left:
                self._repairs.send(user_id, left, delay_seconds=RETRY_SECONDS)
            counts["queued"] += len(left)
            counts["indexed"] += len(wanted) - len(left)
        return counts

    def repair(self, user_id: str, refs: Iterable[str]) -> None:
        """Index what is still marked among ``refs``.

        Raises:
            UnavailableError: Something is left; the queue delivers the message again.
        """
        wanted = frozenset(refs)
        marks = [mark for mark in self._memories.pending(user_id) if mark.ref in wanted]
        left = self._index(user_id, marks)
        if left:
            raise UnavailableError(f"{len(left)} of {len(marks)} marks are not indexed yet.")

    def _index(self, user_id: str, marks: list[Pending]) -> list[str]:
        """Index marks together, or one by one if that fails; return the refs that are left."""
        if not marks:
            return []
        try:
            waiting = self._indexing.index(user_id, marks)
        except UnavailableError:
            return [mark.ref for mark in marks]
        except Exception:
            # One bad document must not keep the others out: find it by halves.
            if len(marks) == 1:
                return [marks[0].ref]
            half = len(marks) // 2
            return [*self._index(user_id, marks[:half]), *self._index(user_id, marks[half:])]
        return [mark.ref for mark in waiting]
