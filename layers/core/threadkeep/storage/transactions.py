"""The writes of one transaction, at most one for each row."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from threadkeep.errors import PayloadTooLargeError

if TYPE_CHECKING:
    from collections.abc import Sequence

    from pynamodb.connection.base import Connection
    from pynamodb.expressions.condition import Condition
    from pynamodb.expressions.update import Action

    from threadkeep.storage.items import Item

# https://docs.aws.amazon.com/amazondynamodb/latest/developerguide/ServiceQuotas.html
MAX_ITEMS = 100
MAX_ITEM_BYTES = 400 * 1024
MAX_BYTES = 4 * 1024 * 1024


@dataclass(frozen=True)
class Write:
    """One write of a transaction.

    Args:
        pk: Partition of the row.
        sk: Its sort key.
        kind: What is done: ``Put``, ``Delete``, ``Update`` or ``ConditionCheck``.
        item: The row to put.
        actions: Changes of an update.
        condition: What must hold of the row as it was before the transaction.
    """

    pk: str
    sk: str
    kind: str
    item: Item | None = None
    actions: Sequence[Action] | None = None
    condition: Condition | None = None

    def request(self, table: str, connection: Connection) -> dict[str, Any]:
        """Return the write as a member of a TransactWriteItems request."""
        return {
            self.kind: connection.get_operation_kwargs(
                table,
                self.pk,
                self.sk,
                key="Item" if self.item else "Key",
                attributes=self.item.serialize() if self.item else None,
                actions=self.actions,
                condition=self.condition,
            )
        }


class Transaction:
    """Collects writes; what two of them want of one row becomes one write.

    All conditions hold of the state before. So a row that one change removes and another puts anew
    (a name that is handed on) is a put under the condition of the removal, and a check of a row
    that is written anyway is the writer's own.
    """

    def __init__(self) -> None:
        self._writes: dict[tuple[str, str], Write] = {}

    @property
    def writes(self) -> Sequence[Write]:
        """The writes, one for each row, in the order in which the rows came up."""
        return list(self._writes.values())

    def put(self, item: Item, condition: Condition | None = None) -> None:
        """Store a row."""
        write = Write(item.pk, item.sk, "Put", item=item, condition=condition)
        earlier = self._writes.get((item.pk, item.sk))
        if earlier is not None and earlier.kind == "Delete":
            write = replace(write, condition=earlier.condition)
        self._add(write, over=("Delete", "ConditionCheck"))

    def delete(self, pk: str, sk: str, condition: Condition | None = None) -> None:
        """Remove a row."""
        earlier = self._writes.get((pk, sk))
        if earlier is not None and earlier.kind == "Put":
            self._writes[pk, sk] = replace(earlier, condition=condition)
            return
        self._add(Write(pk, sk, "Delete", condition=condition), over=("ConditionCheck",))

    def update(
        self, pk: str, sk: str, actions: Sequence[Action], condition: Condition | None = None
    ) -> None:
        """Change attributes of a row."""
        self._add(Write(pk, sk, "Update", actions=actions, condition=condition))

    def check(self, pk: str, sk: str, condition: Condition) -> None:
        """Require something of a row that is not written."""
        if (pk, sk) not in self._writes:
            self._add(Write(pk, sk, "ConditionCheck", condition=condition))

    def _add(self, write: Write, over: tuple[str, ...] = ()) -> None:
        earlier = self._writes.get((write.pk, write.sk))
        if earlier is not None and earlier.kind not in over:
            raise ValueError(f"a transaction writes a row twice: {earlier.kind} and {write.kind}")
        self._writes[write.pk, write.sk] = write


def check_sizes(requests: Sequence[dict[str, Any]]) -> None:
    """Check a transaction against the limits of DynamoDB before it is sent.

    Raises:
        PayloadTooLargeError: Too many writes, or too many bytes of one item or all.
    """
    if len(requests) > MAX_ITEMS:
        raise PayloadTooLargeError(
            f"This takes {len(requests)} rows at once, more than {MAX_ITEMS}.",
            code="transaction_too_large",
        )
    sizes = [_item_bytes(request["Put"]["Item"]) for request in requests if "Put" in request]
    if sizes and max(sizes) > MAX_ITEM_BYTES:
        raise PayloadTooLargeError(
            f"This takes an item of {max(sizes)} bytes, more than {MAX_ITEM_BYTES}.",
            code="item_too_large",
        )
    if sum(sizes) > MAX_BYTES:
        raise PayloadTooLargeError(
            f"This takes {sum(sizes)} bytes at once, more than {MAX_BYTES}.",
            code="transaction_too_large",
        )


def _item_bytes(item: dict[str, dict[str, Any]]) -> int:
    """Return a row's size as DynamoDB counts it: names and values, text in UTF-8."""
    return sum(
        len(name) + _value_bytes(value) for name, typed in item.items() for value in typed.values()
    )


def _value_bytes(value: Any) -> int:
    match value:
        case str():
            return len(value.encode())
        case bytes():
            return len(value)
        case list():
            return sum(_value_bytes(v) + 1 for element in value for v in element.values())
        case _:
            return 1
