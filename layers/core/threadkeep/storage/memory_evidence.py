"""Dropping the evidence that was taken from a conversation when that conversation is deleted.

What was learned stays, and so does the count of its sources: only the words go.
"""

from __future__ import annotations

from itertools import batched, groupby
from typing import TYPE_CHECKING

from pynamodb.expressions.operand import Path

from threadkeep.domain.retrieval import DocumentKind
from threadkeep.errors import ConflictError
from threadkeep.ports import Pending
from threadkeep.storage import keys
from threadkeep.storage.items import Item, PendingItem
from threadkeep.storage.memory_items import EntityItem
from threadkeep.storage.memory_rows import EVIDENCE_FIELDS, PointerItem, SourceItem
from threadkeep.storage.memory_writes import ENTITY_IS_THERE
from threadkeep.storage.transactions import Transaction

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from datetime import datetime

    from threadkeep.storage.table import Table

_SOURCES_AT_ONCE = 40
_TRIES = 5


def drop_evidence(
    table: Table,
    user_id: str,
    conversation_id: str,
    at: datetime,
    *,
    require: Callable[[Transaction], None],
) -> None:
    """Drop the words of all evidence from a conversation, and the pointers that lead to it.

    Entities are marked to be indexed anew, since their documents hold evidence. May be repeated
    until it is through: what is done leaves no pointer.

    Args:
        table: The table.
        user_id: Owner.
        conversation_id: The conversation, whose writers must be fenced off.
        at: Time of the marks.
        require: Adds to a transaction what must hold for each step: that the deletion goes on.

    Raises:
        ConflictError: Writers of an entity kept being faster; try again.
    """
    rows = table.query(
        keys.thread(user_id, conversation_id), Item.sk.startswith(keys.EVIDENCE_POINTERS)
    )
    pointers = (row for row in rows if isinstance(row, PointerItem))
    for _, of_item in groupby(pointers, key=lambda row: (row.of_relation, row.item_id)):
        for chunk in batched(of_item, _SOURCES_AT_ONCE, strict=False):
            _drop(table, user_id, chunk, at, require)


def _drop(
    table: Table,
    user_id: str,
    pointers: Sequence[PointerItem],
    at: datetime,
    require: Callable[[Transaction], None],
) -> None:
    """Drop the evidence of some sources of one item in a transaction."""
    for left in reversed(range(_TRIES)):
        transaction = _transaction(table, user_id, pointers, at)
        require(transaction)
        try:
            return table.transact(transaction.writes)
        except ConflictError:
            if not left:
                raise


def _transaction(
    table: Table, user_id: str, pointers: Sequence[PointerItem], at: datetime
) -> Transaction:
    pk = keys.user(user_id)
    item_key = keys.entity(pointers[0].item_id)
    wanted = [(pk, pointer.source_key) for pointer in pointers]
    found = {row.sk: row for row in table.batch_get([*wanted, (pk, item_key)])}
    transaction = Transaction()
    for pointer in pointers:
        transaction.delete(pointer.pk, pointer.sk)
        if isinstance(found.get(pointer.source_key), SourceItem):
            words = [Path(name).remove() for name in sorted(EVIDENCE_FIELDS)]
            transaction.update(pk, pointer.source_key, words, Item.pk.exists())
    entity = found.get(item_key)
    if isinstance(entity, EntityItem) and not pointers[0].of_relation:
        revision = int(entity.revision) + 1
        transaction.update(
            pk,
            item_key,
            [EntityItem.revision.set(revision)],
            ENTITY_IS_THERE & (EntityItem.revision == entity.revision),
        )
        mark = Pending(DocumentKind.ENTITY, entity.item_id, revision, False, at)
        transaction.put(PendingItem.of(user_id, mark))
    return transaction
