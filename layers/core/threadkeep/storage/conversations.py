"""Conversations and messages in DynamoDB, each message a row, large bodies in S3."""

from __future__ import annotations

from typing import TYPE_CHECKING

from threadkeep.domain.conversations import Conversation, Lease
from threadkeep.errors import ConflictError
from threadkeep.ports import Page
from threadkeep.storage import keys
from threadkeep.storage.conversation_items import (
    CONVERSATION,
    DELETION,
    ConversationItem,
    ConversationRowItem,
    DeletionItem,
    MessageItem,
)
from threadkeep.storage.conversation_sweep import ConversationSweep
from threadkeep.storage.items import Item
from threadkeep.storage.paging import cut, start_of
from threadkeep.storage.transactions import Transaction
from threadkeep.storage.transcript import Transcript

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence
    from datetime import datetime

    from threadkeep.domain.conversations import Message
    from threadkeep.ports import Blobs, PageRequest
    from threadkeep.storage.table import Table

_BUSY = "Others keep changing this conversation."


class DynamoConversationStore:
    """Conversations in the one table.

    A message is there when the head's counter has passed it: both are written together, under the
    condition of the lease, and every read of messages looks at the head too.

    Args:
        table: The table.
        blobs: Bodies that are too large for a row.
    """

    def __init__(self, table: Table, blobs: Blobs) -> None:
        self._table = table
        self._transcript = Transcript(table, blobs)
        self._sweep = ConversationSweep(table, blobs)

    def get(self, user_id: str, conversation_id: str) -> Conversation | None:
        """Read a conversation's head strongly."""
        head = self._head(user_id, conversation_id)
        return head.to_domain() if head else None

    def list(self, user_id: str, page: PageRequest) -> Page[Conversation]:
        """List conversations, newest activity first, in two requests; a total reads all rows.

        Raises:
            ValidationError: The position is of no page of this listing (``invalid_cursor``).
        """
        pk, prefix = keys.user(user_id), f"{CONVERSATION}#"
        listed = ConversationRowItem.l1.startswith(prefix)
        rows = self._table.query(
            pk,
            listed,
            index=keys.BY_TOUCHED,
            page_size=page.skip + page.limit + 1,
            after=start_of(page, {keys.SORT_KEY: keys.conversation(""), "L1": prefix}),
            descending=True,
        )
        found = (row for row in rows if isinstance(row, ConversationRowItem))
        taken, position = cut(found, page, lambda row: {keys.SORT_KEY: row.sk, "L1": row.l1})
        heads = self._heads(user_id, [row.item_id for row in taken])
        total = None
        if page.with_total:
            everything = self._table.query(
                pk, listed, index=keys.BY_TOUCHED, attributes=[keys.SORT_KEY, "kind"]
            )
            total = sum(1 for _ in everything)
        return Page(
            [heads[row.item_id].to_domain() for row in taken if row.item_id in heads],
            position,
            total,
        )

    def indexed(self, user_id: str, conversation_id: str) -> Sequence[str]:
        """Return the ids of the messages that are searchable, in one query per 1 MB."""
        rows = self._table.query(
            keys.thread(user_id, conversation_id),
            Item.sk.between(*keys.between(keys.MESSAGES)),
            matching=MessageItem.indexed == True,  # noqa: E712 (an expression of pynamodb)
            attributes=[keys.SORT_KEY, "kind", "item_id"],
        )
        return [row.item_id for row in rows if isinstance(row, MessageItem)]

    def acquire(
        self, user_id: str, conversation: Conversation, *, now: datetime, until: datetime
    ) -> Lease | None:
        """Take the right to write, creating the conversation if it is not there.

        If the id's former life is still being swept away, that is completed first.

        Raises:
            ConflictError: Others keep changing the conversation.
        """
        marker = keys.deleting_conversation(conversation.id)
        for _ in self._table.attempts():
            rows = self._table.batch_get(
                [
                    (keys.thread(user_id, conversation.id), keys.META),
                    (keys.user(user_id), marker),
                ]
            )
            head = next((row for row in rows if isinstance(row, ConversationItem)), None)
            transaction = Transaction()
            if head is None:
                if rows:
                    self._sweep.finish(user_id, conversation.id)
                first = ConversationItem.of(user_id, conversation, until)
                transaction.put(first, Item.pk.does_not_exist())
                transaction.put(
                    ConversationRowItem.of(user_id, conversation.id, conversation.last_activity_at)
                )
                transaction.check(keys.user(user_id), marker, Item.pk.does_not_exist())
                life, token = conversation.life, 1
            elif head.lease_until is not None and head.lease_until > now:
                return None
            else:
                life, token = head.life, int(head.lease_token) + 1
                transaction.update(
                    head.pk,
                    head.sk,
                    [
                        ConversationItem.lease_token.set(token),
                        ConversationItem.lease_until.set(until),
                    ],
                    (ConversationItem.life == life) & (ConversationItem.lease_token == token - 1),
                )
            if self._table.try_transact(transaction.writes):
                return Lease(
                    conversation_id=conversation.id, life=life, token=token, expires_at=until
                )
        raise ConflictError(_BUSY, retry_after=1)

    def append(
        self,
        user_id: str,
        lease: Lease,
        messages: Sequence[Message],
        *,
        at: datetime,
        index: bool = False,
    ) -> None:
        """Store messages in order, conditioned on the lease.

        More than one transaction takes goes in several, none of which parts a tool call from its
        results.

        Raises:
            ConflictError: The lease was lost or ``seq`` is taken (``lease_lost``).
            ValidationError: One message has too many tool results (``too_many_tool_calls``).
        """
        self._transcript.append(user_id, lease, messages, at, index=index)

    def release(self, user_id: str, lease: Lease) -> None:
        """Give the right back; does nothing if it was lost."""
        transaction = Transaction()
        transaction.update(
            keys.thread(user_id, lease.conversation_id),
            keys.META,
            [ConversationItem.lease_until.remove()],
            ConversationItem.held_by(lease),
        )
        for _ in self._table.attempts():
            if self._table.try_transact(transaction.writes):
                return
            head = self._head(user_id, lease.conversation_id)
            if head is None or not head.holds(lease):
                return

    def rename(
        self, user_id: str, conversation_id: str, title: str, *, expected_version: int
    ) -> Conversation | None:
        """Set the title, which makes a new version.

        Raises:
            ConflictError: The stored version is not ``expected_version``.
        """
        head = self._head(user_id, conversation_id)
        if head is None:
            return None
        transaction = Transaction()
        transaction.update(
            head.pk,
            head.sk,
            [
                ConversationItem.title.set(title) if title else ConversationItem.title.remove(),
                ConversationItem.version.set(expected_version + 1),
            ],
            (ConversationItem.life == head.life) & (ConversationItem.version == expected_version),
        )
        self._table.transact(transaction.writes)
        return head.to_domain().model_copy(update={"title": title, "version": expected_version + 1})

    def messages(
        self, user_id: str, conversation_id: str, page: PageRequest, *, after_seq: int = 0
    ) -> Page[Message]:
        """Read messages in order of ``seq``, strongly; a page ends early at 4 MB."""
        head = self._head(user_id, conversation_id)
        if head is None:
            return Page([])
        return self._transcript.page(user_id, head, page, after_seq=after_seq)

    def get_messages(
        self, user_id: str, refs: Sequence[tuple[str, str]]
    ) -> dict[tuple[str, str], Message]:
        """Read messages and their conversations' heads, in one batch request per 100 of both."""
        return self._transcript.get(user_id, refs)

    def advance_extracted(
        self, user_id: str, conversation_id: str, life: str, *, from_seq: int, to_seq: int
    ) -> bool:
        """Move the extraction watermark; False if it is not at ``from_seq`` or the life ended."""
        if to_seq < from_seq:
            return False
        for _ in self._table.attempts():
            head = self._head(user_id, conversation_id)
            if head is None or head.life != life or int(head.extracted_seq) != from_seq:
                return False
            transaction = Transaction()
            transaction.update(
                head.pk,
                head.sk,
                [ConversationItem.extracted_seq.set(to_seq)],
                (ConversationItem.life == life) & (ConversationItem.extracted_seq == from_seq),
            )
            if self._table.try_transact(transaction.writes):
                return True
        raise ConflictError(_BUSY, retry_after=1)

    def delete(
        self,
        user_id: str,
        conversation_id: str,
        *,
        at: datetime,
        expected_version: int | None = None,
    ) -> bool:
        """Delete a conversation with all that belongs to it.

        Raises:
            ConflictError: It has another version than ``expected_version``, or others keep changing
                the conversation.
        """
        for _ in self._table.attempts():
            head = self._head(user_id, conversation_id)
            if head is None:
                self._sweep.finish(user_id, conversation_id)
                return False
            if expected_version not in (None, int(head.version)):
                raise ConflictError(_BUSY, retry_after=1)
            transaction = Transaction()
            transaction.delete(
                head.pk,
                head.sk,
                (ConversationItem.life == head.life)
                & (ConversationItem.next_seq == int(head.next_seq))
                & (ConversationItem.version == int(head.version)),
            )
            user = keys.user(user_id)
            transaction.delete(user, keys.conversation(conversation_id))
            transaction.delete(user, keys.due_extraction(conversation_id))
            transaction.put(DeletionItem.of(user_id, head, at))
            if self._table.try_transact(transaction.writes):
                self._sweep.finish(user_id, conversation_id)
                return True
        raise ConflictError(_BUSY, retry_after=1)

    def finish_deletion(self, user_id: str, conversation_id: str) -> None:
        """Complete a deletion that was begun; does nothing when there is none."""
        self._sweep.finish(user_id, conversation_id)

    def unfinished_deletions(self, *, before: datetime, limit: int) -> Sequence[tuple[str, str]]:
        """Return ``(user_id, conversation_id)`` of deletions begun before a time, of all users."""
        found = [
            row
            for bucket in keys.due_buckets(DELETION)
            for row in self._table.batch_get(
                self._table.query_due(bucket, before=keys.timestamp(before), limit=limit)
            )
            if isinstance(row, DeletionItem)
        ]
        found.sort(key=lambda row: row.at)
        return [(row.user_id, row.item_id) for row in found[:limit]]

    def _head(self, user_id: str, conversation_id: str) -> ConversationItem | None:
        return self._table.get(ConversationItem, keys.thread(user_id, conversation_id), keys.META)

    def _heads(self, user_id: str, ids: Iterable[str]) -> dict[str, ConversationItem]:
        rows = self._table.batch_get([(keys.thread(user_id, one), keys.META) for one in ids])
        return {row.item_id: row for row in rows if isinstance(row, ConversationItem)}
