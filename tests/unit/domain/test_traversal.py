"""Walks over random graphs against a search without bounds."""

from __future__ import annotations

from collections import defaultdict
from datetime import UTC, datetime, timedelta

from hypothesis import given
from hypothesis import strategies as st

from threadkeep.domain.entities import Entity, EntityType
from threadkeep.domain.graph import Subgraph
from threadkeep.domain.relations import Direction, Relation, RelationType
from threadkeep.domain.traversal import Edge, Traversal, hop_paths, joined_since

NOW = datetime(2026, 1, 1, tzinfo=UTC)

type Links = list[tuple[str, str]]

nodes = st.integers(0, 9).map(str)
links = st.lists(st.tuples(nodes, nodes).filter(lambda pair: pair[0] != pair[1]), max_size=30)


def walk(
    links: Links, seeds: list[str], gone: set[str], *, depth: int, most_nodes: int, most_links: int
) -> Traversal:
    """Walk a graph both ways; entities in ``gone`` turn out not to be there."""
    at: defaultdict[str, list[Edge]] = defaultdict(list)
    for number, (source, target) in enumerate(links):
        at[source].append(Edge(f"r{number:02d}", source, target))
        at[target].append(Edge(f"r{number:02d}", target, source))
    traversal = Traversal(seeds, max_depth=depth, max_nodes=most_nodes, max_relations=most_links)
    while level := traversal.next_level():
        traversal.offer({node: at[node] for node in level})
        while wanted := traversal.wanted():
            traversal.settle(wanted, {edge.relation_id for edge in wanted if edge.end not in gone})
    return traversal


def reachable(links: Links, seeds: list[str], gone: set[str], depth: int) -> dict[str, int]:
    """Return all nodes within a number of hops, with their distance."""
    distance = dict.fromkeys(seeds, 0)
    for hop in range(1, depth + 1):
        for source, target in links:
            for start, end in ((source, target), (target, source)):
                if distance.get(start) == hop - 1 and end not in distance and end not in gone:
                    distance[end] = hop
    return distance


def as_graph(traversal: Traversal, links: Links) -> Subgraph:
    """Return what a walk took as a graph."""
    return Subgraph(
        entities=tuple(an_entity(node) for node in traversal.nodes),
        relations=tuple(
            a_relation(relation_id, *links[int(relation_id[1:])])
            for relation_id in traversal.relations
        ),
    )


def an_entity(entity_id: str, touched: datetime = NOW) -> Entity:
    """Return an entity of an id."""
    return Entity(
        id=entity_id,
        name=entity_id,
        entity_type=EntityType.CONCEPT,
        created_at=touched,
        updated_at=touched,
        touched_at=touched,
    )


def a_relation(relation_id: str, source: str, target: str) -> Relation:
    """Return a relation of an id between two entities."""
    return Relation(
        id=relation_id,
        source_entity_id=source,
        target_entity_id=target,
        relation_type=RelationType.RELATED_TO,
        valid_from=NOW,
        recorded_from=NOW,
        created_at=NOW,
        updated_at=NOW,
    )


seeds_of = st.lists(nodes, min_size=1, max_size=3, unique=True)


@given(links, seeds_of, st.sets(nodes), st.integers(1, 3))
def test_walk_without_binding_bounds_finds_all_within_its_depth(
    links: Links, seeds: list[str], gone: set[str], depth: int
) -> None:
    # given
    gone -= set(seeds)
    # when
    taken = walk(links, seeds, gone, depth=depth, most_nodes=100, most_links=500)
    # then
    expected = reachable(links, seeds, gone, depth)
    assert set(taken.nodes) == set(expected)
    followed = {node for node, distance in expected.items() if distance < depth}
    assert set(taken.relations) == {
        f"r{number:02d}"
        for number, (source, target) in enumerate(links)
        if {source, target} & followed and not {source, target} & gone
    }
    assert not taken.frontier


@given(links, seeds_of, st.integers(1, 3), st.integers(1, 6), st.integers(1, 6))
def test_walk_stays_within_its_bounds_and_says_where_it_was_cut(
    links: Links, seeds: list[str], depth: int, most_nodes: int, most_links: int
) -> None:
    # when
    taken = walk(links, seeds, set(), depth=depth, most_nodes=most_nodes, most_links=most_links)
    free = walk(links, seeds, set(), depth=depth, most_nodes=100, most_links=500)
    # then
    assert len(taken.nodes) <= most_nodes
    assert len(taken.relations) <= most_links
    is_whole = (set(taken.nodes), set(taken.relations)) == (set(free.nodes), set(free.relations))
    assert is_whole is not bool(taken.frontier)


@given(links, seeds_of, st.sets(nodes), st.integers(1, 3), st.integers(1, 6), st.integers(1, 6))
def test_every_node_is_joined_to_a_seed_within_the_depth(
    links: Links,
    seeds: list[str],
    gone: set[str],
    depth: int,
    most_nodes: int,
    most_links: int,
) -> None:
    # when
    gone -= set(seeds)
    taken = walk(links, seeds, gone, depth=depth, most_nodes=most_nodes, most_links=most_links)
    # then
    paths = hop_paths(as_graph(taken, links), seeds)
    assert paths.keys() == set(taken.nodes)
    assert all(len(path) <= depth for path in paths.values())
    assert not gone & paths.keys()


def test_entities_of_a_level_take_turns_and_newest_relations_come_first() -> None:
    # given: one seed with many relations and one with a single one
    many = [("hub", f"n{number}") for number in range(50)]
    links = [("other", "single"), *many]
    # when
    taken = walk(links, ["hub", "other"], set(), depth=1, most_nodes=100, most_links=3)
    # then
    assert set(taken.nodes) == {"hub", "other", "single", "n49", "n48"}
    assert taken.frontier == ["hub"]


def test_relations_between_taken_entities_are_followed_when_no_more_entities_fit() -> None:
    # given
    links = [("a", "b"), ("a", "c"), ("b", "c"), ("c", "d")]
    # when
    taken = walk(links, ["a"], set(), depth=2, most_nodes=3, most_links=10)
    # then
    assert set(taken.relations) == {"r00", "r01", "r02"}
    assert taken.frontier == ["c"]


def test_surplus_seeds_are_named_as_frontier() -> None:
    # when
    taken = walk([], ["a", "b", "c", "a"], set(), depth=1, most_nodes=2, most_links=10)
    # then
    assert (taken.nodes, taken.frontier) == (["a", "b"], ["c"])


def test_hop_paths_follow_the_direction() -> None:
    # given: a -> b <- c
    graph = Subgraph(
        entities=tuple(an_entity(name) for name in "abc"),
        relations=(a_relation("ab", "a", "b"), a_relation("cb", "c", "b")),
    )
    # then
    assert hop_paths(graph, ["a"]) == {"a": (), "b": ("ab",), "c": ("ab", "cb")}
    assert hop_paths(graph, ["a"], Direction.OUTGOING) == {"a": (), "b": ("ab",)}
    assert hop_paths(graph, ["b"], Direction.INCOMING) == {"b": (), "a": ("ab",), "c": ("cb",)}


def test_what_hangs_on_an_older_entity_only_goes_with_it() -> None:
    # given: seed - old - behind, and seed - fresh
    old = NOW - timedelta(days=9)
    graph = Subgraph(
        entities=(
            an_entity("seed", old),
            an_entity("old", old),
            an_entity("behind"),
            an_entity("fresh"),
        ),
        relations=(
            a_relation("1", "seed", "old"),
            a_relation("2", "old", "behind"),
            a_relation("3", "fresh", "seed"),
        ),
        frontier=("old", "fresh"),
        truncated=True,
    )
    # when
    kept = joined_since(graph, ["seed"], NOW - timedelta(days=1))
    # then
    assert [entity.id for entity in kept.entities] == ["seed", "fresh"]
    assert [relation.id for relation in kept.relations] == ["3"]
    assert (kept.frontier, kept.truncated) == (("fresh",), True)
