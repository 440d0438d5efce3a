"""What every store of idempotency records does."""

from concurrent.futures import ThreadPoolExecutor
from datetime import datetime, timedelta
from random import Random

import pytest

from tests.contract.emulated import all_keys
from tests.contract.stores import KINDS, NOW, later
from tests.fakes.idempotency import FakeIdempotencyStore
from threadkeep.ports import (
    Fresh,
    IdempotencyStore,
    InProgress,
    OtherBody,
    Replay,
    StoredAnswer,
)
from threadkeep.storage import keys
from threadkeep.storage.idempotency import DynamoIdempotencyStore
from threadkeep.storage.table import Table

ROUTE = "POST /api/v1/memories/entities"
ANSWER = StoredAnswer(201, {"etag": '"v1"', "location": "/x"}, '{"name": "café ☕"}')


@pytest.fixture(params=KINDS)
def store(request: pytest.FixtureRequest) -> IdempotencyStore:
    """Every store in turn, empty."""
    if request.param == "fake":
        return FakeIdempotencyStore()
    return DynamoIdempotencyStore(request.getfixturevalue("table"))


def begin(
    store: IdempotencyStore,
    key: str = "k1",
    *,
    user: str = "u1",
    route: str = ROUTE,
    body_hash: str = "b1",
    now: datetime = NOW,
) -> Fresh | Replay | InProgress | OtherBody:
    """Begin a request that may take 30 seconds."""
    return store.begin(
        user, route, key, body_hash=body_hash, now=now, deadline=now + timedelta(seconds=30)
    )


def claim(store: IdempotencyStore, key: str = "k1", now: datetime = NOW) -> Fresh:
    """Begin a request that must be fresh."""
    fresh = begin(store, key, now=now)
    assert isinstance(fresh, Fresh)
    return fresh


def test_first_answer_is_replayed_for_a_day(store: IdempotencyStore) -> None:
    # Given a request that has run
    fresh = claim(store)
    store.finish("u1", ROUTE, "k1", fresh, ANSWER)

    # When it comes again, until a day after it began
    again = [begin(store, now=later(hours=hours)) for hours in (0, 1, 23.999)]

    # Then it gets the first answer; after the day it runs again
    assert again == [Replay(ANSWER)] * 3
    assert isinstance(begin(store, now=later(hours=24)), Fresh)


def test_request_that_runs_is_not_run_twice(store: IdempotencyStore) -> None:
    # Given a request that runs
    claim(store)

    # When it comes again before its deadline
    again = begin(store, now=later(seconds=29.9))

    # Then it is told until when it runs
    assert again == InProgress(later(seconds=30))


def test_key_that_was_used_with_another_body_is_told_so(store: IdempotencyStore) -> None:
    # Given a request
    fresh = claim(store)

    # When its key comes with another body, while it runs and when it has run
    running = begin(store, body_hash="b2")
    store.finish("u1", ROUTE, "k1", fresh, ANSWER)
    finished = begin(store, body_hash="b2")

    # Then that is told, and the answer is kept
    assert (running, finished) == (OtherBody(), OtherBody())
    assert begin(store) == Replay(ANSWER)


def test_request_that_was_given_back_runs_again(store: IdempotencyStore) -> None:
    # Given a request that failed in a way that must not be replayed
    store.abandon("u1", ROUTE, "k1", claim(store))

    # When it comes again, with a corrected body
    again = begin(store, body_hash="b2")

    # Then it runs
    assert isinstance(again, Fresh)


def test_request_that_hangs_is_taken_over_and_touches_its_successor_no_more(
    store: IdempotencyStore,
) -> None:
    # Given a request that is past its deadline, and another that took it over
    late = claim(store)
    new = claim(store, now=later(seconds=30))
    assert new.claim != late.claim

    # When the first ends after all, both ways
    store.abandon("u1", ROUTE, "k1", late)
    running = begin(store, now=later(seconds=31))
    store.finish("u1", ROUTE, "k1", late, StoredAnswer(500, {}, "late"))
    still_running = begin(store, now=later(seconds=31))

    # Then the second is as it was, and its answer is the one that stays
    assert running == still_running == InProgress(later(seconds=60))
    store.finish("u1", ROUTE, "k1", new, ANSWER)
    store.abandon("u1", ROUTE, "k1", new)
    store.finish("u1", ROUTE, "k1", new, StoredAnswer(200, {}, "other"))
    assert begin(store, now=later(seconds=61)) == Replay(ANSWER)


def test_request_past_its_deadline_that_nobody_took_over_keeps_its_answer(
    store: IdempotencyStore,
) -> None:
    # Given a request that ends after its deadline
    fresh = claim(store)
    store.finish("u1", ROUTE, "k1", fresh, ANSWER)

    # When it comes again later
    # Then it does not run twice
    assert begin(store, now=later(minutes=5)) == Replay(ANSWER)


def test_key_counts_for_its_user_and_route(store: IdempotencyStore) -> None:
    # Given a request that has run
    store.finish("u1", ROUTE, "k1", claim(store), ANSWER)

    # When the same key comes of others, on other routes, or as part of another key
    others = [
        begin(store, user="u10"),
        begin(store, route=f"{ROUTE}/x"),
        begin(store, route="POST /api/v1"),
        begin(store, "k"),
        begin(store, "k1#00"),
        begin(store, "K1"),
    ]

    # Then each is a request of its own
    assert all(isinstance(one, Fresh) for one in others)
    assert begin(store) == Replay(ANSWER)


@pytest.mark.parametrize("body", ["", "x" * 3_000_000, Random(1).randbytes(700_000).hex()])
def test_body_of_any_size_is_replayed_whole(store: IdempotencyStore, body: str) -> None:
    # Given an answer that is empty, large, or larger than a row even when compressed
    answer = StoredAnswer(200, {}, body)
    store.finish("u1", ROUTE, "k1", claim(store), answer)

    # When the request comes again
    again = begin(store)

    # Then nothing of it is lost
    assert again == Replay(answer)


def test_of_requests_at_the_same_time_one_runs(store: IdempotencyStore) -> None:
    # Given a client that sends a request eight times at once, to a key that has expired
    claim(store, now=later(hours=-1))

    # When they arrive
    with ThreadPoolExecutor(8) as pool:
        came_to = list(pool.map(lambda _: begin(store), range(8)))

    # Then one runs and the others wait for it
    assert sum(isinstance(one, Fresh) for one in came_to) == 1
    assert came_to.count(InProgress(later(seconds=30))) == 7


# What only a real store can get wrong


def test_expired_record_is_written_over_with_all_its_parts(table: Table) -> None:
    # Given a large answer that has expired and that the table has not reclaimed
    store = DynamoIdempotencyStore(table)
    large = StoredAnswer(200, {}, Random(2).randbytes(500_000).hex())
    store.finish("u1", ROUTE, "k1", claim(store), large)
    assert len(all_keys(table)) == 3

    # When the key is used again with a short answer
    fresh = claim(store, now=later(hours=24))
    store.finish("u1", ROUTE, "k1", fresh, ANSWER)

    # Then the short one is replayed, and nothing is left of the large one
    assert begin(store, now=later(hours=25)) == Replay(ANSWER)
    assert len(all_keys(table)) == 2


def test_all_rows_of_a_record_are_the_users_and_expire(table: Table) -> None:
    # Given a stored answer
    store = DynamoIdempotencyStore(table)
    store.finish("u1", ROUTE, "k1", claim(store), ANSWER)

    # When the rows are looked at as DynamoDB does
    rows = table.client.scan(TableName=table.name)["Items"]

    # Then each goes with the user, and says when it may be reclaimed
    assert len(rows) == 2
    for row in rows:
        assert row["PK"]["S"] == keys.user("u1")
        assert row["ttl"]["N"] == str(int(later(hours=24).timestamp()))
