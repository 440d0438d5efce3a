"""The exact back end: all documents of a user in memory, every one of them scored."""

from __future__ import annotations

import threading
from collections import OrderedDict
from dataclasses import dataclass, field
from datetime import timedelta
from typing import TYPE_CHECKING

import numpy as np

from threadkeep.domain.fusion import FusionWeights
from threadkeep.domain.ranking import NEUTRAL_RECENCY
from threadkeep.domain.retrieval import DocumentKind, Mode
from threadkeep.ports import Candidate, Candidates, VectorRow
from threadkeep.search.block import Block
from threadkeep.search.halves import half_of, require_none
from threadkeep.search.relevance import Relevance
from threadkeep.search.scoring import best_rows, combined_scores, recencies

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from datetime import datetime

    from threadkeep.domain.retrieval import Document, SearchQuery
    from threadkeep.ports import Clock, VectorRows
    from threadkeep.search.block import Mask

NAME = "exact"
OVERLAP = timedelta(seconds=60)
"""How far a refresh reaches back: clocks of several writers differ, and a log row is written after
the row it names."""

LONGEST_REFRESH = timedelta(hours=12)
"""A cache not refreshed for longer is loaded anew; the log is kept for longer than this."""


@dataclass
class _Memory:
    """What is held of one user."""

    blocks: dict[DocumentKind, Block]
    fresh_until: datetime
    seen: set[str] = field(default_factory=set)
    foreign: set[str] = field(default_factory=set)
    lock: threading.Lock = field(default_factory=threading.Lock)

    @property
    def size(self) -> int:
        return sum(block.size for block in self.blocks.values())


class ExactIndex:
    """Scores every document of a user by the combined formula; nothing is approximated.

    A user's rows are loaded once, kept while there is room, and brought up to date at each search
    by what the log of changes names.

    Args:
        rows: Where documents are stored.
        dimension: Length of the vectors.
        clock: The time.
        weights: Weights of hybrid relevance.
        cache_bytes: Room for the users that are kept in memory; the one at hand always is.
        generation: Name of what the vectors are made with. Documents with vectors of another one
            are found by their words only, and answers are then not exact.
    """

    def __init__(
        self,
        rows: VectorRows,
        dimension: int,
        clock: Clock,
        *,
        weights: FusionWeights | None = None,
        cache_bytes: int = 256 * 1024 * 1024,
        generation: str = "",
    ) -> None:
        self._rows = rows
        self._dimension = dimension
        self._clock = clock
        self._weights = weights or FusionWeights()
        self._cache_bytes = cache_bytes
        self._generation = generation
        self._users: OrderedDict[str, _Memory] = OrderedDict()
        self._lock = threading.Lock()

    def upsert(self, user_id: str, documents: Sequence[Document]) -> None:
        """Store documents unless a later revision is there already.

        Raises:
            NotIndexedError: The named ones have no fit vectors; the others are stored.
        """
        rows, refused = [], {}
        for document in documents:
            try:
                half = half_of(document, self._dimension)
            except ValueError as error:
                refused[document.ref] = str(error)
                continue
            stored = document.model_copy(update={"vector": None})
            vector = None if half is None else half.tobytes()
            rows.append(VectorRow(stored, vector, self._generation))
        self._rows.put(user_id, rows, at=self._clock.now())
        require_none(refused)

    def remove(self, user_id: str, refs: Sequence[tuple[str, int]]) -> None:
        """Remove documents ``(ref, revision)`` unless a later revision is there already."""
        self._rows.remove(user_id, refs, at=self._clock.now())

    def refs(self, user_id: str) -> Iterator[tuple[str, int]]:
        """Yield every ``(ref, revision)`` that is stored of a user."""
        for row in self._rows.load(user_id):
            yield row.document.ref, row.document.revision

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
        """Return the best documents of a kind by combined score, exactly; see the port."""
        memory, requests = self._up_to_date(user_id)
        with memory.lock:
            for document in fresh:
                _put(memory, document, document.vector)
            for ref in gone:
                for block in memory.blocks.values():
                    block.remove(ref)
            mode = query.mode if vector is not None else Mode.LEXICAL
            found = self._scored(memory, query, mode, vector or (), kind, count, now)
            exact = mode is query.mode and (mode is Mode.LEXICAL or not memory.foreign)
        return Candidates(found=found, exact=exact, backend=NAME, requests=requests)

    def _scored(
        self,
        memory: _Memory,
        query: SearchQuery,
        mode: Mode,
        vector: Sequence[float],
        kind: DocumentKind,
        count: int,
        now: datetime,
    ) -> list[Candidate]:
        block = memory.blocks[kind]
        if not len(block):
            return []
        relevance = Relevance(memory.blocks, query.query, mode, vector, self._weights)
        fast = relevance.fast(kind)
        age = recencies(block.touched, now.timestamp(), query.half_life_days)
        age[block.undated] = NEUTRAL_RECENCY
        weight = query.recency_weight
        allowed = _allowed(block, query, now)
        if mode is Mode.LEXICAL:
            allowed &= fast > 0
        rows, scores = best_rows(
            combined_scores(fast, age, weight),
            relevance.error,
            lambda rows: combined_scores(relevance.exact(kind, rows), age[rows], weight),
            block.documents,
            count,
            allowed,
        )
        similarity = relevance.exact(kind, rows)
        return [
            Candidate(
                kind=kind,
                ref=block.documents[row].ref,
                revision=block.documents[row].revision,
                score=float(scores[place]),
                similarity=float(similarity[place]),
                recency=float(age[row]),
            )
            for place, row in enumerate(rows.tolist())
        ]

    def _up_to_date(self, user_id: str) -> tuple[_Memory, int]:
        """Return a user's documents as stored by now, and the requests that took."""
        now = self._clock.now()
        with self._lock:
            memory = self._users.get(user_id)
            if memory is not None:
                self._users.move_to_end(user_id)
        if memory is None or now - memory.fresh_until > LONGEST_REFRESH:
            memory = self._load(user_id, now)
            with self._lock:
                self._users[user_id] = memory
                self._make_room()
            return memory, 1
        return memory, self._refresh(user_id, memory, now)

    def _load(self, user_id: str, now: datetime) -> _Memory:
        blocks = {kind: Block(self._dimension) for kind in DocumentKind}
        memory = _Memory(blocks, fresh_until=now)
        for row in self._rows.load(user_id):
            self._put_row(memory, row)
        return memory

    def _refresh(self, user_id: str, memory: _Memory, now: datetime) -> int:
        batches = self._rows.changes(user_id, since=memory.fresh_until - OVERLAP)
        unseen = [batch for batch in batches if batch not in memory.seen]
        changed = sorted({ref for batch in unseen for ref in batches[batch]})
        rows = self._rows.get(user_id, changed) if changed else {}
        with memory.lock:
            for ref in changed:
                memory.foreign.discard(ref)
                if ref in rows:
                    self._put_row(memory, rows[ref])
                else:
                    for block in memory.blocks.values():
                        block.remove(ref)
            memory.seen = set(batches)
            memory.fresh_until = max(now, memory.fresh_until)
        return 1 + bool(changed)

    def _put_row(self, memory: _Memory, row: VectorRow) -> None:
        vector = None
        if row.vector is not None and row.generation == self._generation:
            vector = np.frombuffer(row.vector, "<f2")
        elif row.vector is not None:
            memory.foreign.add(row.document.ref)
        memory.blocks[row.document.kind].put(row.document, vector)

    def _make_room(self) -> None:
        room = self._cache_bytes - sum(memory.size for memory in self._users.values())
        while room < 0 and len(self._users) > 1:
            _, oldest = self._users.popitem(last=False)
            room += oldest.size


def _put(memory: _Memory, document: Document, vector: Sequence[float] | None) -> None:
    half = None if vector is None else np.asarray(vector, np.float16)
    memory.blocks[document.kind].put(document, half)


def _allowed(block: Block, query: SearchQuery, now: datetime) -> Mask:
    """Return which rows the filters and expiry leave."""
    allowed: Mask = block.expires > now.timestamp()
    if query.time_window_days is not None:
        since = now - timedelta(days=query.time_window_days)
        allowed &= np.maximum(block.created, block.touched) >= since.timestamp()
    if query.known_at is not None:
        allowed &= block.created <= query.known_at.timestamp()
    if query.entity_types:
        wanted = frozenset(query.entity_types)
        allowed &= np.array([d.entity_type in wanted for d in block.documents], np.bool_)
    return allowed
