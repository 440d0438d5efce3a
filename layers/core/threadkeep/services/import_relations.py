"""Taking over relations and the sources of entities and relations from a file."""

from __future__ import annotations

from itertools import count
from typing import TYPE_CHECKING, Literal

from threadkeep.domain.changes import CreateRelation, Support, UpdateEntity, UpdateRelation
from threadkeep.domain.relations import SINGLE_VALUED, Direction, RelationDraft, new_relation
from threadkeep.domain.transfers import Counts
from threadkeep.errors import NotFoundError, invalid_field
from threadkeep.services.import_refs import first_revision, past_time
from threadkeep.services.import_session import Taken

if TYPE_CHECKING:
    from datetime import datetime

    from threadkeep.domain.changes import Change
    from threadkeep.domain.relations import Relation
    from threadkeep.domain.transfer_lines import RelationLine, SourceLine
    from threadkeep.ports import Ids, MemoryStore
    from threadkeep.services.import_refs import ImportedIds
    from threadkeep.services.import_session import ImportSession, Spot
    from threadkeep.services.relation_statements import RelationStatements


class RelationImport:
    """Merges a relation of a file into the current one of its triple, or makes it.

    Args:
        session: The import.
        memory: The graph.
        statements: Decisions about relations.
        ids: New ids.
        refs: Ids of the file.
    """

    def __init__(
        self,
        session: ImportSession,
        memory: MemoryStore,
        statements: RelationStatements,
        ids: Ids,
        refs: ImportedIds,
    ) -> None:
        self._session = session
        self._user_id = session.user_id
        self._memory = memory
        self._statements = statements
        self._ids = ids
        self._refs = refs

    def take(self, spot: Spot, line: RelationLine) -> None:
        """Create or merge a relation; a closed one stands beside what is current.

        Raises:
            ThreadkeepError: A rule forbids it.
        """
        tries = count()

        def decide(now: datetime) -> Taken:
            keeps_id = next(tries) == 0
            source, target = self._refs.here(line.source_entity_id, line.target_entity_id)
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
            decision = self._statements.state(self._user_id, draft, now=now)
            if not decision.created:
                mapped = self._refs.mapping(line.id, decision.result.id)
                return Taken(
                    decision.changes, "merged" if decision.changes else "unchanged", mapped
                )
            *others, creation = decision.changes
            assert isinstance(creation, CreateRelation)
            made = self._restored(line, creation.relation, now, keeps_id)
            changes = (*others, CreateRelation(made))
            return Taken(changes, "created", self._refs.mapping(line.id, made.id))

        self._session.commit(spot, Counts(relations=1), decide)

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
        self._statements.check_ends(self._user_id, draft, now)
        if draft.valid_from is None:
            raise invalid_field(
                "valid_from", "valid_from_missing", "A relation that is over says when it began."
            )
        halves = self._memory.halves(
            self._user_id,
            draft.source_entity_id,
            direction=Direction.OUTGOING,
            relation_types=[draft.relation_type],
            closed=True,
        )
        same = [h.relation_id for h in halves if h.other_id == draft.target_entity_id]
        for known in self._memory.get_relations(self._user_id, same).values():
            if (known.valid_from, known.valid_to) == (draft.valid_from, draft.valid_to):
                return Taken((), "unchanged", self._refs.mapping(line.id, known.id))
        made = new_relation(draft, relation_id=self._ids.new(), now=now)
        made = self._restored(line, made, now, keeps_id)
        return Taken((CreateRelation(made),), "created", self._refs.mapping(line.id, made.id))

    def _restored(
        self, line: RelationLine, made: Relation, now: datetime, keeps_id: bool
    ) -> Relation:
        """Give a new relation what the file knows of it: its times, and its id if that is free."""
        free = keeps_id and line.id is not None
        if free and line.id is not None:
            free = line.id not in self._memory.get_relations(self._user_id, [line.id])
        updated_at = past_time(line.updated_at, now)
        if made.valid_to is not None and made.valid_to <= now:
            updated_at = max(updated_at, made.valid_to)
        spans = made.spans
        if line.spans and (made.valid_from, made.valid_to) == (line.valid_from, line.valid_to):
            spans = line.spans
        return made.model_copy(
            update={
                "id": line.id if free else made.id,
                "created_at": past_time(line.created_at, now),
                "updated_at": updated_at,
                "recorded_from": spans[-1].recorded_from,
                "spans": spans,
                "version": line.version,
                "revision": first_revision(now),
            }
        )


class SourceImport:
    """Counts the sources that a file names, with their evidence.

    Args:
        session: The import.
        memory: The graph.
        refs: Ids of the file.
    """

    def __init__(self, session: ImportSession, memory: MemoryStore, refs: ImportedIds) -> None:
        self._session = session
        self._user_id = session.user_id
        self._memory = memory
        self._refs = refs

    def take(self, spot: Spot, line: SourceLine) -> None:
        """Count a source, with its evidence.

        Raises:
            NotFoundError: There is no such item, or an end of the relation is gone.
        """

        def decide(_: datetime) -> Taken:
            (item_id,) = self._refs.here(line.item_id)
            change = self._supported(line.of, item_id, self._support(line))
            return Taken((change,), "created") if change else Taken((), "unchanged")

        self._session.commit(spot, Counts(sources=1), decide)

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
        evidence = line.evidence
        if evidence is not None:
            evidence = evidence.model_copy(update={"turn": self._refs.turn(evidence.turn)})
        return Support(self._refs.turn(line.source_id), evidence)
