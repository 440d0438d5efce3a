"""Rows of exports and imports."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

from pynamodb.attributes import NumberAttribute, UnicodeAttribute

from threadkeep.domain.transfers import Transfer
from threadkeep.storage import keys
from threadkeep.storage.items import Item

if TYPE_CHECKING:
    from threadkeep.domain.changes import Advance
    from threadkeep.storage.transactions import Transaction

TRANSFER = "TR"
"""Kind that the local index lists by."""


class TransferItem(Item, discriminator="TR"):
    """A job's record, and where it goes on."""

    item_id = UnicodeAttribute()
    body = UnicodeAttribute()
    place = UnicodeAttribute()
    actor = UnicodeAttribute()
    revision = NumberAttribute()
    l1 = UnicodeAttribute(attr_name="L1")

    @classmethod
    def of(cls, user_id: str, transfer: Transfer) -> TransferItem:
        """Make the row of a job."""
        return cls(
            keys.jobs(user_id),
            keys.transfer(transfer.id),
            item_id=transfer.id,
            body=transfer.model_dump_json(),
            place=transfer.place.model_dump_json(),
            actor=transfer.actor,
            revision=transfer.revision,
            l1=keys.touched(TRANSFER, transfer.created_at, transfer.id),
        )

    def to_domain(self) -> Transfer:
        """Return the job."""
        return Transfer.model_validate(
            {
                **json.loads(self.body),
                "place": json.loads(self.place),
                "actor": self.actor,
                "revision": int(self.revision),
            }
        )


class MappingItem(Item, discriminator="TM"):
    """Which id stands for an id of an imported file."""

    ref = UnicodeAttribute()
    item_id = UnicodeAttribute()


def write_advance(transaction: Transaction, user_id: str, advance: Advance) -> None:
    """Add the next state of an import to a transaction, on the condition that it is the next."""
    transfer = advance.transfer
    following = transfer.model_copy(update={"revision": transfer.revision + 1})
    transaction.put(TransferItem.of(user_id, following), TransferItem.revision == transfer.revision)
    if advance.mapped is not None:
        ref, item_id = advance.mapped
        sk = keys.transfer_mapping(transfer.id, ref)
        transaction.put(MappingItem(keys.jobs(user_id), sk, ref=ref, item_id=item_id))
