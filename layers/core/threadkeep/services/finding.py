"""One search: proposals of the index, checked against the table until enough hold."""

from __future__ import annotations

from datetime import timedelta
from typing import TYPE_CHECKING, Any

from threadkeep.domain.retrieval import DocumentKind, Mode
from threadkeep.domain.traversal import hop_paths
from threadkeep.errors import ModelError

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence
    from datetime import datetime

    from threadkeep.domain.conversations import Message
    from threadkeep.domain.entities import Entity
    from threadkeep.domain.graph import Subgraph
    from threadkeep.domain.retrieval import SearchQuery
    from threadkeep.ports import (
        Candidate,
        ConversationStore,
        Embedder,
        Generation,
        MemoryStore,
    )
    from threadkeep.services.indexing import Indexing

MAX_PENDING = 500
"""Most pending changes that one search reads itself; with more it says that it is not exact."""


class Finding:
    """The state of one search for one user.

    Attributes:
        since: Start of the time window, or None without one.
        exact: Whether the hits are exactly the best by combined score.
        backend: Name of the back end that answered.
    """

    def __init__(
        self,
        memories: MemoryStore,
        conversations: ConversationStore,
        generation: Generation,
        indexing: Indexing,
        *,
        user_id: str,
        query: SearchQuery,
        now: datetime,
    ) -> None:
        self._requests_before = memories.requests
        self._memories = memories
        self._conversations = conversations
        self._index = generation.index
        self._user_id = user_id
        self._query = query
        self._now = now
        days = query.time_window_days
        self.since = None if days is None else now - timedelta(days=days)
        self.exact = True
        self.backend = ""
        self._candidates: list[dict[str, Any]] = []
        self._dropped: list[dict[str, str]] = []
        self._index_requests = 0
        marks = sorted(memories.pending(user_id), key=lambda mark: mark.marked_at, reverse=True)
        self.exact = len(marks) <= MAX_PENDING
        self._pending = indexing.read(user_id, marks[:MAX_PENDING], generation.embedder)
        self._vector = self._embed(generation.embedder)

    def entities(self) -> list[tuple[Candidate, Entity]]:
        """Return the best entities that the table confirms."""

        def read(refs: Sequence[str]) -> dict[str, Entity]:
            return self._memories.get_entities(self._user_id, refs)

        return self._find(DocumentKind.ENTITY, read, self._why_not_entity)

    def episodes(self, not_from: str | None) -> list[tuple[Candidate, Message]]:
        """Return the best turns that the table confirms, but for those of one conversation."""

        def read(refs: Sequence[str]) -> dict[str, Message]:
            pairs = [(ref.partition("/")[0], ref.partition("/")[2]) for ref in refs]
            found = self._conversations.get_messages(self._user_id, pairs)
            return {
                f"{conversation}/{message}": turn for (conversation, message), turn in found.items()
            }

        def why_not(turn: Message) -> str | None:
            if turn.conversation_id == not_from:
                return "at_hand"
            return self._outside_times(turn.created_at, turn.created_at)

        return self._find(DocumentKind.EPISODE, read, why_not)

    def explain(self, around: Subgraph) -> dict[str, Any]:
        """Report how the answer came about; the sources of the hits are read for it alone.

        ``path`` names the relations that lead from a hit to what expansion found.
        """
        query = self._query
        seeds = [c["ref"] for c in self._candidates if c["kind"] is DocumentKind.ENTITY]
        paths = hop_paths(around, seeds, query.direction)
        requests = self._memories.requests - self._requests_before
        return {
            "mode": query.mode,
            "recency_weight": query.recency_weight,
            "half_life_days": query.half_life_days,
            "as_of": query.as_of,
            "known_at": query.known_at,
            "now": self._now,
            "candidates": [{**c, "sources": self._sources(c)} for c in self._candidates],
            "expanded": [{"ref": ref, "path": path} for ref, path in paths.items() if path],
            "dropped": self._dropped,
            "pending": len(self._pending.documents) + len(self._pending.gone),
            "requests": {"table": requests, "index": self._index_requests},
        }

    def _sources(self, candidate: Mapping[str, Any]) -> list[str]:
        """Return the turns that a hit rests on, as ``conversation/message``."""
        if candidate["kind"] is DocumentKind.EPISODE:
            return [candidate["ref"]]
        entity = self._memories.get_entity(self._user_id, candidate["ref"])
        return [evidence.turn for evidence in entity.evidence] if entity else []

    def _embed(self, embedder: Embedder) -> tuple[float, ...] | None:
        if self._query.mode is Mode.LEXICAL:
            return None
        try:
            return embedder.embed([self._query.query], purpose="query")[0]
        except ModelError:
            self.exact = False
            return None

    def _find[T](
        self,
        kind: DocumentKind,
        read: Callable[[Sequence[str]], dict[str, T]],
        why_not: Callable[[T], str | None],
    ) -> list[tuple[Candidate, T]]:
        """Ask for more proposals until enough of them hold or there are no more."""
        count = fetch = self._query.top_k
        rows: dict[str, T] = {}
        while True:
            proposals = self._index.search(
                self._user_id,
                self._query,
                self._vector,
                kind=kind,
                count=fetch,
                now=self._now,
                fresh=self._pending.documents,
                gone=[ref for ref, _ in self._pending.gone],
            )
            self._index_requests += proposals.requests
            self.backend = proposals.backend
            unread = [c.ref for c in proposals.found if c.ref not in rows]
            rows |= read(unread) if unread else {}
            verdicts = [
                (c, rows.get(c.ref), why_not(rows[c.ref]) if c.ref in rows else "gone")
                for c in proposals.found
            ]
            kept = [(c, row) for c, row, why in verdicts if row is not None and why is None]
            if len(kept) >= count or len(proposals.found) < fetch:
                break
            fetch *= 4
        self.exact = self.exact and proposals.exact
        self._report(kept[:count], [(c.ref, why) for c, _, why in verdicts if why])
        return kept[:count]

    def _report(
        self, kept: Sequence[tuple[Candidate, Any]], dropped: Sequence[tuple[str, str]]
    ) -> None:
        self._dropped += [{"ref": ref, "why": why} for ref, why in dropped]
        self._candidates += [
            {
                "ref": c.ref,
                "kind": c.kind,
                "score": c.score,
                "similarity": c.similarity,
                "recency": c.recency,
                "weight": self._query.recency_weight,
            }
            for c, _ in kept
        ]

    def _why_not_entity(self, entity: Entity) -> str | None:
        if not entity.is_live(self._now):
            return "expired"
        types = self._query.entity_types
        if types and entity.entity_type not in types:
            return "entity_type"
        return self._outside_times(entity.created_at, entity.touched_at)

    def _outside_times(self, created: datetime, touched: datetime) -> str | None:
        if self._query.known_at is not None and created > self._query.known_at:
            return "not_known_yet"
        if self.since is not None and max(created, touched) < self.since:
            return "outside_window"
        return None
