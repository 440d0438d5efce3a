"""Search and recall over the whole product: the index proposes, the table answers."""

from __future__ import annotations

from datetime import timedelta

import pytest

from tests.indexing import index_pending
from tests.search_world import HAND, Memory
from tests.world import ALICE, BOB, THREAD, told
from threadkeep.domain.agents import MemoryConfig
from threadkeep.domain.entities import EntityChanges, EntityType
from threadkeep.domain.relations import RelationType
from threadkeep.domain.retrieval import Mode


@pytest.fixture
def memory() -> Memory:
    """A memory of nothing yet."""
    return Memory()


@pytest.mark.parametrize("mode", list(Mode))
def test_what_was_just_written_is_found_before_it_is_indexed(memory: Memory, mode: Mode) -> None:
    """T69: a 2xx write is found in the same moment."""
    # GIVEN an index full of other things
    for number in range(30):
        memory.learn(f"thing {number}")
    memory.index_all()
    # WHEN something is written and nothing indexes it
    memory.learn("SMOKE-14806012")
    # THEN it is the first hit
    assert memory.names("SMOKE-14806012", mode=mode)[0] == "SMOKE-14806012"


def test_search_answers_for_the_one_who_asks_only(memory: Memory) -> None:
    """T24: the same text of two users, in every mode and with expansion."""
    for user in (ALICE, BOB, "alice1"):
        one, two = memory.learn(f"tea of {user}", user), memory.learn(f"pot of {user}", user)
        memory.join(one, two, user)
    memory.index_all(ALICE)
    for mode in Mode:
        for user in (ALICE, BOB, "alice1"):
            answer = memory.search("tea", user, mode=mode, max_depth=3)
            assert {hit.name for hit in answer.entities} == {f"tea of {user}", f"pot of {user}"}
            assert len(answer.relations) == 1
    assert memory.names("tea", "nobody") == []


def test_expired_entities_are_not_found_before_any_sweep(memory: Memory) -> None:
    """T44: expiry holds at read time, also for what is reached by expansion."""
    ends = memory.clock.now() + timedelta(days=1)
    seed, gone = memory.learn("tea"), memory.learn("kettle", expires_at=ends)
    memory.join(seed, gone)
    memory.index_all()
    assert set(memory.names("tea", max_depth=1)) == {"tea", "kettle"}
    memory.clock.advance(days=2)
    assert memory.names("tea", max_depth=1) == ["tea"]


def test_old_and_relevant_beats_recent_and_vague(memory: Memory) -> None:
    """T60: the weight of recency is additive and small, so that it never decides alone."""
    memory.learn("allergic to peanuts")
    memory.clock.advance(days=240)
    memory.learn("bought green paint")
    memory.index_all()
    memory.clock.advance(days=6)
    assert memory.names("allergic to peanuts")[0] == "allergic to peanuts"


def test_time_window_binds_hits_and_expansion(memory: Memory) -> None:
    old, seed = memory.learn("old kettle"), memory.learn("tea")
    memory.clock.advance(days=10)
    memory.product.memories.update(ALICE, seed.id, EntityChanges(importance=0.9), HAND)
    memory.join(seed, old)
    assert set(memory.names("tea", max_depth=1)) == {"tea", "old kettle"}
    assert memory.names("tea", max_depth=1, time_window_days=5) == ["tea"]


def test_explanation_speaks_of_the_time_that_was_asked_about(memory: Memory) -> None:
    """T62: it echoes as_of, and says why something was dropped."""
    memory.learn("tea")
    then = memory.clock.now() - timedelta(days=400)
    answer = memory.search("tea", as_of=then, known_at=then, explain=True)
    assert answer.entities == ()
    assert answer.explain is not None
    assert answer.explain["as_of"] == then
    found = memory.search("tea", explain=True)
    assert found.explain is not None
    assert [candidate["ref"] for candidate in found.explain["candidates"]] == [found.entities[0].id]


def test_embedder_that_is_out_fails_no_write_and_no_search(memory: Memory) -> None:
    # GIVEN an embedder that is down
    memory.embedder.is_out = True
    kept = memory.learn("peanut allergy")
    # WHEN the indexer tries and a search runs
    left = index_pending(memory.product, ALICE)
    answer = memory.search("peanut")
    # THEN the entity is found by its words, the answer admits it, and the mark stays
    assert [mark.ref for mark in left] == [kept.id]
    assert [hit.name for hit in answer.entities] == ["peanut allergy"]
    assert not answer.exact
    # AND once the embedder is back, it is embedded
    memory.embedder.is_out = False
    memory.index_all()
    assert memory.search("peanut").exact
    assert memory.memory.pending(ALICE) == []


def test_recall_leaves_out_the_conversation_at_hand(memory: Memory) -> None:
    # GIVEN turns about coffee in two conversations
    agent = memory.agent()
    memory.say(agent, "I had an espresso in Rome", "old")
    memory.say(agent, "tell me about espresso", "new")
    # WHEN the newer one recalls
    answer = memory.product.retrieval.recall(
        ALICE, "espresso", MemoryConfig(), index_turns=True, conversation_id="new"
    )
    # THEN only the other's turn comes back; without indexed turns none does
    assert [turn.content for turn in answer.episodes] == ["I had an espresso in Rome"]
    silent = memory.product.retrieval.recall(ALICE, "espresso", MemoryConfig(), index_turns=False)
    assert silent.episodes == ()


def test_turns_that_were_not_to_be_searchable_never_are(memory: Memory) -> None:
    # GIVEN a turn with an agent that keeps turns out of search, then one with another agent
    silent, open_minded = memory.agent(index_turns=False), memory.agent(index_turns=True)
    memory.say(silent, "I had a secret espresso")
    memory.say(open_minded, "and a public espresso")
    # WHEN the later one is indexed, whose neighbour the silent one is
    before = [turn.content for turn in memory.search("espresso").episodes]
    memory.index_all()
    # THEN only that one is found, pending or indexed
    after = [turn.content for turn in memory.search("espresso").episodes]
    assert before == after == ["and a public espresso"]


def test_turns_of_a_deleted_conversation_are_not_found(memory: Memory) -> None:
    agent = memory.agent()
    memory.say(agent, "I had an espresso in Rome", "old")
    memory.index_all()
    assert len(memory.search("espresso").episodes) == 1
    memory.product.conversations.delete(ALICE, "old")
    assert memory.search("espresso").episodes == ()
    memory.index_all()
    assert list(memory.index.refs(ALICE)) == []


def test_recall_is_counted_and_touches_nothing(memory: Memory) -> None:
    entity = memory.learn("dark roast")
    memory.product.retrieval.recall(ALICE, "roast", MemoryConfig(), index_turns=False)
    after = memory.product.memories.get(ALICE, entity.id)
    assert after.access_count == 1
    assert (after.version, after.touched_at) == (entity.version, entity.touched_at)


@pytest.mark.parametrize("text", ["🙂", "the of and", "\u0301", "x" * 8_192])
@pytest.mark.parametrize("mode", list(Mode))
def test_strange_queries_have_a_defined_answer(memory: Memory, text: str, mode: Mode) -> None:
    memory.learn("tea")
    answer = memory.search(text, mode=mode)
    assert len(answer.entities) == (0 if mode is Mode.LEXICAL else 1)


def test_explanation_tells_sources_paths_and_requests(memory: Memory) -> None:
    # GIVEN an entity with a neighbour two hops away
    one, two, three = (memory.learn(name) for name in ("tea", "kettle", "kitchen"))
    memory.join(one, two)
    memory.join(two, three)
    memory.index_all()
    # WHEN a search for one hit explains itself
    answer = memory.search("tea", top_k=1, max_depth=2, explain=True)
    # THEN the score can be worked out again, and the neighbours say how they were reached
    assert answer.explain is not None
    (hit,) = answer.explain["candidates"]
    assert hit["ref"] == one.id
    assert hit["score"] == pytest.approx(
        (1 - hit["weight"]) * hit["similarity"] + hit["weight"] * hit["recency"]
    )
    paths = {item["ref"]: item["path"] for item in answer.explain["expanded"]}
    by_ends = {(r.source_entity_id, r.target_entity_id): r.id for r in answer.relations}
    first, second = by_ends[one.id, two.id], by_ends[two.id, three.id]
    assert paths == {two.id: (first,), three.id: (first, second)}
    assert answer.explain["requests"]["table"] > 0


def test_explanation_names_the_turns_that_a_hit_rests_on(memory: Memory) -> None:
    tea = ("self", RelationType.PREFERS, "tea", EntityType.PREFERENCE, "I like tea")
    memory.extractor.readings["I like tea"] = told(tea)
    memory.say(memory.agent(), "I like tea")
    memory.settle()
    answer = memory.search("tea", entity_types=["preference"], explain=True)
    assert answer.explain is not None
    (said, _) = memory.transcript()
    assert answer.explain["candidates"][0]["sources"] == [f"{THREAD}/{said.id}"]


def test_search_by_what_was_known_shows_what_was_known(memory: Memory) -> None:
    entity = memory.learn("tea", description="Green.")
    memory.clock.advance(days=1)
    then = memory.clock.now()
    memory.clock.advance(days=1)
    changes = EntityChanges(description="Black.")
    memory.product.memories.update(ALICE, entity.id, changes, HAND)
    (now,) = memory.search("tea").entities
    (known,) = memory.search("tea", known_at=then).entities
    assert (now.description, known.description) == ("Black.", "Green.")
