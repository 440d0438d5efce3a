"""Exports and imports in DynamoDB, and the ids that an import maps."""

from __future__ import annotations

from typing import TYPE_CHECKING

from threadkeep.errors import ConflictError
from threadkeep.ports import Page
from threadkeep.storage import keys
from threadkeep.storage.items import Item
from threadkeep.storage.paging import cut, start_of
from threadkeep.storage.transactions import Transaction
from threadkeep.storage.transfer_items import TRANSFER, MappingItem, TransferItem

if TYPE_CHECKING:
    from collections.abc import Sequence

    from threadkeep.domain.transfers import Transfer
    from threadkeep.ports import PageRequest
    from threadkeep.storage.table import Table


class DynamoTransferStore:
    """Jobs beside those of extraction, in a partition of their own.

    Args:
        table: The table.
    """

    def __init__(self, table: Table) -> None:
        self._table = table

    def create(self, user_id: str, transfer: Transfer) -> None:
        """Store a new job."""
        self._table.put(TransferItem.of(user_id, transfer))

    def get(self, user_id: str, transfer_id: str) -> Transfer | None:
        """Read a job strongly."""
        row = self._table.get(TransferItem, keys.jobs(user_id), keys.transfer(transfer_id))
        return row.to_domain() if row else None

    def list(self, user_id: str, page: PageRequest) -> Page[Transfer]:
        """List jobs, newest first, in two requests; a total reads all rows.

        Raises:
            ValidationError: The position is of no page of this listing (``invalid_cursor``).
        """
        pk, prefix = keys.jobs(user_id), f"{TRANSFER}#"
        listed = TransferItem.l1.startswith(prefix)
        rows = self._table.query(
            pk,
            listed,
            index=keys.BY_TOUCHED,
            page_size=page.skip + page.limit + 1,
            after=start_of(page, {keys.SORT_KEY: keys.transfer(""), "L1": prefix}),
            descending=True,
        )
        found = (row for row in rows if isinstance(row, TransferItem))
        taken, position = cut(found, page, lambda row: {keys.SORT_KEY: row.sk, "L1": row.l1})
        read = {row.sk: row for row in self._table.batch_get((pk, row.sk) for row in taken)}
        items = [
            row.to_domain() for one in taken if isinstance(row := read.get(one.sk), TransferItem)
        ]
        total = None
        if page.with_total:
            everything = self._table.query(
                pk, listed, index=keys.BY_TOUCHED, attributes=[keys.SORT_KEY, "kind"]
            )
            total = sum(1 for _ in everything)
        return Page(items, position, total)

    def save(self, user_id: str, transfer: Transfer) -> Transfer:
        """Store a job's next state.

        Raises:
            ConflictError: It is no longer of this revision (``superseded``), or not there.
        """
        following = transfer.model_copy(update={"revision": transfer.revision + 1})
        transaction = Transaction()
        transaction.put(
            TransferItem.of(user_id, following), TransferItem.revision == transfer.revision
        )
        for _ in self._table.attempts():
            if self._table.try_transact(transaction.writes):
                return following
            stored = self.get(user_id, transfer.id)
            if stored is None or stored.revision != transfer.revision:
                raise ConflictError("Another worker went on with it.", code="superseded")
        raise ConflictError("Others keep changing this.", retry_after=1)

    def mapped(self, user_id: str, transfer_id: str, refs: Sequence[str]) -> dict[str, str]:
        """Return the ids that stand for ids of the file, where they are others."""
        pk = keys.jobs(user_id)
        rows = self._table.batch_get((pk, keys.transfer_mapping(transfer_id, ref)) for ref in refs)
        return {row.ref: row.item_id for row in rows if isinstance(row, MappingItem)}

    def forget_mapping(self, user_id: str, transfer_id: str) -> None:
        """Remove the mapped ids of a job."""
        pk = keys.jobs(user_id)
        rows = self._table.query(
            pk,
            Item.sk.startswith(keys.transfer_mappings(transfer_id)),
            attributes=[keys.PARTITION_KEY, keys.SORT_KEY, "kind"],
        )
        self._table.batch_write(deletes=[(row.pk, row.sk) for row in rows])
