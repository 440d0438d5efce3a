"""What statements about relations change: unique, by cardinality, closing instead of deleting."""

from __future__ import annotations

from typing import TYPE_CHECKING

from threadkeep.domain import relations as relation_rules
from threadkeep.domain.changes import CreateRelation, UpdateRelation
from threadkeep.domain.relations import SINGLE_VALUED, Direction
from threadkeep.errors import ConflictError, NotFoundError, invalid_field
from threadkeep.services.statements import Decision, check_properties

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence
    from datetime import datetime

    from threadkeep.domain.changes import Change, Support
    from threadkeep.domain.relations import Relation, RelationChanges, RelationDraft
    from threadkeep.ports import Half, Ids, MemoryStore


class RelationStatements:
    """Decisions about relations; like those about entities, nothing is committed here."""

    def __init__(self, store: MemoryStore, ids: Ids) -> None:
        self._store = store
        self._ids = ids

    def state(
        self,
        user_id: str,
        draft: RelationDraft,
        *,
        now: datetime,
        support: Support | None = None,
    ) -> Decision[Relation]:
        """Create a relation, or merge into the current one of this source, target and type.

        A new current relation of a single-valued type closes the source's other one. A statement
        about a time that is over makes a closed relation of its own, unless it reaches into the
        current one: then that one ends.

        Args:
            user_id: Owner.
            draft: What is stated.
            now: Time of the statement.
            support: The source; counts once.

        Raises:
            NotFoundError: An end is not there.
            ValidationError: Both ends are the same (``self_relation``), the merged properties are
                over the limit, or a relation that is over does not say when it began.
            ConflictError: Another writer is at it; decide again.
        """
        self.check_ends(user_id, draft, now)
        unclosed = self._unclosed(user_id, draft)
        is_over = draft.valid_to is not None and draft.valid_to <= now
        current = unclosed if unclosed is not None and unclosed.is_current(now) else None
        if current is not None and not (is_over and _is_apart(draft, current)):
            return self._merged(user_id, current, draft, now, support)
        if is_over:
            return self._past(user_id, draft, now, support)
        changes: list[Change] = []
        if unclosed is not None:
            changes.append(UpdateRelation(unclosed, relation_rules.settle(unclosed, now)))
        made = relation_rules.new_relation(draft, relation_id=self._ids.new(), now=now)
        changes += self._closing_others(user_id, made, now)
        creation = CreateRelation(made, support)
        changes.append(creation)
        return Decision(tuple(changes), creation.result, created=True)

    def replaced(
        self, user_id: str, relation: Relation, changes: RelationChanges, *, now: datetime
    ) -> Decision[Relation]:
        """Replace the fields of a relation that ``changes`` names; it may close or open again.

        Raises:
            ValidationError: It would end before it starts.
            ConflictError: It would be current beside another one of the same source, target and
                type (``relation_exists``).
        """
        try:
            after = relation_rules.replace(relation, changes, now)
        except ValueError as error:
            raise invalid_field("valid_to", "invalid_interval", str(error)) from error
        if after is relation:
            return Decision((), relation)
        needed: list[Change] = []
        if after.is_current(now) and not relation.is_current(now):
            needed += self._reopening(user_id, after, now)
        update = UpdateRelation(relation, after)
        return Decision((*needed, update), update.result)

    def ended(
        self,
        user_id: str,
        relation: Relation,
        *,
        valid_to: datetime,
        now: datetime,
        support: Support | None = None,
    ) -> Decision[Relation]:
        """Close a current relation because a source says that it no longer holds."""
        closed = relation_rules.close(relation, valid_to=valid_to, now=now)
        update = UpdateRelation(relation, closed, self._unless_counted(user_id, relation, support))
        return Decision((update,), update.result)

    def check_ends(self, user_id: str, draft: RelationDraft, now: datetime) -> None:
        """Require that both ends of a relation are there, and are two.

        Raises:
            NotFoundError: An end is not there.
            ValidationError: Both ends are the same (``self_relation``).
        """
        if draft.source_entity_id == draft.target_entity_id:
            raise invalid_field(
                "target_entity_id", "self_relation", "An entity can not be related to itself."
            )
        ends = {
            "source_entity_id": draft.source_entity_id,
            "target_entity_id": draft.target_entity_id,
        }
        found = self._store.get_entities(user_id, list(ends.values()))
        for field, entity_id in ends.items():
            if entity_id not in found or not found[entity_id].is_live(now):
                detail = "There is no such entity."
                raise NotFoundError(
                    detail, fields=[{"field": field, "code": "not_found", "detail": detail}]
                )

    def _unclosed(self, user_id: str, draft: RelationDraft) -> Relation | None:
        held_by = self._store.find_relation(
            user_id, draft.source_entity_id, draft.relation_type, draft.target_entity_id
        )
        if held_by is None:
            return None
        relation = self._store.get_relations(user_id, [held_by]).get(held_by)
        if relation is None:
            raise ConflictError
        return relation

    def _merged(
        self,
        user_id: str,
        relation: Relation,
        draft: RelationDraft,
        now: datetime,
        support: Support | None,
    ) -> Decision[Relation]:
        began = min(relation.valid_from, draft.valid_from or relation.valid_from)
        if draft.valid_to is not None:
            draft = draft.model_copy(update={"valid_to": max(draft.valid_to, began)})
        merged = relation_rules.merge(relation, draft, now)
        check_properties(merged.properties)
        counted = self._unless_counted(user_id, relation, support)
        if merged is relation and counted is None:
            return Decision((), relation)
        update = UpdateRelation(relation, merged, counted)
        return Decision((update,), update.result)

    def _past(
        self, user_id: str, draft: RelationDraft, now: datetime, support: Support | None
    ) -> Decision[Relation]:
        if draft.valid_from is None:
            raise invalid_field(
                "valid_from", "valid_from_missing", "A relation that is over says when it began."
            )
        halves = self._of_type(user_id, draft.source_entity_id, draft, closed=True)
        same_ends = [h.relation_id for h in halves if h.other_id == draft.target_entity_id]
        for relation in self._store.get_relations(user_id, same_ends).values():
            if (relation.valid_from, relation.valid_to) == (draft.valid_from, draft.valid_to):
                return self._merged(user_id, relation, draft, now, support)
        made = relation_rules.new_relation(draft, relation_id=self._ids.new(), now=now)
        creation = CreateRelation(made, support)
        return Decision((creation,), creation.result, created=True)

    def _reopening(self, user_id: str, relation: Relation, now: datetime) -> Iterable[Change]:
        held_by = self._store.find_relation(
            user_id,
            relation.source_entity_id,
            relation.relation_type,
            relation.target_entity_id,
        )
        if held_by is not None and held_by != relation.id:
            other = self._store.get_relations(user_id, [held_by]).get(held_by)
            if other is None:
                raise ConflictError
            if other.is_current(now):
                raise ConflictError(
                    "There is a current relation of this source, target and type.",
                    code="relation_exists",
                    extra={"relation_id": held_by},
                )
            yield UpdateRelation(other, relation_rules.settle(other, now))
        yield from self._closing_others(user_id, relation, now)

    def _closing_others(self, user_id: str, relation: Relation, now: datetime) -> Iterable[Change]:
        """Yield what ends the source's other current relations of a single-valued type."""
        if relation.relation_type not in SINGLE_VALUED:
            return
        halves = self._of_type(user_id, relation.source_entity_id, relation, closed=False)
        current = [half.relation_id for half in halves if half.is_current(now)]
        for other in self._store.get_relations(user_id, current).values():
            # The old one ends where the new one begins, if that is known and makes sense.
            begins = relation.valid_from
            ends = begins if other.valid_from < begins <= now else now
            yield UpdateRelation(other, relation_rules.close(other, valid_to=ends, now=now))

    def _of_type(
        self, user_id: str, source_id: str, like: RelationDraft | Relation, *, closed: bool
    ) -> Sequence[Half]:
        return self._store.halves(
            user_id,
            source_id,
            direction=Direction.OUTGOING,
            relation_types=[like.relation_type],
            closed=closed,
        )

    def _unless_counted(
        self, user_id: str, relation: Relation, support: Support | None
    ) -> Support | None:
        known = support and self._store.relation_sources(user_id, relation.id)
        return None if support is None or (known and support.source_id in known) else support


def _is_apart(draft: RelationDraft, relation: Relation) -> bool:
    """Tell whether a statement is about a time that was over before the relation began."""
    return (
        draft.valid_from is not None
        and draft.valid_to is not None
        and draft.valid_to <= relation.valid_from
    )
