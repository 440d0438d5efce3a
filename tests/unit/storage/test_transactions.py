"""What several changes of one transaction want of one row."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from threadkeep.errors import PayloadTooLargeError
from threadkeep.storage.items import Item
from threadkeep.storage.memory_rows import GuardItem
from threadkeep.storage.transactions import MAX_BYTES, MAX_ITEM_BYTES, Transaction, check_sizes

if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

ABSENT = Item.pk.does_not_exist()
HELD_BY_A = GuardItem.item_id == "a"


def guard(item_id: str) -> GuardItem:
    """Make a guard row."""
    return GuardItem("U#u1", "N#name", item_id=item_id)


@pytest.mark.parametrize("put_first", [False, True])
def test_a_row_that_changes_hands_is_put_while_the_one_who_gives_it_holds_it(
    *, put_first: bool
) -> None:
    transaction = Transaction()
    steps: list[Callable[[], None]] = [
        lambda: transaction.delete("U#u1", "N#name", HELD_BY_A),
        lambda: transaction.put(guard("b"), ABSENT),
    ]
    for step in reversed(steps) if put_first else steps:
        step()
    (write,) = transaction.writes
    assert (write.kind, write.condition) == ("Put", HELD_BY_A)
    assert write.item is not None
    assert write.item.attribute_values["item_id"] == "b"


@pytest.mark.parametrize("check_first", [False, True])
def test_a_row_that_is_written_is_not_checked_as_well(*, check_first: bool) -> None:
    transaction = Transaction()
    if check_first:
        transaction.check("U#u1", "N#name", Item.pk.exists())
    transaction.put(guard("a"), ABSENT)
    transaction.check("U#u1", "N#name", Item.pk.exists())
    (write,) = transaction.writes
    assert (write.kind, write.condition) == ("Put", ABSENT)


def test_a_row_is_checked_once() -> None:
    transaction = Transaction()
    for _ in range(2):
        transaction.check("U#u1", "N#name", Item.pk.exists())
    assert [write.kind for write in transaction.writes] == ["ConditionCheck"]


def test_a_row_is_not_written_twice() -> None:
    transaction = Transaction()
    transaction.put(guard("a"))
    with pytest.raises(ValueError, match="twice"):
        transaction.put(guard("b"))
    with pytest.raises(ValueError, match="twice"):
        transaction.update("U#u1", "N#name", [])
    other = Transaction()
    other.delete("U#u1", "N#name")
    with pytest.raises(ValueError, match="twice"):
        other.delete("U#u1", "N#name")


def put(text: str) -> dict[str, Any]:
    """Make a put of a row of 1 byte more than its text."""
    return {"Put": {"Item": {"t": {"S": text}}}}


def test_sizes_are_those_that_dynamodb_counts() -> None:
    check_sizes([put("é" * ((MAX_ITEM_BYTES - 2) // 2))])
    check_sizes([{"Delete": {"Key": {}}}] * 100)
    check_sizes([put("x" * (MAX_BYTES // 16 - 1))] * 16)
    for requests, code in [
        ([put("é" * (MAX_ITEM_BYTES // 2))], "item_too_large"),
        ([{"Delete": {"Key": {}}}] * 101, "transaction_too_large"),
        ([put("x" * (MAX_BYTES // 16))] * 16, "transaction_too_large"),
        ([{"Put": {"Item": {"b": {"B": b"x" * MAX_ITEM_BYTES}}}}], "item_too_large"),
        ([{"Put": {"Item": {"l": {"L": [{"S": "x" * MAX_ITEM_BYTES}]}}}}], "item_too_large"),
    ]:
        with pytest.raises(PayloadTooLargeError) as refused:
            check_sizes(requests)
        assert refused.value.code == code
