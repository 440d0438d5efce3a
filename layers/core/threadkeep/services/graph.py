"""Reading the graph: around seeds within bounds, or all of it page by page."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from threadkeep.domain.graph import Subgraph
from threadkeep.domain.limits import MAX_PAGE_BYTES
from threadkeep.domain.sizes import fitting, json_bytes
from threadkeep.domain.traversal import Edge, Traversal
from threadkeep.errors import NotFoundError
from threadkeep.ports import PageRequest
from threadkeep.services.moments import Moment
from threadkeep.services.statements import SELF_ALIAS

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from threadkeep.domain.entities import Entity
    from threadkeep.domain.graph import GraphQuery
    from threadkeep.domain.relations import Relation
    from threadkeep.ports import Clock, Half, MemoryStore

WHOLE_GRAPH_PAGE = 1_000
MAX_READ_HALVES = 1_000
"""Most relations that are read at one entity of a traversal."""

_BODIES_AT_ONCE = 500


class Graph:
    """Use cases of reading the graph."""

    def __init__(self, store: MemoryStore, clock: Clock) -> None:
        self._store = store
        self._clock = clock

    def around(self, user_id: str, query: GraphQuery) -> Subgraph:
        """Walk from seeds that must all be there.

        Raises:
            NotFoundError: One of the seeds is not there, or has expired.
        """
        own_id = self._store.self_id(user_id) if SELF_ALIAS in query.entity_ids else None
        seeds = tuple(own_id if i == SELF_ALIAS and own_id else i for i in query.entity_ids)
        now = self._clock.now()
        found = self._store.get_entities(user_id, list(dict.fromkeys(seeds)))
        if any(seed not in found or not found[seed].is_live(now) for seed in seeds):
            raise NotFoundError("No such entity.")
        return self._walk(user_id, query, {seed: found[seed] for seed in seeds})

    def traverse(self, user_id: str, query: GraphQuery) -> Subgraph:
        """Walk from seeds; those that are not there are passed over."""
        found = self._store.get_entities(user_id, list(dict.fromkeys(query.entity_ids)))
        seeds = {seed: found[seed] for seed in query.entity_ids if seed in found}
        return self._walk(user_id, query, seeds)

    def _walk(self, user_id: str, query: GraphQuery, seeds: Mapping[str, Entity]) -> Subgraph:
        """Walk breadth first: a query for each entity of a level, a batch for what they lead to."""
        moment = self._moment(user_id, query)
        walk = Traversal(
            (seed.id for seed in seeds.values() if moment.shows(seed)),
            max_depth=query.max_depth,
            max_nodes=query.max_nodes,
            max_relations=query.max_relations,
        )
        entities = dict(seeds)
        relations: dict[str, Relation] = {}
        while level := walk.next_level():
            halves = self._store.halves_of(
                user_id,
                level,
                direction=query.direction,
                relation_types=query.relation_types,
                closed=moment.is_past,
                limit=MAX_READ_HALVES,
            )
            walk.offer(
                {at: [_edge(h) for h in halves[at] if moment.may_hold(h)] for at in level},
                cut=[at for at in level if len(halves[at]) >= MAX_READ_HALVES],
            )
            while wanted := walk.wanted():
                unread = dict.fromkeys(edge.end for edge in wanted if edge.end not in entities)
                others, bodies = self._store.get_items(
                    user_id,
                    entity_ids=list(unread),
                    relation_ids=[edge.relation_id for edge in wanted],
                )
                entities |= others
                relations |= bodies
                walk.settle(
                    wanted,
                    {
                        edge.relation_id
                        for edge in wanted
                        if edge.relation_id in bodies
                        and moment.holds(bodies[edge.relation_id])
                        and edge.end in entities
                        and moment.shows(entities[edge.end])
                    },
                )
        return Subgraph(
            entities=moment.entities([entities[i] for i in walk.nodes]),
            relations=moment.relations([relations[i] for i in walk.relations]),
            truncated=bool(walk.frontier),
            frontier=tuple(walk.frontier),
        )

    def whole(
        self, user_id: str, query: GraphQuery, position: Mapping[str, str] | None = None
    ) -> tuple[Subgraph, Mapping[str, str] | None]:
        """Read a page of the whole graph: entities by name, with all relations at them.

        A page ends early at 4 MB. Relations of one entity that alone are over it are cut off, and
        the entity stands in the frontier.

        Args:
            user_id: Owner.
            query: Types of relations, and the moment; ``max_nodes``, where it is given, is the size
                of the page. Direction, depth and ``max_relations`` do not apply.
            position: Where the page starts; None for the first.

        Returns:
            The page, and where the next one starts.
        """
        now = self._clock.now()
        moment = self._moment(user_id, query)
        size = query.max_nodes if "max_nodes" in query.model_fields_set else WHOLE_GRAPH_PAGE
        page = PageRequest(limit=size, position=position)
        listed = self._store.list_entities(user_id, page, sort="name", now=now)
        fits = fitting(listed.items, MAX_PAGE_BYTES // 2)
        if fits < len(listed.items):
            page = replace(page, limit=max(1, fits))
            listed = self._store.list_entities(user_id, page, sort="name", now=now)
        here = [entity for entity in listed.items if moment.shows(entity)]
        room = MAX_PAGE_BYTES - sum(json_bytes(entity) for entity in here)
        relations, frontier = self._relations_at(user_id, query, moment, here, room)
        graph = Subgraph(
            entities=moment.entities(here),
            relations=moment.relations(relations),
            truncated=bool(frontier),
            frontier=tuple(frontier),
        )
        return graph, listed.next_position

    def _relations_at(
        self,
        user_id: str,
        query: GraphQuery,
        moment: Moment,
        here: Sequence[Entity],
        room: int,
    ) -> tuple[Sequence[Relation], Sequence[str]]:
        """Read the relations at entities, up to a size; name those whose relations were cut off."""
        ids = {entity.id for entity in here}
        halves = [
            half
            for half in self._store.edges(user_id, closed=moment.is_past)
            if (half.entity_id in ids or half.other_id in ids)
            and (query.relation_types is None or half.relation_type in query.relation_types)
            and moment.may_hold(half)
        ]
        ends = {end for half in halves for end in (half.entity_id, half.other_id)}
        others = self._store.get_entities(user_id, sorted(ends - ids))
        shown = ids | {i for i, entity in others.items() if moment.shows(entity)}
        halves = [half for half in halves if {half.entity_id, half.other_id} <= shown]
        relations: list[Relation] = []
        for start in range(0, len(halves), _BODIES_AT_ONCE):
            some = halves[start : start + _BODIES_AT_ONCE]
            bodies = self._store.get_relations(user_id, [half.relation_id for half in some])
            holding = [relation for relation in bodies.values() if moment.holds(relation)]
            fits = fitting(holding, room)
            relations += holding[:fits]
            room -= sum(json_bytes(relation) for relation in holding[:fits])
            if fits < len(holding):
                taken = {relation.id for relation in relations}
                left = [half for half in halves[start:] if half.relation_id not in taken]
                cut = {end for half in left for end in (half.entity_id, half.other_id)}
                return relations, sorted(cut & ids)
        return relations, ()

    def _moment(self, user_id: str, query: GraphQuery) -> Moment:
        return Moment(
            self._store,
            user_id,
            now=self._clock.now(),
            as_of=query.as_of,
            known_at=query.known_at,
        )


def _edge(half: Half) -> Edge:
    return Edge(half.relation_id, half.entity_id, half.other_id)
