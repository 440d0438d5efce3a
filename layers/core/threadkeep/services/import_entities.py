"""Taking over entities from a file."""

from __future__ import annotations

from itertools import count
from typing import TYPE_CHECKING

from threadkeep.domain import entities as entity_rules
from threadkeep.domain.changes import CreateEntity, UpdateEntity
from threadkeep.domain.entities import (
    SELF_NAME,
    EntityChanges,
    EntityDraft,
    EntityType,
    Provenance,
)
from threadkeep.domain.names import name_key
from threadkeep.domain.transfers import Counts
from threadkeep.errors import ConflictError
from threadkeep.services.import_refs import first_revision, past_time
from threadkeep.services.import_session import Taken
from threadkeep.services.statements import SELF_ALIAS, check_properties

if TYPE_CHECKING:
    from datetime import datetime

    from threadkeep.domain.entities import Entity
    from threadkeep.domain.transfer_lines import EntityLine
    from threadkeep.ports import MemoryStore
    from threadkeep.services.import_refs import ImportedIds
    from threadkeep.services.import_session import ImportSession, Spot
    from threadkeep.services.statements import EntityStatements


class EntityImport:
    """Merges an entity of a file into the one of its name and type, or makes it.

    A new one keeps its id if that is free.

    Args:
        session: The import.
        memory: The graph.
        statements: Decisions about entities.
        refs: Ids of the file.
    """

    def __init__(
        self,
        session: ImportSession,
        memory: MemoryStore,
        statements: EntityStatements,
        refs: ImportedIds,
    ) -> None:
        self._session = session
        self._user_id = session.user_id
        self._memory = memory
        self._statements = statements
        self._refs = refs

    def take(self, spot: Spot, line: EntityLine) -> None:
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
            decision = self._statements.state(
                self._user_id, draft, now=now, provenance=Provenance.IMPORTED, note=line.extraction
            )
            (change,) = decision.changes
            if isinstance(change, CreateEntity):
                return self._created(line, change.entity, now, keeps_id)
            assert isinstance(change, UpdateEntity)
            return self._merged(line, change.before, change.after, now)

        self._session.commit(spot, Counts(entities=1), decide)

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
            decision = self._statements.state(self._user_id, unnamed, now=now)
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
                "created_at": past_time(line.created_at, now),
                "updated_at": past_time(line.updated_at, now),
                "touched_at": past_time(line.touched_at, now),
                "version": line.version,
                "revision": first_revision(now),
            }
        )
        return Taken((CreateEntity(entity),), "created", self._refs.mapping(line.id, entity.id))

    def _merged(self, line: EntityLine, before: Entity, after: Entity, now: datetime) -> Taken:
        """Merge without touching: old memory does not become recent by being imported."""
        touched_at = max(before.touched_at, past_time(line.touched_at, now))
        after = after.model_copy(update={"touched_at": touched_at})
        mapped = self._refs.mapping(line.id, before.id)
        if (after.version, touched_at) == (before.version, before.touched_at):
            return Taken((), "unchanged", mapped)
        return Taken((UpdateEntity(before, after),), "merged", mapped)


def _draft(line: EntityLine) -> EntityDraft:
    return EntityDraft(
        name=line.name,
        entity_type=line.entity_type,
        description=line.description or None,
        properties=line.properties or None,
        importance=line.importance,
        expires_at=line.expires_at,
    )
