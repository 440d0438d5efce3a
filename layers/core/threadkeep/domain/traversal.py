"""Walking the memory graph breadth first within bounds, and paths in what was found.

Pure: a caller reads what the walk asks for and tells what of it holds.
"""

from collections import deque
from collections.abc import Collection, Iterable, Mapping, Sequence, Set
from dataclasses import dataclass
from datetime import datetime
from itertools import chain, zip_longest

from threadkeep.domain.graph import Subgraph
from threadkeep.domain.relations import Direction


@dataclass(frozen=True)
class Edge:
    """A relation as it is followed: from ``start``, where the walk has been, to ``end``."""

    relation_id: str
    start: str
    end: str


class Traversal:
    """A walk from seeds, level by level, that never takes more than its bounds allow.

    Of an entity's edges the newest come first; the entities of a level take turns, so that one
    with many does not use up the bounds for all. Usage::

        while level := walk.next_level():
            walk.offer(edges_at(level))
            while wanted := walk.wanted():
                walk.settle(wanted, {edge.relation_id for edge in wanted if holds(edge)})

    Args:
        seeds: Entities to start from, best first; each must be there.
        max_depth: Most hops from a seed.
        max_nodes: Most entities, seeds included.
        max_relations: Most relations.
    """

    def __init__(
        self, seeds: Iterable[str], *, max_depth: int, max_nodes: int, max_relations: int
    ) -> None:
        starts = list(dict.fromkeys(seeds))
        self._max_depth = max_depth
        self._max_nodes = max_nodes
        self._max_relations = max_relations
        self._depth = 0
        self._level = starts[:max_nodes]
        self._nodes = dict.fromkeys(self._level)
        self._relations: dict[str, None] = {}
        self._frontier = dict.fromkeys(starts[max_nodes:])
        self._offered: set[str] = set()
        self._waiting: deque[Edge] = deque()

    @property
    def nodes(self) -> Sequence[str]:
        """Entities taken so far, nearest first."""
        return list(self._nodes)

    @property
    def relations(self) -> Sequence[str]:
        """Relations taken so far."""
        return list(self._relations)

    @property
    def frontier(self) -> Sequence[str]:
        """Entities whose relations were not all followed, because a bound was reached."""
        return list(self._frontier)

    def next_level(self) -> Sequence[str]:
        """Return the entities whose edges are to be offered next; none when the walk is over."""
        if self._depth == self._max_depth:
            return []
        self._depth += 1
        level, self._level = self._level, []
        return level

    def offer(self, edges: Mapping[str, Sequence[Edge]], cut: Collection[str] = ()) -> None:
        """Take the edges at the entities of a level.

        Args:
            edges: Edges by the entity that they start from.
            cut: Entities of which there are more edges than were read.
        """
        self._frontier |= dict.fromkeys(cut)
        newest_first = [
            sorted(at_one, key=lambda edge: edge.relation_id, reverse=True)
            for at_one in edges.values()
        ]
        for edge in chain.from_iterable(zip_longest(*newest_first)):
            if edge is not None and edge.relation_id not in self._offered:
                self._offered.add(edge.relation_id)
                self._waiting.append(edge)

    def wanted(self) -> Sequence[Edge]:
        """Return the next edges that the bounds have room for; none when all were looked at.

        Each must be settled before the next are asked for.
        """
        room = self._max_relations - len(self._relations)
        wanted: list[Edge] = []
        while self._waiting and (room == 0 or len(wanted) < room):
            edge = self._waiting.popleft()
            if room and self._has_room_for(edge.end):
                wanted.append(edge)
            else:
                self._frontier[edge.start] = None
        return wanted

    def settle(self, wanted: Iterable[Edge], holding: Set[str]) -> None:
        """Take those of the wanted edges whose relation holds and whose end is there."""
        for edge in wanted:
            if edge.relation_id not in holding:
                continue
            if not self._has_room_for(edge.end):
                self._frontier[edge.start] = None
                continue
            if edge.end not in self._nodes:
                self._nodes[edge.end] = None
                self._level.append(edge.end)
            self._relations[edge.relation_id] = None

    def _has_room_for(self, entity_id: str) -> bool:
        return entity_id in self._nodes or len(self._nodes) < self._max_nodes


def hop_paths(
    graph: Subgraph, seeds: Iterable[str], direction: Direction = Direction.BOTH
) -> dict[str, tuple[str, ...]]:
    """Return the shortest path from a seed to each entity that one leads to.

    Args:
        graph: Entities and relations.
        seeds: Where paths start; those that are not in the graph are passed over.
        direction: Which way relations may be followed.

    Returns:
        The relation ids along the path, by entity id; empty for the seeds.
    """
    steps: dict[str, list[tuple[str, str]]] = {entity.id: [] for entity in graph.entities}
    for relation in graph.relations:
        source, target = relation.source_entity_id, relation.target_entity_id
        if source in steps and target in steps:
            if direction is not Direction.INCOMING:
                steps[source].append((relation.id, target))
            if direction is not Direction.OUTGOING:
                steps[target].append((relation.id, source))
    paths: dict[str, tuple[str, ...]] = {seed: () for seed in seeds if seed in steps}
    waiting = deque(paths)
    while waiting:
        at = waiting.popleft()
        for relation_id, other in steps[at]:
            if other not in paths:
                paths[other] = (*paths[at], relation_id)
                waiting.append(other)
    return paths


def joined_since(
    graph: Subgraph,
    seeds: Sequence[str],
    since: datetime,
    direction: Direction = Direction.BOTH,
) -> Subgraph:
    """Keep the entities created or touched since a time that are still joined to a seed.

    The seeds stay; what was joined only through an older entity goes with it.
    """
    recent = tuple(
        entity
        for entity in graph.entities
        if entity.id in seeds or max(entity.created_at, entity.touched_at) >= since
    )
    joined = hop_paths(graph.model_copy(update={"entities": recent}), seeds, direction)
    return graph.model_copy(
        update={
            "entities": tuple(entity for entity in recent if entity.id in joined),
            "relations": tuple(
                relation
                for relation in graph.relations
                if relation.source_entity_id in joined and relation.target_entity_id in joined
            ),
            "frontier": tuple(at for at in graph.frontier if at in joined),
        }
    )
