"""Changes of the memory graph as data: a service decides them, a store commits them all or none."""

from dataclasses import dataclass, field
from datetime import datetime
from typing import Any

from threadkeep.domain import entities, relations
from threadkeep.domain.entities import Entity, Evidence
from threadkeep.domain.relations import Relation
from threadkeep.domain.transfers import Transfer
from threadkeep.domain.types import Model, UtcTime


class HistoryEntry(Model):
    """One change of an entity or relation: who made it, when, from what to what, and why."""

    item_id: str
    version: int
    at: UtcTime
    actor: str
    action: str
    before: dict[str, Any] | None = None
    after: dict[str, Any] | None = None
    source: str | None = None


@dataclass(frozen=True)
class Origin:
    """Who makes a change and from what source, for the history.

    Args:
        actor: ``user:{sub}``, ``admin:{sub}`` or ``extraction``.
        source: The turn (``conversation/message``), job or import that led to it, if any.
    """

    actor: str
    source: str | None = None


@dataclass(frozen=True)
class Support:
    """A source that supports an item; the same ``source_id`` counts once."""

    source_id: str
    evidence: Evidence | None = None


MAX_CHANGES = 7
"""Changes that fit one transaction whatever they are; more may be refused as too many."""


@dataclass(frozen=True)
class CreateEntity:
    """Store a new entity; fails if its name key and type are taken."""

    entity: Entity
    support: Support | None = None

    @property
    def result(self) -> Entity:
        """The entity as it is stored: sources counted."""
        return self.entity.model_copy(update={"sources_count": int(self.support is not None)})


@dataclass(frozen=True)
class UpdateEntity:
    """Replace an entity that is still as ``before``; moves the name guard when the name key
    changes.

    ``support`` must not be among the stored sources, ``dropped`` must be: the store checks and
    fails otherwise.
    """

    before: Entity
    after: Entity
    support: Support | None = None
    dropped: str | None = None

    @property
    def result(self) -> Entity:
        """The entity as it is stored: sources counted, revision risen by one."""
        return self.after.model_copy(update=_stamps(self))


@dataclass(frozen=True)
class CreateRelation:
    """Store a new relation; fails unless both ends are there, and if there is an unclosed one of
    the same source, target and type.

    Of a single-valued type a source has at most one relation with an open end: a commit that
    creates another must close that one.
    """

    relation: Relation
    support: Support | None = None

    @property
    def result(self) -> Relation:
        """The relation as it is stored: sources counted."""
        return self.relation.model_copy(update={"sources_count": int(self.support is not None)})


@dataclass(frozen=True)
class UpdateRelation:
    """Replace a relation that is still as ``before``, both ends being there; closing one moves its
    halves.

    ``support`` must not be among the stored sources, ``dropped`` must be: the store checks and
    fails otherwise.
    """

    before: Relation
    after: Relation
    support: Support | None = None
    dropped: str | None = None

    @property
    def result(self) -> Relation:
        """The relation as it is stored: sources counted, revision risen by one."""
        return self.after.model_copy(update=_stamps(self))


@dataclass(frozen=True)
class DeleteRelation:
    """Remove a relation with its sources and history."""

    relation: Relation


def _stamps(change: UpdateEntity | UpdateRelation) -> dict[str, int]:
    """Return what the store sets itself, so that no two writes of an item look alike."""
    before = change.before
    gained = int(change.support is not None) - int(change.dropped is not None)
    return {"sources_count": before.sources_count + gained, "revision": before.revision + 1}


Change = CreateEntity | UpdateEntity | CreateRelation | UpdateRelation | DeleteRelation


@dataclass(frozen=True)
class Step:
    """The place of a commit in an extraction job: it takes effect if it is the next, and once.

    Args:
        job_id: The job.
        conversation_id: Its conversation.
        life: The conversation's life that the job belongs to; it must not have ended.
        number: How many steps of the job were applied before this one.
        outcome: What comes of the step, kept for the job record.
    """

    job_id: str
    conversation_id: str
    life: str
    number: int
    outcome: str = ""


@dataclass(frozen=True)
class Advance:
    """How far an import has come with a commit: it takes effect if nobody else went on meanwhile.

    Args:
        transfer: The job's record as it is then, with the revision that it must still have.
        mapped: An id of the file, and the id here that stands for it, if it is another.
    """

    transfer: Transfer
    mapped: tuple[str, str] | None = None


@dataclass(frozen=True)
class Commit:
    """Changes that take effect together or not at all."""

    origin: Origin
    at: datetime
    changes: tuple[Change, ...] = field(default=())
    step: Step | None = None
    advance: Advance | None = None

    def entry(self, change: Change) -> HistoryEntry | None:
        """Return what the history keeps of a change; None if it makes no new version.

        A deletion leaves nothing: the item's history goes with it.
        """
        if isinstance(change, DeleteRelation):
            return None
        before = change.before if isinstance(change, UpdateEntity | UpdateRelation) else None
        after = change.result
        if before is not None and before.version == after.version:
            return None
        return HistoryEntry(
            item_id=after.id,
            version=after.version,
            at=self.at,
            actor=self.origin.actor,
            action=_action(before, after),
            before=_content(before) if before is not None else None,
            after=_content(after),
            source=self.origin.source,
        )


def _action(before: Entity | Relation | None, after: Entity | Relation) -> str:
    if before is None:
        return "created"
    if isinstance(before, Relation) and isinstance(after, Relation):
        return "closed" if after.is_closed and not before.is_closed else "updated"
    return "updated"


def _content(item: Entity | Relation) -> dict[str, Any]:
    return entities.content_of(item) if isinstance(item, Entity) else relations.content_of(item)
