"""What statements about a user's memory change, decided on what is stored at the moment.

Nothing is committed here: callers put the changes into a commit, and decide anew when it fails.
The one exception is that an expired entity in the way is deleted, which nobody can see.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from pydantic import TypeAdapter
from pydantic import ValidationError as InvalidModelError

from threadkeep.domain import entities as entity_rules
from threadkeep.domain.changes import Commit, CreateEntity, UpdateEntity
from threadkeep.domain.entities import SELF_NAME, EntityType, Provenance
from threadkeep.domain.names import name_key
from threadkeep.domain.types import Properties
from threadkeep.errors import ConflictError, NotFoundError, ValidationError, invalid_field
from threadkeep.services.retry import on_conflict

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from datetime import datetime

    from pydantic import JsonValue

    from threadkeep.domain.changes import Change, Origin, Support
    from threadkeep.domain.entities import Entity, EntityChanges, EntityDraft, ExtractionNote
    from threadkeep.domain.relations import Relation
    from threadkeep.ports import Clock, Ids, MemoryStore

SELF_ALIAS = "self"
"""What stands for the id of the user's own entity, whatever that is."""

_PROPERTIES: TypeAdapter[dict[str, JsonValue]] = TypeAdapter(Properties)


@dataclass(frozen=True)
class Decision[T: (Entity, Relation)]:
    """What a statement leads to.

    Args:
        changes: What to commit; empty when all of it is known already.
        result: The item as it is after the commit.
        created: Whether it is new.
    """

    changes: tuple[Change, ...]
    result: T
    created: bool = False


class EntityStatements:
    """Decisions about entities."""

    def __init__(self, store: MemoryStore, ids: Ids) -> None:
        self._store = store
        self._ids = ids

    def state(
        self,
        user_id: str,
        draft: EntityDraft,
        *,
        now: datetime,
        provenance: Provenance = Provenance.MANUAL,
        support: Support | None = None,
        note: ExtractionNote | None = None,
    ) -> Decision[Entity]:
        """Create an entity, or merge into the one of this name and type.

        Args:
            user_id: Owner.
            draft: What is stated. A person named "You" is the user's own entity.
            now: Time of the statement.
            provenance: Where a new entity comes from.
            support: The source; counts once.
            note: How a new entity was read from its turn.

        Raises:
            ValidationError: The merged properties are over the limit, or the user's own entity
                would expire (``self_entity``).
            ConflictError: Another writer is at it; decide again.
        """
        is_self = _names_self(draft.entity_type, draft.name)
        if is_self and draft.expires_at is not None:
            raise invalid_field(
                "expires_at", "self_entity", "The user's own entity can not expire."
            )
        held_by = (
            self._store.self_id(user_id)
            if is_self
            else self._store.find_by_name(user_id, draft.entity_type, name_key(draft.name))
        )
        entity = self._live(user_id, held_by, now) if held_by else None
        if entity is None:
            made = entity_rules.new_entity(
                draft, entity_id=self._ids.new(), provenance=provenance, now=now
            )
            made = made.model_copy(update={"extraction": note, "is_self": is_self})
            creation = CreateEntity(made, support)
            return Decision((creation,), creation.result, created=True)
        if entity.is_self and draft.expires_at is not None:
            raise invalid_field(
                "expires_at", "self_entity", "The user's own entity can not expire."
            )
        merged = entity_rules.merge(entity, draft, now)
        check_properties(merged.properties)
        update = UpdateEntity(entity, merged, self._unless_counted(user_id, entity, support))
        return Decision((update,), update.result)

    def own(self, user_id: str, *, now: datetime) -> Decision[Entity]:
        """Return the user's own entity, or its creation under the name "You" on first use."""
        held_by = self._store.self_id(user_id)
        if held_by is not None:
            found = self._store.get_entities(user_id, [held_by]).get(held_by)
            if found is None:
                raise ConflictError
            return Decision((), found)
        draft = entity_rules.EntityDraft(name=SELF_NAME, entity_type=EntityType.PERSON)
        return self.state(user_id, draft, now=now)

    def replaced(
        self, user_id: str, entity: Entity, changes: EntityChanges, *, now: datetime
    ) -> Decision[Entity]:
        """Replace the fields of an entity that ``changes`` names; a rename moves the name guard.

        Raises:
            ConflictError: Another entity has the name (``name_taken``), or the name is kept for
                the user's own entity (``name_reserved``).
            ValidationError: The user's own entity would change its type or expire
                (``self_entity``).
        """
        after = entity_rules.replace(entity, changes, now)
        if entity.is_self and after.entity_type is not entity.entity_type:
            raise invalid_field("entity_type", "self_entity", "The user's own entity is a person.")
        if entity.is_self and after.expires_at is not None:
            raise invalid_field(
                "expires_at", "self_entity", "The user's own entity can not expire."
            )
        if _place(after) != _place(entity):
            self._make_room(user_id, after, now)
        update = UpdateEntity(entity, after)
        return Decision((update,), update.result)

    def _make_room(self, user_id: str, entity: Entity, now: datetime) -> None:
        if _names_self(entity.entity_type, entity.name) and not entity.is_self:
            raise ConflictError(
                f"A person named {SELF_NAME!r} is the user's own entity.", code="name_reserved"
            )
        held_by = self._store.find_by_name(user_id, entity.entity_type, entity.name_key)
        if held_by and held_by != entity.id and self._live(user_id, held_by, now):
            raise ConflictError(
                "Another entity of this type has this name.",
                code="name_taken",
                extra={"entity_id": held_by},
            )

    def _live(self, user_id: str, entity_id: str, now: datetime) -> Entity | None:
        """Read the holder of a name; an expired one gives way and counts as absent."""
        entity = self._store.get_entities(user_id, [entity_id]).get(entity_id)
        if entity is None:
            raise ConflictError
        if entity.is_live(now):
            return entity
        self._store.delete_entity(user_id, entity, at=now)
        return None

    def _unless_counted(
        self, user_id: str, entity: Entity, support: Support | None
    ) -> Support | None:
        if support is None or support.source_id in self._store.entity_sources(user_id, entity.id):
            return None
        return support


def commit_decision[T: (Entity, Relation)](
    store: MemoryStore,
    clock: Clock,
    user_id: str,
    origin: Origin,
    decide: Callable[[datetime], Decision[T]],
) -> Decision[T]:
    """Decide and commit, anew while other writers get in between.

    Raises:
        ConflictError: Others kept writing.
    """

    def attempt() -> Decision[T]:
        now = clock.now()
        decision = decide(now)
        if decision.changes:
            store.commit(user_id, Commit(origin, now, decision.changes))
        return decision

    return on_conflict(clock, attempt)


def check_properties(properties: Mapping[str, JsonValue]) -> None:
    """Check the properties that a merge leads to against the limits of a single statement.

    Raises:
        ValidationError: They are over (``properties_too_large``).
    """
    try:
        _PROPERTIES.validate_python(dict(properties))
    except InvalidModelError as error:
        detail = error.errors(include_url=False)[0]["msg"].removeprefix("Value error, ")
        raise ValidationError(
            "Together with the properties that are there, it is too much.",
            code="properties_too_large",
            fields=[{"field": "properties", "code": "properties_too_large", "detail": detail}],
        ) from error


def require_live(entity: Entity | None, now: datetime) -> Entity:
    """Return an entity that is there and has not expired.

    Raises:
        NotFoundError: It is not, or it belongs to someone else.
    """
    if entity is None or not entity.is_live(now):
        raise NotFoundError("No such entity.")
    return entity


def _place(entity: Entity) -> tuple[EntityType, str]:
    return entity.entity_type, entity.name_key


def _names_self(entity_type: EntityType, name: str) -> bool:
    return entity_type is EntityType.PERSON and name_key(name) == name_key(SELF_NAME)
