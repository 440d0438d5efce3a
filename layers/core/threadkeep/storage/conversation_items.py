"""Rows of conversations, and how they become heads and messages and back."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

from pynamodb.attributes import BooleanAttribute, NumberAttribute, UnicodeAttribute

from threadkeep.domain.conversations import Conversation, Lease, Message, Role, ToolCall, Usage
from threadkeep.domain.types import dump_json
from threadkeep.storage import keys
from threadkeep.storage.items import Item, JsonAttribute, OptionalTimeAttribute, TimeAttribute

if TYPE_CHECKING:
    from datetime import datetime

    from pynamodb.expressions.condition import Condition

    from threadkeep.storage.transactions import Transaction

CONVERSATION = "C"
"""Kind that the local index lists by."""

DELETION = "deletion"
"""Kind of due rows: deletions that were begun."""


class ConversationItem(Item, discriminator="T"):
    """A conversation's head, in its own partition: content, counter, watermark and lease."""

    item_id = UnicodeAttribute()
    life = UnicodeAttribute()
    title = UnicodeAttribute(null=True)
    agent_id = UnicodeAttribute(null=True)
    created_at = TimeAttribute()
    last_activity_at = TimeAttribute()
    message_count = NumberAttribute()
    version = NumberAttribute()
    next_seq = NumberAttribute()
    active_leaf_id = UnicodeAttribute(null=True)
    extracted_seq = NumberAttribute()
    lease_token = NumberAttribute()
    lease_until = OptionalTimeAttribute()

    @classmethod
    def of(cls, user_id: str, head: Conversation, until: datetime) -> ConversationItem:
        """Make the first row of a conversation, held by its first writer."""
        return cls(
            keys.thread(user_id, head.id),
            keys.META,
            item_id=head.id,
            life=head.life,
            title=head.title or None,
            agent_id=head.agent_id,
            created_at=head.created_at,
            last_activity_at=head.last_activity_at,
            message_count=head.message_count,
            version=head.version,
            next_seq=head.next_seq,
            active_leaf_id=head.active_leaf_id,
            extracted_seq=head.extracted_seq,
            lease_token=1,
            lease_until=until,
        )

    @classmethod
    def require_life(
        cls, transaction: Transaction, user_id: str, conversation_id: str, life: str
    ) -> None:
        """Have a transaction fail unless this life of a conversation goes on."""
        transaction.check(keys.thread(user_id, conversation_id), keys.META, cls.life == life)

    @classmethod
    def held_by(cls, lease: Lease) -> Condition:
        """Require that a lease was neither given back nor taken over, and its life not ended.

        The time does not matter: whoever holds the newest token is the only writer, and a turn past
        its time must still be able to store how it ended.
        """
        same: Condition = (cls.life == lease.life) & (cls.lease_token == lease.token)
        held: Condition = same & cls.lease_until.exists()
        return held

    def holds(self, lease: Lease) -> bool:
        """Tell whether ``held_by`` is true of this row."""
        same = self.life == lease.life and int(self.lease_token) == lease.token
        return same and self.lease_until is not None

    def to_domain(self) -> Conversation:
        """Return the head."""
        return Conversation(
            id=self.item_id,
            life=self.life,
            title=self.title or "",
            agent_id=self.agent_id,
            created_at=self.created_at,
            last_activity_at=self.last_activity_at,
            message_count=int(self.message_count),
            version=int(self.version),
            next_seq=int(self.next_seq),
            active_leaf_id=self.active_leaf_id,
            extracted_seq=int(self.extracted_seq),
        )


class ConversationRowItem(Item, discriminator="C"):
    """Row in the user's partition by which the local index lists a conversation by activity."""

    item_id = UnicodeAttribute()
    l1 = UnicodeAttribute(attr_name="L1")

    @classmethod
    def of(cls, user_id: str, conversation_id: str, at: datetime) -> ConversationRowItem:
        """Make the row of a conversation that was last active at a time."""
        return cls(
            keys.user(user_id),
            keys.conversation(conversation_id),
            item_id=conversation_id,
            l1=keys.touched(CONVERSATION, at, conversation_id),
        )


class MessageItem(Item, discriminator="M"):
    """A message; text and tool calls are elsewhere if ``body_key`` says so."""

    item_id = UnicodeAttribute()
    conversation_id = UnicodeAttribute()
    seq = NumberAttribute()
    parent_id = UnicodeAttribute(null=True)
    role = UnicodeAttribute()
    speaker = UnicodeAttribute(null=True)
    content = UnicodeAttribute(null=True)
    tool_calls = JsonAttribute(null=True)
    body_key = UnicodeAttribute(null=True)
    size = NumberAttribute()
    tool_call_id = UnicodeAttribute(null=True)
    agent_id = UnicodeAttribute(null=True)
    model_id = UnicodeAttribute(null=True)
    usage = JsonAttribute(null=True)
    stop_reason = UnicodeAttribute(null=True)
    created_at = TimeAttribute()
    learnable = BooleanAttribute()
    indexed = BooleanAttribute()

    @classmethod
    def of(
        cls, user_id: str, message: Message, *, size: int, body_key: str | None, indexed: bool
    ) -> MessageItem:
        """Make the row of a message, without its body if that is stored under ``body_key``."""
        calls = [call.model_dump(mode="json") for call in message.tool_calls]
        return cls(
            keys.thread(user_id, message.conversation_id),
            keys.message(message.seq),
            item_id=message.id,
            conversation_id=message.conversation_id,
            seq=message.seq,
            parent_id=message.parent_id,
            role=message.role.value,
            speaker=message.speaker,
            content=None if body_key else message.content,
            tool_calls=None if body_key or not calls else calls,
            body_key=body_key,
            size=size,
            tool_call_id=message.tool_call_id,
            agent_id=message.agent_id,
            model_id=message.model_id,
            usage=message.usage.model_dump() if message.usage else None,
            stop_reason=message.stop_reason,
            created_at=message.created_at,
            learnable=message.learnable,
            indexed=indexed,
        )

    @property
    def apart(self) -> str | None:
        """Key of the body, if that is not in the row."""
        return self.body_key

    def to_domain(self, body: bytes | None = None) -> Message:
        """Return the message, with the body that was read for it."""
        content, calls = self.content or "", self.tool_calls or ()
        if body is not None:
            content, calls = json.loads(body)
        return Message(
            id=self.item_id,
            conversation_id=self.conversation_id,
            seq=int(self.seq),
            parent_id=self.parent_id,
            role=Role(self.role),
            speaker=self.speaker,
            content=content,
            tool_calls=tuple(ToolCall.model_validate(call) for call in calls),
            tool_call_id=self.tool_call_id,
            agent_id=self.agent_id,
            model_id=self.model_id,
            usage=Usage.model_validate(self.usage) if self.usage else None,
            stop_reason=self.stop_reason,
            created_at=self.created_at,
            learnable=self.learnable,
            searchable=self.indexed,
        )


def body_of(message: Message) -> bytes:
    """Return what ``MessageItem.to_domain`` takes as the body of a message."""
    calls = [call.model_dump(mode="json") for call in message.tool_calls]
    return dump_json([message.content, calls]).encode()


class DeletionItem(Item, discriminator="DC"):
    """Marker of a deletion that was begun: the conversation is gone, some of its rows are not.

    While it stands, the id can not start a new life; each step of the deletion requires it, so that
    a late one can not touch what came after.
    """

    user_id = UnicodeAttribute()
    item_id = UnicodeAttribute()
    life = UnicodeAttribute()
    next_seq = NumberAttribute()
    at = TimeAttribute()
    due_bucket = UnicodeAttribute()
    due_at = TimeAttribute()

    @classmethod
    def of(cls, user_id: str, head: ConversationItem, at: datetime) -> DeletionItem:
        """Make the marker of a conversation that is deleted."""
        return cls(
            keys.user(user_id),
            keys.deleting_conversation(head.item_id),
            user_id=user_id,
            item_id=head.item_id,
            life=head.life,
            next_seq=int(head.next_seq),
            at=at,
            due_bucket=keys.due_bucket(DELETION, user_id, head.item_id),
            due_at=at,
        )


class JobPointerItem(Item, discriminator="JB"):
    """Row in a conversation that points at a job over it."""

    job_id = UnicodeAttribute()

    @classmethod
    def of(cls, user_id: str, conversation_id: str, job_id: str) -> JobPointerItem:
        """Make the pointer to a job."""
        return cls(keys.thread(user_id, conversation_id), keys.job_pointer(job_id), job_id=job_id)
