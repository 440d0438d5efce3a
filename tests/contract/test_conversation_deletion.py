"""What every conversation store does when a conversation is deleted."""

import re
import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING, Any

import pytest

from tests.contract.emulated import all_keys, new_table
from tests.contract.faults import WorkerDiedError, dying
from tests.contract.memories import commit, entity, relation, stored, stored_relation, support
from tests.contract.stores import (
    KINDS,
    NOW,
    USER,
    Stores,
    acquire,
    existing,
    later,
    message,
    open_stores,
    real_stores,
    say,
    services,
    stored_bodies,
    transcript,
)
from threadkeep.domain.changes import CreateEntity, CreateRelation, Step
from threadkeep.domain.conversations import Message
from threadkeep.domain.extraction import DueExtraction, Extraction, Job, JobStatus, Plan
from threadkeep.domain.retrieval import DocumentKind
from threadkeep.errors import ConflictError
from threadkeep.ports import PageRequest
from threadkeep.storage import keys
from threadkeep.storage.table import Table

if TYPE_CHECKING:
    from threadkeep.domain.changes import Change

RANDOM = re.compile("[0-9a-f]{32}")


@pytest.fixture(params=KINDS)
def stores(request: pytest.FixtureRequest) -> Stores:
    """Every kind of stores in turn, empty."""
    return open_stores(request)


@pytest.fixture
def real(table: Table, emulator: str) -> Stores:
    """Stores on the emulator."""
    return real_stores(table, emulator)


def job_of(life: str, job_id: str = "j1", **fields: Any) -> Job:
    """Make a job over c1."""
    values = {"status": JobStatus.RUNNING, "created_at": NOW} | fields
    return Job(id=job_id, conversation_id="c1", life=life, **values)


def due_of(life: str, generation: int = 1) -> DueExtraction:
    """Make a due row of c1."""
    return DueExtraction(
        user_id=USER,
        conversation_id="c1",
        agent_id="a1",
        life=life,
        generation=generation,
        due_at=NOW,
    )


def learn(stores: Stores, source: Message, life: str) -> None:
    """Store two entities and what relates them as a job does, with the words of a message."""
    turn = f"c1/{source.id}"
    stores.extraction.put_due(due_of(life), replaces=None)
    stores.extraction.put_job(USER, job_of(life))
    stores.extraction.save_plan(USER, "j1", Plan(to_seq=1, extraction=Extraction()))
    changes: list[Change] = [
        CreateEntity(entity("me"), support(turn, "I like tea")),
        CreateEntity(entity("tea"), support(turn, "tea")),
        CreateRelation(relation("r1", "me", "tea"), support(turn, "like tea")),
    ]
    for number, change in enumerate(changes):
        commit(stores.memory, change, step=Step("j1", "c1", life, number, "stored"))


def test_deleted_conversation_is_gone_from_every_surface(stores: Stores) -> None:
    # Given a conversation with messages, a job and something due, beside another one
    messages = say(stores, "I like tea", "and cake", index=True)
    other = say(stores, "hello", conversation_id="c2")
    life = existing(stores).life
    learn(stores, messages[0], life)

    # When it is deleted
    assert stores.conversations.delete(USER, "c1", at=later(hours=1))

    # Then nothing shows it, and a second deletion finds nothing
    assert stores.conversations.get(USER, "c1") is None
    assert [c.id for c in stores.conversations.list(USER, PageRequest()).items] == ["c2"]
    assert transcript(stores) == []
    assert stores.conversations.get_messages(USER, [("c1", m.id) for m in messages]) == {}
    assert stores.extraction.get_due(USER, "c1") is None
    assert stores.extraction.get_job(USER, "j1") is None
    assert list(stores.extraction.list_jobs(USER, PageRequest()).items) == []
    assert stores.extraction.get_plan(USER, "j1") is None
    assert stores.memory.steps(USER, "j1") == []
    assert not stores.conversations.delete(USER, "c1", at=later(hours=2))
    assert transcript(stores, "c2") == other


def test_what_was_learned_stays_without_the_words(stores: Stores) -> None:
    # Given an entity and a relation that a message supports, the entity being indexed
    [said] = say(stores, "I like tea")
    learn(stores, said, existing(stores).life)
    before = stored(stores.memory, "me")
    assert before.evidence[0].quote == "I like tea"
    stores.memory.clear_pending(USER, stores.memory.pending(USER))

    # When the conversation is deleted
    stores.conversations.delete(USER, "c1", at=later(hours=1))

    # Then both stay, the source still counts, the quotes are gone
    me, likes = stored(stores.memory, "me"), stored_relation(stores.memory, "r1")
    assert (me.evidence, likes.sources) == ((), ())
    assert (me.sources_count, likes.sources_count) == (1, 1)
    assert stores.memory.entity_sources(USER, "me") == {f"c1/{said.id}"}
    # And the entities are marked at a new revision: the index holds the words, too
    marks = {mark.ref: mark for mark in stores.memory.pending(USER)}
    assert marks.keys() == {"me", "tea"}
    assert marks["me"].revision == me.revision > before.revision
    assert me.version == before.version
    assert not marks["me"].deleted


def test_index_is_told_of_every_episode_that_is_gone(stores: Stores) -> None:
    # Given searchable and other messages, some of which are indexed by now
    searchable = say(stores, "one", "two", index=True)
    stores.memory.clear_pending(USER, stores.memory.pending(USER))
    searchable += say(stores, "three", index=True)
    say(stores, "not searchable")

    # When the conversation is deleted
    stores.conversations.delete(USER, "c1", at=later(hours=1))

    # Then each searchable one is marked as deleted, above every revision that it can have had
    marks = stores.memory.pending(USER)
    assert {mark.ref for mark in marks} == {f"c1/{m.id}" for m in searchable}
    assert {(mark.kind, mark.deleted) for mark in marks} == {(DocumentKind.EPISODE, True)}
    assert min(mark.revision for mark in marks) > 4


def test_used_again_an_id_starts_empty_and_its_former_life_writes_nothing(stores: Stores) -> None:
    # Given a writer and a job of a conversation that is deleted meanwhile
    late = acquire(stores)
    stores.conversations.append(USER, late, [message(1, "old")], at=NOW)
    stores.extraction.put_job(USER, job_of(late.life))
    stores.conversations.delete(USER, "c1", at=later(hours=1))

    # When the id is used again
    [new] = say(stores, "new", at=later(hours=2))
    life = existing(stores).life
    assert life != late.life

    # Then what is left of the former life fails at every write
    with pytest.raises(ConflictError) as turn:
        stores.conversations.append(USER, late, [message(2, "late")], at=later(hours=3))
    assert turn.value.code == "lease_lost"
    stores.conversations.release(USER, late)
    move = stores.conversations.advance_extracted
    assert not move(USER, "c1", late.life, from_seq=0, to_seq=1)
    assert not stores.extraction.put_due(due_of(late.life), replaces=None)
    with pytest.raises(ConflictError) as job:
        stores.extraction.put_job(USER, job_of(late.life, status=JobStatus.DONE))
    with pytest.raises(ConflictError) as plan:
        stores.extraction.save_plan(USER, "j1", Plan(to_seq=1, extraction=Extraction()))
    assert (job.value.code, plan.value.code) == ("life_ended", "life_ended")
    fact = CreateEntity(entity("e1"), support("c1/m1", "old"))
    with pytest.raises(ConflictError):
        commit(stores.memory, fact, step=Step("j1", "c1", late.life, 0))
    # And the new life is as if there had been none before
    assert transcript(stores) == [new]
    assert new.seq == 1
    assert (existing(stores).created_at, existing(stores).message_count) == (later(hours=2), 1)
    assert (existing(stores).title, existing(stores).extracted_seq) == ("new", 0)
    assert stores.extraction.get_due(USER, "c1") is None
    assert stores.extraction.put_due(due_of(life), replaces=None)


def test_deletion_meets_a_turn_and_one_of_them_is_first(stores: Stores) -> None:
    # Given a turn that goes on while its conversation is deleted
    lease = acquire(stores)
    barrier = threading.Barrier(2)

    def write() -> None:
        barrier.wait()
        for place in range(1, 20):
            stores.conversations.append(USER, lease, [message(place)], at=NOW, index=True)

    # When both run
    with ThreadPoolExecutor(1) as pool:
        turn = pool.submit(write)
        barrier.wait()
        assert stores.conversations.delete(USER, "c1", at=NOW)
        failure = turn.exception()

    # Then the turn ended at the latest with the deletion, and nothing of it is left
    assert failure is None or isinstance(failure, ConflictError)
    assert stores.conversations.get(USER, "c1") is None
    assert transcript(stores) == []
    assert all(mark.deleted for mark in stores.memory.pending(USER))


def test_deletion_takes_nothing_of_other_users_or_conversations(stores: Stores) -> None:
    # Given conversations whose ids are prefixes of each other, also of another user
    for user in ("u1", "u10"):
        for name in ("c1", "c10", "c1.", "C1"):
            say(stores, f"{user} {name}", conversation_id=name, user=user)

    # When one is deleted
    stores.conversations.delete("u1", "c1", at=NOW)

    # Then all others are as they were
    left = {
        (user, c.id): [m.content for m in transcript(stores, c.id, user=user)]
        for user in ("u1", "u10")
        for c in stores.conversations.list(user, PageRequest()).items
    }
    assert left.keys() == {("u10", "c1")} | {
        (user, name) for user in ("u1", "u10") for name in ("c10", "c1.", "C1")
    }
    assert all(said == [f"{user} {name}"] for (user, name), said in left.items())


# What only a real store can get wrong


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
