"""Facts from turns in the memory graph."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING, Any

import pytest

from tests.world import ALICE, BOB, World, told
from threadkeep.domain.changes import Origin
from threadkeep.domain.entities import EntityDraft, EntityType, Provenance
from threadkeep.domain.relations import RelationType
from threadkeep.errors import ConflictError
from threadkeep.ports import PageRequest

if TYPE_CHECKING:
    from threadkeep.domain.extraction import Extraction

P, WORKS_ON = RelationType.PREFERS, RelationType.WORKS_ON
ORG, PREF = EntityType.ORGANIZATION, EntityType.PREFERENCE
AT, USES, KNOWS = RelationType.WORKS_AT, RelationType.USES, RelationType.KNOWS
BY_HAND = Origin("user:alice")


@pytest.fixture
def world() -> World:
    return World()


def learn(world: World, text: str, *statements: Any, thread: str = "t", **more: Any) -> None:
    """Say a text that is read as the given statements, and have it learned."""
    world.extractor.readings[text] = told(*statements, **more)
    world.say(world.agent(), text, thread)
    world.settle()


def entity_of(world: World, name: str, kind: EntityType) -> Any:
    found = world.memory.find_by_name(ALICE, kind, name.casefold())
    assert found is not None
    return world.memory.get_entity(ALICE, found)


def test_told_preference_is_an_entity_that_the_self_prefers(world: World) -> None:
    learn(world, "I prefer tea", ("self", P, "tea", PREF, "I prefer tea"))
    assert world.entities() == {"tea": "preference", "You": "person"}
    assert world.relations() == [("You", "prefers", "tea")]
    tea = entity_of(world, "tea", PREF)
    assert tea.provenance is Provenance.USER_STATED
    (evidence,) = tea.evidence
    turn = world.transcript("t")[0]
    assert (evidence.quote, evidence.turn) == ("I prefer tea", f"t/{turn.id}")
    assert evidence.date == turn.created_at
    own = world.memory.self_id(ALICE)
    assert own is not None
    assert world.memory.get_entities(ALICE, [own])[own].is_self


def test_same_fact_in_several_conversations_is_one_entity_with_that_many_sources(
    world: World,
) -> None:
    for number in range(5):
        learn(
            world,
            f"I prefer tea {number}",
            ("self", P, ("Tea", "tea ", "TEA")[number % 3], PREF, "I prefer tea"),
            thread=f"t{number}",
        )
    tea = entity_of(world, "tea", PREF)
    assert (tea.name, tea.sources_count, tea.version) == ("Tea", 5, 1)
    assert world.relations() == [("You", "prefers", "Tea")]
    (half,) = world.memory.edges(ALICE)
    assert len(world.memory.relation_sources(ALICE, half.relation_id)) == 5


def test_later_job_closes_the_earlier_one_and_deletes_nothing(world: World) -> None:
    learn(world, "I work at Acme", ("self", AT, "Acme", ORG, "I work at Acme"))
    learn(world, "now at Beta", ("self", AT, "Beta", ORG, "now at Beta"))
    assert world.relations() == [("You", "works_at", "Beta")]
    assert world.relations(closed=True) == [("You", "works_at", "Acme")]
    assert set(world.entities()) == {"Acme", "Beta", "You"}


def test_many_valued_facts_stand_beside_each_other(world: World) -> None:
    learn(world, "a", ("self", USES, "vim", EntityType.SKILL, "a"))
    learn(world, "b", ("self", USES, "emacs", EntityType.SKILL, "b"))
    assert len(world.relations()) == 2


def test_end_closes_that_very_relation_with_the_quote_as_evidence(world: World) -> None:
    # given
    learn(world, "a", ("self", USES, "vim", EntityType.SKILL, "a"))
    learn(world, "b", ("self", USES, "emacs", EntityType.SKILL, "b"))
    # when the same thing is told to end, though under another type
    learn(world, "no vim any more", ("self", USES, "Vim", EntityType.CONCEPT, "no vim"), ends=True)
    # then
    assert world.relations() == [("You", "uses", "emacs")]
    assert world.relations(closed=True) == [("You", "uses", "vim")]
    assert "Vim" not in world.entities()
    closed = next(h for h in world.memory.edges(ALICE, closed=True) if not h.current)
    relation = world.memory.get_relation(ALICE, closed.relation_id)
    assert relation is not None
    assert [e.quote for e in relation.sources] == ["no vim", "a"]


def test_end_of_what_is_unknown_makes_nothing_up(world: World) -> None:
    learn(world, "no tea", ("self", P, "tea", PREF, "no tea"), ends=True)
    assert world.entities() == {}
    (job,) = world.product.extraction.jobs(ALICE, PageRequest()).items
    assert [r.reason for r in job.rejected] == ["nothing_to_end"]


def test_end_may_be_followed_by_a_new_beginning(world: World) -> None:
    learn(world, "a", ("self", USES, "vim", EntityType.SKILL, "a"))
    learn(world, "b", ("self", USES, "vim", EntityType.SKILL, "b"), ends=True)
    learn(world, "c", ("self", USES, "vim", EntityType.SKILL, "c"))
    assert world.relations() == [("You", "uses", "vim")]
    assert world.relations(closed=True) == [("You", "uses", "vim")]


def test_fact_that_has_long_held_replaces_what_was_believed(world: World) -> None:
    # given
    learn(world, "a", ("self", AT, "Acme", ORG, "a"))
    since = datetime(2019, 1, 1, tzinfo=UTC)
    # when
    learn(world, "b", ("self", AT, "Beta", ORG, "b"), valid_from=since)
    # then
    assert world.relations() == [("You", "works_at", "Beta")]
    half = next(h for h in world.memory.edges(ALICE) if h.is_current(world.clock.now()))
    assert (
        world.memory.get_relations(ALICE, [half.relation_id])[half.relation_id].valid_from == since
    )


def test_fact_that_begins_later_leaves_the_present_one_until_then(world: World) -> None:
    # given
    learn(world, "a", ("self", AT, "Acme", ORG, "a"))
    start = world.clock.now() + timedelta(days=30)
    # when
    learn(world, "b", ("self", AT, "Beta", ORG, "b"), valid_from=start)
    # then
    acme = world.memory.edges(ALICE)
    assert [h.valid_to for h in acme if h.valid_to] == [start]
    world.clock.set(start)
    assert world.relations() == [("You", "works_at", "Beta")]


def test_end_told_with_its_date_closes_at_that_date_or_not_before_the_beginning(
    world: World,
) -> None:
    learn(world, "a", ("self", AT, "Acme", ORG, "a"))
    long_ago = datetime(2020, 1, 1, tzinfo=UTC)
    learn(world, "b", ("self", AT, "Acme", ORG, "b"), ends=True, valid_from=long_ago)
    assert world.relations() == []
    assert world.relations(closed=True) == [("You", "works_at", "Acme")]


def test_end_that_arrives_after_a_later_statement_ends_nothing(world: World) -> None:
    # given an end that was said between two statements, and is learned after both
    agent = world.agent()
    vim = ("self", USES, "vim", EntityType.SKILL, "vim")
    world.extractor.readings |= {
        "I use vim": told(vim),
        "no vim now": told(vim, ends=True),
        "vim again": told(vim),
    }
    world.say(agent, "I use vim", "first")
    world.say(agent, "no vim now", "second")
    world.say(agent, "vim again", "third")
    waiting = {due.conversation_id: due for due, _ in world.queue.sent}
    world.clock.advance(hours=1)
    # when
    world.deliver(*(waiting[thread] for thread in ("first", "third", "second")))
    # then
    assert world.relations() == [("You", "uses", "vim")]


def test_told_name_renames_the_self_once(world: World) -> None:
    # given
    learn(world, "I prefer tea", ("self", P, "tea", PREF, "I prefer tea"))
    # when
    for number in range(5):
        learn(world, f"I am Ann {number}", name="Ann", thread=f"n{number}")
    # then
    assert world.entities() == {"tea": "preference", "Ann": "person"}
    own = world.memory.self_id(ALICE)
    assert own == world.memory.find_by_name(ALICE, EntityType.PERSON, "ann")
    assert world.relations() == [("Ann", "prefers", "tea")]


def test_name_in_the_first_fact_makes_the_self_under_it(world: World) -> None:
    learn(world, "I am 王小明", name="王小明")
    assert world.entities() == {"王小明": "person"}
    own = world.memory.self_id(ALICE)
    assert own is not None
    assert world.memory.get_entities(ALICE, [own])[own].is_self


def test_name_that_another_person_has_is_refused(world: World) -> None:
    world.product.memories.create(
        ALICE, EntityDraft(name="Ann", entity_type=EntityType.PERSON), BY_HAND
    )
    for number in range(2):  # without and with a self entity
        learn(world, f"I am Ann {number}", name="Ann", thread=f"n{number}")
        learn(world, "tea", ("self", P, "tea", PREF, "tea"))
    assert world.entities() == {"Ann": "person", "You": "person", "tea": "preference"}
    reasons = {
        r.reason
        for j in world.product.extraction.jobs(ALICE, PageRequest()).items
        for r in j.rejected
    }
    assert reasons == {"name_taken"}


def test_second_name_does_not_replace_the_first(world: World) -> None:
    learn(world, "I am Ann", name="Ann")
    learn(world, "I am Bea", name="Bea")
    assert world.entities() == {"Ann": "person"}


def test_names_that_begin_alike_stay_apart(world: World) -> None:
    learn(
        world,
        "I know Ann and Anna",
        ("self", KNOWS, "Ann", EntityType.PERSON, "Ann"),
        ("self", KNOWS, "Anna", EntityType.PERSON, "Anna"),
    )
    assert {"Ann", "Anna"} < set(world.entities())


def test_fact_about_someone_else_leaves_the_users_alone(world: World) -> None:
    learn(world, "a", ("self", AT, "Acme", ORG, "a"))
    learn(world, "b", ("Dana", AT, "Beta", ORG, "b"))
    assert world.relations() == [("Dana", "works_at", "Beta"), ("You", "works_at", "Acme")]


def test_nothing_is_learned_for_another_user(world: World) -> None:
    learn(world, "I prefer tea", ("self", P, "tea", PREF, "I prefer tea"))
    assert world.entities(BOB) == {}
    assert world.memory.pending(BOB) == []


def test_merge_that_breaks_a_limit_is_reported_and_the_rest_is_stored(world: World) -> None:
    # given an entity whose properties are full
    full = EntityDraft(name="tea", entity_type=PREF, properties={"a": "x" * 16_000})
    world.product.memories.create(ALICE, full, BY_HAND)

    def read(message: Any) -> Extraction:
        reading = told(("self", P, "tea", PREF, "tea"), ("self", P, "cake", PREF, "cake"))(message)
        tea, cake = reading.entities
        more = tea.model_copy(update={"properties": {"b": "y" * 1_000}})
        return reading.model_copy(update={"entities": (more, cake)})

    # when
    world.extractor.readings["tea and cake"] = read
    world.say(world.agent(), "tea and cake", "t")
    world.settle()
    # then
    (job,) = world.product.extraction.jobs(ALICE, PageRequest()).items
    assert [r.reason for r in job.rejected] == ["properties_too_large"]
    assert world.relations() == [("You", "prefers", "cake")]


def test_fact_that_loses_a_race_is_decided_on_what_won(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    # given a writer that creates the same entity between decision and commit
    commit = world.memory.commit
    raced: list[bool] = []

    def racing(user_id: str, what: Any) -> None:
        if what.step is not None and not raced:
            raced.append(True)
            world.product.memories.create(
                ALICE, EntityDraft(name="tea", entity_type=PREF, properties={"a": 1}), BY_HAND
            )
        commit(user_id, what)

    monkeypatch.setattr(world.memory, "commit", racing)
    # when
    learn(world, "I prefer tea", ("self", P, "tea", PREF, "I prefer tea"))
    # then
    tea = entity_of(world, "tea", PREF)
    assert (tea.properties, tea.sources_count) == ({"a": 1}, 1)
    assert world.relations() == [("You", "prefers", "tea")]


def test_learning_in_a_conversation_that_was_deleted_stops(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    # given a deletion between two facts
    commit, count = world.memory.commit, [0]

    def deleting(user_id: str, what: Any) -> None:
        if what.step is not None:
            count[0] += 1
            if count[0] == 2:
                world.product.conversations.delete(ALICE, "t")
        commit(user_id, what)

    monkeypatch.setattr(world.memory, "commit", deleting)
    # when
    text = "tea and cake"
    both = (("self", P, "tea", PREF, "tea"), ("self", P, "cake", PREF, "cake"))
    world.extractor.readings[text] = told(*both)
    world.say(world.agent(), text, "t")
    with pytest.raises(ConflictError):
        world.settle()
    world.settle()
    # then
    assert world.relations() == [("You", "prefers", "tea")]
    assert world.product.extraction.jobs(ALICE, PageRequest()).items == []
