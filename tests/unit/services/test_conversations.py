"""Conversations outside of a turn."""

from __future__ import annotations

from datetime import timedelta
from typing import TYPE_CHECKING

import pytest

from tests.fakes.clock import FakeClock
from tests.fakes.conversations import FakeConversationStore
from tests.fakes.memory import FakeMemoryStore
from tests.world import ALICE, BOB, THREAD, World
from threadkeep.errors import NotFoundError, PreconditionFailedError
from threadkeep.ports import PageRequest
from threadkeep.services.conversations import Conversations

if TYPE_CHECKING:
    from collections.abc import Sequence
    from datetime import datetime


@pytest.fixture
def world() -> World:
    return World()


@pytest.fixture
def conversations(world: World) -> Conversations:
    return world.product.conversations


def test_conversations_are_listed_by_newest_activity(
    world: World, conversations: Conversations
) -> None:
    agent = world.agent()
    for thread in ("a", "b", "c", "a"):
        world.clock.advance(seconds=1)
        world.say(agent, "hi", thread)
    listed = conversations.list(ALICE, PageRequest()).items
    assert [c.id for c in listed] == ["a", "c", "b"]
    assert [c.message_count for c in listed] == [4, 2, 2]
    assert conversations.list(BOB, PageRequest()).items == []


def test_messages_are_paged_in_order_with_an_exact_total(
    world: World, conversations: Conversations
) -> None:
    agent = world.agent()
    for number in range(3):
        world.say(agent, f"m{number}")
    page = conversations.messages(ALICE, THREAD, PageRequest(limit=2, skip=2, with_total=True))
    assert [m.seq for m in page.items] == [3, 4]
    assert page.total == 6
    rest = conversations.messages(ALICE, THREAD, PageRequest(position=page.next_position))
    assert [m.seq for m in rest.items] == [5, 6]


def test_what_is_not_there_or_someone_elses_is_not_found(
    world: World, conversations: Conversations
) -> None:
    world.say(world.agent(), "hi")
    for attempt in (
        lambda: conversations.get(BOB, THREAD),
        lambda: conversations.messages(BOB, THREAD, PageRequest()),
        lambda: conversations.rename(BOB, THREAD, "x", None),
        lambda: conversations.delete(BOB, THREAD),
        lambda: conversations.get(ALICE, "unheard-of"),
    ):
        with pytest.raises(NotFoundError):
            attempt()
    assert conversations.get(ALICE, THREAD).message_count == 2


def test_rename_makes_a_version_and_respects_if_match(
    world: World, conversations: Conversations
) -> None:
    # given
    world.say(world.agent(), "hi")
    before = conversations.get(ALICE, THREAD)
    # when
    renamed = conversations.rename(ALICE, THREAD, "Trip", [before.version])
    # then
    assert (renamed.title, renamed.version) == ("Trip", before.version + 1)
    assert conversations.rename(ALICE, THREAD, "Trip", None) == renamed
    with pytest.raises(PreconditionFailedError):
        conversations.rename(ALICE, THREAD, "Other", [before.version])
    assert conversations.get(ALICE, THREAD).title == "Trip"


def test_deleted_id_can_be_used_again_and_starts_empty(
    world: World, conversations: Conversations
) -> None:
    agent = world.agent()
    world.say(agent, "first life")
    conversations.delete(ALICE, THREAD)
    with pytest.raises(NotFoundError):
        conversations.get(ALICE, THREAD)
    world.say(agent, "second life")
    assert world.texts() == [("user", "second life"), ("assistant", "Understood.")]
    assert [m.content for m in world.model.requests[-1].messages] == ["second life"]


class LostWorkers(FakeConversationStore):
    """Has deletions that were begun and never completed, by the time when they were begun."""

    def __init__(self, begun: dict[tuple[str, str], datetime]) -> None:
        super().__init__(FakeMemoryStore())
        self.begun = begun

    def unfinished_deletions(self, *, before: datetime, limit: int) -> Sequence[tuple[str, str]]:
        """Return those begun before a time."""
        return [key for key, at in self.begun.items() if at < before][:limit]

    def finish_deletion(self, user_id: str, conversation_id: str) -> None:
        """Complete one."""
        del self.begun[user_id, conversation_id]


def test_sweep_completes_deletions_that_lost_their_worker_and_leaves_running_ones() -> None:
    # GIVEN a deletion begun long ago and one whose worker may still run
    clock = FakeClock()
    store = LostWorkers({(ALICE, "running"): clock.now() + timedelta(minutes=9)})
    store.begun[BOB, "lost"] = clock.now()
    clock.advance(minutes=11)
    # WHEN the sweep runs
    completed = Conversations(store, clock).finish_deletions()
    # THEN only the old one was completed
    assert completed == 1
    assert list(store.begun) == [(ALICE, "running")]
