"""What every conversation store does when a conversation is deleted."""

import re
import threading
from concurrent.futures import ThreadPoolExecutor

import pytest

from tests.contract.memories import commit, entity, stored, stored_relation, support
from tests.contract.stores import (
    KINDS,
    NOW,
    USER,
    Stores,
    acquire,
    due_of,
    existing,
    job_of,
    later,
    learn,
    message,
    open_stores,
    say,
    transcript,
)
from threadkeep.domain.changes import CreateEntity, Step
from threadkeep.domain.extraction import Extraction, JobStatus, Plan
from threadkeep.domain.retrieval import DocumentKind
from threadkeep.errors import ConflictError
from threadkeep.ports import PageRequest

RANDOM = re.compile("[0-9a-f]{32}")


@pytest.fixture(params=KINDS)
def stores(request: pytest.FixtureRequest) -> Stores:
    """Every kind of stores in turn, empty."""
    return open_stores(request)


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


def test_conversation_of_another_version_stays(stores: Stores) -> None:
    # Given
    said = say(stores, "I like tea")
    version = existing(stores).version
    # When
    with pytest.raises(ConflictError):
        stores.conversations.delete(USER, "c1", at=later(hours=1), expected_version=version - 1)
    # Then
    assert transcript(stores) == said
    assert stores.conversations.delete(USER, "c1", at=later(hours=1), expected_version=version)


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
