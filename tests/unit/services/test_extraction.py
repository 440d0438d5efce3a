"""Scheduling and running extraction: exactly once, whatever happens to the messages."""

from __future__ import annotations

from datetime import timedelta
from typing import TYPE_CHECKING, Any, Literal

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.crashes import Crash, Crashes
from tests.world import ALICE, BOB, THREAD, World, told
from threadkeep.domain.entities import EntityType
from threadkeep.domain.extraction import DueExtraction, Job, JobStatus
from threadkeep.domain.relations import RelationType
from threadkeep.domain.site_settings import SiteSettingsChanges
from threadkeep.domain.turns import TurnRequest
from threadkeep.errors import ModelError, ModelThrottledError, NotFoundError, UnavailableError
from threadkeep.ports import PageRequest

if TYPE_CHECKING:
    from threadkeep.ports import ChatRequest

P, AT, USES = RelationType.PREFERS, RelationType.WORKS_AT, RelationType.USES
PREF, ORG, SKILL = EntityType.PREFERENCE, EntityType.ORGANIZATION, EntityType.SKILL
TEA = told(("self", P, "tea", PREF, "I like tea"))


@pytest.fixture
def world() -> World:
    made = World()
    made.extractor.readings["I like tea"] = TEA
    return made


def jobs(world: World, user: str = ALICE) -> list[Job]:
    return list(world.product.extraction.jobs(user, PageRequest()).items)


def due(world: World, thread: str = THREAD) -> DueExtraction:
    row = world.extractions.get_due(ALICE, thread)
    assert row is not None
    return row


# Scheduling


def test_turn_is_due_after_the_cooldown_counted_from_the_newest(world: World) -> None:
    # given
    agent = world.agent()
    world.say(agent, "one")
    first = due(world)
    world.clock.advance(seconds=100)
    # when
    world.say(agent, "two")
    # then
    second = due(world)
    newest = world.transcript()[2]
    assert second.due_at == newest.created_at + timedelta(seconds=180)
    assert (second.pending_turns, second.generation) == (2, newest.seq)
    assert [message.generation for message, _ in world.queue.sent] == [
        first.generation,
        second.generation,
    ]
    assert all(170 < delay <= 180 for _, delay in world.queue.sent)


def test_many_waiting_turns_are_queued_at_once(world: World) -> None:
    world.product.site_settings.set_one("memory_extraction_max_pending_turns", 3)
    agent = world.agent()
    for number in range(3):
        world.say(agent, f"m{number}")
    assert [delay > 0 for _, delay in world.queue.sent] == [True, True, False]


@pytest.mark.parametrize("switch", ["site", "memory", "auto_extract"])
def test_every_switch_must_be_on(world: World, switch: str) -> None:
    # given
    if switch == "site":
        off = SiteSettingsChanges(memory_async_extraction_enabled=False)
        world.product.site_settings.set(off)
    configs: dict[str, dict[str, Any]] = {
        "site": {},
        "memory": {"enable_memory": False},
        "auto_extract": {"memory_config": {"auto_extract": False}},
    }
    # when
    world.say(world.agent(**configs[switch]), "I like tea")
    world.settle()
    # then
    assert world.queue.sent == []
    assert world.extractor.calls == []
    assert world.entities() == {}


def test_turn_said_while_a_switch_was_off_is_never_learned(world: World) -> None:
    # given
    off = world.agent(enable_memory=False)
    world.say(off, "I like tea")
    # when the same conversation goes on with memory
    world.extractor.readings["I work at Acme"] = told(("self", AT, "Acme", ORG, "Acme"))
    world.say(world.agent(), "I work at Acme")
    world.settle()
    # then
    assert world.extractor.calls == [["I work at Acme"]]
    assert world.relations() == [("You", "works_at", "Acme")]


def test_switch_turned_off_before_the_job_runs_stops_it(world: World) -> None:
    world.say(world.agent(), "I like tea")
    world.product.site_settings.set(SiteSettingsChanges(memory_async_extraction_enabled=False))
    world.settle()
    assert world.extractor.calls == []
    assert world.extractions.get_due(ALICE, THREAD) is None


def test_due_row_is_there_although_the_queue_is_out(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    def out(*_: Any, **__: Any) -> None:
        raise UnavailableError

    with monkeypatch.context() as patch:
        patch.setattr(world.queue, "send", out)
        world.say(world.agent(), "I like tea")
    assert world.queue.sent == []
    world.settle()
    assert world.relations() == [("You", "prefers", "tea")]


def test_turn_is_due_before_the_model_answers(world: World) -> None:
    def fail(_: ChatRequest) -> str:
        assert due(world).pending_turns == 1
        raise ModelError("out")

    world.model.behave = fail
    with pytest.raises(ModelError):
        world.say(world.agent(), "I like tea")
    world.settle()
    assert world.relations() == [("You", "prefers", "tea")]


def test_early_message_is_sent_again_for_the_rest_of_the_wait(world: World) -> None:
    world.product.site_settings.set_one("memory_extraction_cooldown_seconds", 3600)
    world.say(world.agent(), "I like tea")
    ((message, delay),) = world.queue.sent
    assert delay == 900
    # when it arrives after 15 minutes, and again, and again
    for expected in (900, 900, 900):
        world.queue.sent.clear()
        world.clock.advance(seconds=900)
        world.deliver(message)
        if world.queue.sent:
            assert 0 < world.queue.sent[0][1] <= expected
    world.clock.advance(seconds=900)
    world.deliver(message)
    # then
    assert world.relations() == [("You", "prefers", "tea")]


def test_stale_message_is_dropped(world: World) -> None:
    agent = world.agent()
    world.say(agent, "I like tea")
    world.say(agent, "and that is all")
    stale, fresh = (message for message, _ in world.queue.sent)
    world.clock.advance(hours=1)
    world.deliver(stale)
    assert world.extractor.calls == []
    world.deliver(fresh)
    assert world.extractor.calls == [["I like tea", "and that is all"]]


def test_sweep_queues_what_was_lost_and_not_what_is_on_its_way(world: World) -> None:
    world.say(world.agent(), "I like tea")
    world.queue.sent.clear()
    world.clock.advance(seconds=181)
    assert world.product.extraction.sweep() == 0
    world.clock.advance(seconds=120)
    assert world.product.extraction.sweep() == 1
    # a minute later it is still being worked on
    world.clock.advance(seconds=60)
    assert world.product.extraction.sweep() == 0
    world.clock.advance(seconds=120)
    assert world.product.extraction.sweep() == 1


def test_row_that_is_worked_on_is_left_alone(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    # given a second delivery and a sweep while the extractor reads
    world.say(world.agent(), "I like tea")
    ((message, _),) = world.queue.sent
    world.clock.advance(hours=1)
    extract = world.extractor.extract

    def meanwhile(*args: Any, **options: Any) -> Any:
        world.clock.advance(seconds=200)
        assert world.product.extraction.sweep() == 0
        if len(world.extractor.calls) < 3:
            world.deliver(message)
        return extract(*args, **options)

    monkeypatch.setattr(world.extractor, "extract", meanwhile)
    # when
    world.deliver(message)
    # then
    assert len(world.extractor.calls) == 1
    assert world.relations() == [("You", "prefers", "tea")]


# Running


def test_job_record_tells_what_became_of_every_statement(world: World) -> None:
    # given
    agent = world.agent(memory_config={"importance_threshold": "high"})
    world.say(agent, "I like tea")
    # when
    world.settle()
    # then an importance of 0.5 is below "high"
    (job,) = jobs(world)
    assert (job.status, job.stored, job.merged) == (JobStatus.DONE, 0, 0)
    assert [(r.statement, r.reason) for r in job.rejected] == [
        ("tea", "below_importance_threshold"),
        (f"self prefers {world.transcript()[0].id}:tea", "end_rejected"),
    ]
    assert (job.model_id, job.prompt_hash) == ("offline", "scripted")
    assert (job.usage.input_tokens, job.usage.output_tokens) == (11, 5)
    assert (job.from_seq, job.to_seq, job.conversation_id) == (1, 2, THREAD)
    assert job.finished_at is not None
    assert world.product.extraction.job(ALICE, job.id) == job
    with pytest.raises(NotFoundError):
        world.product.extraction.job(BOB, job.id)


def test_stored_and_merged_statements_are_counted(world: World) -> None:
    agent = world.agent()
    world.say(agent, "I like tea")
    world.settle()
    world.say(agent, "I like tea", "thread-2")
    world.settle()
    second, first = jobs(world)
    assert (first.stored, first.merged) == (2, 0)
    assert (second.stored, second.merged) == (0, 2)


def test_only_turns_after_the_watermark_are_read(world: World) -> None:
    agent = world.agent()
    world.say(agent, "one")
    world.settle()
    world.say(agent, "two")
    world.settle()
    assert world.extractor.calls == [["one"], ["two"]]
    head = world.conversations.get(ALICE, THREAD)
    assert head is not None
    assert head.extracted_seq == 4


def test_long_backlog_is_learned_in_stretches(world: World) -> None:
    agent = world.agent()
    for number in range(120):
        world.say(agent, f"m{number}")
    world.settle()
    assert [len(call) for call in world.extractor.calls] == [50, 50, 20]
    read = [text for call in world.extractor.calls for text in call]
    assert read == [f"m{number}" for number in range(120)]
    assert len(jobs(world)) == 3


@pytest.mark.parametrize(
    ("configured", "agents", "used"),
    [
        ("openai:small", None, "openai:small"),
        ("openai:gone", "openai:small", "openai:small"),
        ("", None, "offline"),
    ],
)
def test_model_is_the_configured_one_else_the_agents_else_the_default(
    world: World, configured: str, agents: str | None, used: str
) -> None:
    world.product.site_settings.set_one("memory_extraction_model_id", configured)
    world.say(world.agent(model_id=agents), "I like tea")
    world.settle()
    assert world.extractor.models == [used]


def test_broken_answer_is_tried_again(world: World) -> None:
    world.extractor.failures = [ModelError("no JSON"), ModelError("no JSON")]
    world.say(world.agent(), "I like tea")
    world.settle()
    assert len(world.extractor.calls) == 3
    (job,) = jobs(world)
    assert (job.status, job.attempts) == (JobStatus.DONE, 2)
    assert world.relations() == [("You", "prefers", "tea")]
    assert world.queue.dead == []


def test_third_failure_goes_to_the_dead_letters_with_the_reason(world: World) -> None:
    # given
    world.extractor.failures = [ModelError(f"no JSON {n}") for n in range(3)]
    agent = world.agent()
    world.say(agent, "I like tea")
    # when
    world.settle()
    # then
    ((dead, reason),) = world.queue.dead
    assert (dead.conversation_id, reason) == (THREAD, "no JSON 2")
    (job,) = jobs(world)
    assert (job.status, job.attempts, job.reason) == (JobStatus.FAILED, 3, "no JSON 2")
    assert world.entities() == {}
    # and nothing is lost: the next turn of the conversation brings it up again
    world.say(agent, "hello?")
    world.settle()
    assert world.relations() == [("You", "prefers", "tea")]
    assert [job.status for job in jobs(world)] == [JobStatus.DONE]


def test_throttling_is_no_failure(world: World) -> None:
    world.extractor.failures = [ModelThrottledError("slow down") for _ in range(9)]
    world.say(world.agent(), "I like tea")
    world.settle()
    (job,) = jobs(world)
    assert (job.status, job.attempts) == (JobStatus.DONE, 0)
    assert world.queue.dead == []
    assert world.relations() == [("You", "prefers", "tea")]


def test_deleted_agent_teaches_nothing(world: World) -> None:
    agent = world.agent()
    world.say(agent, "I like tea")
    world.product.agents.delete(ALICE, agent, None)
    world.settle()
    assert world.extractor.calls == []


def test_late_job_of_a_former_life_writes_nothing(world: World) -> None:
    # given
    agent = world.agent()
    world.say(agent, "I like tea")
    ((late, _),) = world.queue.sent
    world.product.conversations.delete(ALICE, THREAD)
    world.say(agent, "fresh start")
    world.clock.advance(hours=1)
    # when
    world.deliver(late)
    # then
    assert world.extractor.calls == []
    assert world.entities() == {}


def test_redelivery_after_a_deletion_by_hand_brings_nothing_back(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    # given a worker that died after it stored the facts and before it moved the watermark
    def die(*_: Any, **__: Any) -> None:
        raise Crash

    world.say(world.agent(), "I like tea")
    ((message, _),) = world.queue.sent
    world.clock.advance(hours=1)
    with monkeypatch.context() as patch:
        patch.setattr(world.conversations, "advance_extracted", die)
        with pytest.raises(Crash):
            world.deliver(message)
    assert world.relations() == [("You", "prefers", "tea")]
    # when the user deletes what was learned, and the message comes again
    tea = world.memory.find_by_name(ALICE, PREF, "tea")
    assert tea is not None
    world.product.memories.delete(ALICE, tea, None)
    world.clock.advance(hours=1)
    world.deliver(message)
    # then
    assert world.entities() == {"You": "person"}
    assert [job.status for job in jobs(world)] == [JobStatus.DONE]
    assert len(world.extractor.calls) == 1


# Whatever happens to messages and workers

READINGS = {
    "I work at Acme": told(("self", AT, "Acme", ORG, "Acme")),
    "I moved to Beta": told(("self", AT, "Beta", ORG, "Beta")),
    "now it is Gamma": told(("self", AT, "Gamma", ORG, "Gamma")),
    "tea and cake": told(("self", P, "tea", PREF, "tea"), ("self", P, "cake", PREF, "cake")),
    "I use vim": told(("self", USES, "vim", SKILL, "vim")),
    "no vim now": told(("self", USES, "vim", SKILL, "vim"), ends=True),
    "Dana is at Acme": told(("Dana", AT, "Acme", ORG, "Acme")),
    "I am Ann": told(name="Ann"),
}
SAID = [
    ("a", "I am Ann"),
    ("a", "I work at Acme"),
    ("b", "tea and cake"),
    ("b", "I use vim"),
    ("c", "I moved to Beta"),
    ("b", "no vim now"),
    ("c", "Dana is at Acme"),
    ("a", "now it is Gamma"),
    ("c", "tea and cake"),
]


def chatted() -> World:
    """Return a world where all was said and nothing was learned yet."""
    world = World()
    world.extractor.readings = READINGS
    agent = world.agent()
    for thread, text in SAID:
        world.clock.advance(seconds=1)
        world.say(agent, text, thread)
    world.clock.advance(hours=1)
    return world


def state(world: World) -> dict[str, Any]:
    """Return everything that must not depend on how messages were delivered."""
    user = ALICE
    page = PageRequest(limit=100)
    listed = world.memory.list_entities(user, page, sort="name", now=world.clock.now()).items
    halves = [h for h in world.memory.edges(user) if h.is_current(world.clock.now())]
    names = {entity.id: entity.name for entity in listed}
    heads = (world.conversations.get(user, thread) for thread in "abc")
    return {
        "entities": [(e.name, e.entity_type, e.sources_count, e.is_self) for e in listed],
        "relations": sorted(
            (
                names[h.entity_id],
                h.relation_type,
                names[h.other_id],
                len(world.memory.relation_sources(user, h.relation_id)),
            )
            for h in halves
        ),
        "watermarks": [head.extracted_seq for head in heads if head],
        "due": [world.extractions.get_due(user, thread) for thread in "abc"],
        "statements": sum(job.stored + job.merged for job in jobs(world)),
        "rejected": sum(len(job.rejected) for job in jobs(world)),
        "jobs": {job.status for job in jobs(world)},
        "dead": world.queue.dead,
    }


def delivered_in_order() -> dict[str, Any]:
    world = chatted()
    sent, world.queue.sent = world.queue.sent, []
    world.deliver(*(message for message, _ in sent))
    reached = state(world)
    assert reached["relations"] == [
        ("Ann", "prefers", "cake", 2),
        ("Ann", "prefers", "tea", 2),
        ("Ann", "works_at", "Gamma", 1),
        ("Dana", "works_at", "Acme", 1),
    ]
    assert reached["due"] == [None, None, None]
    return reached


@settings(deadline=None, max_examples=60)
@given(st.data())
def test_lost_repeated_and_reordered_messages_change_nothing(data: st.DataObject) -> None:
    # given
    world = chatted()
    sent, world.queue.sent = [message for message, _ in world.queue.sent], []
    # when
    for message in data.draw(st.lists(st.sampled_from(sent), max_size=15)):
        world.deliver(message)
    world.settle()
    for message in data.draw(st.lists(st.sampled_from(sent), max_size=5)):
        world.deliver(message)
    # then
    assert state(world) == delivered_in_order()


@settings(deadline=None, max_examples=60)
@given(st.data())
def test_messages_that_come_between_the_turns_change_nothing(data: st.DataObject) -> None:
    # given
    world = World()
    world.extractor.readings = READINGS
    agent = world.agent()
    # when
    for thread, text in SAID:
        world.clock.advance(seconds=1)
        world.say(agent, text, thread)
        if data.draw(st.booleans()):
            world.clock.advance(seconds=200)
        sent = [message for message, _ in world.queue.sent]
        for message in data.draw(st.lists(st.sampled_from(sent), max_size=2)):
            world.deliver(message)
    world.settle()
    # then
    assert state(world) == delivered_in_order()


def calls_of_a_run() -> int:
    world = chatted()
    crashes = Crashes()
    process = world.process(crashes)
    for message, _ in world.queue.sent:
        process.extraction_worker.run(message)
    return crashes.calls


@pytest.mark.parametrize("side", ["before", "after"])
def test_worker_killed_at_any_call_changes_nothing(side: Literal["before", "after"]) -> None:
    expected = delivered_in_order()
    total = calls_of_a_run()
    assert total > 50
    for number in range(1, total + 1):
        # given
        world = chatted()
        sent, world.queue.sent = [message for message, _ in world.queue.sent], []
        crashes = Crashes(number, side)
        process = world.process(crashes)
        # when
        with pytest.raises(Crash):
            for message in sent:
                process.extraction_worker.run(message)
        world.settle()
        # then
        assert crashes.happened
        assert state(world) == expected, f"killed {side} call {number} of {total}"


@pytest.mark.parametrize("side", ["before", "after"])
def test_chat_killed_at_any_call_leaves_a_transcript_that_goes_on(
    side: Literal["before", "after"],
) -> None:
    # given
    counting = Crashes()
    probe = World()
    probe.process(counting).chat.turn(*turn_of(probe, "I like tea"))
    assert counting.calls > 8
    for number in range(1, counting.calls + 1):
        world = World()
        world.extractor.readings["I like tea"] = TEA
        crashes = Crashes(number, side)
        turn = turn_of(world, "I like tea")
        # when
        with pytest.raises(Crash):
            world.process(crashes).chat.turn(*turn)
        world.clock.advance(seconds=301)
        world.say(turn[1], "are you there?")
        # then what was stored is a valid transcript, and is sent to the model as one
        stored = world.transcript()
        assert [m.seq for m in stored] == list(range(1, len(stored) + 1))
        assert [m.parent_id for m in stored] == [None, *(m.id for m in stored[:-1])]
        roles = [m.role.value for m in world.model.requests[-1].messages]
        assert roles == ["user", "assistant", "user"][-len(roles) :]
        # and whatever of it is stored is learned from
        world.settle()
        kept = any(m.content == "I like tea" for m in stored)
        assert (world.relations() == [("You", "prefers", "tea")]) is kept


def turn_of(world: World, text: str) -> tuple[str, str, TurnRequest]:
    return ALICE, world.agent(), TurnRequest(message=text, conversation_id=THREAD)
