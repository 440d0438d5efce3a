"""Deleting entities and relations with all that is theirs, in steps that can be resumed.

The first step is one transaction: a tombstone takes the item's place, its name is free, an index
mark says that it is gone. From then on nothing finds the item, and nothing can be added to it:
every write of it or of its relations requires it to be there. The rest is swept in chunks; each
removal may be repeated, and what leads to further rows goes after them. The tombstone goes last.
"""

from __future__ import annotations

from itertools import batched, chain
from typing import TYPE_CHECKING

from threadkeep.domain.retrieval import DocumentKind
from threadkeep.errors import ConflictError
from threadkeep.ports import Pending
from threadkeep.storage import keys
from threadkeep.storage.items import Item, PendingItem
from threadkeep.storage.memory_items import AccessItem, HalfItem, RelationItem
from threadkeep.storage.memory_rows import TOMBSTONE, GuardItem, SourceItem, TombstoneItem
from threadkeep.storage.memory_writes import conversation_of, guards, unchanged
from threadkeep.storage.transactions import Transaction

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from datetime import datetime

    from threadkeep.domain.entities import Entity
    from threadkeep.domain.relations import Relation
    from threadkeep.storage.table import Key, Table

_MOST_BELONGINGS = 9
"""Rows that go with a relation at once, so that ``MAX_CHANGES`` of them fit one transaction."""

_ROWS_AT_ONCE = 100
"""Rows of an entity that are swept before more are read: bounds memory and what a crash repeats."""


class Deletions:
    """Deletes entities, and sweeps what is left of deleted entities and relations.

    Args:
        table: The table.
    """

    def __init__(self, table: Table) -> None:
        self._table = table

    def begin(self, user_id: str, entity: Entity, at: datetime) -> TombstoneItem:
        """Make an entity invisible on every surface and free its name.

        Returns:
            What stands in its place, to be swept.

        Raises:
            ConflictError: The entity is no longer as given.
        """
        pk = keys.user(user_id)
        tombstone = TombstoneItem.of(user_id, entity, at)
        transaction = Transaction()
        transaction.put(tombstone, unchanged(entity))
        for sk in guards(entity):
            transaction.delete(pk, sk, GuardItem.item_id == entity.id)
        mark = Pending(DocumentKind.ENTITY, entity.id, entity.revision + 1, True, at)
        transaction.put(PendingItem.of(user_id, mark))
        self._table.transact(transaction.writes)
        return tombstone

    def belongings(self, user_id: str, relation: Relation) -> list[Key] | None:
        """Return the keys of a relation's history, sources and pointers to them.

        They are all there is for as long as the relation is as given.

        Returns:
            None if they are too many to go with the relation in one transaction.
        """
        if relation.version + 2 * relation.sources_count > _MOST_BELONGINGS:
            return None
        found = self._relation_sources(user_id, relation.id) if relation.sources_count else []
        return [
            *_versions(user_id, relation.id, relation.version),
            *_pointers(user_id, found),
            *map(_key, found),
        ]

    def finish(self, user_id: str, item_id: str) -> None:
        """Sweep what is left of an item; does nothing if it is not being deleted."""
        pk = keys.user(user_id)
        places = [(pk, keys.entity(item_id)), (pk, keys.relation(item_id))]
        for item in self._table.batch_get(places):
            if isinstance(item, TombstoneItem):
                self.sweep(user_id, item)

    def unfinished(self, user_id: str) -> frozenset[str]:
        """Return the ids of the items that are being deleted."""
        rows = self._table.query(
            keys.user(user_id),
            TombstoneItem.l1.startswith(f"{TOMBSTONE}#"),
            index=keys.BY_TOUCHED,
        )
        return frozenset(row.item_id for row in rows if isinstance(row, TombstoneItem))

    def sweep(self, user_id: str, tombstone: TombstoneItem) -> None:
        """Remove what belonged to a deleted item, then its tombstone."""
        if not tombstone.of_relation:
            self._sweep_entity(user_id, tombstone.item_id)
        elif tombstone.sources_count:
            self._remove(user_id, self._relation_sources(user_id, tombstone.item_id))
        versions = _versions(user_id, tombstone.item_id, int(tombstone.version))
        self._table.batch_write(deletes=versions)
        self._remove_tombstone(tombstone)

    def _sweep_entity(self, user_id: str, entity_id: str) -> None:
        """Remove all rows of an entity but its tombstone, chunk by chunk until there are none."""
        low, high = keys.entity_with_all(entity_id)
        rows = self._table.query(
            keys.user(user_id), Item.sk.between(low, high), page_size=_ROWS_AT_ONCE
        )
        for chunk in batched(rows, _ROWS_AT_ONCE, strict=False):
            self._remove(user_id, chunk)

    def _remove(self, user_id: str, rows: Sequence[Item]) -> None:
        """Remove rows of an entity, and the relations whose halves are among them.

        In an order in which each step that a crash leaves undone is found again: what nothing leads
        to any further; the sources that led there; bodies, which lead to their sources, and halves
        at other entities; last the halves at hand, which lead to the bodies.
        """
        pk = keys.user(user_id)
        halves = [row for row in rows if isinstance(row, HalfItem)]
        read = self._table.batch_get((pk, keys.relation(half.item_id)) for half in halves)
        # A relation that stands as a tombstone is being swept on its own: that one is left to it.
        bodies = [row for row in read if isinstance(row, RelationItem)]
        with_sources = [row.item_id for row in bodies if row.sources_count]
        found = self._table.parallel(lambda i: self._relation_sources(user_id, i), with_sources)
        sources = [row for row in chain(rows, *found) if isinstance(row, SourceItem)]
        ends = [key for row in bodies for key in _versions(user_id, row.item_id, int(row.version))]
        ends += [_key(row) for row in rows if isinstance(row, AccessItem)]
        self._table.batch_write(deletes=[*_pointers(user_id, sources), *ends])
        self._table.batch_write(deletes=map(_key, sources))
        for row in bodies:
            self._remove_guards(row)
        twins = [(pk, half.twin_key) for half in halves]
        self._table.batch_write(deletes=[*map(_key, bodies), *twins])
        self._table.batch_write(deletes=map(_key, halves))

    def _remove_guards(self, row: RelationItem) -> None:
        """Free the place that a relation holds, unless another holds it by now."""
        for sk in guards(row.to_domain()):
            try:
                self._table.delete(row.pk, sk, condition=GuardItem.item_id == row.item_id)
            except ConflictError:
                continue

    def _relation_sources(self, user_id: str, relation_id: str) -> list[SourceItem]:
        rows = self._table.query(
            keys.user(user_id), Item.sk.startswith(keys.relation_sources(relation_id))
        )
        return [row for row in rows if isinstance(row, SourceItem)]

    def _remove_tombstone(self, tombstone: TombstoneItem) -> None:
        try:
            self._table.delete(tombstone.pk, tombstone.sk, condition=Item.kind == TombstoneItem)
        except ConflictError:
            return  # another worker was faster


def _key(row: Item) -> Key:
    return row.pk, row.sk


def _pointers(user_id: str, sources: Sequence[SourceItem]) -> list[Key]:
    """Return the keys of the pointers that conversations keep to sources."""
    return [
        (keys.thread(user_id, conversation), keys.evidence_pointer(s.item_id, s.source_id))
        for s in sources
        if (conversation := conversation_of(s.source_id))
    ]


def _versions(user_id: str, item_id: str, newest: int) -> Iterator[Key]:
    """Yield the keys of an item's history: it has one row for each version."""
    pk = keys.history(user_id)
    return ((pk, keys.version(item_id, number)) for number in range(1, newest + 1))
