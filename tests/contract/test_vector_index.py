"""What every back end of the vector index does alike."""

from __future__ import annotations

import random
from datetime import timedelta
from typing import TYPE_CHECKING

import pytest

from tests.contract.vector_indexes import KINDS, BackEnd, open_back_end
from tests.ranking_oracle import DIMENSION, USER, Oracle, a_document, a_query, a_vector
from threadkeep.domain.retrieval import DocumentKind, Mode, SearchQuery
from threadkeep.errors import NotIndexedError

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from threadkeep.domain.retrieval import Document
    from threadkeep.ports import Candidate

ENTITY, EPISODE = DocumentKind.ENTITY, DocumentKind.EPISODE


@pytest.fixture(params=KINDS)
def back_end(request: pytest.FixtureRequest) -> Iterator[BackEnd]:
    """Every back end in turn, empty."""
    with open_back_end(request) as opened:
        yield opened


def documents(rng: random.Random, back_end: BackEnd, count: int = 40) -> list[Document]:
    """Make entities and turns with many ties."""
    clock = back_end.clock
    entities = [a_document(rng, f"e{n:03d}", ENTITY, clock) for n in range(count)]
    return entities + [a_document(rng, f"c/{n:03d}", EPISODE, clock) for n in range(count)]


def lasting(rng: random.Random, back_end: BackEnd, ref: str, **fields: object) -> Document:
    """Make an entity that does not expire."""
    made = a_document(rng, ref, ENTITY, back_end.clock)
    return made.model_copy(update={"expires_at": None, "vector": a_vector(rng), **fields})


def refs_found(
    back_end: BackEnd, query: SearchQuery, user: str = USER, kind: DocumentKind = ENTITY
) -> list[str]:
    """Search for up to 50."""
    vector = a_vector(random.Random(1))
    now = back_end.clock.now()
    found = back_end.index.search(user, query, vector, kind=kind, count=50, now=now)
    return [candidate.ref for candidate in found.found]


ROUNDING = 1e-8
"""OpenSearch tells what an entity lends to its turns in float32."""

EVERYTHING = SearchQuery(query="x", recency_weight=1.0)


def require_best(
    found: Sequence[Candidate], ranking: Sequence[tuple[str, float]], count: int
) -> None:
    """Require the best of a ranking: with their scores, in order, equal ones by ref.

    Documents whose scores differ by rounding only may stand in either order.
    """
    known = dict(ranking)
    scores = [candidate.score for candidate in found]
    assert scores == pytest.approx([score for _, score in ranking[:count]], abs=ROUNDING)
    assert scores == pytest.approx([known[candidate.ref] for candidate in found], abs=ROUNDING)
    order = [(-candidate.score, candidate.ref) for candidate in found]
    assert order == sorted(order)


@pytest.mark.parametrize("mode", list(Mode))
@pytest.mark.parametrize("kind", list(DocumentKind))
def test_the_best_are_those_of_brute_force(
    back_end: BackEnd, mode: Mode, kind: DocumentKind
) -> None:
    # given documents with ties and adversarial recencies, some pending, some pending deletion
    rng = random.Random(f"{mode} {kind}")
    stored = documents(rng, back_end)
    back_end.index.upsert(USER, stored)
    fresh = [
        a_document(rng, each.ref, each.kind, back_end.clock).model_copy(update={"revision": 2})
        for each in stored[::9]
    ]
    gone = [stored[4].ref, stored[50].ref]
    newest = {each.ref: each for each in [*stored, *fresh] if each.ref not in gone}
    now = back_end.clock.now()
    oracle = Oracle(list(newest.values()), back_end.clock)
    for _ in range(back_end.queries // 6):
        # when a random query is asked
        query, vector, count = a_query(rng, mode), a_vector(rng), rng.randint(1, 50)
        found = back_end.index.search(
            USER, query, vector, kind=kind, count=count, now=now, fresh=fresh, gone=gone
        )
        # then the oracle's best come back, and the answer says that it is exact
        assert found.exact
        require_best(found.found, oracle.ranking(query, vector, kind), count)


def test_semantic_ties_go_by_ref_however_many(back_end: BackEnd) -> None:
    # given more documents of one score than a first request can tell apart
    rng = random.Random(7)
    one = lasting(rng, back_end, "x")
    refs = [f"e{n:03d}" for n in range(150)]
    rng.shuffle(refs)
    back_end.index.upsert(USER, [one.model_copy(update={"ref": ref}) for ref in refs])
    # when fewer are asked for, and all else is equal too
    found = refs_found(back_end, SearchQuery(query="x"))
    # then they are the first by ref
    assert found == sorted(refs)[:50]


def test_scores_that_only_float64_tells_apart_are_told_apart(back_end: BackEnd) -> None:
    # given documents without similarity, touched milliseconds apart, the oldest first by ref
    rng, now = random.Random(8), back_end.clock.now()
    some = [
        lasting(
            rng, back_end, f"e{n:03d}", vector=None, time_precision=None, created_at=now,
            touched_at=now - timedelta(days=20, milliseconds=10 * (120 - n)),
        )
        for n in range(120)
    ]  # fmt: skip
    back_end.index.upsert(USER, some)
    # when they are searched by a score that float32 rounds to few values
    query = SearchQuery(query="x", recency_weight=0.01, half_life_days=10_000.0)
    # then the newest come first
    assert refs_found(back_end, query) == [f"e{n:03d}" for n in range(119, 69, -1)]


@pytest.mark.parametrize("mode", list(Mode))
def test_users_never_see_each_other(back_end: BackEnd, mode: Mode) -> None:
    """T24: users whose names are prefixes of each other hold the same texts under the same refs."""
    rng = random.Random(4)
    mine = [lasting(rng, back_end, f"e{n}", speaker="Mia", turns=("c/1",)) for n in range(3)]
    turn = lasting(rng, back_end, "c/1", kind=EPISODE, text="coffee", entity_type=None)
    owned = {
        user: {document.ref: document for document in [*mine[:size], turn]}
        for user, size in (("u1", 1), ("u10", 3), ("u", 2))
    }
    for user, held in owned.items():
        back_end.index.upsert(user, list(held.values()))
    for user, held in {**owned, "u1#": {}, "U1": {}, "": {}}.items():
        for filters in (
            {},
            {"entity_types": tuple({each.entity_type for each in mine})},
            {"time_window_days": 36_500},
            {"known_at": back_end.clock.now() + timedelta(days=9)},
        ):
            query = SearchQuery(
                query=f"Mia {mine[0].text} {mine[1].text} {mine[2].text}", mode=mode, **filters
            )
            for kind in DocumentKind:
                wanted = {ref for ref, each in held.items() if each.kind is kind}
                if kind is EPISODE and "entity_types" in filters:
                    wanted = set()
                if kind is EPISODE and mode is Mode.LEXICAL:
                    query = query.model_copy(update={"query": "coffee"})
                assert set(refs_found(back_end, query, user, kind)) == wanted
        assert {ref for ref, _ in back_end.index.refs(user)} == held.keys()


def test_shuffled_and_repeated_events_end_in_what_the_table_says(back_end: BackEnd) -> None:
    # given the changes of 70 documents, each event twice, in any order
    rng = random.Random(5)
    final: dict[str, tuple[int, bool]] = {}
    events: list[tuple[str, int, bool]] = []
    for number in range(70):
        ref = f"e{number:02d}"
        last = rng.randint(3, 12)
        for revision in range(1, last + 1):
            is_removed = revision == last and rng.random() < 0.4
            events.append((ref, revision, is_removed))
            final[ref] = (revision, is_removed)
    events = rng.sample(events * 2, 2 * len(events))
    # when they are applied in batches
    for start in range(0, len(events), 50):
        batch = {event[0]: event for event in events[start : start + 50]}.values()
        stored = [
            lasting(rng, back_end, ref, revision=revision)
            for ref, revision, is_removed in batch
            if not is_removed
        ]
        back_end.index.upsert(USER, stored)
        removed = [(ref, revision) for ref, revision, is_removed in batch if is_removed]
        back_end.index.remove(USER, removed)
    for event in events:  # those that shared a batch with a later one
        if event[1:] == final[event[0]]:
            apply(rng, back_end, *event)
    # then the index holds what the last revisions say
    wanted = {ref: revision for ref, (revision, is_removed) in final.items() if not is_removed}
    assert dict(back_end.index.refs(USER)) == wanted
    assert set(refs_found(back_end, EVERYTHING)) <= wanted.keys()


def apply(rng: random.Random, back_end: BackEnd, ref: str, revision: int, is_removed: bool) -> None:
    """Apply one event."""
    if is_removed:
        back_end.index.remove(USER, [(ref, revision)])
    else:
        back_end.index.upsert(USER, [lasting(rng, back_end, ref, revision=revision)])


def test_late_write_brings_nothing_back(back_end: BackEnd) -> None:
    rng = random.Random(3)
    kept, gone = (lasting(rng, back_end, ref, revision=5) for ref in ("kept", "gone"))
    back_end.index.upsert(USER, [kept, gone])
    back_end.index.remove(USER, [("gone", 6), ("never there", 2)])
    for revision in (4, 5):
        back_end.index.upsert(USER, [gone.model_copy(update={"revision": revision})])
        back_end.index.remove(USER, [("kept", 4)])
    assert list(back_end.index.refs(USER)) == [("kept", 5)]
    assert refs_found(back_end, EVERYTHING) == ["kept"]


def test_what_expires_is_not_proposed_from_that_moment_on(back_end: BackEnd) -> None:
    rng, end = random.Random(2), back_end.clock.now() + timedelta(seconds=1)
    back_end.index.upsert(USER, [lasting(rng, back_end, "e", expires_at=end)])
    back_end.clock.advance(seconds=0.999)
    assert refs_found(back_end, EVERYTHING) == ["e"]
    back_end.clock.advance(seconds=0.001)
    assert refs_found(back_end, EVERYTHING) == []


def test_one_that_is_refused_leaves_the_others(back_end: BackEnd) -> None:
    """T13: vectors of another dimension are never half written."""
    rng = random.Random(1)
    wrong = lasting(rng, back_end, "wrong", vector=(0.5,) * (DIMENSION + 1))
    broken = lasting(rng, back_end, "broken", vector=(float("nan"),) * DIMENSION)
    batch = [lasting(rng, back_end, "e1"), wrong, broken, lasting(rng, back_end, "e2")]
    with pytest.raises(NotIndexedError) as refusal:
        back_end.index.upsert(USER, batch)
    assert set(refusal.value.refs) == {"wrong", "broken"}
    assert f"dimension {DIMENSION + 1}, and the index {DIMENSION}" in refusal.value.detail
    assert {ref for ref, _ in back_end.index.refs(USER)} == {"e1", "e2"}


@pytest.mark.parametrize("text", ["🙂", "the of and", "\u0301", "x" * 8_192, '" OR 1=1 {}', "#/%"])
@pytest.mark.parametrize("mode", list(Mode))
def test_strange_queries_have_a_defined_answer(back_end: BackEnd, text: str, mode: Mode) -> None:
    rng = random.Random(6)
    back_end.index.upsert(USER, [lasting(rng, back_end, "e", text="tea", context="")])
    query = SearchQuery(query=text, mode=mode)
    assert refs_found(back_end, query) == ([] if mode is Mode.LEXICAL else ["e"])


@pytest.mark.parametrize("word", ["猫カフェ", "قهوة", "naïve", "🙂", "y" * 300, "me@acme.example"])
def test_words_of_any_script_are_found(back_end: BackEnd, word: str) -> None:
    rng = random.Random(6)
    texts = {"e1": f"about {word} and more", "e2": "something else"}
    made = [lasting(rng, back_end, ref, text=text, context="") for ref, text in texts.items()]
    back_end.index.upsert(USER, made)
    assert refs_found(back_end, SearchQuery(query=word, mode=Mode.LEXICAL)) == ["e1"]


def test_without_a_vector_the_answer_is_lexical_and_says_so(back_end: BackEnd) -> None:
    rng = random.Random(6)
    back_end.index.upsert(USER, [lasting(rng, back_end, "e", text="tea", context="")])
    now = back_end.clock.now()
    for query, is_exact in (("tea", False), ("coffee", False)):
        found = back_end.index.search(
            USER, SearchQuery(query=query), None, kind=ENTITY, count=5, now=now
        )
        assert [candidate.ref for candidate in found.found] == (["e"] if query == "tea" else [])
        assert found.exact is is_exact


def test_vector_that_comes_later_is_taken_at_the_same_revision(back_end: BackEnd) -> None:
    # given a document that was stored while the embedder was out, and one that was not
    rng, vector = random.Random(9), (1.0, *(0.0,) * (DIMENSION - 1))
    bare = lasting(rng, back_end, "late", revision=3, vector=None, time_precision="year")
    other = bare.model_copy(update={"ref": "other", "vector": None})
    back_end.index.upsert(USER, [bare, other])
    # when it is embedded
    back_end.index.upsert(USER, [bare.model_copy(update={"vector": vector})])
    # then it is found by it
    found = back_end.index.search(
        USER, SearchQuery(query="x"), vector, kind=ENTITY, count=2, now=back_end.clock.now()
    )
    assert [(c.ref, c.similarity) for c in found.found] == [("late", 1.0), ("other", 0.0)]
