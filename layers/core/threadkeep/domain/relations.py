"""Directed relations between entities: uniqueness, cardinality and the two time axes."""

from datetime import datetime
from enum import StrEnum
from typing import TYPE_CHECKING, Any, Self

from pydantic import Field, JsonValue, model_validator

from threadkeep.domain.entities import Evidence, merge_description
from threadkeep.domain.types import Description, Id, Model, Properties, UtcTime, same_json

if TYPE_CHECKING:
    from collections.abc import Sequence


class RelationType(StrEnum):
    """What a relation says about its source and target."""

    PREFERS = "prefers"
    WORKS_ON = "works_on"
    KNOWS = "knows"
    USES = "uses"
    WORKS_AT = "works_at"
    LOCATED_IN = "located_in"
    HAS_GOAL = "has_goal"
    RELATED_TO = "related_to"
    PART_OF = "part_of"


SINGLE_VALUED = frozenset({RelationType.WORKS_AT, RelationType.LOCATED_IN})
"""Types of which a source has one current target: a new one closes the old one."""


class Direction(StrEnum):
    """Which way relations are followed, seen from the entity at hand."""

    INCOMING = "incoming"
    OUTGOING = "outgoing"
    BOTH = "both"


class Span(Model):
    """What the service held to be true of a relation between two moments of its own knowledge.

    ``recorded_to`` is open for what is held now. Together the spans of a relation answer
    ``known_at``.
    """

    recorded_from: UtcTime
    recorded_to: UtcTime | None = None
    valid_from: UtcTime
    valid_to: UtcTime | None = None

    def holds(self, *, as_of: datetime, known_at: datetime) -> bool:
        """Tell whether, by what was known at ``known_at``, it was true at ``as_of`` (half-open)."""
        known = self.recorded_from <= known_at and (
            self.recorded_to is None or known_at < self.recorded_to
        )
        return (
            known and self.valid_from <= as_of and (self.valid_to is None or as_of < self.valid_to)
        )


class Relation(Model):
    """A directed relation from one entity to another.

    ``spans`` is internal: the history of the two time axes, newest last; the public times are
    those of the last.
    """

    id: Id
    source_entity_id: Id
    target_entity_id: Id
    relation_type: RelationType
    description: str = ""
    properties: dict[str, JsonValue] = Field(default_factory=dict)
    valid_from: UtcTime
    valid_to: UtcTime | None = None
    recorded_from: UtcTime
    recorded_to: UtcTime | None = None
    sources: tuple[Evidence, ...] = ()
    sources_count: int = 0
    created_at: UtcTime
    updated_at: UtcTime
    version: int = 1
    revision: int = Field(default=1, exclude=True)
    spans: tuple[Span, ...] = Field(default=(), exclude=True)

    def is_current(self, now: datetime) -> bool:
        """Tell whether it has not been closed by ``now``."""
        return self.valid_to is None or self.valid_to > now

    @property
    def is_closed(self) -> bool:
        """Whether it had ended when it was last written; one whose end lay ahead then may have
        passed it since (``is_current`` tells), and ``settle`` closes that one.
        """
        return not self.is_current(self.updated_at)

    def holds(self, *, as_of: datetime, known_at: datetime) -> bool:
        """Tell whether it was true at ``as_of`` by what the service knew at ``known_at``."""
        return any(span.holds(as_of=as_of, known_at=known_at) for span in self.spans)


class RelationDraft(Model):
    """What a caller states about a relation: the body of a create, or one extracted statement."""

    source_entity_id: Id
    target_entity_id: Id
    relation_type: RelationType
    description: Description | None = None
    properties: Properties | None = None
    valid_from: UtcTime | None = None
    valid_to: UtcTime | None = None

    @model_validator(mode="after")
    def _ends_after_it_starts(self) -> Self:
        if self.valid_from and self.valid_to and self.valid_to <= self.valid_from:
            raise ValueError("valid_to must be after valid_from")
        return self


class RelationChanges(Model):
    """The body of a PUT: the named fields are replaced; null clears all but ``valid_from``."""

    description: Description | None = None
    properties: Properties | None = None
    valid_from: UtcTime | None = None
    valid_to: UtcTime | None = None


def new_relation(draft: RelationDraft, *, relation_id: str, now: datetime) -> Relation:
    """Make the first version of a relation; without ``valid_from`` it is true from now on."""
    valid_from = draft.valid_from or now
    span = Span(recorded_from=now, valid_from=valid_from, valid_to=draft.valid_to)
    return Relation(
        id=relation_id,
        source_entity_id=draft.source_entity_id,
        target_entity_id=draft.target_entity_id,
        relation_type=draft.relation_type,
        description=draft.description or "",
        properties=draft.properties or {},
        valid_from=valid_from,
        valid_to=draft.valid_to,
        recorded_from=now,
        created_at=now,
        updated_at=now,
        spans=(span,),
    )


def merge(relation: Relation, draft: RelationDraft, now: datetime) -> Relation:
    """Merge a further statement of the same current relation; an identical one changes nothing."""
    update: dict[str, Any] = {
        "description": merge_description(relation.description, draft.description or ""),
        "properties": {**relation.properties, **(draft.properties or {})},
    }
    if draft.valid_from is not None:
        update["valid_from"] = min(draft.valid_from, relation.valid_from)
    if draft.valid_to is not None:
        update["valid_to"] = draft.valid_to
    return _next(relation, relation.model_copy(update=update), now)


def replace(relation: Relation, changes: RelationChanges, now: datetime) -> Relation:
    """Replace the fields that ``changes`` names; null clears all but ``valid_from``.

    Raises:
        ValueError: The relation would end before it starts.
    """
    cleared: dict[str, Any] = {"description": "", "properties": {}, "valid_to": None}
    update: dict[str, Any] = {}
    for field in changes.model_fields_set:
        value = getattr(changes, field)
        if value is not None:
            update[field] = value
        elif field in cleared:
            update[field] = cleared[field]
    changed = relation.model_copy(update=update)
    if changed.valid_to is not None and changed.valid_to <= changed.valid_from:
        raise ValueError("valid_to must be after valid_from")
    return _next(relation, changed, now)


def close(relation: Relation, *, valid_to: datetime, now: datetime) -> Relation:
    """End a relation: it stays in history, and is no longer current after ``valid_to``.

    One that was to begin later is taken as never having been true.
    """
    began = min(relation.valid_from, now)
    update = {"valid_from": began, "valid_to": max(valid_to, began)}
    return _next(relation, relation.model_copy(update=update), now)


def settle(relation: Relation, now: datetime) -> Relation:
    """Mark a relation whose end has passed as closed, to make room for one of the same triple.

    Nothing that is true of it changes, so neither do its version and history.
    """
    return relation.model_copy(update={"updated_at": now, "revision": relation.revision + 1})


def content_of(relation: Relation) -> dict[str, Any]:
    """Return the fields whose change makes a new version."""
    return relation.model_dump(
        mode="json", include={"description", "properties", "valid_from", "valid_to"}
    )


def _next(before: Relation, after: Relation, now: datetime) -> Relation:
    """Stamp ``after`` as the successor of ``before``; a change of validity opens a new span."""
    if same_json(content_of(after), content_of(before)):
        return before
    spans: Sequence[Span] = before.spans
    if (after.valid_from, after.valid_to) != (before.valid_from, before.valid_to):
        ended = spans[-1].model_copy(update={"recorded_to": now})
        opened = Span(recorded_from=now, valid_from=after.valid_from, valid_to=after.valid_to)
        spans = (*spans[:-1], ended, opened)
    return after.model_copy(
        update={
            "updated_at": now,
            "version": before.version + 1,
            "revision": before.revision + 1,
            "recorded_from": spans[-1].recorded_from,
            "spans": tuple(spans),
        }
    )
