"""Reading relations: bodies, halves, all edges, and listings."""

from __future__ import annotations

from functools import partial
from itertools import batched, islice
from typing import TYPE_CHECKING

from threadkeep.domain.relations import Direction, RelationType
from threadkeep.ports import Half, Page
from threadkeep.storage import keys
from threadkeep.storage.items import Item
from threadkeep.storage.memory_entities import EntityReads, not_ended, sources_at
from threadkeep.storage.memory_items import (
    CLOSED_RELATION,
    ENTITY,
    RELATION,
    EntityItem,
    HalfItem,
    RelationItem,
)
from threadkeep.storage.memory_rows import SourceItem
from threadkeep.storage.paging import cut, following, start_of

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence
    from datetime import datetime

    from threadkeep.domain.entities import Entity
    from threadkeep.domain.relations import Relation
    from threadkeep.ports import PageRequest

_LETTERS = {Direction.BOTH: "", Direction.OUTGOING: "O", Direction.INCOMING: "I"}
_LIVENESS = (keys.PARTITION_KEY, keys.SORT_KEY, "kind", "expires_at")


class RelationReads(EntityReads):
    """The reading part of the memory store that is about relations and their ends."""

    def get_items(
        self, user_id: str, *, entity_ids: Sequence[str], relation_ids: Sequence[str]
    ) -> tuple[dict[str, Entity], dict[str, Relation]]:
        """Read entities and relation bodies together, in one batch request per 100 of both."""
        pk = keys.user(user_id)
        wanted = [*map(keys.entity, entity_ids), *map(keys.relation, relation_ids)]
        entities: dict[str, Entity] = {}
        relations: dict[str, Relation] = {}
        for item in self._table.batch_get((pk, sk) for sk in wanted):
            if isinstance(item, EntityItem):
                entities[item.item_id] = item.to_domain()
            elif isinstance(item, RelationItem):
                relations[item.item_id] = item.to_domain()
        return entities, relations

    def get_relations(self, user_id: str, ids: Sequence[str]) -> dict[str, Relation]:
        """Read relation bodies, in one batch request per 100."""
        return self.get_items(user_id, entity_ids=(), relation_ids=ids)[1]

    def get_relation(self, user_id: str, relation_id: str) -> Relation | None:
        """Read one relation with its sources, in one query."""
        rows = self._rows(user_id, keys.relation_with_sources(relation_id))
        if not rows or not isinstance(rows[0], RelationItem):
            return None
        pieces = (row.evidence for row in rows if isinstance(row, SourceItem))
        return rows[0].to_domain([piece for piece in pieces if piece is not None])

    def relation_sources(self, user_id: str, relation_id: str) -> frozenset[str]:
        """Return the ids of a relation's sources, in one query."""
        return sources_at(self._table, user_id, keys.relation_sources(relation_id))

    def find_relation(
        self, user_id: str, source_id: str, relation_type: RelationType, target_id: str
    ) -> str | None:
        """Return the id of the unclosed relation of a triple, in one request."""
        sk = keys.outgoing(source_id, relation_type.value, target_id)
        half = self._table.get(HalfItem, keys.user(user_id), sk)
        return half.item_id if half else None

    def halves(
        self,
        user_id: str,
        entity_id: str,
        *,
        direction: Direction = Direction.BOTH,
        relation_types: Sequence[RelationType] | None = None,
        closed: bool = False,
        limit: int | None = None,
    ) -> Sequence[Half]:
        """Read an entity's halves: the current ones in one query, the closed ones in another.

        Both directions lie side by side. One type of one direction is a narrower range; otherwise
        types are picked from what is read.
        """
        letter = _LETTERS[direction]
        narrow = bool(letter) and relation_types is not None and len(relation_types) == 1
        kind = relation_types[0].value if narrow and relation_types else ""
        prefixes = [keys.halves(entity_id, letter, kind)]
        if closed:
            prefixes.append(keys.closed_halves(entity_id, letter))
        wanted = None if relation_types is None else {kind.value for kind in relation_types}
        rows = (row for prefix in prefixes for row in self._halves_at(user_id, prefix, limit))
        picked = (row for row in rows if wanted is None or row.relation_type in wanted)
        return [row.to_domain() for row in islice(picked, limit)]

    def halves_of(
        self,
        user_id: str,
        entity_ids: Sequence[str],
        *,
        direction: Direction = Direction.BOTH,
        relation_types: Sequence[RelationType] | None = None,
        closed: bool = False,
        limit: int | None = None,
    ) -> dict[str, Sequence[Half]]:
        """Read the halves of several entities, their queries in parallel."""
        read = partial(
            self.halves,
            user_id,
            direction=direction,
            relation_types=relation_types,
            closed=closed,
            limit=limit,
        )
        wanted = list(dict.fromkeys(entity_ids))
        return dict(zip(wanted, self._table.parallel(read, wanted), strict=True))

    def edges(self, user_id: str, *, closed: bool = False) -> Sequence[Half]:
        """Read all relations as outgoing halves from the local index alone."""
        kinds = (RELATION, CLOSED_RELATION) if closed else (RELATION,)
        return [
            Half(
                relation_id=row.item_id,
                entity_id=row.ends[0],
                other_id=row.ends[1],
                outgoing=True,
                relation_type=RelationType(row.relation_type),
                current=kind == RELATION,
                valid_to=row.valid_to,
            )
            for kind in kinds
            for row in self._edge_rows(user_id, kind)
        ]

    def list_relations(
        self,
        user_id: str,
        page: PageRequest,
        *,
        now: datetime,
        entity_id: str | None = None,
        relation_type: RelationType | None = None,
    ) -> Page[Relation]:
        """List current relations between live entities.

        Those of one entity are read by its halves and sorted. Otherwise the local index is walked,
        as far as the page goes or, for a total, to its end beside the index of entities.
        """
        start = start_of(page, {keys.SORT_KEY: "RID#", "L1": f"{RELATION}#"})
        whole = page.with_total or entity_id is not None
        if entity_id is not None:
            rows: Iterable[RelationItem] = self._at(user_id, entity_id, relation_type, now)
        else:
            walked = self._edge_rows(
                user_id,
                RELATION,
                now=now,
                relation_type=relation_type,
                page_size=None if whole else page.skip + page.limit + 1,
                after=None if whole else start,
            )
            chunk = None if whole else page.skip + page.limit + 1
            rows = self._between_live(user_id, walked, now, chunk)
        total = None
        if whole:
            every = list(rows)
            total = len(every) if page.with_total else None
            rows = following(every, start, "L1", _place, descending=True)
        taken, next_position = cut(rows, page, _place)
        found = self.get_relations(user_id, [row.item_id for row in taken])
        items = [found[row.item_id] for row in taken if row.item_id in found]
        return Page(items, next_position, total)

    def _at(
        self, user_id: str, entity_id: str, relation_type: RelationType | None, now: datetime
    ) -> list[RelationItem]:
        """Read the current relations of one entity with live ends, newest updated first."""
        types = None if relation_type is None else [relation_type]
        halves = self.halves(user_id, entity_id, relation_types=types)
        current = [half for half in halves if half.is_current(now)]
        pk = keys.user(user_id)
        ends = {entity_id, *(half.other_id for half in current)}
        read = self._table.batch_get(
            [
                *((pk, keys.entity(end)) for end in ends),
                *((pk, keys.relation(half.relation_id)) for half in current),
            ],
            attributes=[*_LIVENESS, "L1", "item_id"],
        )
        live = _live(read, now)
        rows = [
            item
            for item in read
            if isinstance(item, RelationItem) and {keys.entity(end) for end in item.ends} <= live
        ]
        return sorted(rows, key=lambda row: row.l1, reverse=True)

    def _between_live(
        self, user_id: str, rows: Iterable[RelationItem], now: datetime, at_once: int | None
    ) -> Iterator[RelationItem]:
        """Pass on the relations whose ends are both there and not expired.

        The ends are looked up as the rows come, so many at once, or for all in the local index.
        """
        pk = keys.user(user_id)
        chunks: Iterable[Sequence[RelationItem]]
        if at_once is None:
            index = self._table.query(
                pk, EntityItem.l1.startswith(f"{ENTITY}#"), index=keys.BY_TOUCHED
            )
            everyone = _live(index, now)
            chunks = [list(rows)]
        else:
            everyone = None
            chunks = batched(rows, at_once, strict=False)
        for chunk in chunks:
            if everyone is None:
                ends = {(pk, keys.entity(end)) for row in chunk for end in row.ends}
                live = _live(self._table.batch_get(ends, attributes=_LIVENESS), now)
            else:
                live = everyone
            yield from (row for row in chunk if {keys.entity(end) for end in row.ends} <= live)

    def _edge_rows(
        self,
        user_id: str,
        kind: str,
        *,
        now: datetime | None = None,
        relation_type: RelationType | None = None,
        page_size: int | None = None,
        after: dict[str, str] | None = None,
    ) -> Iterator[RelationItem]:
        """Walk the local index of relations, newest updated first."""
        matching = not_ended(now) if now else None
        if relation_type is not None:
            of_type = RelationItem.relation_type == relation_type.value
            matching = of_type if matching is None else matching & of_type
        rows = self._table.query(
            keys.user(user_id),
            RelationItem.l1.startswith(f"{kind}#"),
            index=keys.BY_TOUCHED,
            matching=matching,
            page_size=page_size,
            after=after,
            descending=True,
        )
        return (row for row in rows if isinstance(row, RelationItem))

    def _halves_at(self, user_id: str, prefix: str, limit: int | None) -> Iterator[HalfItem]:
        rows = self._table.query(
            keys.user(user_id), Item.sk.startswith(prefix), page_size=limit or None
        )
        return (row for row in rows if isinstance(row, HalfItem))


def _live(rows: Iterable[Item], now: datetime) -> set[str]:
    """Return the sort keys of the entities among rows that have not expired."""
    return {
        row.sk
        for row in rows
        if isinstance(row, EntityItem) and (row.expires_at is None or row.expires_at > now)
    }


def _place(row: RelationItem) -> dict[str, str]:
    return {keys.SORT_KEY: row.sk, "L1": row.l1}
