"""The exact back end against a brute-force oracle, and its cache against the rows."""

from __future__ import annotations

import random

import pytest

from tests.fakes.clock import FakeClock
from tests.fakes.vector_rows import FakeVectorRows
from tests.ranking_oracle import DIMENSION, USER, Oracle, a_document, a_query, a_vector
from threadkeep.domain.retrieval import DocumentKind, Mode, SearchQuery
from threadkeep.search.exact import ExactIndex


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
        query = a_query(rng, mode)
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
