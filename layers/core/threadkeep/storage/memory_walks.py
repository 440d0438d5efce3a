"""Walking all entities or relations of a user in the order of their keys, with their sources."""

from __future__ import annotations

from typing import TYPE_CHECKING

from threadkeep.domain.changes import Support
from threadkeep.storage import keys
from threadkeep.storage.items import Item
from threadkeep.storage.memory_items import EntityItem, RelationItem
from threadkeep.storage.memory_rows import SourceItem, TombstoneItem

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from threadkeep.domain.entities import Entity
    from threadkeep.domain.relations import Relation
    from threadkeep.storage.table import Table


def walked_entities(
    table: Table, user_id: str, after: str
) -> Iterator[tuple[Entity, Sequence[Support]]]:
    """Yield the entities that follow one, each with its sources."""
    bounds = keys.entities_after(after)
    for item, supports in _items(table, user_id, bounds):
        if isinstance(item, EntityItem):
            yield item.to_domain(), supports


def walked_relations(
    table: Table, user_id: str, after: str
) -> Iterator[tuple[Relation, Sequence[Support]]]:
    """Yield the relations that follow one, each with its sources."""
    bounds = keys.relations_after(after)
    for item, supports in _items(table, user_id, bounds):
        if isinstance(item, RelationItem):
            yield item.to_domain(), supports


def _items(
    table: Table, user_id: str, bounds: tuple[str, str]
) -> Iterator[tuple[Item, list[Support]]]:
    """Put each item together with the sources that follow it; deleted ones are left out."""
    current: Item | None = None
    supports: list[Support] = []
    for row in table.query(keys.user(user_id), Item.sk.between(*bounds)):
        if isinstance(row, EntityItem | RelationItem | TombstoneItem):
            if current is not None:
                yield current, supports
            current = None if isinstance(row, TombstoneItem) else row
            supports = []
        elif isinstance(row, SourceItem) and current is not None:
            supports.append(Support(row.source_id, row.evidence))
    if current is not None:
        yield current, supports
