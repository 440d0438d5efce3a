"""In-memory memory store with the conditions, marks and deletions of the real one."""

from __future__ import annotations

from collections import defaultdict
from threading import RLock
from typing import TYPE_CHECKING, Literal

from tests.fakes.memory_graph import MemoryGraph
from tests.fakes.memory_pages import cut
from threadkeep.domain.changes import Support
from threadkeep.domain.entities import newest
from threadkeep.domain.names import name_key
from threadkeep.domain.relations import Direction
from threadkeep.domain.retrieval import DocumentKind
from threadkeep.errors import ConflictError, UnavailableError
from threadkeep.ports import Half, Page, PageRequest, Pending

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence
    from datetime import datetime

    from tests.fakes.conversations import FakeConversationStore
    from tests.fakes.transfers import FakeTransferStore
    from threadkeep.domain.changes import Commit, HistoryEntry
    from threadkeep.domain.entities import Entity, EntityType, Evidence
    from threadkeep.domain.relations import Relation, RelationType


class FakeMemoryStore:
    """Memory graphs in dictionaries, one lock around every call.

    Attributes:
        interrupt_deletions: Whether a deletion stops after its first step, as if the worker died.
    """

    def __init__(self) -> None:
        self._graphs: defaultdict[str, MemoryGraph] = defaultdict(MemoryGraph)
        self._lock = RLock()
        self._life_of: Callable[[str, str], str | None] | None = None
        self._transfers: FakeTransferStore | None = None
        self._requests = 0
        self.interrupt_deletions = False

    def join(self, conversations: FakeConversationStore) -> None:
        """Share the lock and the conversations' lives with the store that holds them."""

        def life_of(user_id: str, conversation_id: str) -> str | None:
            head = conversations.get(user_id, conversation_id)
            return head.life if head else None

        self._lock = conversations.lock
        self._life_of = life_of

    def join_transfers(self, transfers: FakeTransferStore) -> None:
        """Have commits store how far an import has come."""
        self._transfers = transfers

    @property
    def requests(self) -> int:
        """Calls made so far."""
        return self._requests

    def find_by_name(self, user_id: str, entity_type: EntityType, name_key: str) -> str | None:
        """Return who holds a name."""
        return self._graph(user_id).guards.get(("name", entity_type, name_key))

    def self_id(self, user_id: str) -> str | None:
        """Return the self entity."""
        return self._graph(user_id).guards.get(("self",))

    def get_entities(
        self, user_id: str, ids: Sequence[str], *, counts: bool = False
    ) -> dict[str, Entity]:
        """Read entities."""
        with self._lock:
            graph = self._graph(user_id)
            found = {i: graph.entities[i] for i in ids if i in graph.entities}
            return {i: _counted(graph, e) for i, e in found.items()} if counts else found

    def get_items(
        self, user_id: str, *, entity_ids: Sequence[str], relation_ids: Sequence[str]
    ) -> tuple[dict[str, Entity], dict[str, Relation]]:
        """Read entities and relations together."""
        with self._lock:
            return (
                self.get_entities(user_id, entity_ids),
                self.get_relations(user_id, relation_ids),
            )

    def get_entity(self, user_id: str, entity_id: str) -> Entity | None:
        """Read an entity with evidence and counts."""
        with self._lock:
            graph = self._graph(user_id)
            entity = graph.entities.get(entity_id)
            if entity is None:
                return None
            evidence = newest(_evidence(graph, entity_id))
            return _counted(graph, entity).model_copy(update={"evidence": evidence})

    def get_entity_with_halves(
        self, user_id: str, entity_id: str
    ) -> tuple[Entity, Sequence[Half]] | None:
        """Read an entity and its current halves."""
        with self._lock:
            entity = self.get_entity(user_id, entity_id)
            return None if entity is None else (entity, self.halves(user_id, entity_id))

    def entity_sources(self, user_id: str, entity_id: str) -> frozenset[str]:
        """Return an entity's sources."""
        with self._lock:
            return frozenset(self._graph(user_id).sources.get(entity_id, ()))

    def list_entities(
        self,
        user_id: str,
        page: PageRequest,
        *,
        sort: Literal["updated", "name"],
        now: datetime,
        entity_type: EntityType | None = None,
        text: str | None = None,
    ) -> Page[Entity]:
        """List live entities."""
        wanted = name_key(text) if text is not None else ""
        with self._lock:
            graph = self._graph(user_id)
            found = [
                _counted(graph, entity)
                for entity in graph.entities.values()
                if entity.is_live(now)
                and entity_type in (None, entity.entity_type)
                and (wanted in entity.name_key or wanted in name_key(entity.description))
            ]
        if sort == "name":
            return cut(found, page, lambda e: f"{e.name_key}\x1f{e.id}", descending=False)
        return cut(found, page, lambda e: f"{e.touched_at.isoformat('T', 'microseconds')}#{e.id}")

    def get_relations(self, user_id: str, ids: Sequence[str]) -> dict[str, Relation]:
        """Read relations."""
        with self._lock:
            relations = self._graph(user_id).relations
            return {i: relations[i] for i in ids if i in relations}

    def get_relation(self, user_id: str, relation_id: str) -> Relation | None:
        """Read a relation with its sources."""
        with self._lock:
            graph = self._graph(user_id)
            relation = graph.relations.get(relation_id)
            if relation is None:
                return None
            return relation.model_copy(update={"sources": newest(_evidence(graph, relation_id))})

    def relation_sources(self, user_id: str, relation_id: str) -> frozenset[str]:
        """Return a relation's sources."""
        return self.entity_sources(user_id, relation_id)

    def find_relation(
        self, user_id: str, source_id: str, relation_type: RelationType, target_id: str
    ) -> str | None:
        """Return who holds a triple."""
        return self._graph(user_id).guards.get(("triple", source_id, relation_type, target_id))

    def halves(
        self,
        user_id: str,
        entity_id: str,
        *,
        direction: Direction = Direction.BOTH,
        relation_types: Sequence[RelationType] | None = None,
        closed: bool = False,
        limit: int | None = None,
    ) -> Sequence[Half]:
        """Return the halves of an entity: current ones first, incoming before outgoing."""
        with self._lock:
            found = self._graph(user_id).halves_at(entity_id, direction, relation_types)
        return [half for half in found if closed or half.current][:limit]

    def halves_of(
        self,
        user_id: str,
        entity_ids: Sequence[str],
        *,
        direction: Direction = Direction.BOTH,
        relation_types: Sequence[RelationType] | None = None,
        closed: bool = False,
        limit: int | None = None,
    ) -> dict[str, Sequence[Half]]:
        """Return the halves of several entities."""
        return {
            entity_id: self.halves(
                user_id,
                entity_id,
                direction=direction,
                relation_types=relation_types,
                closed=closed,
                limit=limit,
            )
            for entity_id in entity_ids
        }

    def edges(self, user_id: str, *, closed: bool = False) -> Sequence[Half]:
        """Return all relations as outgoing halves."""
        with self._lock:
            graph = self._graph(user_id)
            found = [graph.half(r, r.source_entity_id) for r in graph.relations.values()]
        return [half for half in found if closed or half.current]

    def list_relations(
        self,
        user_id: str,
        page: PageRequest,
        *,
        now: datetime,
        entity_id: str | None = None,
        relation_type: RelationType | None = None,
    ) -> Page[Relation]:
        """List current relations between live entities."""
        with self._lock:
            graph = self._graph(user_id)
            live = {i for i, entity in graph.entities.items() if entity.is_live(now)}
            found = [
                relation
                for relation in graph.relations.values()
                if {relation.source_entity_id, relation.target_entity_id} <= live
                and relation.is_current(now)
                and entity_id in (None, relation.source_entity_id, relation.target_entity_id)
                and relation_type in (None, relation.relation_type)
            ]
        return cut(found, page, lambda r: f"{r.updated_at.isoformat('T', 'microseconds')}#{r.id}")

    def history(self, user_id: str, item_id: str, page: PageRequest) -> Page[HistoryEntry]:
        """List changes, newest first."""
        with self._lock:
            found = list(self._graph(user_id).history.get(item_id, ()))
        return cut(found, page, lambda entry: f"{entry.version:09d}")

    def walk_entities(
        self, user_id: str, *, after: str = ""
    ) -> Iterator[tuple[Entity, Sequence[Support]]]:
        """Yield entities with their sources, by id."""
        yield from self._walk(user_id, lambda graph: graph.entities, after)

    def walk_relations(
        self, user_id: str, *, after: str = ""
    ) -> Iterator[tuple[Relation, Sequence[Support]]]:
        """Yield relations with their sources, by id."""
        yield from self._walk(user_id, lambda graph: graph.relations, after)

    def _walk[T](
        self, user_id: str, items_of: Callable[[MemoryGraph], Mapping[str, T]], after: str
    ) -> Iterator[tuple[T, Sequence[Support]]]:
        """Step from id to id, so that what changes meanwhile is seen where it is ahead."""
        while True:
            with self._lock:
                graph = self._graph(user_id)
                items = items_of(graph)
                following = sorted(i for i in items if i > after)
                if not following:
                    return
                after = following[0]
                item, sources = items[after], graph.sources.get(after, {})
                supports = [Support(i, evidence) for i, evidence in sorted(sources.items())]
            yield item, supports

    def commit(self, user_id: str, commit: Commit) -> None:
        """Apply all changes or none."""
        with self._lock:
            graph = self._graph(user_id)
            step = commit.step
            if step is not None:
                life = self._life_of and self._life_of(user_id, step.conversation_id)
                if self._life_of and life != step.life:
                    raise ConflictError("The conversation was deleted.")
                if len(graph.steps[step.job_id]) != step.number:
                    raise ConflictError("The step was applied.")
            graph.check(commit)
            if commit.advance is not None and self._transfers is not None:
                self._transfers.advance(user_id, commit.advance)
            graph.apply(commit)
            if step is not None:
                graph.steps[step.job_id].append(step.outcome)
                graph.step_owners[step.job_id] = step.conversation_id

    def steps(self, user_id: str, job_id: str) -> Sequence[str]:
        """Return the outcomes of applied steps."""
        with self._lock:
            return list(self._graph(user_id).steps.get(job_id, ()))

    def delete_entity(self, user_id: str, entity: Entity, *, at: datetime) -> None:
        """Make an entity invisible, then remove what belongs to it."""
        with self._lock:
            graph = self._graph(user_id)
            stored = graph.entities.get(entity.id)
            if stored is None or stored.revision != entity.revision:
                raise ConflictError("The entity has changed.")
            del graph.entities[entity.id]
            graph.guards = {g: i for g, i in graph.guards.items() if i != entity.id}
            graph.deleting.add(entity.id)
            revision = entity.revision + 1
            graph.marks[entity.id] = Pending(DocumentKind.ENTITY, entity.id, revision, True, at)
        if self.interrupt_deletions:
            raise UnavailableError("The worker died.")
        self.finish_deletion(user_id, entity.id)

    def finish_deletion(self, user_id: str, item_id: str) -> None:
        """Remove what belongs to an item that is being deleted."""
        with self._lock:
            graph = self._graph(user_id)
            if item_id not in graph.deleting:
                return
            for relation_id in list(graph.halves.get(item_id, ())):
                graph.remove_relation(relation_id)
            for kept in (graph.sources, graph.history, graph.accesses, graph.halves):
                kept.pop(item_id, None)
            graph.deleting.discard(item_id)

    def unfinished_deletions(self, user_id: str) -> frozenset[str]:
        """Return the items that are being deleted."""
        with self._lock:
            return frozenset(self._graph(user_id).deleting)

    def count_accesses(self, user_id: str, entity_ids: Sequence[str], at: datetime) -> None:
        """Count recalls of entities that are there."""
        with self._lock:
            graph = self._graph(user_id)
            for entity_id in set(entity_ids) & graph.entities.keys():
                count, _ = graph.accesses.get(entity_id, (0, at))
                graph.accesses[entity_id] = (count + 1, at)

    def pending(self, user_id: str) -> Sequence[Pending]:
        """Return all marks."""
        with self._lock:
            return list(self._graph(user_id).marks.values())

    def clear_pending(self, user_id: str, marks: Sequence[Pending]) -> None:
        """Clear marks that are still as given."""
        with self._lock:
            graph = self._graph(user_id)
            for mark in marks:
                stored = graph.marks.get(mark.ref)
                if stored is not None and stored.revision == mark.revision:
                    del graph.marks[mark.ref]

    def mark(self, user_id: str, pending: Pending) -> None:
        """Take a mark of another store that shares the user's marks."""
        with self._lock:
            self._graph(user_id).marks[pending.ref] = pending

    def drop_evidence(self, user_id: str, conversation_id: str) -> None:
        """Drop the words of evidence that came from a conversation, and its jobs' steps."""
        with self._lock:
            graph = self._graph(user_id)
            graph.drop_evidence(f"{conversation_id}/")
            for job_id, owner in list(graph.step_owners.items()):
                if owner == conversation_id:
                    del graph.steps[job_id], graph.step_owners[job_id]

    def _graph(self, user_id: str) -> MemoryGraph:
        self._requests += 1
        return self._graphs[user_id]


def _evidence(graph: MemoryGraph, item_id: str) -> Sequence[Evidence]:
    return [piece for piece in graph.sources.get(item_id, {}).values() if piece is not None]


def _counted(graph: MemoryGraph, entity: Entity) -> Entity:
    if entity.id not in graph.accesses:
        return entity
    count, last = graph.accesses[entity.id]
    return entity.model_copy(update={"access_count": count, "last_accessed_at": last})
