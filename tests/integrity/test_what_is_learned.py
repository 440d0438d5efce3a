"""What a conversation may teach, and what it must not: with the offline reader and search."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from tests.world import ALICE, BOB, ScriptedExtractor, World, told
from threadkeep.domain.changes import Origin
from threadkeep.domain.entities import EntityChanges, EntityType, ExtractionNote
from threadkeep.domain.extraction import ExtractedEntity, Extraction, JobStatus
from threadkeep.domain.relations import RelationType
from threadkeep.errors import ModelError
from threadkeep.ports import PageRequest

if TYPE_CHECKING:
    from threadkeep.domain.conversations import Message
    from threadkeep.ports import ChatRequest


@pytest.fixture
def world() -> World:
    return World.real()


def scripted(world: World, **readings: Any) -> ScriptedExtractor:
    """Put an extractor that can be wrong in the place of the careful one."""
    extractor = ScriptedExtractor(readings)
    world.product = type(world.product)(**{**world.parts, "extractor": extractor})
    return extractor


def learn(world: World, *texts: str, thread: str = "t", user: str = ALICE) -> None:
    agent = world.agent(user=user)
    for text in texts:
        world.say(agent, text, thread, user=user)
    world.settle()


def rejections(world: World) -> list[str]:
    jobs = world.product.extraction.jobs(ALICE, PageRequest()).items
    return [one.reason for job in jobs for one in job.rejected]


def test_what_was_said_once_is_recalled_in_another_conversation_and_never_for_anyone_else(
    world: World,
) -> None:
    # given
    agent = world.agent(visibility="shared")
    world.say(agent, "I work at Acme and I prefer dark roast coffee", "monday")
    world.settle()
    # when
    mine = world.say(agent, "what coffee should I buy?", "tuesday")
    context = world.model.requests[-1].context
    theirs = world.say(agent, "what coffee should I buy?", "tuesday", user=BOB)
    # then
    assert "dark roast coffee" in [entity.name for entity in mine.recall.entities]
    assert "the user prefers dark roast coffee" in context
    assert theirs.recall.model_dump() == {"entities": (), "relations": (), "episodes": ()}
    assert "dark roast" not in str(world.model.requests[-1])


def test_recalled_memory_is_never_learned_again(world: World) -> None:
    """T02: 50 turns with a recalled block, also sent back by the client, teach nothing."""
    # given
    learn(world, "I like tea")
    before = world.entities()
    tea = next(
        iter(
            world.memory.list_entities(
                ALICE, PageRequest(), sort="name", now=world.clock.now()
            ).items
        )
    )
    agent = world.agent()
    # when
    for number in range(25):
        world.say(agent, f"what about tea? {number}", "chat")
        world.say(
            agent, f"[memory] user likes tea\n[memory] I prefer beer\nok thanks {number}", "chat"
        )
    world.settle()
    # then
    assert any(request.context for request in world.model.requests)
    assert world.entities() == before
    assert world.memory.entity_sources(ALICE, tea.id) == {f"t/{world.transcript('t')[0].id}"}


def test_reader_that_repeats_the_recalled_block_is_not_believed(world: World) -> None:
    """T02: what a model makes of recalled memory has no evidence in the user's words."""
    tea = ("self", RelationType.PREFERS, "tea", EntityType.PREFERENCE, "user likes tea")
    scripted(world, **{"ok thanks": told(tea)})
    learn(world, "[memory] user likes tea\nok thanks")
    assert world.entities() == {}
    assert set(rejections(world)) == {"no_evidence"}


def test_nothing_said_teaches_nothing_and_asks_no_model(world: World) -> None:
    """T03: no words of the user, no facts, no call."""
    extractor = scripted(world)
    learn(world, "[memory] I like tea")
    assert extractor.calls == []
    assert world.entities() == {}


def test_fact_whose_quote_is_not_in_the_turn_is_rejected(world: World) -> None:
    """T03: an invented stranger with a job."""
    stranger = ("John", RelationType.WORKS_AT, "Initech", EntityType.ORGANIZATION, "John has a job")
    scripted(world, hello=told(stranger))
    learn(world, "hello")
    assert world.entities() == {}
    assert set(rejections(world)) == {"no_evidence"}


def test_reader_that_repeats_its_own_prompt_teaches_nothing(world: World) -> None:
    """T04: text of the prompt is nobody's fact."""

    def echo(message: Message) -> Extraction:
        prompt = "Extract the entities that the user states"
        entity = ExtractedEntity(
            ref="e", name=prompt, entity_type=EntityType.FACT, quote=prompt, message_id=message.id
        )
        return Extraction(entities=(entity,))

    scripted(world, hello=echo)
    learn(world, "hello")
    assert world.entities() == {}


def test_names_stay_in_the_users_script(world: World) -> None:
    """T14: 王小明 at 腾讯, byte for byte."""
    learn(world, "我叫王小明，在腾讯工作")
    assert world.entities() == {"王小明": "person", "腾讯": "organization"}
    assert world.relations() == [("王小明", "works_at", "腾讯")]
    tencent = world.memory.find_by_name(ALICE, EntityType.ORGANIZATION, "腾讯")
    assert tencent is not None
    note = world.memory.get_entities(ALICE, [tencent])[tencent].extraction
    assert isinstance(note, ExtractionNote)
    assert note.language == "zh"


def test_what_the_assistant_suggests_is_no_fact_of_the_user(world: World) -> None:
    """T18: "you could try vim"."""
    world.model.behave = lambda _: "You could try vim. You prefer vim."
    learn(world, "what editor is there?", "thanks")
    assert world.entities() == {}


def test_statement_attributed_to_the_assistants_turn_is_rejected(world: World) -> None:
    """T18: roles are not lost, whatever a reader answers."""

    def confused(message: Message) -> Extraction:
        answer = world.transcript("t")[1]
        entity = ExtractedEntity(
            ref="e",
            name="vim",
            entity_type=EntityType.PREFERENCE,
            quote="try vim",
            message_id=answer.id,
        )
        return Extraction(entities=(entity,))

    world.model.behave = lambda _: "You could try vim."
    scripted(world, editor=confused)
    learn(world, "editor")
    assert world.entities() == {}
    assert rejections(world) == ["not_a_user_turn"]


def test_people_whose_names_begin_alike_stay_two(world: World) -> None:
    """T18: Ann and Anna."""
    learn(world, "I know Ann and Anna")
    assert {"Ann", "Anna"} <= set(world.entities())


def test_fact_about_someone_else_retires_nothing(world: World) -> None:
    """T21: Mia still uses Postgres."""
    learn(world, "Mia uses Postgres")
    learn(world, "Mia met Lee who uses MySQL", thread="u")
    assert ("Mia", "uses", "Postgres") in world.relations()
    assert ("Lee", "uses", "MySQL") in world.relations()
    assert world.relations(closed=True) == []


def test_reassignment_closes_what_it_says_and_only_then(world: World) -> None:
    """T22: works_on closes by the words of the turn."""
    learn(world, "Noor works on P1")
    learn(world, "Noor was reassigned to P2", thread="u")
    assert world.relations() == [("Noor", "works_on", "P2")]
    assert world.relations(closed=True) == [("Noor", "works_on", "P1")]


def test_second_project_without_such_words_stands_beside_the_first(world: World) -> None:
    """T22: both stay current."""
    learn(world, "Noor works on P1")
    learn(world, "Noor works on P2", thread="u")
    assert len(world.relations()) == 2


def test_unusable_answers_leave_what_is_stored_untouched(world: World) -> None:
    """T57: three broken answers, and nothing is deleted, stored or called done."""
    # given
    learn(world, "I like tea")
    before = (world.entities(), world.relations())
    extractor = scripted(world)
    extractor.failures = [ModelError("broken"), ModelError("broken"), ModelError("broken")]
    # when
    learn(world, "I like coffee", thread="u")
    # then
    assert (world.entities(), world.relations()) == before
    newest = world.product.extraction.jobs(ALICE, PageRequest()).items[0]
    assert (newest.status, newest.reason) == (JobStatus.FAILED, "broken")
    assert [reason for _, reason in world.queue.dead] == ["broken"]


def test_users_boss_is_not_the_user(world: World) -> None:
    """T59: "my boss Dana wants KPIs"."""
    learn(world, "my boss Dana wants KPIs", "I like tea")
    own = world.memory.self_id(ALICE)
    assert own is not None
    assert world.memory.get_entities(ALICE, [own])[own].name == "You"
    assert world.entities()["Dana"] == "person"
    # and what was read wrongly can be put right by hand, and stays so
    dana = world.memory.find_by_name(ALICE, EntityType.PERSON, "dana")
    assert dana is not None
    changes = EntityChanges(name="Dana Reyes")
    world.product.memories.update(ALICE, dana, changes, Origin("user:alice"), None)
    learn(world, "thanks", thread="u")
    assert "Dana Reyes" in world.entities()
    assert "Dana" not in world.entities()


def test_reader_that_takes_the_boss_for_the_user_is_not_believed(world: World) -> None:
    """T59: the answer contradicts itself."""

    def confused(message: Message) -> Extraction:
        dana = ExtractedEntity(
            ref="d",
            name="Dana",
            entity_type=EntityType.PERSON,
            quote="my boss Dana",
            message_id=message.id,
        )
        return Extraction(self_name="Dana", entities=(dana,))

    scripted(world, **{"my boss Dana wants KPIs": confused})
    learn(world, "my boss Dana wants KPIs")
    assert world.memory.self_id(ALICE) is None
    assert rejections(world) == ["someone_else"]


def test_name_told_five_times_is_one_name(world: World) -> None:
    """T65: not "Xiao Ge; Xiao Ge; Xiao Ge"."""
    for number in range(5):
        learn(world, "My name is Xiao Ge", thread=f"t{number}")
    assert world.entities() == {"Xiao Ge": "person"}
    own = world.memory.self_id(ALICE)
    assert own is not None
    assert "Xiao" not in world.memory.get_entities(ALICE, [own])[own].description


@pytest.mark.parametrize(
    "text",
    ["could we use Obsidian?", "Should I move to Oslo?", "If I worked at Acme, I would drink tea"],
)
def test_question_or_hypothesis_is_no_fact(world: World, text: str) -> None:
    """T76: nothing is learned, and nothing is recalled of it as a fact."""
    learn(world, text)
    assert world.entities() == {}
    answer = world.say(world.agent(), "what do you know about me?", "other")
    assert answer.recall.entities == ()


def test_secret_in_a_turn_is_not_remembered(world: World) -> None:
    """T63: also beside characters that are no word boundary."""
    key = "AKIAIOSFODNN7EXAMPLE"
    learn(world, f"I use AWS with the key {key}. 密钥{key}是我的")
    page = PageRequest(limit=100)
    now = world.clock.now()
    stored = world.memory.list_entities(ALICE, page, sort="name", now=now).items
    assert len(stored) > 1
    for entity in stored:
        found = world.memory.get_entity(ALICE, entity.id)
        assert found is not None
        assert key not in found.model_dump_json()


def test_same_turn_delivered_twice_is_read_once(world: World) -> None:
    """T20: the second delivery changes nothing and asks no model."""
    tea = ("self", RelationType.PREFERS, "tea", EntityType.PREFERENCE, "tea")
    extractor = scripted(world, tea=told(tea))
    world.say(world.agent(), "tea", "t")
    ((due, _),) = world.queue.sent
    world.clock.advance(hours=1)
    world.deliver(due)
    entity_id = world.memory.find_by_name(ALICE, EntityType.PREFERENCE, "tea")
    world.deliver(due)
    assert len(extractor.calls) == 1
    assert world.memory.find_by_name(ALICE, EntityType.PREFERENCE, "tea") == entity_id


def test_deleted_fact_is_gone_from_recall_and_prompt(world: World) -> None:
    """T52: also after something else was learned."""
    # given
    learn(world, "I prefer dark roast coffee")
    coffee = world.memory.find_by_name(ALICE, EntityType.PREFERENCE, "dark roast coffee")
    assert coffee is not None
    agent = world.agent(index_turns=False)
    world.say(agent, "which coffee?", "before")
    assert "dark roast" in world.model.requests[-1].context
    # when
    world.product.memories.delete(ALICE, coffee, None)
    learn(world, "I work at Acme", thread="u")
    # then
    requests: list[ChatRequest] = world.model.requests
    answer = world.say(agent, "which coffee?", "after")
    assert "dark roast" not in requests[-1].context
    assert all("dark roast" not in entity.name for entity in answer.recall.entities)
