"""The lines of an exported file: JSON objects told apart by ``type``.

A file of a service's own export starts with a header; conversations come first, so that evidence
finds them, then entities, then relations, each followed by its sources and history. A transcript
from elsewhere needs ``message`` lines only. No line names an owner: what is imported belongs to
whoever imports it.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Literal, Self

from pydantic import Field, StringConstraints, TypeAdapter, model_validator
from pydantic import ValidationError as InvalidModelError

from threadkeep.domain.changes import HistoryEntry
from threadkeep.domain.conversations import Message, Role, ToolCall, Usage
from threadkeep.domain.entities import Entity, EntityType, Evidence, ExtractionNote, Provenance
from threadkeep.domain.limits import MAX_MESSAGE_BYTES, MAX_NAME_CHARS, MAX_TOOL_CALLS
from threadkeep.domain.names import name_key
from threadkeep.domain.relations import Relation, RelationType, Span
from threadkeep.domain.transfers import MAX_DETAIL_CHARS, LineError
from threadkeep.domain.types import (
    Description,
    Id,
    Model,
    Name,
    Properties,
    Share,
    UtcTime,
    dump_json,
)

if TYPE_CHECKING:
    from threadkeep.domain.conversations import Conversation

FORMAT_VERSION: Literal[1] = 1
MAX_VERSION = 900_000_000
MAX_SPANS = 1000
_ASSISTANTS = frozenset({"assistant", "ai", "agent", "bot", "model"})

Version = Annotated[int, Field(ge=1, le=MAX_VERSION)]
Short = Annotated[str, StringConstraints(max_length=300)]


class HeaderLine(Model):
    """What the file is."""

    type: Literal["threadkeep"] = "threadkeep"
    version: Literal[1] = FORMAT_VERSION
    exported_at: UtcTime | None = None


class EntityLine(Model):
    """An entity, without its sources, which follow, and its access counts."""

    type: Literal["entity"] = "entity"
    id: Id | None = None
    name: Name
    entity_type: EntityType
    description: Description = ""
    properties: Properties = Field(default_factory=dict)
    importance: Share | None = None
    provenance: Provenance | None = None
    extraction: ExtractionNote | None = None
    is_self: bool = False
    created_at: UtcTime | None = None
    updated_at: UtcTime | None = None
    touched_at: UtcTime | None = None
    expires_at: UtcTime | None = None
    version: Version = 1

    @classmethod
    def of(cls, entity: Entity) -> Self:
        """Make the line of an entity."""
        return cls.model_validate(
            entity.model_dump(include=cls.model_fields.keys() & Entity.model_fields.keys())
        )


class RelationLine(Model):
    """A relation, current or closed, with both axes of time; its sources follow."""

    type: Literal["relation"] = "relation"
    id: Id | None = None
    source_entity_id: Id
    target_entity_id: Id
    relation_type: RelationType
    description: Description = ""
    properties: Properties = Field(default_factory=dict)
    valid_from: UtcTime | None = None
    valid_to: UtcTime | None = None
    spans: Annotated[tuple[Span, ...], Field(max_length=MAX_SPANS)] = ()
    created_at: UtcTime | None = None
    updated_at: UtcTime | None = None
    version: Version = 1

    @model_validator(mode="after")
    def _times_agree(self) -> Self:
        if self.valid_from and self.valid_to and self.valid_to <= self.valid_from:
            raise ValueError("valid_to must be after valid_from")
        if self.spans:
            last = self.spans[-1]
            if (last.valid_from, last.valid_to) != (self.valid_from, self.valid_to):
                raise ValueError("the last span must be what holds now")
            if any(span.recorded_to is None for span in self.spans[:-1]) or last.recorded_to:
                raise ValueError("all spans but the last must have ended")
        return self

    @classmethod
    def of(cls, relation: Relation) -> Self:
        """Make the line of a relation."""
        fields = cls.model_fields.keys() & Relation.model_fields.keys()
        return cls.model_validate({name: getattr(relation, name) for name in fields})


class SourceLine(Model):
    """A source that supports an entity or relation, with its evidence unless that was dropped."""

    type: Literal["source"] = "source"
    of: Literal["entity", "relation"]
    item_id: Id
    source_id: Annotated[Short, StringConstraints(min_length=1)]
    evidence: Evidence | None = None


class HistoryLine(HistoryEntry):
    """A past change; an import does not take it over, since it writes a history of its own."""

    type: Literal["history"] = "history"

    @classmethod
    def of(cls, entry: HistoryEntry) -> Self:
        """Make the line of a change."""
        return cls.model_validate(dict(entry))


class ConversationLine(Model):
    """The head of the conversation whose messages follow."""

    type: Literal["conversation"] = "conversation"
    id: Id
    title: Annotated[str, StringConstraints(max_length=MAX_NAME_CHARS)] | None = None
    agent_id: Id | None = None
    created_at: UtcTime | None = None

    @classmethod
    def of(cls, head: Conversation) -> Self:
        """Make the line of a conversation."""
        return cls(id=head.id, title=head.title, agent_id=head.agent_id, created_at=head.created_at)


class MessageLine(Model):
    """A message, of an export or of a transcript from elsewhere."""

    type: Literal["message"] = "message"
    conversation: Id
    id: Short | None = None
    role: Role | None = Field(
        default=None, description="By default who is not called an assistant is the user."
    )
    speaker: Name | None = None
    content: str
    tool_calls: Annotated[tuple[ToolCall, ...], Field(max_length=MAX_TOOL_CALLS)] = ()
    tool_call_id: Short | None = None
    agent_id: Id | None = None
    model_id: Short | None = None
    usage: Usage | None = None
    stop_reason: Short | None = None
    created_at: UtcTime

    @model_validator(mode="after")
    def _is_within_limits(self) -> Self:
        if len(self.content.encode()) > MAX_MESSAGE_BYTES:
            raise ValueError(f"content is longer than {MAX_MESSAGE_BYTES} bytes of UTF-8")
        if self.said_by is Role.USER and not self.content.strip():
            raise ValueError("content is blank")
        if self.tool_calls and self.said_by is not Role.ASSISTANT:
            raise ValueError("only an assistant asks for tool calls")
        calls = [call.model_dump(mode="json") for call in self.tool_calls]
        if calls and len(dump_json(calls).encode()) > MAX_MESSAGE_BYTES:
            raise ValueError(f"tool_calls are longer than {MAX_MESSAGE_BYTES} bytes of JSON")
        if (self.tool_call_id is not None) != (self.said_by is Role.TOOL):
            raise ValueError("tool_call_id is for messages of tools, and they need it")
        return self

    @property
    def said_by(self) -> Role:
        """The role, read from the speaker where the file does not tell it."""
        if self.role is not None:
            return self.role
        called = name_key(self.speaker) if self.speaker else ""
        return Role.ASSISTANT if called in _ASSISTANTS else Role.USER

    @classmethod
    def of(cls, message: Message) -> Self:
        """Make the line of a message."""
        fields = cls.model_fields.keys() & Message.model_fields.keys()
        values = {name: getattr(message, name) for name in fields}
        return cls(conversation=message.conversation_id, **values)


type Line = (
    HeaderLine
    | EntityLine
    | RelationLine
    | SourceLine
    | HistoryLine
    | ConversationLine
    | MessageLine
)

_LINES: TypeAdapter[Line] = TypeAdapter(Annotated[Line, Field(discriminator="type")])


def write_line(line: Line) -> bytes:
    """Return a line as bytes, with its line end; absent fields are left out."""
    return line.model_dump_json(exclude_none=True).encode() + b"\n"


def read_line(number: int, text: bytes) -> Line | LineError:
    """Read a line, or tell why it can not be taken.

    Args:
        number: Number of the line, from 1.
        text: The line without its end.
    """
    try:
        return _LINES.validate_json(text, strict=True)
    except InvalidModelError as error:
        first = error.errors(include_url=False, include_context=False)[0]
        where = ".".join(map(str, first["loc"][1:]))
        detail = f"{where}: {first['msg']}" if where else first["msg"]
        return line_error(number, first["type"], detail)


def line_error(number: int, code: str, detail: str) -> LineError:
    """Return why a line was not taken, cut to what is shown of it."""
    return LineError(line=number, code=code, detail=detail[:MAX_DETAIL_CHARS])
