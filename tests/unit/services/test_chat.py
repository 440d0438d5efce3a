"""A turn of a chat."""

from __future__ import annotations

from datetime import timedelta
from typing import TYPE_CHECKING, Any

import pytest
from pydantic import ValidationError as InvalidModelError

from tests.world import ALICE, BOB, THREAD, World
from threadkeep.domain.agents import AgentConfig
from threadkeep.domain.conversations import Conversation, Role
from threadkeep.domain.entities import EntityType
from threadkeep.domain.retrieval import EntityHit, Episode, SearchAnswer
from threadkeep.domain.turns import TURN_SECONDS, TurnRequest
from threadkeep.errors import (
    ConflictError,
    ModelError,
    NotFoundError,
    UnavailableError,
    ValidationError,
)

if TYPE_CHECKING:
    from threadkeep.ports import ChatRequest


@pytest.fixture
def world() -> World:
    return World()


def found(world: World, *names: str) -> SearchAnswer:
    """Return a recall of preferences, best first."""
    now = world.clock.now()
    return SearchAnswer(
        entities=tuple(
            EntityHit(
                id=f"e{rank}",
                name=name,
                entity_type=EntityType.PREFERENCE,
                created_at=now,
                updated_at=now,
                touched_at=now,
                score=1 - rank / 100,
            )
            for rank, name in enumerate(names)
        )
    )


def test_turn_stores_both_messages_and_answers_with_the_second(world: World) -> None:
    # given
    agent = world.agent()
    world.model.behave = lambda _: "Hello, Alice."
    # when
    answer = world.say(agent, "Hi there")
    # then
    asked, answered = world.transcript()
    assert (asked.role, asked.content, asked.seq, asked.parent_id) == (
        Role.USER,
        "Hi there",
        1,
        None,
    )
    assert (answered.role, answered.content, answered.seq) == (Role.ASSISTANT, "Hello, Alice.", 2)
    assert answered.parent_id == asked.id
    assert answered.model_id == "scripted"
    assert answered.stop_reason == "end_turn"
    assert answered.usage == answer.usage
    assert answer.message_id == answered.id
    assert answer.conversation_id == THREAD
    assert answer.content == "Hello, Alice."
    assert answer.cost == 0.0


def test_model_reads_the_whole_conversation_in_order(world: World) -> None:
    # given
    agent = world.agent()
    world.say(agent, "one")
    world.say(agent, "two")
    # when
    world.say(agent, "three")
    # then
    sent = [(m.role.value, m.content) for m in world.model.requests[-1].messages]
    assert sent == [
        ("user", "one"),
        ("assistant", "Understood."),
        ("user", "two"),
        ("assistant", "Understood."),
        ("user", "three"),
    ]


def test_conversation_without_id_gets_a_new_one_each_time(world: World) -> None:
    agent = world.agent()
    request = TurnRequest(message="hi")
    first = world.product.chat.turn(ALICE, agent, request)
    second = world.product.chat.turn(ALICE, agent, request)
    assert first.conversation_id != second.conversation_id


def test_same_conversation_id_of_two_users_is_two_conversations(world: World) -> None:
    # given
    agent = world.agent(visibility="shared")
    world.say(agent, "my secret plan", user=ALICE)
    # when
    world.say(agent, "hello", user=BOB)
    # then
    assert world.texts(user=BOB)[0] == ("user", "hello")
    assert all("secret" not in m.content for m in world.model.requests[-1].messages)
    assert len(world.transcript(user=ALICE)) == 2


def test_shared_agent_recalls_the_memory_of_who_chats(world: World) -> None:
    agent = world.agent(user=ALICE, visibility="shared")
    world.say(agent, "hello", user=BOB)
    assert world.retrieval.asked == [(BOB, "hello", THREAD)]


def test_agent_without_memory_recalls_nothing(world: World) -> None:
    # given
    world.retrieval.found = found(world, "dark roast coffee")
    agent = world.agent(enable_memory=False)
    # when
    answer = world.say(agent, "hi")
    # then
    assert world.retrieval.asked == []
    assert answer.recall.entities == ()
    assert world.model.requests[-1].context == ""


def test_recalled_memory_goes_beside_the_message_and_is_never_stored(world: World) -> None:
    # given
    world.retrieval.found = found(world, "dark roast coffee")
    agent = world.agent()
    # when
    answer = world.say(agent, "what coffee should I buy?")
    # then
    request = world.model.requests[-1]
    assert "dark roast coffee" in request.context
    assert request.messages[-1].content == "what coffee should I buy?"
    assert all("dark roast" not in block for block in request.system)
    assert [entity.name for entity in answer.recall.entities] == ["dark roast coffee"]
    assert all("dark roast" not in text for _, text in world.texts())


def test_recall_is_bounded_and_the_lowest_scores_go_first(world: World) -> None:
    # given more than the 597 tokens that a tenth of the budget allows
    names = [f"thing {number} " + "word " * 30 for number in range(40)]
    world.retrieval.found = found(world, *names)
    agent = world.agent(model_id="openai:small")
    # when
    answer = world.say(agent, "hi")
    # then
    kept = [entity.name for entity in answer.recall.entities]
    assert 0 < len(kept) < len(names)
    assert kept == names[: len(kept)]
    assert len(world.model.requests[-1].context.split()) <= 597


def test_recall_makes_room_for_the_conversation(world: World) -> None:
    # given a message that leaves room for five words only
    world.retrieval.found = found(world, "dark roast coffee")
    agent = world.agent(model_id="openai:small")
    room = 5_976 - len(" ".join(_system(world, agent)).split()) - 4
    # when
    answer = world.say(agent, "word " * (room - 5))
    # then
    assert answer.recall.entities == ()
    assert world.model.requests[-1].context == ""


def _system(world: World, agent: str) -> list[str]:
    world.say(agent, "probe", "other-thread")
    return list(world.model.requests.pop().system)


def test_episode_is_recalled_with_its_date(world: World) -> None:
    # given
    now = world.clock.now()
    episode = Episode(
        conversation_id="old",
        message_id="m",
        role="user",
        content="I broke my arm\nlast week",
        created_at=now,
        score=0.9,
    )
    world.retrieval.found = SearchAnswer(episodes=(episode,))
    # when
    answer = world.say(world.agent(), "how am I?")
    # then
    assert answer.recall.episodes == (episode,)
    context = world.model.requests[-1].context
    assert f"On {now:%Y-%m-%d} the user said: I broke my arm last week" in context


@pytest.mark.parametrize("mode", ["before", "after"])
def test_failed_model_leaves_the_message_and_the_next_turn_works(world: World, mode: str) -> None:
    # given a conversation, in the second case with an answered turn
    agent = world.agent()
    if mode == "after":
        world.say(agent, "hello")
    before = world.texts()

    def fail(_: ChatRequest) -> str:
        raise ModelError("The endpoint does not answer.")

    # when
    answering, world.model.behave = world.model.behave, fail
    with pytest.raises(ModelError) as failure:
        world.say(agent, "first try")
    world.model.behave = answering
    world.say(agent, "second try")
    # then
    assert failure.value.code == "model_unavailable"
    assert world.texts() == [
        *before,
        ("user", "first try"),
        ("user", "second try"),
        ("assistant", "Understood."),
    ]
    assert [m.parent_id for m in world.transcript()][1:] == [m.id for m in world.transcript()][:-1]
    sent = [(m.role.value, m.content) for m in world.model.requests[-1].messages]
    assert sent == [*before, ("user", "first try\n\nsecond try")]


def test_model_that_runs_past_the_deadline_ends_the_turn_as_such(world: World) -> None:
    # given
    agent = world.agent()

    def hang(request: ChatRequest) -> str:
        assert 0 < request.timeout_seconds <= TURN_SECONDS
        world.clock.advance(seconds=request.timeout_seconds)
        raise ModelError("timed out")

    answering, world.model.behave = world.model.behave, hang
    # when
    with pytest.raises(UnavailableError) as failure:
        world.say(agent, "think hard")
    # then
    assert failure.value.code == "turn_deadline_exceeded"
    assert [m.stop_reason for m in world.transcript()] == [None, "turn_deadline_exceeded"]
    # and the next turn works, with what was asked before
    world.model.behave = answering
    world.say(agent, "never mind")
    assert world.model.requests[-1].messages[-1].content == "think hard\n\nnever mind"


def test_second_concurrent_turn_is_refused_and_stores_nothing(world: World) -> None:
    # given a turn that is under way
    agent = world.agent()
    refused: list[ConflictError] = []

    def meanwhile(_: ChatRequest) -> str:
        with pytest.raises(ConflictError) as failure:
            world.say(agent, "me too")
        refused.append(failure.value)
        return "Done."

    world.model.behave = meanwhile
    # when
    world.say(agent, "hello")
    # then
    assert refused[0].code == "conversation_busy"
    assert refused[0].retry_after == 5
    assert world.texts() == [("user", "hello"), ("assistant", "Done.")]


def test_turn_whose_lease_was_taken_over_writes_nothing_more(world: World) -> None:
    # given a model call during which the lease runs out and another turn takes place
    agent = world.agent()
    answering = world.model.behave

    def slow(_: ChatRequest) -> str:
        world.model.behave = answering
        world.clock.advance(seconds=301)
        world.say(agent, "quick question")
        return "Too late."

    world.model.behave = slow
    # when
    with pytest.raises(ConflictError):
        world.say(agent, "slow question")
    # then
    assert world.texts() == [
        ("user", "slow question"),
        ("user", "quick question"),
        ("assistant", "Understood."),
    ]


def test_lease_is_given_back_after_success_and_failure(world: World) -> None:
    agent = world.agent()
    world.say(agent, "one")

    def fail(_: ChatRequest) -> str:
        raise RuntimeError("a bug")

    world.model.behave = fail
    with pytest.raises(RuntimeError):
        world.say(agent, "two")
    head = world.conversations.get(ALICE, THREAD)
    assert head is not None
    now = world.clock.now()
    until = now + timedelta(seconds=10)
    assert world.conversations.acquire(ALICE, head, now=now, until=until) is not None


def test_answer_is_given_although_the_lease_can_not_be_released(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    def out(*_: Any) -> None:
        raise UnavailableError

    monkeypatch.setattr(world.conversations, "release", out)
    assert world.say(world.agent(), "hi").content == "Understood."


@pytest.mark.parametrize("reason", ["unknown agent", "private agent", "draft", "lost model"])
def test_refused_agent_stores_nothing(world: World, reason: str) -> None:
    # given
    private = world.agent(user=BOB)
    draft = world.product.agents.create(ALICE, AgentConfig(name="Draft")).id
    lost = world.agent(model_id="openai:small")
    agent, error, code = {
        "unknown agent": ("nobody", NotFoundError, "not_found"),
        "private agent": (private, NotFoundError, "not_found"),
        "draft": (draft, ConflictError, "agent_not_published"),
        "lost model": (lost, ValidationError, "unknown_model"),
    }[reason]
    if reason == "lost model":
        world.models.published.pop("openai:small")  # type: ignore[attr-defined]
    # when
    with pytest.raises(error) as failure:
        world.say(agent, "hi")
    # then
    assert failure.value.code == code
    assert world.conversations.get(ALICE, THREAD) is None
    assert world.model.requests == []


def test_message_over_the_models_budget_is_refused_before_anything_is_stored(world: World) -> None:
    # given
    agent = world.agent(model_id="openai:small")
    # when
    with pytest.raises(ValidationError) as failure:
        world.say(agent, "word " * 6_000)
    # then
    assert failure.value.code == "context_length_exceeded"
    extra = failure.value.extra
    assert extra.pop("actual_tokens") > 6_000
    assert extra == {
        "error": "ContextLengthError",
        "retryable": False,
        "reason": "newest_turn_over_budget",
        "max_tokens": 5_976,
        "context_limit": 8_000,
    }
    assert world.conversations.get(ALICE, THREAD) is None
    assert world.model.requests == []


def test_conversation_over_the_models_budget_is_refused_and_stays_as_it_was(world: World) -> None:
    # given a conversation of about 4,000 tokens
    agent = world.agent(model_id="openai:small")
    world.say(agent, "word " * 4_000)
    before = world.texts()
    # when
    with pytest.raises(ValidationError) as failure:
        world.say(agent, "word " * 3_000)
    # then
    assert failure.value.extra["reason"] == "compression_disabled"
    assert world.texts() == before
    assert len(world.model.requests) == 1
    # and what fits still works
    world.say(agent, "go on")
    assert len(world.transcript()) == 4


def test_parent_must_be_the_newest_message(world: World) -> None:
    # given
    agent = world.agent()
    first = world.say(agent, "one")
    second = world.say(agent, "two", parent_message_id=first.message_id)
    # when
    with pytest.raises(ValidationError) as failure:
        world.say(agent, "three", parent_message_id=first.message_id)
    # then
    assert failure.value.code == "not_active_leaf"
    assert len(world.transcript()) == 4
    world.say(agent, "three", parent_message_id=second.message_id)


def test_parent_in_a_new_conversation_is_refused_and_starts_none(world: World) -> None:
    agent = world.agent()
    with pytest.raises(ValidationError):
        world.say(agent, "hi", "unused", parent_message_id="000000000001-x")
    assert world.conversations.get(ALICE, "unused") is None


@pytest.mark.parametrize(
    "body",
    [
        {},
        {"message": ""},
        {"message": "   \n"},
        {"message": "é" * 131_073},
        {"message": 7},
        {"message": "hi", "conversation_id": "a b"},
        {"message": "hi", "conversation_id": "x" * 129},
        {"message": "hi", "user_id": "bob"},
        {"message": "hi", "variables": {"a b": "c"}},
        {"message": "hi", "variables": {"a": 1}},
        {"message": "hi", "variables": {f"v{i}": "" for i in range(65)}},
    ],
)
def test_malformed_request_is_no_request(body: dict[str, Any]) -> None:
    with pytest.raises(InvalidModelError):
        TurnRequest.model_validate(body, strict=True)


def test_longest_message_is_accepted() -> None:
    assert TurnRequest(message="x" * 262_144).message


def test_variables_fill_the_agents_prompt(world: World) -> None:
    agent = world.agent(system_prompt="You help {{customer}} of {{ company }}. {{unknown}}")
    world.say(agent, "hi", variables={"customer": "{{company}}", "company": "Acme"})
    # a value is no template, and what has no value stays as it is written
    assert "You help {{company}} of Acme. {{unknown}}" in world.model.requests[-1].system


def test_prompt_is_in_order_and_free_of_what_changes(world: World) -> None:
    # given
    agent = world.agent(
        system_prompt="PROMPT", persona="PERSONA", duties="DUTIES", model_id="openai:small"
    )
    world.product.site_settings.set_one("base_instructions", "BASE")
    # when
    first = world.say(agent, "one")
    world.retrieval.found = found(world, "tea")
    world.clock.advance(days=3)
    second = world.say(agent, "two", "thread-2")
    # then
    system = world.model.requests[-1].system
    assert "\n".join(system) == (
        "BASE\n\nYou run on the model openai:small.\nPROMPT\n\nPersona: PERSONA\n\nDuties: DUTIES"
    )
    assert world.model.requests[0].system == system
    assert first.stable_prefix_sha256 == second.stable_prefix_sha256
    assert first.cacheable_tokens == len("\n".join(system).split())
    # and another prompt has another digest
    third = world.say(world.agent(system_prompt="OTHER"), "three", "thread-3")
    assert third.stable_prefix_sha256 != first.stable_prefix_sha256


def test_answer_may_take_the_reserve_of_the_model(world: World) -> None:
    world.say(world.agent(model_id="openai:small"), "hi")
    assert world.model.requests[-1].max_output_tokens == 1_024


def test_user_turns_become_searchable_with_memory_only(world: World) -> None:
    world.say(world.agent(enable_memory=False), "private", "a")
    assert world.memory.pending(ALICE) == []
    world.say(world.agent(enable_memory=True, index_turns=False), "not searchable", "b")
    assert world.memory.pending(ALICE) == []
    world.say(world.agent(), "searchable", "c")
    (mark,) = world.memory.pending(ALICE)
    assert mark.ref == f"c/{world.transcript('c')[0].id}"


def test_turn_in_a_conversation_deleted_meanwhile_writes_nothing(world: World) -> None:
    # given
    agent = world.agent()

    def deleted(_: ChatRequest) -> str:
        world.product.conversations.delete(ALICE, THREAD)
        return "Too late."

    world.model.behave = deleted
    # when
    with pytest.raises(ConflictError):
        world.say(agent, "hello")
    # then
    assert world.conversations.get(ALICE, THREAD) is None
    assert world.transcript() == []


def test_long_conversation_is_read_to_its_end(world: World) -> None:
    # given more messages than a page holds
    agent = world.agent()
    for number in range(60):
        world.say(agent, f"message {number}")
    # then
    contents = [m.content for m in world.model.requests[-1].messages if m.role is Role.USER]
    assert contents == [f"message {number}" for number in range(60)]


def test_title_is_taken_from_the_first_message(world: World) -> None:
    world.say(world.agent(), "Plan my trip to Oslo")
    head = world.conversations.get(ALICE, THREAD)
    assert isinstance(head, Conversation)
    assert head.title == "Plan my trip to Oslo"
