"""One user's memory graph in dictionaries, and the conditions under which it changes."""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from threadkeep.domain.changes import (
    CreateEntity,
    CreateRelation,
    DeleteRelation,
    HistoryEntry,
    UpdateEntity,
    UpdateRelation,
)
from threadkeep.domain.entities import Entity, Evidence
from threadkeep.domain.relations import SINGLE_VALUED, Direction, Relation
from threadkeep.domain.retrieval import DocumentKind
from threadkeep.errors import ConflictError
from threadkeep.ports import Half, Pending

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from datetime import datetime
    from typing import Any

    from threadkeep.domain.changes import Change, Commit
    from threadkeep.domain.relations import RelationType

    Guard = tuple[str, ...]


@dataclass
class MemoryGraph:
    """Everything the store keeps for one user.

    Attributes:
        sources: Evidence by item and source.
        guards: Which item holds what only one may hold.
        deleting: Items that are gone while some of what belonged to them is not.
        halves: Relations by their ends.
    """

    entities: dict[str, Entity] = field(default_factory=dict)
    relations: dict[str, Relation] = field(default_factory=dict)
    sources: defaultdict[str, dict[str, Evidence | None]] = field(
        default_factory=lambda: defaultdict(dict)
    )
    history: defaultdict[str, list[HistoryEntry]] = field(default_factory=lambda: defaultdict(list))
    guards: dict[Guard, str] = field(default_factory=dict)
    marks: dict[str, Pending] = field(default_factory=dict)
    accesses: dict[str, tuple[int, datetime]] = field(default_factory=dict)
    deleting: set[str] = field(default_factory=set)
    halves: defaultdict[str, set[str]] = field(default_factory=lambda: defaultdict(set))
    steps: defaultdict[str, list[str]] = field(default_factory=lambda: defaultdict(list))
    step_owners: dict[str, str] = field(default_factory=dict)

    def check(self, commit: Commit) -> None:
        """Raise ``ConflictError`` unless every condition of a commit holds."""
        touched = [item_of(change).id for change in commit.changes]
        if len(set(touched)) < len(touched):
            raise ValueError("a commit changes one item twice")
        created = {c.entity.id for c in commit.changes if isinstance(c, CreateEntity)}
        for change in commit.changes:
            self._check_item(change)
            self._check_sources(change)
            if isinstance(change, CreateRelation | UpdateRelation):
                relation = item_of(change)
                for end in (relation.source_entity_id, relation.target_entity_id):
                    if end not in self.entities and end not in created:
                        raise ConflictError("An end of the relation is gone.")
        released = {guard for change in commit.changes for guard in released_by(change)}
        taken = [guard for change in commit.changes for guard in taken_by(change)]
        if len(set(taken)) < len(taken):
            raise ValueError("two changes of a commit take the same place")
        if any(guard in self.guards and guard not in released for guard in taken):
            raise ConflictError("The name or relation is taken.")

    def apply(self, commit: Commit) -> None:
        """Apply the changes of a commit that was checked."""
        for change in commit.changes:
            for guard in released_by(change):
                self.guards.pop(guard, None)
        for change in commit.changes:
            if isinstance(change, DeleteRelation):
                self.remove_relation(change.relation.id)
                continue
            item = change.result
            for guard in taken_by(change):
                self.guards[guard] = item.id
            if isinstance(item, Entity):
                self._store_entity(item, commit.at)
            else:
                self._store_relation(item)
            if change.support:
                self.sources[item.id][change.support.source_id] = change.support.evidence
            if isinstance(change, UpdateEntity | UpdateRelation) and change.dropped:
                del self.sources[item.id][change.dropped]
            if entry := commit.entry(change):
                self.history[item.id].append(entry)

    def half(self, relation: Relation, entity_id: str) -> Half:
        """Return a relation as seen from one of its ends."""
        outgoing = relation.source_entity_id == entity_id
        other = relation.target_entity_id if outgoing else relation.source_entity_id
        return Half(
            relation_id=relation.id,
            entity_id=entity_id,
            other_id=other,
            outgoing=outgoing,
            relation_type=relation.relation_type,
            current=not relation.is_closed,
            valid_to=relation.valid_to,
        )

    def halves_at(
        self, entity_id: str, direction: Direction, types: Sequence[RelationType] | None
    ) -> list[Half]:
        """Return the halves at an entity: current ones first, incoming before outgoing."""
        found = [self.half(self.relations[i], entity_id) for i in self.halves.get(entity_id, ())]
        wanted = [
            half
            for half in found
            if (types is None or half.relation_type in types)
            and (direction is Direction.BOTH or half.outgoing == (direction is Direction.OUTGOING))
        ]
        return sorted(
            wanted, key=lambda h: (not h.current, h.outgoing, h.relation_type, h.other_id)
        )

    def remove_relation(self, relation_id: str) -> None:
        """Remove a relation with all that belongs to it."""
        relation = self.relations.pop(relation_id)
        for guard in _claims(relation):
            if self.guards.get(guard) == relation_id:
                del self.guards[guard]
        for end in (relation.source_entity_id, relation.target_entity_id):
            self.halves[end].discard(relation_id)
        self.sources.pop(relation_id, None)
        self.history.pop(relation_id, None)

    def drop_evidence(self, prefix: str) -> None:
        """Drop the words of sources by the start of their ids; entities are to be indexed anew."""
        for item_id, sources in self.sources.items():
            dropped = [i for i in sources if i.startswith(prefix) and sources[i] is not None]
            sources.update(dict.fromkeys(dropped))
            entity = self.entities.get(item_id)
            if entity is not None and dropped:
                again = entity.model_copy(update={"revision": entity.revision + 1})
                self.entities[item_id] = again
                self.marks[item_id] = Pending(
                    DocumentKind.ENTITY, item_id, again.revision, False, entity.touched_at
                )

    def _check_item(self, change: Change) -> None:
        stored: Entity | Relation | None
        match change:
            case CreateEntity(entity=entity):
                if entity.id in self.entities or entity.id in self.deleting:
                    raise ConflictError("The id is taken.")
            case CreateRelation(relation=relation):
                if relation.id in self.relations or relation.id in self.deleting:
                    raise ConflictError("The id is taken.")
            case UpdateEntity(before=before):
                stored = self.entities.get(before.id)
                if stored is None or stored.revision != before.revision:
                    raise ConflictError("The entity has changed.")
            case UpdateRelation(before=before) | DeleteRelation(relation=before):
                stored = self.relations.get(before.id)
                if stored is None or stored.revision != before.revision:
                    raise ConflictError("The relation has changed.")

    def _check_sources(self, change: Change) -> None:
        if isinstance(change, DeleteRelation):
            return
        stored = self.sources.get(item_of(change).id, {})
        if change.support and change.support.source_id in stored:
            raise ConflictError("The source is counted already.")
        dropped = None if isinstance(change, CreateEntity | CreateRelation) else change.dropped
        if dropped is not None and dropped not in stored:
            raise ConflictError("The source is not there.")

    def _store_entity(self, entity: Entity, at: datetime) -> None:
        bare = {"evidence": (), "access_count": 0, "last_accessed_at": None}
        self.entities[entity.id] = entity.model_copy(update=bare)
        self.marks[entity.id] = Pending(DocumentKind.ENTITY, entity.id, entity.revision, False, at)

    def _store_relation(self, relation: Relation) -> None:
        self.relations[relation.id] = relation.model_copy(update={"sources": ()})
        for end in (relation.source_entity_id, relation.target_entity_id):
            self.halves[end].add(relation.id)


def item_of(change: Change) -> Any:
    """Return the entity or relation that a change is about."""
    match change:
        case CreateEntity(entity=entity):
            return entity
        case CreateRelation(relation=relation) | DeleteRelation(relation=relation):
            return relation
        case UpdateEntity() | UpdateRelation():
            return change.result


def released_by(change: Change) -> Iterator[Guard]:
    """Yield the guards that an item held before a change."""
    match change:
        case UpdateEntity(before=before) | UpdateRelation(before=before):
            yield from _claims(before)
        case DeleteRelation(relation=relation):
            yield from _claims(relation)


def taken_by(change: Change) -> Iterator[Guard]:
    """Yield the guards that an item holds after a change."""
    if not isinstance(change, DeleteRelation):
        yield from _claims(change.result)


def _claims(item: Entity | Relation) -> Iterator[Guard]:
    if isinstance(item, Entity):
        yield ("name", item.entity_type, item.name_key)
        if item.is_self:
            yield ("self",)
        return
    if not item.is_closed:
        yield ("triple", item.source_entity_id, item.relation_type, item.target_entity_id)
    if item.relation_type in SINGLE_VALUED and item.valid_to is None:
        yield ("only", item.source_entity_id, item.relation_type)
