"""Search and recall over the whole product: the index proposes, the table answers."""

from __future__ import annotations

import random
from datetime import timedelta
from typing import TYPE_CHECKING, Any

import pytest

from tests.fakes.embedder import HashingEmbedder
from tests.fakes.vector_rows import FakeVectorRows
from tests.world import ALICE, BOB, World
from threadkeep.bootstrap import Bootstrap
from threadkeep.domain.agents import MemoryConfig
from threadkeep.domain.changes import Origin
from threadkeep.domain.entities import EntityChanges, EntityDraft, EntityType
from threadkeep.domain.relations import RelationDraft, RelationType
from threadkeep.domain.retrieval import Mode, SearchAnswer, SearchQuery
from threadkeep.search.exact import ExactIndex

if TYPE_CHECKING:
    from collections.abc import Sequence

    from threadkeep.domain.entities import Entity
    from threadkeep.ports import Candidates

HAND = Origin(actor="user:test")


class DeafIndex(ExactIndex):
    """An index that takes everything in and never forgets: its removals are lost.

    It starts cold each time, so that nothing but the stored rows speaks.
    """

    def search(self, user_id: str, *arguments: Any, **options: Any) -> Candidates:
        """Search with nothing in memory."""
        cold = ExactIndex(self._rows, self._dimension, self._clock)
        return cold.search(user_id, *arguments, **options)

    def remove(self, user_id: str, refs: Sequence[tuple[str, int]]) -> None:
        """Lose the removal."""


class Memory(World):
    """The product with its real search on in-memory rows."""

    def __init__(self, index_type: type[ExactIndex] = ExactIndex) -> None:
        super().__init__()
        self.embedder = HashingEmbedder()
        self.index = index_type(FakeVectorRows(), self.embedder.dimension, self.clock)
        parts = {k: v for k, v in self.parts.items() if k != "retrieval"}
        self.product = Bootstrap(**parts, embedder=self.embedder, vector_index=self.index)

    def learn(self, name: str, user: str = ALICE, **fields: Any) -> Entity:
        """Create an entity by hand."""
        draft = EntityDraft(name=name, **{"entity_type": EntityType.FACT, **fields})
        return self.product.memories.create(user, draft, HAND)[0]

    def join(self, source: Entity, target: Entity, user: str = ALICE) -> None:
        """Relate two entities."""
        draft = RelationDraft(
            source_entity_id=source.id,
            target_entity_id=target.id,
            relation_type=RelationType.RELATED_TO,
        )
        self.product.relations.create(user, draft, HAND)

    def index_all(self, *users: str) -> None:
        """Bring the index up to the table."""
        for user in users or (ALICE,):
            assert not self.product.indexing.index_pending(user)

    def search(self, text: str, user: str = ALICE, **more: Any) -> SearchAnswer:
        """Search."""
        return self.product.retrieval.search(user, SearchQuery(query=text, **more))

    def names(self, text: str, user: str = ALICE, **more: Any) -> list[str]:
        """Search and return names."""
        return [hit.name for hit in self.search(text, user, **more).entities]


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


@pytest.mark.parametrize("mode", list(Mode))
def test_index_that_never_forgets_shows_no_ghost(mode: Mode) -> None:
    """T08, T52, T82: what is deleted is gone from search at once, whatever the index says."""
    # GIVEN an index that lags for ever and forgets nothing
    rng = random.Random(str(mode))
    memory = Memory(DeafIndex)
    live: dict[str, str] = {}
    for step in range(1_500):
        # WHEN entities come, change and go, and are sometimes indexed
        match rng.randrange(5):
            case 0 | 1:
                entity = memory.learn(f"coffee {step}")
                live[entity.id] = entity.name
            case 2 if live:
                gone = rng.choice(list(live))
                memory.product.memories.delete(ALICE, gone)
                del live[gone]
            case 3 if live:
                kept = rng.choice(list(live))
                renamed = EntityChanges(name=f"coffee renamed {step}")
                memory.product.memories.update(ALICE, kept, renamed, HAND)
                live[kept] = f"coffee renamed {step}"
            case _:
                memory.index_all()
        # THEN search returns only what lives, as it is now
        if step % 10 == 0:
            found = memory.search("coffee", mode=mode, top_k=50)
            assert {hit.id: hit.name for hit in found.entities}.items() <= live.items()
            assert len(found.entities) == min(len(live), 50)


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
    left = memory.product.indexing.index_pending(ALICE)
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
