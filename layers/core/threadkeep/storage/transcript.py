"""The messages of conversations: stored under a lease, read when their head has passed them."""

from __future__ import annotations

from itertools import islice
from typing import TYPE_CHECKING

from threadkeep.domain.conversations import Role, require_appendable, seq_of, title_of
from threadkeep.domain.limits import MAX_PAGE_BYTES
from threadkeep.domain.retrieval import DocumentKind
from threadkeep.errors import ConflictError, NotFoundError, ValidationError
from threadkeep.ports import Page, Pending
from threadkeep.storage import keys
from threadkeep.storage.blobs import ThreadBodies
from threadkeep.storage.conversation_items import (
    ConversationItem,
    ConversationRowItem,
    MessageItem,
    body_of,
)
from threadkeep.storage.items import Item, PendingItem
from threadkeep.storage.transactions import Transaction
from threadkeep.storage.transcript_chunks import chunks

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from datetime import datetime

    from threadkeep.domain.conversations import Lease, Message
    from threadkeep.ports import Blobs, PageRequest
    from threadkeep.storage.table import Table
    from threadkeep.storage.transactions import Write
    from threadkeep.storage.transcript_chunks import Placed

_MOST_DIGITS = 12


class Transcript:
    """Message rows and their bodies.

    Args:
        table: The table.
        blobs: Bodies that are too large for a row.
    """

    def __init__(self, table: Table, blobs: Blobs) -> None:
        self._table = table
        self._blobs = blobs

    def append(
        self, user_id: str, lease: Lease, messages: Sequence[Message], at: datetime, *, index: bool
    ) -> None:
        """Store messages, each stretch of them with the head in one transaction.

        Raises:
            ConflictError: The lease was lost or ``seq`` is taken (``lease_lost``), or others kept
                writing to the head.
            ValidationError: A message has too many tool results (``too_many_tool_calls``).
        """
        require_appendable(lease, messages)
        for chunk in chunks(messages, index=index):
            self._append(user_id, lease, chunk, at)

    def page(
        self, user_id: str, head: ConversationItem, page: PageRequest, *, after_seq: int
    ) -> Page[Message]:
        """Read messages of a conversation from after ``after_seq`` or the page's position."""
        after = max(after_seq, _place_of(page))
        end = int(head.next_seq) - 1
        if after >= end:
            return Page([])
        rows = self._table.query(
            head.pk,
            Item.sk.between(keys.message(after + 1), keys.message(end)),
            page_size=page.limit,
        )
        cut: list[MessageItem] = []
        size = 0
        for row in islice(rows, page.limit):
            if isinstance(row, MessageItem):
                size += int(row.size)
                if cut and size > MAX_PAGE_BYTES:
                    break
                cut.append(row)
        more = bool(cut) and int(cut[-1].seq) < end
        position = {"after": str(int(cut[-1].seq))} if more else None
        return Page(self._with_bodies(user_id, cut), position)

    def get(self, user_id: str, refs: Sequence[tuple[str, str]]) -> dict[tuple[str, str], Message]:
        """Read messages and their conversations' heads, in one batch request per 100 of both."""
        wanted = {
            (keys.thread(user_id, conversation_id), keys.message(seq))
            for conversation_id, message_id in refs
            if (seq := seq_of(message_id))
        }
        rows = self._table.batch_get({*wanted, *((pk, keys.META) for pk, _ in wanted)})
        ends = {row.pk: int(row.next_seq) for row in rows if isinstance(row, ConversationItem)}
        found = [
            row
            for row in rows
            if isinstance(row, MessageItem)
            and (row.conversation_id, row.item_id) in refs
            and int(row.seq) < ends.get(row.pk, 0)
        ]
        messages = self._with_bodies(user_id, found)
        return {(message.conversation_id, message.id): message for message in messages}

    def _append(self, user_id: str, lease: Lease, chunk: Sequence[Placed], at: datetime) -> None:
        bodies = self._put_bodies(user_id, lease, chunk)
        first = chunk[0].message.seq
        writes = _writes(user_id, lease, chunk, bodies, at)
        for _ in self._table.attempts():
            try:
                self._table.transact(writes)
            except ConflictError:
                # Whoever reads or marks the head at the same time is no reason to give up.
                head = self._table.get(
                    ConversationItem, keys.thread(user_id, lease.conversation_id), keys.META
                )
                if head is None or not head.holds(lease) or int(head.next_seq) != first:
                    ThreadBodies(self._blobs, user_id).discard(*bodies.values())
                    raise ConflictError(
                        "The conversation was taken over.", code="lease_lost"
                    ) from None
            else:
                return
        raise ConflictError("Others keep changing this conversation.", retry_after=1)

    def _put_bodies(self, user_id: str, lease: Lease, chunk: Sequence[Placed]) -> dict[str, str]:
        """Store the bodies that go apart; returns their keys by message id."""
        bodies = ThreadBodies(self._blobs, user_id)

        def put(message: Message) -> str:
            return bodies.put(lease.conversation_id, lease.life, message.id, body_of(message))

        spilled = [placed.message for placed in chunk if placed.spilled]
        found = self._table.parallel(put, spilled)
        return dict(zip((message.id for message in spilled), found, strict=True))

    def _with_bodies(self, user_id: str, rows: Sequence[MessageItem]) -> list[Message]:
        """Read the bodies that are apart.

        A body that is missing went with its conversation after the row was read.
        """

        def read(row: MessageItem) -> Message | None:
            if row.apart is None:
                return row.to_domain()
            try:
                return row.to_domain(self._blobs.get(user_id, row.apart))
            except NotFoundError:
                if self._table.get(MessageItem, row.pk, row.sk) is None:
                    return None
                raise

        bodies = [row for row in rows if row.apart is not None]
        found = dict(zip(map(id, bodies), self._table.parallel(read, bodies), strict=True))
        messages = [found[id(row)] if id(row) in found else row.to_domain() for row in rows]
        return [message for message in messages if message is not None]


def _writes(
    user_id: str,
    lease: Lease,
    chunk: Sequence[Placed],
    bodies: Mapping[str, str],
    at: datetime,
) -> Sequence[Write]:
    head = ConversationItem
    first, last = chunk[0].message, chunk[-1].message
    actions = [
        head.next_seq.set(last.seq + 1),
        head.active_leaf_id.set(last.id),
        head.last_activity_at.set(at),
        head.message_count.set(head.message_count + len(chunk)),
        head.version.set(head.version + 1),
    ]
    spoken = (placed.message.content for placed in chunk if placed.message.role is Role.USER)
    if title := title_of(next(spoken, "")):
        actions.append(head.title.set(head.title | title))
    transaction = Transaction()
    transaction.update(
        keys.thread(user_id, lease.conversation_id),
        keys.META,
        actions,
        head.held_by(lease) & (head.next_seq == first.seq),
    )
    transaction.put(ConversationRowItem.of(user_id, lease.conversation_id, at))
    for placed in chunk:
        message = placed.message
        transaction.put(
            MessageItem.of(
                user_id,
                message,
                size=placed.size,
                body_key=bodies.get(message.id),
                indexed=placed.indexed,
            )
        )
        if placed.indexed:
            ref = f"{message.conversation_id}/{message.id}"
            mark = Pending(DocumentKind.EPISODE, ref, message.seq, False, at)
            transaction.put(PendingItem.of(user_id, mark))
    return transaction.writes


def _place_of(page: PageRequest) -> int:
    """Return the place after which a page starts.

    Raises:
        ValidationError: The position is of no transcript (``invalid_cursor``).
    """
    if page.position is None:
        return 0
    after = page.position.get("after", "")
    if not (after.isascii() and after.isdigit() and len(after) <= _MOST_DIGITS):
        raise ValidationError("The cursor is not one of this listing.", code="invalid_cursor")
    return int(after)
