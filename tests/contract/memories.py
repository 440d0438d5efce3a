"""Short ways to say what the contract suites of the memory store put into it."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING, Any

from threadkeep.domain.changes import (
    Commit,
    CreateEntity,
    CreateRelation,
    Origin,
    Support,
    UpdateEntity,
    UpdateRelation,
)
from threadkeep.domain.entities import Entity, EntityChanges, EntityType, Evidence, replace
from threadkeep.domain.relations import Relation, RelationDraft, RelationType, new_relation

if TYPE_CHECKING:
    from threadkeep.domain.changes import Change, Step
    from threadkeep.ports import MemoryStore

NOW = datetime(2026, 3, 1, 12, tzinfo=UTC)
USER = "u1"


def later(**by: float) -> datetime:
    """Return a time after ``NOW``."""
    return NOW + timedelta(**by)


def entity(entity_id: str, name: str | None = None, **fields: Any) -> Entity:
    """Make an entity; by default a concept named like its id."""
    at = fields.pop("at", NOW)
    stamps = {"created_at": at, "updated_at": at, "touched_at": at}
    kind = fields.pop("entity_type", EntityType.CONCEPT)
    return Entity(id=entity_id, name=name or entity_id, entity_type=kind, **(stamps | fields))


def relation(
    relation_id: str,
    source: str,
    target: str,
    kind: RelationType = RelationType.KNOWS,
    *,
    at: datetime = NOW,
    **fields: Any,
) -> Relation:
    """Make a relation."""
    draft = RelationDraft(
        source_entity_id=source, target_entity_id=target, relation_type=kind, **fields
    )
    return new_relation(draft, relation_id=relation_id, now=at)


def support(source_id: str, quote: str | None = None, at: datetime = NOW) -> Support:
    """Make a source, with evidence if there is a quote."""
    if quote is None:
        return Support(source_id)
    return Support(source_id, Evidence(turn=source_id, speaker="user", date=at, quote=quote))


def commit(
    store: MemoryStore,
    *changes: Change,
    user: str = USER,
    at: datetime = NOW,
    source: str | None = None,
    step: Step | None = None,
) -> None:
    """Commit changes of a user by hand."""
    store.commit(user, Commit(Origin(f"user:{user}", source), at, changes, step))


def create(store: MemoryStore, *items: Entity | Relation, user: str = USER) -> None:
    """Create entities and relations, each in a commit of its own."""
    for item in items:
        change = CreateEntity(item) if isinstance(item, Entity) else CreateRelation(item)
        commit(store, change, user=user)


def renamed(before: Entity, name: str, at: datetime = NOW) -> UpdateEntity:
    """Make the change that renames an entity."""
    return UpdateEntity(before, replace(before, EntityChanges(name=name), at))


def stored(store: MemoryStore, entity_id: str, user: str = USER) -> Entity:
    """Return an entity that must be there."""
    found = store.get_entity(user, entity_id)
    assert found is not None
    return found


def stored_relation(store: MemoryStore, relation_id: str, user: str = USER) -> Relation:
    """Return a relation that must be there."""
    found = store.get_relation(user, relation_id)
    assert found is not None
    return found


def updated(before: Relation, after: Relation, **fields: Any) -> UpdateRelation:
    """Make the change of a relation."""
    return UpdateRelation(before, after, **fields)
