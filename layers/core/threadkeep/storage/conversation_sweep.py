"""Completing the deletion of a conversation, whatever its size and however often it broke off."""

from __future__ import annotations

from itertools import batched
from typing import TYPE_CHECKING

from threadkeep.domain.retrieval import DocumentKind
from threadkeep.errors import ConflictError
from threadkeep.ports import Pending
from threadkeep.storage import keys
from threadkeep.storage.blobs import thread_bodies
from threadkeep.storage.conversation_items import DeletionItem, JobPointerItem, MessageItem
from threadkeep.storage.items import Item, PendingItem
from threadkeep.storage.memory_evidence import drop_evidence
from threadkeep.storage.transactions import MAX_ITEMS, Transaction

if TYPE_CHECKING:
    from threadkeep.ports import Blobs
    from threadkeep.storage.table import Table

_MOST_WRITES_OF_A_ROW = 4
_ROWS = (MAX_ITEMS - 1) // _MOST_WRITES_OF_A_ROW
"""Rows that one transaction can take, beside the check of the marker."""


class ConversationSweep:
    """Removes what is left of a deleted conversation.

    Each transaction requires the marker of this very deletion: a sweep that was overtaken by
    another can not touch the next life of the id.

    Args:
        table: The table.
        blobs: Bodies that are too large for a row.
    """

    def __init__(self, table: Table, blobs: Blobs) -> None:
        self._table = table
        self._blobs = blobs

    def finish(self, user_id: str, conversation_id: str) -> None:
        """Complete a deletion that was begun; does nothing when there is none.

        Raises:
            ConflictError: Others kept changing what evidence was dropped from; try again.
        """
        sk = keys.deleting_conversation(conversation_id)
        for _ in self._table.attempts():
            marker = self._table.get(DeletionItem, keys.user(user_id), sk)
            if marker is None:
                return
            try:
                self._run(marker)
            except ConflictError:
                continue
            return
        raise ConflictError("Others keep changing what belonged to the conversation.")

    def _run(self, marker: DeletionItem) -> None:
        user_id, conversation_id = marker.user_id, marker.item_id

        def require_marker(transaction: Transaction) -> None:
            transaction.check(marker.pk, marker.sk, DeletionItem.life == marker.life)

        drop_evidence(self._table, user_id, conversation_id, marker.at, require=require_marker)
        rows = self._table.query(keys.thread(user_id, conversation_id))
        for chunk in batched(rows, _ROWS, strict=False):
            transaction = Transaction()
            require_marker(transaction)
            for row in chunk:
                _remove(marker, row, transaction)
            self._table.transact(transaction.writes)
        self._blobs.delete_all(user_id, thread_bodies(conversation_id, marker.life))
        last = Transaction()
        last.delete(marker.pk, marker.sk, DeletionItem.life == marker.life)
        self._table.transact(last.writes)


def _remove(marker: DeletionItem, row: Item, transaction: Transaction) -> None:
    """Remove a row and what it leads to; the index is told of a message that it may know."""
    transaction.delete(row.pk, row.sk)
    if isinstance(row, MessageItem) and row.indexed:
        ref = f"{marker.item_id}/{row.item_id}"
        # Higher than any place in the conversation, so than any revision of an episode.
        revision = int(marker.next_seq)
        mark = Pending(DocumentKind.EPISODE, ref, revision, deleted=True, marked_at=marker.at)
        transaction.put(PendingItem.of(marker.user_id, mark))
    elif isinstance(row, JobPointerItem):
        for key in (keys.job, keys.plan, keys.job_steps):
            transaction.delete(keys.jobs(marker.user_id), key(row.job_id))
