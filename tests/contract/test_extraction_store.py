"""What every extraction store does: due rows, jobs and plans."""

from concurrent.futures import ThreadPoolExecutor
from datetime import datetime
from typing import Any

import pytest

from tests.contract.stores import (
    KINDS,
    NOW,
    USER,
    Stores,
    acquire,
    existing,
    later,
    open_stores,
    real_stores,
    say,
    services,
    stored_bodies,
)
from threadkeep.domain.conversations import Usage
from threadkeep.domain.entities import EntityType
from threadkeep.domain.extraction import (
    DueExtraction,
    ExtractedEntity,
    Extraction,
    Job,
    JobStatus,
    Plan,
    Rejection,
)
from threadkeep.errors import ConflictError, ValidationError
from threadkeep.ports import PageRequest
from threadkeep.storage.table import Table


@pytest.fixture(params=KINDS)
def stores(request: pytest.FixtureRequest) -> Stores:
    """Every kind of stores in turn, with a conversation of each of two users."""
    stores = open_stores(request)
    say(stores, "hello")
    say(stores, "hello", user="u10")
    return stores


def due(
    stores: Stores,
    generation: int = 1,
    *,
    user: str = USER,
    conversation_id: str = "c1",
    due_at: datetime = NOW,
    pending_turns: int = 1,
) -> DueExtraction:
    """Make a due row of a conversation that is there."""
    return DueExtraction(
        user_id=user,
        conversation_id=conversation_id,
        agent_id="a1",
        life=existing(stores, conversation_id, user).life,
        generation=generation,
        due_at=due_at,
        pending_turns=pending_turns,
    )


def job(stores: Stores, job_id: str = "j1", *, user: str = USER, **fields: Any) -> Job:
    """Make a job over c1."""
    life = existing(stores, user=user).life
    values = {"status": JobStatus.RUNNING, "created_at": NOW, "life": life} | fields
    return Job(id=job_id, conversation_id="c1", **values)


def plan(to_seq: int = 1, quote: str = "I like tea") -> Plan:
    """Make a plan of one statement."""
    tea = ExtractedEntity(
        ref="e1",
        name="tea",
        entity_type=EntityType.PREFERENCE,
        properties={"cups": 2.5},
        quote=quote,
        message_id="m1",
    )
    return Plan(
        to_seq=to_seq,
        extraction=Extraction(
            self_name="Ann",
            entities=(tea,),
            rejected=(Rejection(statement="x", message_id="m1", reason="no evidence"),),
        ),
        model_id="offline",
        prompt_hash="abc",
        usage=Usage(input_tokens=1),
    )


def test_due_row_is_replaced_by_who_knows_it(stores: Stores) -> None:
    # Given a due row of generation 3
    first = due(stores, 3, due_at=later(seconds=0.5), pending_turns=2)
    assert stores.extraction.get_due(USER, "c1") is None
    assert stores.extraction.put_due(first, replaces=None)
    assert stores.extraction.get_due(USER, "c1") == first

    # When rows come that know of none or of another, then one that knows it
    late = due(stores, 4)
    assert not stores.extraction.put_due(late, replaces=None)
    assert not stores.extraction.put_due(late, replaces=2)
    assert stores.extraction.get_due(USER, "c1") == first
    put_off = first.model_copy(update={"due_at": later(hours=1)})

    # Then only that one takes its place, also under the same generation
    assert stores.extraction.put_due(put_off, replaces=3)
    assert stores.extraction.put_due(late, replaces=3)
    assert stores.extraction.get_due(USER, "c1") == late
    assert stores.extraction.get_due("u10", "c1") is None


def test_of_many_writers_of_a_due_row_each_generation_has_one(stores: Stores) -> None:
    # Given eight writers who each add one turn, reading and trying again until they are through
    def add_turn(_: int) -> int:
        while True:
            current = stores.extraction.get_due(USER, "c1")
            generation = current.generation if current else 0
            new = due(stores, generation + 1, pending_turns=generation + 1)
            if stores.extraction.put_due(new, replaces=generation or None):
                return new.generation

    # When all do so at the same time
    with ThreadPoolExecutor(8) as pool:
        generations = list(pool.map(add_turn, range(24)))

    # Then no turn was lost and no generation given twice
    assert sorted(generations) == list(range(1, 25))
    last = stores.extraction.get_due(USER, "c1")
    assert last is not None
    assert (last.generation, last.pending_turns) == (24, 24)


def test_only_the_generation_that_was_handled_is_cleared(stores: Stores) -> None:
    # Given a due row that was replaced while its job ran
    handled, newer = due(stores, 1), due(stores, 2)
    stores.extraction.put_due(handled, replaces=None)
    stores.extraction.put_due(newer, replaces=1)

    # When the job clears what it handled
    cleared = stores.extraction.clear_due(handled)

    # Then the newer one stays, until it is cleared itself
    assert not cleared
    assert stores.extraction.get_due(USER, "c1") == newer
    assert not stores.extraction.clear_due(newer.model_copy(update={"life": "another"}))
    assert stores.extraction.clear_due(newer)
    assert stores.extraction.get_due(USER, "c1") is None
    assert not stores.extraction.clear_due(newer)


def test_sweep_finds_what_is_overdue_of_all_users(stores: Stores) -> None:
    # Given rows of two users that are due at different times, one of which was put off
    rows = []
    for number in range(6):
        user = USER if number % 2 else "u10"
        say(stores, "hello", conversation_id=f"d{number}", user=user)
        row = due(stores, user=user, conversation_id=f"d{number}", due_at=later(minutes=6 - number))
        assert stores.extraction.put_due(row, replaces=None)
        rows.append(row)
    put_off = rows[5].model_copy(update={"due_at": later(hours=2)})
    stores.extraction.put_due(put_off, replaces=1)

    # When the sweep looks, at several times
    overdue = stores.extraction.overdue

    # Then it gets those due before, the longest overdue first, up to its limit
    assert overdue(before=later(minutes=2), limit=10) == []
    assert overdue(before=later(minutes=4), limit=10) == [rows[4], rows[3]]
    assert overdue(before=later(hours=1), limit=3) == [rows[4], rows[3], rows[2]]
    assert overdue(before=later(hours=3), limit=10) == [*reversed(rows[:5]), put_off]
    for row in rows[:5]:
        stores.extraction.clear_due(row)
    assert overdue(before=later(hours=3), limit=10) == [put_off]


def test_job_keeps_all_it_says(stores: Stores) -> None:
    # Given a job as it ends
    done = job(
        stores,
        status=JobStatus.DONE,
        model_id="bedrock:m",
        prompt_hash="abc",
        usage=Usage(input_tokens=5, output_tokens=7),
        from_seq=1,
        to_seq=4,
        stored=2,
        merged=1,
        rejected=(Rejection(statement="café ☕", reason="a question"),),
        attempts=1,
        finished_at=later(minutes=1),
    )
    stores.extraction.put_job(USER, job(stores))

    # When it is stored over its former state
    stores.extraction.put_job(USER, done)

    # Then it reads back equal, for its owner only
    assert stores.extraction.get_job(USER, "j1") == done
    assert stores.extraction.get_job("u10", "j1") is None
    assert stores.extraction.get_job(USER, "none") is None


def test_jobs_are_listed_newest_first(stores: Stores) -> None:
    # Given jobs whose ids say nothing of their age
    for number, name in enumerate(["m", "z", "a", "q", "b"]):
        stores.extraction.put_job(USER, job(stores, name, created_at=later(minutes=number)))
    stores.extraction.put_job(USER, job(stores, "m", status=JobStatus.DONE))
    stores.extraction.put_job("u10", job(stores, "other", user="u10"))

    # When they are listed two by two
    found, position, total = [], None, None
    while True:
        request = PageRequest(limit=2, position=position, with_total=position is None)
        page = stores.extraction.list_jobs(USER, request)
        found += [one.id for one in page.items]
        total = page.total if total is None else total
        position = page.next_position
        if position is None:
            break

    # Then each is there once, by its creation
    assert found == ["b", "q", "a", "z", "m"]
    assert total == 5
    with pytest.raises(ValidationError) as failure:
        stores.extraction.list_jobs(USER, PageRequest(position={"SK": "x", "L1": "C#"}))
    assert failure.value.code == "invalid_cursor"


def test_plan_is_stored_once_and_redeliveries_get_it(stores: Stores) -> None:
    # Given a job without a plan
    stores.extraction.put_job(USER, job(stores))
    assert stores.extraction.get_plan(USER, "j1") is None

    # When deliveries come with plans of their own at the same time
    plans = [plan(to_seq=n) for n in range(1, 9)]
    with ThreadPoolExecutor(8) as pool:
        got = list(pool.map(lambda one: stores.extraction.save_plan(USER, "j1", one), plans))

    # Then all of them go on with the same one
    stored = stores.extraction.get_plan(USER, "j1")
    assert stored in plans
    assert got == [stored] * 8
    assert stores.extraction.save_plan(USER, "j1", plan(to_seq=99)) == stored
    assert stores.extraction.get_plan("u10", "j1") is None


def test_plan_needs_a_job(stores: Stores) -> None:
    # Given no job
    # When a plan is stored for one
    with pytest.raises(ConflictError):
        stores.extraction.save_plan(USER, "j1", plan())

    # Then there is none
    assert stores.extraction.get_plan(USER, "j1") is None


def test_large_plans_and_jobs_read_back_whole(stores: Stores) -> None:
    # Given a plan and a job's record of a megabyte each
    large = plan(quote="é" * 500_000)
    rejected = tuple(Rejection(statement="x" * 1000, reason=f"{n}") for n in range(1000))
    record = job(stores, rejected=rejected)

    # When they are stored
    stores.extraction.put_job(USER, record)
    saved = stores.extraction.save_plan(USER, "j1", large)

    # Then nothing of them is lost
    assert saved == large
    assert stores.extraction.get_plan(USER, "j1") == large
    assert stores.extraction.get_job(USER, "j1") == record
    assert list(stores.extraction.list_jobs(USER, PageRequest()).items) == [record]


# What only a real store can get wrong


def test_large_plan_that_came_second_leaves_no_body(table: Table, emulator: str) -> None:
    # Given a job whose plan is stored
    stores = real_stores(table, emulator)
    say(stores, "hello")
    stores.extraction.put_job(USER, job(stores))
    first = stores.extraction.save_plan(USER, "j1", plan())

    # When another delivery has made a large one
    got = stores.extraction.save_plan(USER, "j1", plan(quote="x" * 400_000))

    # Then it gets the first, and its own is taken back
    assert got == first
    assert stored_bodies(stores) == []


def test_turn_at_the_same_time_is_not_too_late(table: Table, emulator: str) -> None:
    # Given a conversation to which a turn is written all the time
    stores = real_stores(table, emulator)
    acquire(stores)
    services(stores)
    life = existing(stores).life

    def write() -> list[bool]:
        move = stores.conversations.advance_extracted
        return [move(USER, "c1", life, from_seq=n, to_seq=n + 1) for n in range(20)]

    # When its due row is moved on meanwhile
    with ThreadPoolExecutor(1) as pool:
        writing = pool.submit(write)
        stored = [
            stores.extraction.put_due(due(stores, n + 1), replaces=n or None) for n in range(20)
        ]

    # Then neither refuses because of the other
    assert all(stored)
    assert all(writing.result())
