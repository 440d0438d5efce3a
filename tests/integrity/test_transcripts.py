"""Transcripts: complete, in order, and free of recalled memory."""

from __future__ import annotations

from threading import Thread

import pytest

from tests.world import ALICE, World
from threadkeep.domain.conversations import Role
from threadkeep.domain.prompting import RECALL_MARK
from threadkeep.errors import ConflictError


@pytest.fixture
def world() -> World:
    return World()


def test_next_turn_reads_the_whole_history_at_once(world: World) -> None:
    """T46: what was just written is never taken for a new thread."""
    agent = world.agent()
    for number in range(30):
        world.say(agent, f"message {number}")
        sent = world.model.requests[-1].messages
        asked = [m.content for m in sent if m.role is Role.USER]
        assert asked == [f"message {n}" for n in range(number + 1)]


def test_writers_at_the_same_moment_make_one_order_with_pairs_intact(world: World) -> None:
    """T47: two instances, one second, ten turns each."""
    # given
    agent = world.agent()

    def write(name: str) -> None:
        for number in range(10):
            while True:
                try:
                    world.say(agent, f"{name} {number}")
                    break
                except ConflictError as error:
                    assert error.code == "conversation_busy"

    world.model.behave = lambda request: f"re: {request.messages[-1].content}"
    # when
    writers = [Thread(target=write, args=(name,)) for name in ("left", "right")]
    for writer in writers:
        writer.start()
    for writer in writers:
        writer.join(60)
    # then
    stored = world.transcript()
    assert [m.seq for m in stored] == list(range(1, 41))
    for asked, answered in zip(stored[::2], stored[1::2], strict=True):
        assert (asked.role, answered.role) == (Role.USER, Role.ASSISTANT)
        assert answered.content == f"re: {asked.content}"
        assert answered.parent_id == asked.id
    for name in ("left", "right"):
        mine = [m.content for m in stored if m.content.startswith(name)]
        assert mine == [f"{name} {number}" for number in range(10)]


def test_recalled_memory_never_piles_up(world: World) -> None:
    """T48: 20 turns with recall hold one block in the prompt and none in the transcript."""
    # given
    world = World.real()
    agent = world.agent()
    world.say(agent, "I prefer dark roast coffee", "before")
    world.settle()
    # when
    for number in range(20):
        world.say(agent, f"which coffee today? {number}", "chat")
        request = world.model.requests[-1]
        # then
        assert request.context.count("Notes from the user's memory") == 1
        assert all(RECALL_MARK not in m.content for m in request.messages)
        assert all(RECALL_MARK not in block for block in request.system)
    assert all(RECALL_MARK not in m.content for m in world.transcript("chat"))
    assert world.conversations.get(ALICE, "chat") is not None


def test_bytes_before_the_newest_message_do_not_change_with_what_is_recalled() -> None:
    """T16: two turns with different recalls share their prefix."""
    # given
    world = World.real()
    agent = world.agent(system_prompt="Be brief.")
    world.say(agent, "I prefer dark roast coffee. I use Postgres.", "before")
    world.settle()
    # when
    first = world.say(agent, "which coffee?", "chat")
    one = world.model.requests[-1]
    second = world.say(agent, "which database?", "chat")
    two = world.model.requests[-1]
    # then
    assert one.context != two.context
    assert one.system == two.system
    assert first.stable_prefix_sha256 == second.stable_prefix_sha256
    assert [m.content for m in two.messages[: len(one.messages)]] == [
        m.content for m in one.messages
    ]
