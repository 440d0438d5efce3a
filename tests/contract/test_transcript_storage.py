"""How messages are stored: what only a real store can get wrong."""

from concurrent.futures import ThreadPoolExecutor

import pytest

from tests.contract.faults import WorkerDiedError, dying
from tests.contract.stores import (
    NOW,
    USER,
    Stores,
    acquire,
    existing,
    later,
    message,
    real_stores,
    services,
    stored_bodies,
    tool_round,
    transcript,
)
from threadkeep.errors import ConflictError
from threadkeep.storage.table import Table


@pytest.fixture
def real(table: Table, emulator: str) -> Stores:
    """Stores on the emulator."""
    return real_stores(table, emulator)


@pytest.mark.parametrize("after", [False, True])
def test_crash_between_transactions_leaves_a_valid_transcript(real: Stores, after: bool) -> None:
    # Given rounds that together take several transactions, and a worker that dies at the second
    lease = acquire(real)
    rounds = [
        tool_round(1 + 41 * n, 40, content=f"{n}") for n in range(4)
    ]  # ids repeat in each round
    messages = [one for round_ in rounds for one in round_]

    # When they are appended
    with (
        dying(*services(real), at=2, answer_lost=after, of="TransactWriteItems") as worker,
        pytest.raises(WorkerDiedError),
    ):
        real.conversations.append(USER, lease, messages, at=NOW)

    # Then what is there is whole rounds, and the writer can go on from there
    stored = transcript(real)
    assert stored == messages[: len(stored)]
    assert len(stored) % 41 == 0
    assert worker.made == 2
    assert len(stored) == (164 if after else 82)
    assert existing(real).next_seq == len(stored) + 1


def test_tool_round_that_crowds_a_transaction_is_stored_as_one(real: Stores) -> None:
    # Given a call with 40 results of 200 KB: 8 MB, more than a transaction takes
    lease = acquire(real)
    round_ = tool_round(1, 40, "r" * 200_000)

    # When the round is stored
    with dying(*services(real), at=0, of="TransactWriteItems") as worker:
        real.conversations.append(USER, lease, round_, at=NOW)

    # Then it took one transaction, and reads back whole
    assert worker.made == 1
    assert transcript(real) == round_


def test_body_of_a_writer_that_was_fenced_off_is_taken_back(real: Stores) -> None:
    # Given a lease that was taken over, and the number of bodies in the bucket
    late = acquire(real, seconds=60)
    acquire(real, now=later(seconds=60))

    # When its holder appends a message with a large body
    with pytest.raises(ConflictError):
        real.conversations.append(USER, late, [message(1, "x" * 400_000)], at=later(seconds=61))

    # Then no body is left behind
    assert stored_bodies(real) == []


def test_passing_writer_at_the_head_does_not_cost_the_turn(real: Stores) -> None:
    # Given a head that the watermark is moved on while a turn is stored
    lease = acquire(real)
    life = lease.life

    # When both go on at the same time
    with ThreadPoolExecutor(2) as pool:
        moves = pool.submit(
            lambda: [
                real.conversations.advance_extracted(USER, "c1", life, from_seq=n, to_seq=n + 1)
                for n in range(30)
            ]
        )
        for n in range(1, 31):
            real.conversations.append(USER, lease, [message(n)], at=NOW)
        assert moves.result() == [True] * 30

    # Then neither lost anything to the other
    assert [m.seq for m in transcript(real)] == list(range(1, 31))
    assert existing(real).extracted_seq == 30
