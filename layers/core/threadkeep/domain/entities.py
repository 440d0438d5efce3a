"""Entities of the memory graph, and how statements about them change them."""

from collections.abc import Iterable
from datetime import datetime
from enum import StrEnum
from typing import Any

from pydantic import Field, JsonValue

from threadkeep.domain.limits import MAX_DESCRIPTION_BYTES
from threadkeep.domain.names import name_key
from threadkeep.domain.types import (
    Description,
    Id,
    Model,
    Name,
    Properties,
    Share,
    UtcTime,
    same_json,
)

SELF_NAME = "You"
_SENTENCE_ENDS = tuple(".!?。！？")


class EntityType(StrEnum):
    """What kind of thing an entity is."""

    PERSON = "person"
    PREFERENCE = "preference"
    SKILL = "skill"
    PROJECT = "project"
    GOAL = "goal"
    FACT = "fact"
    CONCEPT = "concept"
    ORGANIZATION = "organization"
    LOCATION = "location"
    CUSTOM = "custom"


class Provenance(StrEnum):
    """Where a statement came from."""

    USER_STATED = "user_stated"
    ASSISTANT_INFERRED = "assistant_inferred"
    TOOL = "tool"
    IMPORTED = "imported"
    MANUAL = "manual"


class Evidence(Model):
    """The stretch of a conversation that supports a statement."""

    turn: str = Field(description="Conversation and message id, as `conversation/message`.")
    speaker: str
    date: UtcTime
    quote: str


SHOWN_EVIDENCE = 20
"""Most pieces of evidence that are read with an item; the others stay counted."""


def newest(evidence: Iterable[Evidence]) -> tuple[Evidence, ...]:
    """Return the newest evidence that is shown, newest first; of one date, by turn."""
    ordered = sorted(evidence, key=lambda piece: (piece.date, piece.turn), reverse=True)
    return tuple(ordered[:SHOWN_EVIDENCE])


class ExtractionNote(Model):
    """How an extracted statement was read from its turn."""

    language: str | None = Field(default=None, description="BCP 47 tag of the turn.")
    modality: str | None = Field(default=None, description="`asserted`, or `hypothetical`.")
    time_precision: str | None = Field(
        default=None, description="`instant`, `day`, `month` or `year`."
    )
    original_phrase: str | None = None


class Entity(Model):
    """A thing the user's memory knows about.

    ``version`` rises with content, ``revision`` (internal, the index version) with every write.
    """

    id: Id
    name: str
    entity_type: EntityType
    description: str = ""
    properties: dict[str, JsonValue] = Field(default_factory=dict)
    importance: Share = 0.5
    provenance: Provenance = Provenance.MANUAL
    evidence: tuple[Evidence, ...] = ()
    sources_count: int = 0
    extraction: ExtractionNote | None = None
    is_self: bool = False
    access_count: int = 0
    last_accessed_at: UtcTime | None = None
    created_at: UtcTime
    updated_at: UtcTime
    touched_at: UtcTime
    expires_at: UtcTime | None = None
    version: int = 1
    revision: int = Field(default=1, exclude=True)

    @property
    def name_key(self) -> str:
        """The form of the name under which it is unique among the user's entities of its type."""
        return name_key(self.name)

    def is_live(self, now: datetime) -> bool:
        """Tell whether the entity has not expired at ``now``; at the very instant it has."""
        return self.expires_at is None or self.expires_at > now


class EntityDraft(Model):
    """What a caller states about an entity: the body of a create, or one extracted statement."""

    name: Name
    entity_type: EntityType
    description: Description | None = None
    properties: Properties | None = None
    importance: Share | None = None
    expires_at: UtcTime | None = None


class EntityChanges(Model):
    """The body of a PUT: the named fields are replaced; null clears a clearable one.

    ``name``, ``entity_type`` and ``importance`` can not be cleared: null leaves them as they are.
    """

    name: Name | None = None
    entity_type: EntityType | None = None
    description: Description | None = None
    properties: Properties | None = None
    importance: Share | None = None
    expires_at: UtcTime | None = None


def content_of(entity: Entity) -> dict[str, Any]:
    """Return the fields whose change makes a new version."""
    return entity.model_dump(
        mode="json",
        include={"name", "entity_type", "description", "properties", "importance", "expires_at"},
    )


def merge_description(current: str, stated: str) -> str:
    """Join two descriptions without repeating what is there and within the size limit.

    Sentences of ``stated`` that ``current`` does not hold are appended. They are compared whole, by
    name key and without the final stop: "uses Java" is not said by "uses JavaScript", nor "eats
    meat" by "never eats meat". What would not fit is left out as a whole sentence: a cut sentence
    could state the opposite of what was said.
    """
    known = {_sentence_key(sentence) for sentence in _sentences(current)}
    merged = current
    size = len(current.encode())
    for sentence in _sentences(stated):
        key = _sentence_key(sentence)
        if key in known:
            continue
        # Joined so that both are found as sentences again.
        joint = " " if merged.endswith(_SENTENCE_ENDS) else "\n" if merged else ""
        longer = size + len(joint.encode()) + len(sentence.encode())
        if longer > MAX_DESCRIPTION_BYTES:
            continue
        merged, size = merged + joint + sentence, longer
        known.add(key)
    return merged


def _sentence_key(sentence: str) -> str:
    return name_key(sentence).rstrip(" .!。")


def _sentences(text: str) -> list[str]:
    parts: list[str] = []
    start = 0
    for index, char in enumerate(text):
        ends = char in "。！？\n" or (
            char in ".!?" and text[index + 1 : index + 2] in ("", " ", "\n")
        )
        if ends:
            parts.append(text[start : index + 1].strip())
            start = index + 1
    parts.append(text[start:].strip())
    return [part for part in parts if part]


def new_entity(
    draft: EntityDraft, *, entity_id: str, provenance: Provenance, now: datetime
) -> Entity:
    """Make the first version of an entity from a statement."""
    return Entity(
        id=entity_id,
        name=draft.name,
        entity_type=draft.entity_type,
        description=draft.description or "",
        properties=draft.properties or {},
        importance=0.5 if draft.importance is None else draft.importance,
        provenance=provenance,
        created_at=now,
        updated_at=now,
        touched_at=now,
        expires_at=draft.expires_at,
    )


def merge(entity: Entity, draft: EntityDraft, now: datetime) -> Entity:
    """Merge a further statement into an entity; an identical one changes only ``touched_at``.

    Properties merge key by key, the description gains what is new, importance keeps the maximum,
    the name stays as first given.
    """
    changed = entity.model_copy(
        update={
            "description": merge_description(entity.description, draft.description or ""),
            "properties": {**entity.properties, **(draft.properties or {})},
            "importance": max(entity.importance, draft.importance or 0.0),
            "expires_at": draft.expires_at or entity.expires_at,
        }
    )
    return _next(entity, changed, now)


def replace(entity: Entity, changes: EntityChanges, now: datetime) -> Entity:
    """Replace the fields that ``changes`` names; null clears description, properties and expiry."""
    cleared: dict[str, Any] = {"description": "", "properties": {}, "expires_at": None}
    update: dict[str, Any] = {}
    for field in changes.model_fields_set:
        value = getattr(changes, field)
        if value is not None:
            update[field] = value
        elif field in cleared:
            update[field] = cleared[field]
    return _next(entity, entity.model_copy(update=update), now)


def _next(before: Entity, after: Entity, now: datetime) -> Entity:
    """Stamp ``after`` as the successor of ``before``."""
    stamps: dict[str, Any] = {"touched_at": now, "revision": before.revision + 1}
    if not same_json(content_of(after), content_of(before)):
        stamps |= {"updated_at": now, "version": before.version + 1}
    return after.model_copy(update=stamps)
