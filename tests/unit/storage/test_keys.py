"""Keys: no id or name can forge one, run into another, or grow over the limit."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta, timezone
from itertools import combinations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from threadkeep.domain.names import name_key
from threadkeep.storage import keys

ANY = st.text(alphabet=st.characters(exclude_categories=["Cs"]), min_size=1, max_size=300)
IDS = st.from_regex(r"[A-Za-z0-9._:@-]{1,128}", fullmatch=True)
MOMENTS = st.datetimes(timezones=st.just(UTC))
NASTY = ["u1", "u10", "u", "U1", "u1#", "u1#T#c", "u1%23", "u1%", "*", "u1/", " u1", "#", "%", "/"]
MAX_KEY_BYTES = {"partition": 2048, "sort": 1024}


def every_sort_key(item: str, other: str) -> list[str]:
    """Return each sort key of the user partition that an id can be a part of."""
    return [
        keys.entity(item),
        keys.access(item),
        keys.entity_source(item, other),
        keys.outgoing(item, "works_on", other),
        keys.incoming(item, "works_on", other),
        keys.closed_half(item, "O", other),
        keys.name_guard("concept", item),
        keys.single_guard(item, "works_at"),
        keys.relation(item),
        keys.relation_source(item, other),
        keys.pending(item),
        keys.conversation(item),
        keys.evidence_pointer(item, other),
        keys.version(item, 1),
        keys.audit_entry(datetime(2026, 1, 1, tzinfo=UTC), item),
    ]


def test_partitions_of_users_differ_and_none_starts_another() -> None:
    for one, other in combinations(NASTY, 2):
        own = [keys.user(one), keys.history(one), keys.thread(one, "c"), keys.jobs(one)]
        theirs = [keys.user(other), keys.history(other), keys.thread(other, "c"), keys.jobs(other)]
        assert not set(own) & set(theirs)
        assert not any(key.startswith(f"{keys.user(other)}#") for key in own)
        assert not any(key.startswith(f"{keys.user(one)}#") for key in theirs)


@given(ANY, ANY)
def test_a_user_is_in_each_own_partition_and_no_other(one: str, other: str) -> None:
    assert (keys.user(one) == keys.user(other)) == (one == other)
    for partition in (
        keys.history(one),
        keys.thread(one, other),
        keys.vectors(one, 7),
        keys.jobs(one),
        keys.ledger(one, "202601"),
    ):
        assert partition.startswith(f"{keys.user(one)}#")
        assert len(partition.encode()) <= MAX_KEY_BYTES["partition"]


@given(ANY, ANY)
def test_sort_keys_are_as_many_as_their_ids_and_within_the_limit(one: str, other: str) -> None:
    made = every_sort_key(one, other)
    assert len(set(made)) == len(made)
    assert all(len(key.encode()) <= MAX_KEY_BYTES["sort"] for key in made)
    if one != other:
        assert not set(made) & set(every_sort_key(other, one))


@given(ANY, ANY, ANY)
def test_the_rows_of_an_entity_lie_together_and_no_others_among_them(
    one: str, other: str, third: str
) -> None:
    # Given the rows of an entity
    with_sources = [keys.entity(one), keys.access(one), keys.entity_source(one, third)]
    halves = [keys.outgoing(one, "knows", third), keys.incoming(one, "uses", third)]
    closed = [keys.closed_half(one, "I", third)]
    # Then each range holds those that it is for
    ranges = [
        (keys.entity_with_sources(one), with_sources, halves + closed),
        (keys.entity_with_halves(one), with_sources + halves, closed),
        (keys.entity_with_all(one), with_sources + halves + closed, []),
    ]
    for (low, high), inside, outside in ranges:
        assert all(_between(low, key, high) for key in inside)
        assert not any(_between(low, key, high) for key in outside)
    # And no row of another entity, nor any other row
    low, high = keys.entity_with_all(one)
    if other != one:
        assert not any(_between(low, key, high) for key in every_sort_key(other, one))
    others = set(every_sort_key(one, third)) - {
        *with_sources,
        *closed,
        keys.closed_half(one, "O", third),
    }
    others -= {keys.outgoing(one, "works_on", third), keys.incoming(one, "works_on", third)}
    assert not any(_between(low, key, high) for key in others)


def _between(low: str, key: str, high: str) -> bool:
    """Compare as DynamoDB does: by the bytes of UTF-8."""
    return low.encode() <= key.encode() <= high.encode()


@given(ANY, ANY)
def test_halves_start_with_the_prefixes_they_are_read_by(one: str, other: str) -> None:
    out, into = keys.outgoing(one, "knows", other), keys.incoming(one, "knows", other)
    assert out.startswith(keys.halves(one, "O", "knows"))
    assert into.startswith(keys.halves(one, "I", "knows"))
    for key in (out, into):
        assert key.startswith(keys.halves(one))
        assert not key.startswith(keys.closed_halves(one))
    assert not out.startswith(keys.halves(one, "I"))
    assert keys.closed_half(one, "O", other).startswith(keys.closed_halves(one, "O"))


@given(MOMENTS, MOMENTS, IDS)
def test_times_sort_as_text(one: datetime, other: datetime, item_id: str) -> None:
    first, second = keys.timestamp(one), keys.timestamp(other)
    assert (first < second, first == second) == (one < other, one == other)
    assert len(first) == len(second)
    if one < other:
        assert keys.touched("E", one, item_id) < keys.touched("E", other, item_id)


def test_a_time_is_written_in_utc() -> None:
    local = datetime(2026, 1, 1, 1, tzinfo=timezone(timedelta(hours=2)))
    assert keys.timestamp(local) == "2025-12-31T23:00:00.000000Z"
    assert keys.timestamp(datetime(9, 1, 1, tzinfo=UTC)) == "0009-01-01T00:00:00.000000Z"


@given(MOMENTS, IDS, ANY, ANY)
def test_the_ends_of_a_relation_are_read_from_its_place(
    moment: datetime, relation_id: str, source: str, target: str
) -> None:
    source, target = source[:60], target[:60]
    key = keys.touched_edge("R", moment, relation_id, source, target)
    assert keys.ends_of_edge(key) == (source, target)
    assert key.startswith(keys.touched("R", moment, relation_id))
    assert len(key.encode()) <= MAX_KEY_BYTES["sort"]


@given(st.text(alphabet=st.characters(exclude_categories=["C"]), min_size=1, max_size=80), ANY)
def test_names_sort_by_name_key_then_id(name: str, other: str) -> None:
    first, second = name_key(name), name_key(name + "b")
    if first < second and first:
        assert keys.named("E", first, "z").encode() < keys.named("E", second, "a").encode()
    assert keys.named("E", first, "a").encode() < keys.named("E", first, "b").encode()


@pytest.mark.parametrize("name", ["\ufdfa" * 255, "🦊" * 255, "a" * 255, "İ" * 255])
def test_a_name_that_grows_under_case_folding_keeps_its_place_within_the_limit(name: str) -> None:
    folded = name_key(name)
    key = keys.named("E", folded, "x" * 128)
    assert len(key.encode()) <= MAX_KEY_BYTES["sort"]
    # What is cut off is told apart by the id, and by the guard in full
    assert key.endswith("x" * 128)
    assert keys.name_guard("concept", folded) != keys.name_guard("concept", folded + "a")


@given(st.integers(0, 10**9), st.integers(0, 10**9))
def test_numbers_sort_as_text(one: int, other: int) -> None:
    assert (keys.message(one) < keys.message(other)) == (one < other)
    if max(one, other) < 10**9:
        assert (keys.version("i", one) < keys.version("i", other)) == (one < other)
