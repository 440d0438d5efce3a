"""The exact back end against a brute-force oracle, and its cache against the rows."""

from __future__ import annotations

import math
import random
from datetime import timedelta

import numpy as np
import pytest

from tests.fakes.clock import FakeClock
from tests.fakes.vector_rows import FakeVectorRows
from threadkeep.domain.entities import EntityType
from threadkeep.domain.fusion import FusionWeights, relevance, speaks_of, spoken_about
from threadkeep.domain.lexical import LexicalIndex
from threadkeep.domain.ranking import combined, recency
from threadkeep.domain.retrieval import Document, DocumentKind, Mode, SearchQuery
from threadkeep.search.exact import ExactIndex
from threadkeep.search.scoring import QUERY_GRID
from threadkeep.search.stemming import english_stem

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


@pytest.mark.parametrize("mode", list(Mode))
@pytest.mark.parametrize("kind", list(DocumentKind))
def test_the_best_are_those_of_brute_force(mode: Mode, kind: DocumentKind) -> None:
    # GIVEN documents with many ties, some pending and newer than what is stored
    rng = random.Random(f"{mode} {kind}")
    clock = FakeClock()
    stored = [a_document(rng, f"e{n:03d}", DocumentKind.ENTITY, clock) for n in range(40)]
    stored += [a_document(rng, f"c/{n:03d}", DocumentKind.EPISODE, clock) for n in range(40)]
    index = ExactIndex(FakeVectorRows(), DIMENSION, clock)
    index.upsert(USER, stored)
    fresh = [
        a_document(rng, d.ref, d.kind, clock).model_copy(update={"revision": 2})
        for d in stored[::9]
    ]
    gone = [stored[4].ref, stored[50].ref]
    newest = {d.ref: d for d in [*stored, *fresh] if d.ref not in gone}
    oracle = Oracle(list(newest.values()), clock)
    for _ in range(500):
        # WHEN a random query is asked
        vector = a_vector(rng)
        query = SearchQuery(
            query=" ".join(rng.choices(WORDS, k=3)),
            mode=mode,
            recency_weight=rng.choice([0.0, 0.15, 0.5, 1.0]),
            half_life_days=rng.choice([0.001, 30.0, 10_000.0]),
            time_window_days=rng.choice([None, 5, 100]),
            entity_types=rng.choice([None, (EntityType.PERSON,)]),
        )
        count = rng.randint(1, 50)
        found = index.search(
            USER, query, vector, kind=kind, count=count, now=clock.now(), fresh=fresh, gone=gone
        )
        # THEN they are the oracle's best, in its order
        best = oracle.ranking(query, vector, kind)[:count]
        assert found.exact
        assert [c.ref for c in found.found] == [ref for ref, _ in best]
        assert [c.score for c in found.found] == pytest.approx([score for _, score in best])


def test_equal_scores_go_by_ref() -> None:
    # GIVEN documents that differ in nothing but their ref, stored in no order
    rng, clock = random.Random(7), FakeClock()
    one = a_document(rng, "x", DocumentKind.ENTITY, clock)
    one = one.model_copy(update={"expires_at": None, "vector": a_vector(rng)})
    refs = [f"e{n:02d}" for n in range(30)]
    rng.shuffle(refs)
    index = ExactIndex(FakeVectorRows(), DIMENSION, clock)
    index.upsert(USER, [one.model_copy(update={"ref": ref}) for ref in refs])
    # WHEN fewer are asked for than tie
    query = SearchQuery(query="coffee")
    found = index.search(
        USER, query, a_vector(rng), kind=DocumentKind.ENTITY, count=5, now=clock.now()
    )
    # THEN they are the first by ref
    assert [c.ref for c in found.found] == ["e00", "e01", "e02", "e03", "e04"]


def test_cache_follows_what_others_store_and_remove() -> None:
    # GIVEN two processes with a cache each over the same rows
    rng, clock, rows = random.Random(1), FakeClock(), FakeVectorRows()
    one, other = (ExactIndex(rows, DIMENSION, clock) for _ in range(2))
    everything = SearchQuery(query="x", recency_weight=1.0)
    live: set[str] = set()
    revision = 0
    for step in range(300):
        # WHEN one of them stores or removes something, sometimes with its clock behind
        ref, revision = f"e{rng.randrange(20):02d}", revision + 1
        document = a_document(rng, ref, DocumentKind.ENTITY, clock)
        if rng.random() < 0.3:
            other.remove(USER, [(ref, revision)])
            live.discard(ref)
        else:
            kept = document.model_copy(update={"revision": revision, "expires_at": None})
            other.upsert(USER, [kept])
            live.add(ref)
        clock.advance(seconds=rng.choice([0, 1, 7, 50]))
        # THEN the other one's next search knows it
        if step % 3 == 0:
            found = one.search(
                USER,
                everything,
                a_vector(rng),
                kind=DocumentKind.ENTITY,
                count=50,
                now=clock.now(),
            )
            assert {c.ref for c in found.found} == live
    assert rows.loads == 1


def test_late_and_repeated_writes_change_nothing() -> None:
    # GIVEN a document at revision 5, and one removed at revision 5
    rng, clock = random.Random(3), FakeClock()
    index = ExactIndex(FakeVectorRows(), DIMENSION, clock)
    kept = a_document(rng, "kept", DocumentKind.ENTITY, clock).model_copy(update={"revision": 5})
    gone = kept.model_copy(update={"ref": "gone", "revision": 4})
    index.upsert(USER, [kept, gone])
    index.remove(USER, [("gone", 5)])
    # WHEN earlier events come late and twice
    for revision in (4, 3, 4):
        index.upsert(USER, [kept.model_copy(update={"revision": revision, "text": "old"})])
        index.upsert(USER, [gone.model_copy(update={"revision": revision})])
        index.remove(USER, [("kept", revision)])
    # THEN nothing is lost and nothing comes back
    assert list(index.refs(USER)) == [("kept", 5)]


def test_users_never_see_each_other() -> None:
    # GIVEN users whose names are prefixes of each other with the same texts
    rng, clock = random.Random(4), FakeClock()
    index = ExactIndex(FakeVectorRows(), DIMENSION, clock)
    one = a_document(rng, "mine", DocumentKind.ENTITY, clock)
    one = one.model_copy(update={"expires_at": None})
    index.upsert("u1", [one])
    index.upsert("u10", [one.model_copy(update={"ref": "theirs"})])
    # THEN each finds only its own, in every mode
    for mode in Mode:
        query = SearchQuery(query=one.text, mode=mode)
        for user, ref in (("u1", "mine"), ("u10", "theirs"), ("u", None)):
            found = index.search(
                user, query, a_vector(rng), kind=DocumentKind.ENTITY, count=9, now=clock.now()
            )
            assert [c.ref for c in found.found] == ([ref] if ref else [])


def test_memory_of_users_stays_under_its_cap() -> None:
    # GIVEN room for little
    rng, clock, rows = random.Random(5), FakeClock(), FakeVectorRows()
    index = ExactIndex(rows, DIMENSION, clock, cache_bytes=20_000)
    for user in range(20):
        index.upsert(f"u{user}", [a_document(rng, "e", DocumentKind.ENTITY, clock)])
    query = SearchQuery(query="coffee")
    # WHEN many users search, the first of them twice
    for user in [*range(20), 0]:
        index.search(f"u{user}", query, None, kind=DocumentKind.ENTITY, count=1, now=clock.now())
    # THEN the first had to be loaded again
    assert rows.loads == 21
