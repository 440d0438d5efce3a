"""Conversations and their messages."""

import re
from collections.abc import Sequence
from enum import StrEnum
from typing import Any

from pydantic import Field

from threadkeep.domain.limits import MAX_TOOL_CALLS
from threadkeep.domain.types import Id, Model, Name, UtcTime, dump_json
from threadkeep.errors import ValidationError

MAX_TITLE_CHARS = 60
_MESSAGE_ID = re.compile(r"([0-9]{12})-[A-Za-z0-9]{1,64}")


class Role(StrEnum):
    """Who speaks in a message."""

    USER = "user"
    ASSISTANT = "assistant"
    TOOL = "tool"


class ToolCall(Model):
    """A call that an assistant message asks for."""

    id: str
    name: str
    arguments: dict[str, Any] = Field(default_factory=dict)


class Usage(Model):
    """Tokens that a model call used, by the provider's own count."""

    input_tokens: int = 0
    output_tokens: int = 0
    cached_tokens: int = 0


class Message(Model):
    """One message of a transcript; ``seq`` orders the messages of a conversation without gaps."""

    id: str
    conversation_id: Id
    seq: int
    parent_id: str | None = None
    role: Role
    speaker: Name | None = Field(
        default=None, description="Name of who speaks, where a transcript tells it."
    )
    content: str
    tool_calls: tuple[ToolCall, ...] = ()
    tool_call_id: str | None = None
    agent_id: str | None = None
    model_id: str | None = None
    usage: Usage | None = None
    stop_reason: str | None = None
    created_at: UtcTime
    learnable: bool = Field(
        default=False,
        exclude=True,
        description="Whether extraction was on for this turn of the user: only then is it read.",
    )
    searchable: bool = Field(
        default=False,
        exclude=True,
        description="Whether it was stored to be found as an episode; told by the store.",
    )


class Conversation(Model):
    """A conversation's head: what a list shows, and where its transcript stands.

    ``life`` tells the lives of a caller-chosen id apart: a deleted and re-used id starts a new one.
    """

    id: Id
    title: str = ""
    agent_id: str | None = None
    created_at: UtcTime
    last_activity_at: UtcTime
    message_count: int = 0
    version: int = 1
    life: str = Field(exclude=True)
    next_seq: int = Field(default=1, exclude=True)
    active_leaf_id: str | None = Field(default=None, exclude=True)
    extracted_seq: int = Field(default=0, exclude=True)


class ConversationChanges(Model):
    """The body of a PATCH."""

    title: Name


class Lease(Model):
    """The right to write a conversation, until ``expires_at`` or until another holder takes over.

    ``token`` is the fencing token: it rises with every new holder; a write with an older one fails.
    """

    conversation_id: Id
    life: str
    token: int
    expires_at: UtcTime


def message_id(seq: int, unique: str) -> str:
    """Make the id of a message: its place in the conversation, then an unguessable part.

    The place leads to the message's row in one read; the rest tells apart messages that took the
    same place in different lives of a conversation id.

    Args:
        seq: Place in the conversation, from 1.
        unique: A new id, letters and digits only.
    """
    return f"{seq:012d}-{unique}"


def seq_of(message_id: str) -> int | None:
    """Return the place that a message id names, or None if no message can have this id."""
    match = _MESSAGE_ID.fullmatch(message_id)
    return (int(match[1]) or None) if match else None


def require_appendable(lease: Lease, messages: Sequence[Message]) -> None:
    """Require that messages can be appended under a lease, as far as they tell themselves.

    Raises:
        ValueError: They do not follow each other in the lease's conversation, as their ids say: a
            fault of the writer, not of its caller.
        ValidationError: A message has more tool results than are stored at once
            (``too_many_tool_calls``).
    """
    for offset, message in enumerate(messages):
        if message.seq != messages[0].seq + offset:
            raise ValueError("messages must follow each other")
        if (message.conversation_id, seq_of(message.id)) != (lease.conversation_id, message.seq):
            raise ValueError("a message's id must name its place in the lease's conversation")
    if any(len(one) > MAX_TOOL_CALLS + 1 for one in rounds(messages)):
        raise ValidationError(
            f"A message has more than {MAX_TOOL_CALLS} tool results.", code="too_many_tool_calls"
        )


def rounds(messages: Sequence[Message]) -> list[list[Message]]:
    """Group each message with the tool results that follow it: these are never parted."""
    grouped: list[list[Message]] = []
    for message in messages:
        if grouped and message.role is Role.TOOL:
            grouped[-1].append(message)
        else:
            grouped.append([message])
    return grouped


def size_of(message: Message) -> int:
    """Return the bytes of UTF-8 that a message's text and tool calls take."""
    calls = [call.model_dump(mode="json") for call in message.tool_calls]
    return len(message.content.encode()) + (len(dump_json(calls).encode()) if calls else 0)


def title_of(text: str) -> str:
    """Return a conversation's title: the first words of its first user message."""
    words = " ".join(text.split())
    if len(words) <= MAX_TITLE_CHARS:
        return words
    cut = words[: MAX_TITLE_CHARS - 1]
    whole = cut.rpartition(" ")[0] if words[MAX_TITLE_CHARS - 1] != " " else cut
    return f"{whole or cut}…"
