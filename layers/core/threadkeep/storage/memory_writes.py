"""A commit of changes as the writes of one transaction."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pynamodb.expressions.operand import Path

from threadkeep.domain.changes import (
    CreateEntity,
    CreateRelation,
    DeleteRelation,
    UpdateEntity,
    UpdateRelation,
)
from threadkeep.domain.entities import Entity
from threadkeep.domain.relations import SINGLE_VALUED, Relation
from threadkeep.domain.retrieval import DocumentKind
from threadkeep.ports import Pending
from threadkeep.storage import keys
from threadkeep.storage.items import Item, PendingItem
from threadkeep.storage.memory_items import AccessItem, EntityItem, HalfItem, RelationItem
from threadkeep.storage.memory_rows import (
    GuardItem,
    PointerItem,
    SourceItem,
    StepsItem,
    TombstoneItem,
    VersionItem,
)
from threadkeep.storage.transactions import Transaction
from threadkeep.storage.transfer_items import write_advance

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from pynamodb.expressions.condition import Condition

    from threadkeep.domain.changes import Change, Commit, Step, Support
    from threadkeep.storage.table import Key

    type Saved = CreateEntity | UpdateEntity | CreateRelation | UpdateRelation

ABSENT = Item.pk.does_not_exist()
ENTITY_IS_THERE = Item.kind == EntityItem


def unchanged(item: Entity | Relation) -> Condition:
    """Return the condition that the stored item is the given one, and no tombstone."""
    kind = EntityItem if isinstance(item, Entity) else RelationItem
    condition: Condition = (Item.kind == kind) & (kind.revision == item.revision)
    return condition


class CommitWrites:
    """Collects the writes of one commit.

    Args:
        user_id: Owner.
        commit: The changes.
        belongings: What else goes with each relation that is deleted, by its id; one that has more
            than goes with it at once is missing, and leaves a tombstone.

    Attributes:
        transaction: The writes.
        tombstones: What stands in the place of deleted relations afterwards, to be swept.
    """

    def __init__(
        self, user_id: str, commit: Commit, belongings: Mapping[str, Sequence[Key]]
    ) -> None:
        self.transaction = Transaction()
        self.tombstones: list[TombstoneItem] = []
        self._user_id = user_id
        self._partition = keys.user(user_id)
        self._commit = commit
        self._belongings = belongings
        for change in commit.changes:
            self._add(change)
        # Last, since the ends that this commit itself writes need no check.
        for change in commit.changes:
            if isinstance(change, CreateRelation | UpdateRelation):
                self._check_ends(change.result)
        if commit.step is not None:
            self._count(commit.step)
        if commit.advance is not None:
            write_advance(self.transaction, user_id, commit.advance)

    def _add(self, change: Change) -> None:
        match change:
            case CreateEntity():
                self._save_entity(change, before=None)
            case UpdateEntity(before=before):
                self._save_entity(change, before)
            case CreateRelation():
                self._save_relation(change, before=None)
            case UpdateRelation(before=before):
                self._save_relation(change, before)
            case DeleteRelation(relation=relation):
                self._delete_relation(relation)

    def _save_entity(self, change: CreateEntity | UpdateEntity, before: Entity | None) -> None:
        entity = change.result
        row = EntityItem.of(self._user_id, entity)
        if before is None:
            self.transaction.put(row, ABSENT)
            self.transaction.put(AccessItem.none_of(self._user_id, entity.id))
        else:
            self.transaction.put(row, unchanged(before))
        self._move_guards(entity, before)
        mark = Pending(DocumentKind.ENTITY, entity.id, entity.revision, False, self._commit.at)
        self.transaction.put(PendingItem.of(self._user_id, mark))
        self._save_sources(change)
        self._record(change)

    def _save_relation(
        self, change: CreateRelation | UpdateRelation, before: Relation | None
    ) -> None:
        relation = change.result
        row = RelationItem.of(self._user_id, relation)
        self.transaction.put(row, ABSENT if before is None else unchanged(before))
        if before is None or _place(before) != _place(relation):
            if before is not None and before.is_closed != relation.is_closed:
                self._remove_halves(before)
            self._put_halves(relation, before)
        self._move_guards(relation, before)
        self._save_sources(change)
        self._record(change)

    def _put_halves(self, relation: Relation, before: Relation | None) -> None:
        """Store both halves; the one at the source makes the triple unique while it is current."""
        stays = before is not None and before.is_closed == relation.is_closed
        condition = HalfItem.item_id == relation.id if stays else ABSENT
        for half in HalfItem.both(self._user_id, relation):
            self.transaction.put(half, condition)

    def _remove_halves(self, relation: Relation) -> None:
        for half in HalfItem.both(self._user_id, relation):
            self.transaction.delete(half.pk, half.sk, HalfItem.item_id == relation.id)

    def _delete_relation(self, relation: Relation) -> None:
        self._remove_halves(relation)
        for sk in guards(relation):
            self.transaction.delete(self._partition, sk, GuardItem.item_id == relation.id)
        if relation.id in self._belongings:
            sk = keys.relation(relation.id)
            self.transaction.delete(self._partition, sk, unchanged(relation))
            for key in self._belongings[relation.id]:
                self.transaction.delete(*key)
            return
        tombstone = TombstoneItem.of(self._user_id, relation, self._commit.at)
        self.tombstones.append(tombstone)
        self.transaction.put(tombstone, unchanged(relation))
        # Nothing of a relation is in the index: the mark has a dead worker's sweep taken up there.
        mark = Pending(
            DocumentKind.ENTITY, relation.id, relation.revision + 1, True, self._commit.at
        )
        self.transaction.put(PendingItem.of(self._user_id, mark))

    def _move_guards(self, item: Entity | Relation, before: Entity | Relation | None) -> None:
        held = set(guards(before)) if before is not None else set()
        wanted = set(guards(item))
        for sk in sorted(held - wanted):
            self.transaction.delete(self._partition, sk, GuardItem.item_id == item.id)
        for sk in sorted(wanted - held):
            self.transaction.put(GuardItem(self._partition, sk, item_id=item.id), ABSENT)

    def _save_sources(self, change: Saved) -> None:
        item = change.result
        if change.support is not None:
            source = self._source(item, change.support)
            self.transaction.put(source, ABSENT)
            if pointer := pointer_to(self._user_id, source, isinstance(item, Relation)):
                self.transaction.put(pointer)
        if isinstance(change, UpdateEntity | UpdateRelation) and change.dropped is not None:
            make = keys.relation_source if isinstance(item, Relation) else keys.entity_source
            sk = make(item.id, change.dropped)
            self.transaction.delete(self._partition, sk, Item.pk.exists())
            if conversation := conversation_of(change.dropped):
                thread = keys.thread(self._user_id, conversation)
                pointer_key = keys.evidence_pointer(item.id, change.dropped)
                self.transaction.delete(thread, pointer_key)

    def _source(self, item: Entity | Relation, support: Support) -> SourceItem:
        make = keys.relation_source if isinstance(item, Relation) else keys.entity_source
        sk = make(item.id, support.source_id)
        return SourceItem.of(self._user_id, sk, item.id, support)

    def _record(self, change: Saved) -> None:
        if entry := self._commit.entry(change):
            self.transaction.put(VersionItem.of(self._user_id, entry))

    def _check_ends(self, relation: Relation) -> None:
        for end in (relation.source_entity_id, relation.target_entity_id):
            self.transaction.check(self._partition, keys.entity(end), ENTITY_IS_THERE)

    def _count(self, step: Step) -> None:
        """Count a step of a job as applied, if it is the next and the job's conversation lives."""
        pk, sk = keys.jobs(self._user_id), keys.job_steps(step.job_id)
        if step.number == 0:
            first = StepsItem(pk, sk, job_id=step.job_id, applied=1, outcomes=[step.outcome])
            self.transaction.put(first, ABSENT)
        else:
            self.transaction.update(
                pk,
                sk,
                [
                    StepsItem.applied.set(step.number + 1),
                    StepsItem.outcomes.set(StepsItem.outcomes.append([step.outcome])),
                ],
                StepsItem.applied == step.number,
            )
        thread = keys.thread(self._user_id, step.conversation_id)
        self.transaction.check(thread, keys.META, Path("life") == step.life)


def guards(item: Entity | Relation) -> Iterator[str]:
    """Yield the keys of the guards that an item holds.

    An entity holds its name, and the place of the self entity. A relation with an open end holds
    the place of its source's one relation of a single-valued type.
    """
    if isinstance(item, Entity):
        yield keys.name_guard(item.entity_type.value, item.name_key)
        if item.is_self:
            yield keys.SELF_GUARD
    elif item.relation_type in SINGLE_VALUED and item.valid_to is None:
        yield keys.single_guard(item.source_entity_id, item.relation_type.value)


def conversation_of(source_id: str) -> str | None:
    """Return the conversation that a source was taken from, or None if it was not from one."""
    conversation, slash, _ = source_id.partition("/")
    return conversation if slash and conversation else None


def pointer_to(user_id: str, source: SourceItem, of_relation: bool) -> PointerItem | None:
    """Make the row by which the deletion of a conversation finds a source taken from it."""
    conversation = conversation_of(source.source_id)
    if conversation is None:
        return None
    return PointerItem(
        keys.thread(user_id, conversation),
        keys.evidence_pointer(source.item_id, source.source_id),
        item_id=source.item_id,
        source_id=source.source_id,
        of_relation=of_relation,
    )


def _place(relation: Relation) -> tuple[object, ...]:
    """Return what the halves say of a relation that can change."""
    return relation.is_closed, relation.valid_to
