"""What answers while OpenSearch does not: the exact back end, for users of moderate size."""

from __future__ import annotations

from datetime import timedelta
from typing import TYPE_CHECKING

from threadkeep.errors import UnavailableError

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from datetime import datetime

    from threadkeep.domain.retrieval import Document, DocumentKind, SearchQuery
    from threadkeep.ports import Candidates, Clock, VectorIndex, VectorRows

MOST_DOCUMENTS = 5_000
"""Users with more are not loaded from the table in an outage (docs/decisions.md)."""

REST = timedelta(seconds=5)
"""How long a server that did not answer is not asked again."""


class StandbyIndex:
    """OpenSearch, with the vector rows of the table at hand.

    Every change goes to both, the rows first. Searches go to OpenSearch; while it does not answer,
    to the rows, and the answer names that back end.

    Args:
        primary: OpenSearch.
        standby: The exact back end.
        rows: Its rows.
        clock: The time.
        writes_rows: Whether changes go to the rows too: those of one generation do.
        most_documents: Users with more documents than this get no answer in an outage.
    """

    def __init__(
        self,
        primary: VectorIndex,
        standby: VectorIndex,
        rows: VectorRows,
        clock: Clock,
        *,
        writes_rows: bool = True,
        most_documents: int = MOST_DOCUMENTS,
    ) -> None:
        self._primary = primary
        self._standby = standby
        self._rows = rows
        self._clock = clock
        self._writes_rows = writes_rows
        self._most_documents = most_documents
        self._failure = UnavailableError(code="search_unavailable")
        self._out_until: datetime | None = None

    def upsert(self, user_id: str, documents: Sequence[Document]) -> None:
        """Store documents in both; see the port."""
        if self._writes_rows:
            self._standby.upsert(user_id, documents)
        self._primary.upsert(user_id, documents)

    def remove(self, user_id: str, refs: Sequence[tuple[str, int]]) -> None:
        """Remove documents from both; see the port."""
        if self._writes_rows:
            self._standby.remove(user_id, refs)
        self._primary.remove(user_id, refs)

    def refs(self, user_id: str) -> Iterator[tuple[str, int]]:
        """Yield every ``(ref, revision)`` that OpenSearch holds of a user."""
        return self._primary.refs(user_id)

    def search(
        self,
        user_id: str,
        query: SearchQuery,
        vector: Sequence[float] | None,
        *,
        kind: DocumentKind,
        count: int,
        now: datetime,
        fresh: Sequence[Document] = (),
        gone: Sequence[str] = (),
    ) -> Candidates:
        """Propose the best documents of a kind; see the port.

        Raises:
            UnavailableError: OpenSearch does not answer, and the user has too many documents.
        """

        def ask(index: VectorIndex) -> Candidates:
            return index.search(
                user_id, query, vector, kind=kind, count=count, now=now, fresh=fresh, gone=gone
            )

        if self._out_until is None or self._clock.now() >= self._out_until:
            try:
                return ask(self._primary)
            except UnavailableError as error:
                self._failure, self._out_until = error, self._clock.now() + REST
        if self._rows.estimate(user_id) > self._most_documents:
            raise self._failure
        return ask(self._standby)
