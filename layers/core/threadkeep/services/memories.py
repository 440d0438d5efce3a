"""Entities by hand: create and merge, read, update, rename, delete, history."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING, Literal

from threadkeep.domain.graph import Deletion, EntityDetail
from threadkeep.domain.limits import MAX_PAGE_BYTES
from threadkeep.domain.sizes import fitting, json_bytes
from threadkeep.domain.versions import require_version
from threadkeep.errors import ConflictError, NotFoundError, ThreadkeepError
from threadkeep.services.retry import on_conflict
from threadkeep.services.statements import SELF_ALIAS, commit_decision, require_live

if TYPE_CHECKING:
    from collections.abc import Collection, Sequence
    from datetime import datetime

    from threadkeep.domain.changes import HistoryEntry, Origin
    from threadkeep.domain.entities import Entity, EntityChanges, EntityDraft, EntityType
    from threadkeep.ports import Clock, MemoryStore, Page, PageRequest
    from threadkeep.services.statements import Decision, EntityStatements

MAX_SHOWN_RELATIONS = 500
"""Most relations that are read with one entity; the listing of relations pages through all."""

_DELETING_THREADS = 8


class Memories:
    """Use cases of entities."""

    def __init__(self, store: MemoryStore, statements: EntityStatements, clock: Clock) -> None:
        self._store = store
        self._statements = statements
        self._clock = clock

    def create(self, user_id: str, draft: EntityDraft, origin: Origin) -> tuple[Entity, bool]:
        """Create an entity, or merge into the one that has this name and type.

        Returns:
            The entity, and whether it is new.

        Raises:
            ValidationError: The merged properties are over the limit (``properties_too_large``), or
                the user's own entity would expire (``self_entity``).
            ConflictError: Others kept writing it.
        """

        def decide(now: datetime) -> Decision[Entity]:
            return self._statements.state(user_id, draft, now=now)

        decision = commit_decision(self._store, self._clock, user_id, origin, decide)
        return decision.result, decision.created

    def own(self, user_id: str, origin: Origin) -> Entity:
        """Return the user's own entity; it is made on first use."""

        def decide(now: datetime) -> Decision[Entity]:
            return self._statements.own(user_id, now=now)

        return commit_decision(self._store, self._clock, user_id, origin, decide).result

    def resolve(self, user_id: str, entity_id: str, origin: Origin) -> str:
        """Return an entity's id: ``self`` stands for the user's own entity, made on first use."""
        return self.own(user_id, origin).id if entity_id == SELF_ALIAS else entity_id

    def get(self, user_id: str, entity_id: str) -> EntityDetail:
        """Read an entity with its evidence and its current relations, newest first.

        Raises:
            NotFoundError: There is none of this id, or it has expired.
        """
        now = self._clock.now()
        found = self._store.get_entity_with_halves(user_id, self.known_id(user_id, entity_id))
        if found is None:
            raise NotFoundError("No such entity.")
        entity = require_live(found[0], now)
        halves = sorted(
            (half for half in found[1] if half.is_current(now)),
            key=lambda half: half.relation_id,
            reverse=True,
        )
        shown = halves[:MAX_SHOWN_RELATIONS]
        others, bodies = self._store.get_items(
            user_id,
            entity_ids=list(dict.fromkeys(half.other_id for half in shown)),
            relation_ids=[half.relation_id for half in shown],
        )
        relations = [
            bodies[half.relation_id]
            for half in shown
            if half.relation_id in bodies
            and bodies[half.relation_id].is_current(now)
            and half.other_id in others
            and others[half.other_id].is_live(now)
        ]
        kept = relations[: fitting(relations, MAX_PAGE_BYTES - json_bytes(entity))]
        cut = len(kept) < len(relations) or len(shown) < len(halves)
        return EntityDetail(
            **dict(entity),
            outgoing_relations=tuple(r for r in kept if r.source_entity_id == entity.id),
            incoming_relations=tuple(r for r in kept if r.target_entity_id == entity.id),
            relations_truncated=cut or None,
        )

    def list(
        self,
        user_id: str,
        page: PageRequest,
        *,
        sort: Literal["updated", "name"] = "updated",
        entity_type: EntityType | None = None,
        text: str | None = None,
    ) -> Page[Entity]:
        """List entities, newest touched first or by name.

        Args:
            user_id: Owner.
            page: Which page.
            sort: Order.
            entity_type: Only those of this type.
            text: Only those with this in name or description, compared as names are.
        """
        now = self._clock.now()
        return self._store.list_entities(
            user_id, page, sort=sort, now=now, entity_type=entity_type, text=text
        )

    def update(
        self,
        user_id: str,
        entity_id: str,
        changes: EntityChanges,
        origin: Origin,
        if_match: Collection[int] | None = None,
    ) -> Entity:
        """Replace the fields of an entity that ``changes`` names.

        Raises:
            NotFoundError: There is none of this id, or it has expired.
            PreconditionFailedError: It has another version than ``if_match`` names.
            ConflictError: Another entity has the name (``name_taken``), it is kept for the user's
                own entity (``name_reserved``), or others kept writing.
            ValidationError: The user's own entity would change its type or expire
                (``self_entity``).
        """

        def decide(now: datetime) -> Decision[Entity]:
            entity = self._read(user_id, entity_id, now, if_match)
            return self._statements.replaced(user_id, entity, changes, now=now)

        return commit_decision(self._store, self._clock, user_id, origin, decide).result

    def delete(self, user_id: str, entity_id: str, if_match: Collection[int] | None = None) -> None:
        """Delete an entity with its relations, evidence and history; it is gone at once.

        Raises:
            NotFoundError: There is none of this id, or it has expired.
            PreconditionFailedError: It has another version than ``if_match`` names.
            ConflictError: It is the user's own entity (``self_entity``), or others kept writing.
        """

        def attempt() -> None:
            now = self._clock.now()
            entity = self._read(user_id, entity_id, now, if_match)
            if entity.is_self:
                raise ConflictError(
                    "The user's own entity can not be deleted on its own.", code="self_entity"
                )
            self._store.delete_entity(user_id, entity, at=now)

        on_conflict(self._clock, attempt)

    def delete_many(self, user_id: str, entity_ids: Sequence[str]) -> Sequence[Deletion]:
        """Delete entities and tell for each id what became of it, in the given order."""

        def delete(entity_id: str) -> Deletion:
            try:
                self.delete(user_id, entity_id)
            except ThreadkeepError as error:
                return Deletion(id=entity_id, deleted=False, code=error.code)
            return Deletion(id=entity_id, deleted=True)

        unique = list(dict.fromkeys(entity_ids))
        with ThreadPoolExecutor(_DELETING_THREADS) as pool:
            return list(pool.map(delete, unique))

    def history(self, user_id: str, entity_id: str, page: PageRequest) -> Page[HistoryEntry]:
        """List the changes of an entity, newest first.

        Raises:
            NotFoundError: There is none of this id, or it has expired.
        """
        entity = self._read(user_id, entity_id, self._clock.now(), None)
        return self._store.history(user_id, entity.id, page)

    def _read(
        self, user_id: str, entity_id: str, now: datetime, if_match: Collection[int] | None
    ) -> Entity:
        own_id = self.known_id(user_id, entity_id)
        entity = require_live(self._store.get_entities(user_id, [own_id]).get(own_id), now)
        require_version(entity.version, if_match)
        return entity

    def known_id(self, user_id: str, entity_id: str) -> str:
        """Return an entity's id: ``self`` stands for the user's own entity, if there is one yet."""
        if entity_id != SELF_ALIAS:
            return entity_id
        return self._store.self_id(user_id) or entity_id
