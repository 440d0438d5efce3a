"""Relations by hand: create and merge, read, update, close, delete."""

from __future__ import annotations

from typing import TYPE_CHECKING

from threadkeep.domain.changes import Commit, DeleteRelation
from threadkeep.domain.versions import require_version
from threadkeep.errors import NotFoundError
from threadkeep.services.retry import on_conflict
from threadkeep.services.statements import commit_decision

if TYPE_CHECKING:
    from collections.abc import Collection
    from datetime import datetime

    from threadkeep.domain.changes import Origin
    from threadkeep.domain.relations import (
        Relation,
        RelationChanges,
        RelationDraft,
        RelationType,
    )
    from threadkeep.ports import Clock, MemoryStore, Page, PageRequest
    from threadkeep.services.memories import Memories
    from threadkeep.services.relation_statements import RelationStatements
    from threadkeep.services.statements import Decision


class Relations:
    """Use cases of relations."""

    def __init__(
        self,
        store: MemoryStore,
        memories: Memories,
        statements: RelationStatements,
        clock: Clock,
    ) -> None:
        self._store = store
        self._memories = memories
        self._statements = statements
        self._clock = clock

    def create(self, user_id: str, draft: RelationDraft, origin: Origin) -> tuple[Relation, bool]:
        """Create a relation, or merge into the current one of this source, target and type.

        Args:
            user_id: Owner.
            draft: What is stated; ``self`` as an end stands for the user's own entity.
            origin: Who states it.

        Returns:
            The relation, and whether it is new.

        Raises:
            NotFoundError: An end is not there.
            ValidationError: Both ends are the same (``self_relation``), the merged properties are
                over the limit (``properties_too_large``), or a relation that is over does not say
                when it began (``valid_from_missing``).
            ConflictError: Others kept writing.
        """
        source = self._memories.resolve(user_id, draft.source_entity_id, origin)
        target = self._memories.resolve(user_id, draft.target_entity_id, origin)
        resolved = draft.model_copy(update={"source_entity_id": source, "target_entity_id": target})

        def decide(now: datetime) -> Decision[Relation]:
            return self._statements.state(user_id, resolved, now=now)

        decision = commit_decision(self._store, self._clock, user_id, origin, decide)
        return decision.result, decision.created

    def get(self, user_id: str, relation_id: str) -> Relation:
        """Read a relation, current or closed, with its sources.

        Raises:
            NotFoundError: There is none of this id, or an end is gone or has expired.
        """
        relation = self._store.get_relation(user_id, relation_id)
        return self._require_ends(user_id, relation, self._clock.now())

    def list(
        self,
        user_id: str,
        page: PageRequest,
        *,
        entity_id: str | None = None,
        relation_type: RelationType | None = None,
    ) -> Page[Relation]:
        """List current relations, newest updated first.

        Args:
            user_id: Owner.
            page: Which page.
            entity_id: Only those with this entity at either end; ``self`` is the user's own.
            relation_type: Only those of this type.
        """
        at = entity_id and self._memories.known_id(user_id, entity_id)
        return self._store.list_relations(
            user_id, page, now=self._clock.now(), entity_id=at, relation_type=relation_type
        )

    def update(
        self,
        user_id: str,
        relation_id: str,
        changes: RelationChanges,
        origin: Origin,
        if_match: Collection[int] | None = None,
    ) -> Relation:
        """Replace the fields of a relation that ``changes`` names.

        Raises:
            NotFoundError: There is none of this id, or an end is gone or has expired.
            PreconditionFailedError: It has another version than ``if_match`` names.
            ValidationError: It would end before it starts (``invalid_interval``).
            ConflictError: It would be current beside another one of the same source, target and
                type (``relation_exists``), or others kept writing.
        """

        def decide(now: datetime) -> Decision[Relation]:
            relation = self._read(user_id, relation_id, now, if_match)
            return self._statements.replaced(user_id, relation, changes, now=now)

        return commit_decision(self._store, self._clock, user_id, origin, decide).result

    def delete(
        self,
        user_id: str,
        relation_id: str,
        origin: Origin,
        if_match: Collection[int] | None = None,
    ) -> None:
        """Delete a relation with its sources and history; its ends stay.

        Raises:
            NotFoundError: There is none of this id, or an end is gone or has expired.
            PreconditionFailedError: It has another version than ``if_match`` names.
            ConflictError: Others kept writing.
        """

        def attempt() -> None:
            now = self._clock.now()
            relation = self._read(user_id, relation_id, now, if_match)
            self._store.commit(user_id, Commit(origin, now, (DeleteRelation(relation),)))

        on_conflict(self._clock, attempt)

    def _read(
        self, user_id: str, relation_id: str, now: datetime, if_match: Collection[int] | None
    ) -> Relation:
        found = self._store.get_relations(user_id, [relation_id])
        relation = self._require_ends(user_id, found.get(relation_id), now)
        require_version(relation.version, if_match)
        return relation

    def _require_ends(self, user_id: str, relation: Relation | None, now: datetime) -> Relation:
        """Return a relation whose ends both live: one may have gone or expired since."""
        if relation is not None:
            ends = {relation.source_entity_id, relation.target_entity_id}
            found = self._store.get_entities(user_id, sorted(ends))
            if {i for i, entity in found.items() if entity.is_live(now)} == ends:
                return relation
        raise NotFoundError("No such relation.")
