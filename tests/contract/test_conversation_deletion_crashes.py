"""A conversation is deleted completely and nothing else, whoever dies or comes in between."""

import re
from collections.abc import Callable
from typing import Any

import pytest

from tests.contract.emulated import all_keys, new_table
from tests.contract.faults import WorkerDiedError, dying
from tests.contract.memories import stored, stored_relation
from tests.contract.stores import (
    NOW,
    USER,
    Stores,
    acquire,
    existing,
    job_of,
    later,
    learn,
    message,
    real_stores,
    say,
    services,
    stored_bodies,
    transcript,
)
from threadkeep.domain.extraction import Extraction, Plan
from threadkeep.domain.retrieval import DocumentKind
from threadkeep.ports import PageRequest
from threadkeep.storage import keys
from threadkeep.storage.table import Table

RANDOM = re.compile("[0-9a-f]{32}")


@pytest.fixture
def real(table: Table, emulator: str) -> Stores:
    """Stores on the emulator."""
    return real_stores(table, emulator)


def build(stores: Stores) -> None:
    """Make a conversation that has something of every kind in more rows than one step takes."""
    messages = say(stores, "I like tea", *(f"text {n}" for n in range(40)), index=True)
    say(stores, "x" * 400_000)
    life = existing(stores).life
    learn(stores, messages[0], life)
    big = Extraction(self_name="n" * 400_000)
    stores.extraction.put_job(USER, job_of(life, "j2"))
    stores.extraction.save_plan(USER, "j2", Plan(to_seq=9, extraction=big))


def everything(stores: Stores) -> tuple[Any, ...]:
    """Return all that is left in table and bucket, and what readers see of it."""
    table, _ = services(stores)
    me, likes = stored(stores.memory, "me"), stored_relation(stores.memory, "r1")
    return (
        {(pk, RANDOM.sub("*", sk)) for pk, sk in all_keys(table)},
        stored_bodies(stores),
        {(RANDOM.sub("*", mark.ref), mark.deleted) for mark in stores.memory.pending(USER)},
        (me.evidence, me.sources_count, likes.sources, likes.sources_count),
    )


def test_nothing_is_left_of_a_deleted_conversation(real: Stores) -> None:
    # Given a conversation with something of every kind
    build(real)
    table, _ = services(real)
    assert len(stored_bodies(real)) == 2

    # When it is deleted
    real.conversations.delete(USER, "c1", at=later(hours=1))

    # Then its partition, its list and due rows, its jobs and bodies are gone
    left = all_keys(table)
    assert not [row for row in left if row[0] == keys.thread(USER, "c1")]
    assert not [row for row in left if row[0] == keys.jobs(USER)]
    assert not [row for row in left if row[1].startswith(("C#", "DC#", "DUE#"))]
    assert stored_bodies(real) == []


@pytest.mark.slow
@pytest.mark.parametrize("answer_lost", [False, True])
def test_worker_that_dies_anywhere_leaves_what_a_retry_completes(
    emulator: str, answer_lost: bool
) -> None:
    # Given how many requests a deletion makes, and what is left after it
    undisturbed = real_stores(new_table(emulator), emulator)
    build(undisturbed)
    with dying(*services(undisturbed), at=0) as worker:
        undisturbed.conversations.delete(USER, "c1", at=later(hours=1))
    expected = everything(undisturbed)
    assert worker.made > 12

    for at in range(1, worker.made + 1):
        # When a worker dies at any of them
        stores = real_stores(new_table(emulator), emulator)
        build(stores)
        with (
            dying(*services(stores), at=at, answer_lost=answer_lost),
            pytest.raises(WorkerDiedError),
        ):
            stores.conversations.delete(USER, "c1", at=later(hours=1))

        # Then the conversation is there as it was, or gone to every reader
        if stores.conversations.get(USER, "c1") is not None:
            assert len(transcript(stores)) == 42
            assert stores.conversations.delete(USER, "c1", at=later(hours=1))
        assert transcript(stores) == []
        assert not stores.conversations.list(USER, PageRequest()).items
        assert stores.extraction.get_job(USER, "j1") is None

        # And the sweep finds what is unfinished and completes it
        unfinished = stores.conversations.unfinished_deletions(before=later(hours=2), limit=10)
        for user_id, conversation_id in unfinished:
            stores.conversations.finish_deletion(user_id, conversation_id)
        assert everything(stores) == expected, f"died at request {at}"


@pytest.mark.parametrize("transaction", [2, 4, 5, 6, 7])
def test_sweep_that_was_overtaken_leaves_the_next_life_alone(
    real: Stores, transaction: int
) -> None:
    # Given a worker that is held up in the middle of a sweep
    build(real)
    table, _ = services(real)

    def overtake() -> None:
        real.conversations.finish_deletion(USER, "c1")
        say(real, *(f"new {n}" for n in range(50)), index=True)

    held_up = HeldUp(table, at=transaction, meanwhile=overtake)

    # When another completes it, the id is used again, and then the first goes on
    assert real.conversations.delete(USER, "c1", at=later(hours=1))

    # Then the next life has lost nothing
    assert held_up.is_over
    assert [m.content for m in transcript(real)] == [f"new {n}" for n in range(50)]
    fresh = [mark for mark in real.memory.pending(USER) if not mark.deleted]
    assert len([mark for mark in fresh if mark.kind is DocumentKind.EPISODE]) == 50


def test_message_that_slips_in_before_the_deletion_is_marked_above_its_place(real: Stores) -> None:
    # Given a deletion that is on its way
    lease = acquire(real)
    real.conversations.append(USER, lease, [message(1)], at=NOW, index=True)
    table, _ = services(real)

    def slip_in() -> None:
        turn = [message(2), message(3), message(4)]
        real.conversations.append(USER, lease, turn, at=NOW, index=True)

    slipped_in = HeldUp(table, at=1, meanwhile=slip_in)

    # When a turn is stored before it arrives
    assert real.conversations.delete(USER, "c1", at=later(hours=1))

    # Then the index is told of its messages, too, above any revision that they can have had there
    assert slipped_in.is_over
    marks = real.memory.pending(USER)
    assert len(marks) == 4
    assert all(mark.deleted and mark.revision > 4 for mark in marks)


def test_new_life_waits_for_the_sweep_of_the_former_one(real: Stores) -> None:
    # Given a deletion whose worker died after its first step
    build(real)
    with dying(*services(real), at=4), pytest.raises(WorkerDiedError):
        real.conversations.delete(USER, "c1", at=later(hours=1))
    unfinished = real.conversations.unfinished_deletions
    assert unfinished(before=later(hours=2), limit=10) == [(USER, "c1")]
    assert unfinished(before=later(minutes=59), limit=10) == []

    # When the id is used again
    lease = acquire(real, now=later(hours=2))

    # Then the former life was swept away first, and nothing of it is in the way
    assert unfinished(before=later(hours=3), limit=10) == []
    assert stored_bodies(real) == []
    real.conversations.append(USER, lease, [message(1, "new")], at=later(hours=2))
    assert [m.content for m in transcript(real)] == ["new"]


def test_conversation_of_any_size_is_deleted(real: Stores) -> None:
    # Given 1,250 messages, all searchable and indexed
    lease = acquire(real)
    real.conversations.append(USER, lease, [message(n) for n in range(1, 1251)], at=NOW, index=True)
    real.memory.clear_pending(USER, real.memory.pending(USER))
    table, _ = services(real)

    # When a worker deletes it, dies half-way, and another completes it
    with dying(table, at=25, of="TransactWriteItems"), pytest.raises(WorkerDiedError):
        real.conversations.delete(USER, "c1", at=NOW)
    assert transcript(real) == []
    real.conversations.finish_deletion(USER, "c1")

    # Then the only rows left tell the index what is gone
    left = all_keys(table)
    assert len(left) == 1250
    assert {mark.deleted for mark in real.memory.pending(USER)} == {True}


class HeldUp:
    """Lets something happen while one transaction of a table is on its way.

    Args:
        table: The table.
        at: Number of the transaction, from 1.
        meanwhile: What happens, once.
    """

    def __init__(self, table: Table, *, at: int, meanwhile: Callable[[], None]) -> None:
        self._left = at
        self._meanwhile = meanwhile
        table.client.meta.events.register("before-call.dynamodb.TransactWriteItems", self._on_call)

    @property
    def is_over(self) -> bool:
        """Whether it has happened."""
        return self._left <= 0

    def _on_call(self, **_: Any) -> None:
        self._left -= 1
        if self._left == 0:
            self._meanwhile()
