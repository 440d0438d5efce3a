"""Random documents full of ties, and an oracle that ranks them one by one by the formulas."""

from __future__ import annotations

import math
from datetime import timedelta
from typing import TYPE_CHECKING

import numpy as np

from threadkeep.domain.entities import EntityType
from threadkeep.domain.fusion import FusionWeights, relevance, speaks_of, spoken_about
from threadkeep.domain.lexical import LexicalIndex
from threadkeep.domain.ranking import combined, recency
from threadkeep.domain.retrieval import Document, DocumentKind, Mode, SearchQuery
from threadkeep.search.scoring import QUERY_GRID
from threadkeep.search.stemming import english_stem

if TYPE_CHECKING:
    import random

    from tests.fakes.clock import FakeClock

DIMENSION = 8
WORDS = ["coffee", "tea", "Acme", "Berlin", "dark", "roast", "hiking", "guitar", "猫", "my"]
USER = "u1"


def a_vector(rng: random.Random) -> tuple[float, ...]:
    """Make a unit vector with few distinct directions, so that ties are common."""
    values = [rng.choice([-1.0, 0.0, 1.0]) for _ in range(DIMENSION)]
    length = math.hypot(*values) or 1.0
    return tuple(value / length for value in values)


def a_document(rng: random.Random, ref: str, kind: DocumentKind, clock: FakeClock) -> Document:
    """Make a document with adversarial recencies: ties, the future, the far past."""
    created = clock.now() - timedelta(days=rng.choice([-3, 0, 0, 1, 30, 400, 5000]))
    touched = max(created, clock.now() - timedelta(days=rng.choice([0, 0, 10, 10, 900])))
    return Document(
        kind=kind,
        ref=ref,
        revision=1,
        text=" ".join(rng.choices(WORDS, k=4)),
        context=" ".join(rng.choices(WORDS, k=3)),
        speaker=rng.choice(["user", "Mia", ""]),
        turns=tuple(f"c/{rng.randrange(30):03d}" for _ in range(2)),
        vector=rng.choice([a_vector(rng), a_vector(rng), None]),
        entity_type=rng.choice([EntityType.PERSON, EntityType.FACT]),
        created_at=created,
        touched_at=touched,
        time_precision=rng.choice([None, None, "year"]),
        expires_at=rng.choice([None, None, clock.now(), clock.now() + timedelta(seconds=1)]),
    )


def a_query(rng: random.Random, mode: Mode) -> SearchQuery:
    """Make a query with random weights and filters."""
    return SearchQuery(
        query=" ".join(rng.choices(WORDS, k=3)),
        mode=mode,
        recency_weight=rng.choice([0.0, 0.15, 0.5, 1.0]),
        half_life_days=rng.choice([0.001, 30.0, 10_000.0]),
        time_window_days=rng.choice([None, 5, 100]),
        entity_types=rng.choice([None, (EntityType.PERSON,)]),
    )


class Oracle:
    """All documents scored one by one by the domain's own formulas."""

    def __init__(self, documents: list[Document], clock: FakeClock) -> None:
        self.documents = documents
        self.now = clock.now()

    def ranking(
        self, query: SearchQuery, vector: tuple[float, ...], kind: DocumentKind
    ) -> list[tuple[str, float]]:
        """Return every allowed document with its score, best first."""
        relevances = self._relevances(query, vector, kind)
        scored = [
            (
                document.ref,
                combined(
                    relevances[document.ref],
                    recency(
                        document.touched_at,
                        self.now,
                        half_life_days=query.half_life_days,
                        time_precision=document.time_precision,
                    ),
                    query.recency_weight,
                ),
            )
            for document in self.documents
            if document.kind is kind and self._allowed(document, query, relevances)
        ]
        return sorted(scored, key=lambda pair: (-pair[1], pair[0]))

    def _allowed(
        self, document: Document, query: SearchQuery, relevances: dict[str, float]
    ) -> bool:
        if document.expires_at is not None and document.expires_at <= self.now:
            return False
        if query.entity_types and document.entity_type not in query.entity_types:
            return False
        if query.time_window_days is not None:
            since = self.now - timedelta(days=query.time_window_days)
            if max(document.created_at, document.touched_at) < since:
                return False
        return query.mode is not Mode.LEXICAL or relevances[document.ref] > 0

    def _relevances(
        self, query: SearchQuery, vector: tuple[float, ...], kind: DocumentKind
    ) -> dict[str, float]:
        mine = [document for document in self.documents if document.kind is kind]
        similar = {d.ref: self._similarity(d, vector) for d in mine}
        if query.mode is Mode.SEMANTIC:
            return similar
        index = LexicalIndex(english_stem)
        for document in mine:
            index.put(document.ref, document.text, document.context)
        lexical = index.scores(query.query)
        if query.mode is Mode.LEXICAL:
            return {d.ref: lexical.get(d.ref, 0.0) for d in mine}
        support = self._support(query, vector) if kind is DocumentKind.EPISODE else {}
        mentioned = spoken_about(query.query)
        return {
            d.ref: relevance(
                FusionWeights(),
                lexical=lexical.get(d.ref, 0.0),
                similarity=similar[d.ref],
                speaker=float(bool(d.speaker) and speaks_of(mentioned, d.speaker)),
                support=support.get(d.ref, 0.0),
            )
            for d in mine
        }

    def _support(self, query: SearchQuery, vector: tuple[float, ...]) -> dict[str, float]:
        best: dict[str, float] = {}
        for ref, score in self._relevances(query, vector, DocumentKind.ENTITY).items():
            document = next(d for d in self.documents if d.ref == ref)
            for turn in document.turns:
                best[turn] = max(best.get(turn, 0.0), score)
        return best

    @staticmethod
    def _similarity(document: Document, vector: tuple[float, ...]) -> float:
        if document.vector is None:
            return 0.0
        # Rounding of what is stored and asked belongs to the back end, not to the formula.
        kept = [float(np.float16(value)) for value in document.vector]
        asked = [round(value / QUERY_GRID) * QUERY_GRID for value in vector]
        return min(max(math.fsum(a * b for a, b in zip(kept, asked, strict=True)), 0.0), 1.0)
