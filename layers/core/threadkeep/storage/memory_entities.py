"""Reading entities: one with all about it, many at once, and listings."""

from __future__ import annotations

from functools import partial
from itertools import batched
from typing import TYPE_CHECKING, Literal

from threadkeep.domain.names import name_key as folded
from threadkeep.ports import Half, Page, PageRequest
from threadkeep.storage import keys
from threadkeep.storage.items import Item
from threadkeep.storage.memory_items import ENTITY, AccessItem, EntityItem, HalfItem
from threadkeep.storage.memory_rows import GuardItem, SourceItem
from threadkeep.storage.paging import cut, following, start_of

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence
    from datetime import datetime

    from pynamodb.expressions.condition import Condition

    from threadkeep.domain.entities import Entity, EntityType
    from threadkeep.storage.table import Table

_TEXT_CHUNK = 100
"""Entities whose text is read at once when a listing looks for some text: one batch request."""


class EntityReads:
    """The reading part of the memory store that is about entities.

    Args:
        table: The table.
    """

    def __init__(self, table: Table) -> None:
        self._table = table

    def find_by_name(self, user_id: str, entity_type: EntityType, name_key: str) -> str | None:
        """Return the id of the entity that holds a name key, in one request."""
        return self._guarded(user_id, keys.name_guard(entity_type.value, name_key))

    def self_id(self, user_id: str) -> str | None:
        """Return the id of the self entity, in one request."""
        return self._guarded(user_id, keys.SELF_GUARD)

    def get_entities(
        self, user_id: str, ids: Sequence[str], *, counts: bool = False
    ) -> dict[str, Entity]:
        """Read entities, in one batch request per 100 rows."""
        rows = [keys.entity(i) for i in ids] + [keys.access(i) for i in ids if counts]
        pk = keys.user(user_id)
        found = {item.sk: item for item in self._table.batch_get((pk, sk) for sk in rows)}
        entities = {}
        for entity_id in ids:
            row, access = found.get(keys.entity(entity_id)), found.get(keys.access(entity_id))
            if isinstance(row, EntityItem):
                counted = access if isinstance(access, AccessItem) else None
                entities[entity_id] = row.to_domain(counted)
        return entities

    def get_entity(self, user_id: str, entity_id: str) -> Entity | None:
        """Read one entity with evidence and access counts, in one query."""
        return _entity_of(self._rows(user_id, keys.entity_with_sources(entity_id)))

    def get_entity_with_halves(
        self, user_id: str, entity_id: str
    ) -> tuple[Entity, Sequence[Half]] | None:
        """Read one entity and its current halves, in one query."""
        rows = self._rows(user_id, keys.entity_with_halves(entity_id))
        entity = _entity_of(rows)
        if entity is None:
            return None
        return entity, [row.to_domain() for row in rows if isinstance(row, HalfItem)]

    def entity_sources(self, user_id: str, entity_id: str) -> frozenset[str]:
        """Return the ids of an entity's sources, in one query."""
        return sources_at(self._table, user_id, keys.entity_sources(entity_id))

    def list_entities(
        self,
        user_id: str,
        page: PageRequest,
        *,
        sort: Literal["updated", "name"],
        now: datetime,
        entity_type: EntityType | None = None,
        text: str | None = None,
    ) -> Page[Entity]:
        """List live entities by walking a local index, then reading the page's rows.

        Without total or text the walk reads about as far as the page goes. A total reads the whole
        index (1 MB a request, some 5,000 entities); a text reads the names and descriptions of what
        it passes.
        """
        by_name = sort == "name"
        order = "L2" if by_name else "L1"
        start = start_of(page, {keys.SORT_KEY: "E#", order: f"{ENTITY}#"})
        counted = page.with_total
        matching = not_ended(now)
        if entity_type is not None:
            matching &= EntityItem.entity_type == entity_type.value
        walked = self._table.query(
            keys.user(user_id),
            (EntityItem.l2 if by_name else EntityItem.l1).startswith(f"{ENTITY}#"),
            index=keys.BY_NAME if by_name else keys.BY_TOUCHED,
            matching=matching,
            page_size=None if counted else page.skip + page.limit + 1,
            after=None if counted else start,
            descending=not by_name,
        )
        rows: Iterable[EntityItem] = (row for row in walked if isinstance(row, EntityItem))
        place = partial(_place, by_name)
        if text:
            rows = self._holding(user_id, rows, folded(text))
        total = None
        if counted:
            every = list(rows)
            total = len(every)
            rows = following(every, start, order, place, descending=not by_name)
        taken, next_position = cut(rows, page, place)
        found = self.get_entities(user_id, [row.item_id for row in taken], counts=True)
        items = [found[row.item_id] for row in taken if row.item_id in found]
        return Page(items, next_position, total)

    def _holding(self, user_id: str, rows: Iterable[EntityItem], text: str) -> Iterator[EntityItem]:
        """Pass on the rows whose entity holds a folded text in its name or description."""
        pk = keys.user(user_id)
        for chunk in batched(rows, _TEXT_CHUNK, strict=False):
            read = self._table.batch_get(
                ((pk, row.sk) for row in chunk), attributes=[*_NAMED, "name", "description"]
            )
            holding = {
                item.sk
                for item in read
                if isinstance(item, EntityItem)
                and (text in folded(item.name) or text in folded(item.description))
            }
            yield from (row for row in chunk if row.sk in holding)

    def _rows(self, user_id: str, bounds: tuple[str, str]) -> list[Item]:
        return list(self._table.query(keys.user(user_id), Item.sk.between(*bounds)))

    def _guarded(self, user_id: str, sk: str) -> str | None:
        guard = self._table.get(GuardItem, keys.user(user_id), sk)
        return guard.item_id if guard else None


_NAMED = (keys.PARTITION_KEY, keys.SORT_KEY, "kind")


def not_ended(now: datetime) -> Condition:
    """Return the condition that an entity has not expired, or a relation not ended."""
    condition: Condition = EntityItem.expires_at.does_not_exist() | (EntityItem.expires_at > now)
    return condition


def sources_at(table: Table, user_id: str, prefix: str) -> frozenset[str]:
    """Return the ids of the sources whose rows start with a prefix."""
    rows = table.query(
        keys.user(user_id), Item.sk.startswith(prefix), attributes=[*_NAMED, "source_id"]
    )
    return frozenset(row.source_id for row in rows if isinstance(row, SourceItem))


def _place(by_name: bool, row: EntityItem) -> dict[str, str]:
    return {keys.SORT_KEY: row.sk, **({"L2": row.l2} if by_name else {"L1": row.l1})}


def _entity_of(rows: Sequence[Item]) -> Entity | None:
    """Put an entity together from its row, which comes first, and those that follow."""
    if not rows or not isinstance(rows[0], EntityItem):
        return None
    access = next((row for row in rows if isinstance(row, AccessItem)), None)
    pieces = (row.evidence for row in rows if isinstance(row, SourceItem))
    return rows[0].to_domain(access, [piece for piece in pieces if piece is not None])
