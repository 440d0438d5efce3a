"""Taking over entities, relations and their sources from a file."""

from __future__ import annotations

from itertools import count
from typing import TYPE_CHECKING, Literal

from threadkeep.domain import entities as entity_rules
from threadkeep.domain.changes import (
    CreateEntity,
    CreateRelation,
    Support,
    UpdateEntity,
    UpdateRelation,
)
from threadkeep.domain.entities import (
    SELF_NAME,
    EntityChanges,
    EntityDraft,
    EntityType,
    Provenance,
)
from threadkeep.domain.names import name_key
from threadkeep.domain.relations import SINGLE_VALUED, Direction, RelationDraft, new_relation
from threadkeep.domain.transfers import Counts
from threadkeep.errors import ConflictError, NotFoundError
from threadkeep.services.import_session import Taken
from threadkeep.services.statements import SELF_ALIAS, check_properties

if TYPE_CHECKING:
    from collections.abc import Callable
    from datetime import datetime

    from threadkeep.domain.changes import Change
    from threadkeep.domain.entities import Entity, Evidence
    from threadkeep.domain.relations import Relation
    from threadkeep.domain.transfer_lines import EntityLine, RelationLine, SourceLine
    from threadkeep.ports import Ids, MemoryStore
    from threadkeep.services.import_session import ImportSession, Spot
    from threadkeep.services.relation_statements import RelationStatements
    from threadkeep.services.statements import EntityStatements


class FactImport:
    """Merges what a file says of entities and relations into the graph.

    An entity is merged into the one of its name and type; a new one keeps its id if that is free.

    Args:
        session: The import.
        memory: The graph.
        entities: Decisions about entities.
        relations: Decisions about relations.
        ids: New ids.
        conversation_here: Tells the id here of a conversation of the file.
    """

    def __init__(
        self,
        session: ImportSession,
        memory: MemoryStore,
        entities: EntityStatements,
        relations: RelationStatements,
        ids: Ids,
        conversation_here: Callable[[str], str],
    ) -> None:
        self._session = session
        self._user_id = session.user_id
        self._memory = memory
        self._entities = entities
        self._relations = relations
        self._ids = ids
        self._conversation_here = conversation_here

    def entity(self, spot: Spot, line: EntityLine) -> None:
        """Create or merge an entity.

        Raises:
            ThreadkeepError: A rule forbids it.
        """
        tries = count()

        def decide(now: datetime) -> Taken:
            keeps_id = next(tries) == 0  # it may be free and still have a deletion under way
            draft = _draft(line)
            if line.is_self:
                return self._own(line, draft, now, keeps_id)
            decision = self._entities.state(
                self._user_id, draft, now=now, provenance=Provenance.IMPORTED, note=line.extraction
            )
            (change,) = decision.changes
            if isinstance(change, CreateEntity):
                return self._created(line, change.entity, now, keeps_id)
            assert isinstance(change, UpdateEntity)
            return self._merged(line, change.before, change.after, now)

        self._session.commit(spot, Counts(entities=1), decide)

    def relation(self, spot: Spot, line: RelationLine) -> None:
        """Create or merge a relation; a closed one stands beside what is current.

        Raises:
            ThreadkeepError: A rule forbids it.
        """
        tries = count()

        def decide(now: datetime) -> Taken:
            keeps_id = next(tries) == 0
            source, target = self._here(line.source_entity_id, line.target_entity_id)
            draft = RelationDraft(
                source_entity_id=source,
                target_entity_id=target,
                relation_type=line.relation_type,
                description=line.description or None,
                properties=line.properties or None,
                valid_from=line.valid_from,
                valid_to=self._end(line, source, target, now),
            )
            if draft.valid_to is not None and draft.valid_to <= now:
                return self._past(line, draft, now, keeps_id)
            decision = self._relations.state(self._user_id, draft, now=now)
            if not decision.created:
                mapped = self._mapping(line.id, decision.result.id)
                return Taken(
                    decision.changes, "merged" if decision.changes else "unchanged", mapped
                )
            *others, creation = decision.changes
            assert isinstance(creation, CreateRelation)
            made = self._restored(line, creation.relation, now, keeps_id)
            changes = (*others, CreateRelation(made))
            return Taken(changes, "created", self._mapping(line.id, made.id))

        self._session.commit(spot, Counts(relations=1), decide)

    def source(self, spot: Spot, line: SourceLine) -> None:
        """Count a source, with its evidence.

        Raises:
            NotFoundError: There is no such item, or an end of the relation is gone.
        """

        def decide(_: datetime) -> Taken:
            (item_id,) = self._here(line.item_id)
            change = self._supported(line.of, item_id, self._support(line))
            return Taken((change,), "created") if change else Taken((), "unchanged")

        self._session.commit(spot, Counts(sources=1), decide)

    def _own(self, line: EntityLine, draft: EntityDraft, now: datetime, keeps_id: bool) -> Taken:
        """Merge into the user's own entity, which takes the name if it has none."""
        key = name_key(line.name)
        takes_name = key != name_key(SELF_NAME) and not self._memory.find_by_name(
            self._user_id, EntityType.PERSON, key
        )
        held_by = self._memory.self_id(self._user_id)
        unnamed = draft.model_copy(
            update={"name": SELF_NAME, "entity_type": EntityType.PERSON, "expires_at": None}
        )
        if held_by is None:
            decision = self._entities.state(self._user_id, unnamed, now=now)
            made = decision.result
            if takes_name:
                made = made.model_copy(update={"name": line.name})
            return self._created(line, made, now, keeps_id)
        own = self._memory.get_entities(self._user_id, [held_by]).get(held_by)
        if own is None:
            raise ConflictError
        merged = entity_rules.merge(own, unnamed, now)
        check_properties(merged.properties)
        changes = EntityChanges(
            name=line.name if takes_name and own.name == SELF_NAME else own.name,
            description=merged.description,
            properties=merged.properties,
            importance=merged.importance,
        )
        return self._merged(line, own, entity_rules.replace(own, changes, now), now)

    def _created(self, line: EntityLine, made: Entity, now: datetime, keeps_id: bool) -> Taken:
        taken = line.id is None or line.id == SELF_ALIAS or not keeps_id
        if not taken and line.id is not None:
            taken = line.id in self._memory.get_entities(self._user_id, [line.id])
        entity = made.model_copy(
            update={
                "id": made.id if taken else line.id,
                "provenance": Provenance.IMPORTED,
                "extraction": line.extraction,
                "created_at": _past_time(line.created_at, now),
                "updated_at": _past_time(line.updated_at, now),
                "touched_at": _past_time(line.touched_at, now),
                "version": line.version,
                "revision": _revision(now),
            }
        )
        return Taken((CreateEntity(entity),), "created", self._mapping(line.id, entity.id))

    def _merged(self, line: EntityLine, before: Entity, after: Entity, now: datetime) -> Taken:
        """Merge without touching: old memory does not become recent by being imported."""
        touched_at = max(before.touched_at, _past_time(line.touched_at, now))
        after = after.model_copy(update={"touched_at": touched_at})
        mapped = self._mapping(line.id, before.id)
        if (after.version, touched_at) == (before.version, before.touched_at):
            return Taken((), "unchanged", mapped)
        return Taken((UpdateEntity(before, after),), "merged", mapped)

    def _end(self, line: RelationLine, source: str, target: str, now: datetime) -> datetime | None:
        """Return when a relation ended: one of a single value, at the latest when a newer began."""
        if line.relation_type not in SINGLE_VALUED or line.valid_from is None:
            return line.valid_to
        halves = self._memory.halves(
            self._user_id,
            source,
            direction=Direction.OUTGOING,
            relation_types=[line.relation_type],
        )
        others = [
            half.relation_id for half in halves if half.is_current(now) and half.other_id != target
        ]
        begins = [
            other.valid_from
            for other in self._memory.get_relations(self._user_id, others).values()
            if other.valid_from > line.valid_from
        ]
        ends = [*begins, *([line.valid_to] if line.valid_to else [])]
        return min(ends) if ends else None

    def _past(
        self, line: RelationLine, draft: RelationDraft, now: datetime, keeps_id: bool
    ) -> Taken:
        """Store what was true once, unless it is there: it changes nothing of what is current."""
        self._relations.check_ends(self._user_id, draft, now)
        valid_from = draft.valid_from or draft.valid_to
        halves = self._memory.halves(
            self._user_id,
            draft.source_entity_id,
            direction=Direction.OUTGOING,
            relation_types=[draft.relation_type],
            closed=True,
        )
        same = [h.relation_id for h in halves if h.other_id == draft.target_entity_id]
        for known in self._memory.get_relations(self._user_id, same).values():
            if (known.valid_from, known.valid_to) == (valid_from, draft.valid_to):
                return Taken((), "unchanged", self._mapping(line.id, known.id))
        made = new_relation(draft, relation_id=self._ids.new(), now=now)
        made = self._restored(line, made, now, keeps_id)
        return Taken((CreateRelation(made),), "created", self._mapping(line.id, made.id))

    def _restored(
        self, line: RelationLine, made: Relation, now: datetime, keeps_id: bool
    ) -> Relation:
        """Give a new relation what the file knows of it: its times, and its id if that is free."""
        free = keeps_id and line.id is not None
        if free and line.id is not None:
            free = line.id not in self._memory.get_relations(self._user_id, [line.id])
        updated_at = _past_time(line.updated_at, now)
        if made.valid_to is not None and made.valid_to <= now:
            updated_at = max(updated_at, made.valid_to)
        spans = made.spans
        if line.spans and (made.valid_from, made.valid_to) == (line.valid_from, line.valid_to):
            spans = line.spans
        return made.model_copy(
            update={
                "id": line.id if free else made.id,
                "created_at": _past_time(line.created_at, now),
                "updated_at": updated_at,
                "recorded_from": spans[-1].recorded_from,
                "spans": spans,
                "version": line.version,
                "revision": _revision(now),
            }
        )

    def _supported(
        self, of: Literal["entity", "relation"], item_id: str, support: Support
    ) -> Change | None:
        """Return the change that counts a source; None if it is counted."""
        entity, relation = None, None
        if of == "entity":
            entity = self._memory.get_entities(self._user_id, [item_id]).get(item_id)
        else:
            relation = self._memory.get_relations(self._user_id, [item_id]).get(item_id)
        if relation is not None:
            ends = [relation.source_entity_id, relation.target_entity_id]
            if len(self._memory.get_entities(self._user_id, ends)) < len(ends):
                relation = None
        if entity is None and relation is None:
            raise NotFoundError("There is no such entity or relation.")
        if entity is not None:
            known = self._memory.entity_sources(self._user_id, item_id)
        else:
            known = self._memory.relation_sources(self._user_id, item_id)
        if support.source_id in known:
            return None
        if entity is not None:
            return UpdateEntity(entity, entity, support)
        assert relation is not None
        return UpdateRelation(relation, relation, support)

    def _support(self, line: SourceLine) -> Support:
        """Return the source, with a conversation of the file under its id here."""
        evidence: Evidence | None = line.evidence
        if evidence is not None:
            evidence = evidence.model_copy(update={"turn": self._turn(evidence.turn)})
        return Support(self._turn(line.source_id), evidence)

    def _turn(self, turn: str) -> str:
        conversation, slash, message = turn.partition("/")
        if not slash or not conversation:
            return turn
        return f"{self._conversation_here(conversation)}/{message}"

    def _here(self, *refs: str) -> tuple[str, ...]:
        """Return the ids here of ids of the file."""
        mapped = self._session.store.mapped(self._user_id, self._session.transfer.id, refs)
        return tuple(mapped.get(ref, ref) for ref in refs)

    def _mapping(self, ref: str | None, item_id: str) -> tuple[str, str] | None:
        """Return what to note of an id; one that was noted otherwise before is noted anew."""
        if ref is None:
            return None
        return (ref, item_id) if self._here(ref) != (item_id,) else None


def _draft(line: EntityLine) -> EntityDraft:
    return EntityDraft(
        name=line.name,
        entity_type=line.entity_type,
        description=line.description or None,
        properties=line.properties or None,
        importance=line.importance,
        expires_at=line.expires_at,
    )


def _past_time(moment: datetime | None, now: datetime) -> datetime:
    """Return a time of the file, or now if there is none or it lies ahead."""
    return now if moment is None else min(moment, now)


def _revision(now: datetime) -> int:
    """Return an index version above all that an item of the same id can have had.

    An index refuses what is older than what it holds, and it may hold a deletion of this id; an
    item is not written once a millisecond for the whole of time.
    """
    return int(now.timestamp() * 1000)
