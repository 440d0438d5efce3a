"""Reading the graph: bounds, liveness, pages of the whole."""

from __future__ import annotations

import itertools
import math
from datetime import datetime, timedelta

import pytest

from tests.memory_world import HAND, USER, MemoryWorld
from threadkeep.domain.graph import GraphQuery
from threadkeep.domain.limits import MAX_PAGE_BYTES
from threadkeep.domain.relations import Direction, RelationChanges, RelationType
from threadkeep.errors import NotFoundError
from threadkeep.services.graph import MAX_READ_HALVES

KNOWS, USES, WORKS_AT = RelationType.KNOWS, RelationType.USES, RelationType.WORKS_AT


@pytest.fixture
def world() -> MemoryWorld:
    return MemoryWorld()


def chain(world: MemoryWorld, *names: str) -> list[str]:
    """Create entities, each related to the next; return their ids."""
    ids = [world.entity(name).id for name in names]
    for source, target in itertools.pairwise(ids):
        world.relation(source, target, KNOWS)
    return ids


@pytest.mark.parametrize(("depth", "found"), [(1, "bac"), (2, "bacd"), (3, "bacde")])
def test_walk_goes_as_deep_as_asked_in_both_directions(
    world: MemoryWorld, depth: int, found: str
) -> None:
    # given
    ids = chain(world, *"abcde")
    # when
    graph = world.graph(ids[1], max_depth=depth)
    # then
    assert sorted(entity.name for entity in graph.entities) == sorted(found)
    assert graph.entities[0].name == "b"
    assert not graph.truncated


@pytest.mark.parametrize(
    ("direction", "found"),
    [(Direction.OUTGOING, "bc"), (Direction.INCOMING, "ab"), (Direction.BOTH, "abc")],
)
def test_walk_keeps_to_its_direction(world: MemoryWorld, direction: Direction, found: str) -> None:
    # given
    ids = chain(world, *"abc")
    # then
    graph = world.graph(ids[1], direction=direction)
    assert sorted(entity.name for entity in graph.entities) == list(found)


def test_walk_keeps_to_the_types(world: MemoryWorld) -> None:
    # given
    a, b, c = (world.entity(name).id for name in "abc")
    world.relation(a, b, KNOWS)
    world.relation(a, c, USES)
    # then
    graph = world.graph(a, relation_types=(USES,))
    assert [entity.name for entity in graph.entities] == ["a", "c"]


def test_bounds_cut_and_name_the_frontier(world: MemoryWorld) -> None:
    # given
    hub = world.entity("hub").id
    for number in range(10):
        world.relation(hub, world.entity(f"n{number}").id, KNOWS)
    # when
    few_nodes = world.graph(hub, max_nodes=4)
    few_relations = world.graph(hub, max_relations=3)
    enough = world.graph(hub, max_nodes=11, max_relations=10)
    # then
    assert [len(few_nodes.entities), len(few_nodes.relations)] == [4, 3]
    assert [len(few_relations.entities), len(few_relations.relations)] == [4, 3]
    assert few_nodes.frontier == few_relations.frontier == (hub,)
    assert few_nodes.truncated
    assert few_relations.truncated
    assert not enough.truncated
    assert enough.frontier == ()


def test_more_relations_than_are_read_at_one_entity_are_a_frontier(world: MemoryWorld) -> None:
    # given: most of them have passed, so that few of those that are read hold
    hub = world.entity("hub").id
    end = world.clock.now() + timedelta(days=1)
    for number in range(MAX_READ_HALVES):
        world.relation(hub, world.entity(f"n{number}").id, KNOWS, valid_to=end)
    world.clock.set(end)
    world.relation(hub, world.entity("zz").id, USES)
    # when
    graph = world.graph(hub)
    # then
    assert graph.truncated
    assert graph.frontier == (hub,)


def test_deleted_and_expired_neighbours_are_not_shown_or_crossed(world: MemoryWorld) -> None:
    """T44, T82: neither is visible, and nothing behind them is reached through them."""
    # given
    soon = world.clock.now() + timedelta(hours=1)
    a, d, e = (world.entity(name).id for name in "ade")
    gone, expiring = world.entity("gone").id, world.entity("expiring", expires_at=soon).id
    for source, target in ((a, gone), (gone, d), (a, expiring), (expiring, e)):
        world.relation(source, target, KNOWS)
    # when
    world.product.memories.delete(USER, gone)
    world.clock.set(soon)
    graph = world.graph(a, max_depth=3)
    # then
    assert [entity.name for entity in graph.entities] == ["a"]
    assert graph.relations == ()


def test_closed_relations_are_not_followed(world: MemoryWorld) -> None:
    """T28: what has ended is not shown by default."""
    # given
    mia, acme, globex = (world.entity(name).id for name in ("Mia", "Acme", "Globex"))
    world.relation(mia, acme, WORKS_AT)
    world.relation(mia, globex, WORKS_AT)
    # then
    assert [entity.name for entity in world.graph(mia).entities] == ["Mia", "Globex"]
    assert world.graph(acme).relations == ()


def test_what_has_ended_is_shown_with_its_interval_at_a_time_it_held(world: MemoryWorld) -> None:
    """T28: history is there for who asks for it, and says from when to when."""
    # given
    mia, acme, globex = (world.entity(name).id for name in ("Mia", "Acme", "Globex"))
    old = world.relation(mia, acme, WORKS_AT)
    world.clock.advance(days=30)
    new = world.relation(mia, globex, WORKS_AT)
    # when
    graph = world.graph(mia, as_of=old.valid_from + timedelta(days=1))
    # then
    [shown] = graph.relations
    assert (shown.id, shown.valid_from, shown.valid_to) == (old.id, old.valid_from, new.valid_from)


def test_known_at_shows_what_was_held_before_a_correction(world: MemoryWorld) -> None:
    # given
    mia, acme = world.entity("Mia").id, world.entity("Acme", description="Anvils.").id
    relation = world.relation(mia, acme, WORKS_AT, description="Engineer.")
    before = world.clock.now()
    world.clock.advance(days=30)
    ended = RelationChanges(valid_to=before, description="Left.")
    world.product.relations.update(USER, relation.id, ended, HAND)
    world.entity("Acme", description="Rockets.")
    world.entity("Later")
    # when
    graph = world.graph(mia, known_at=before)
    # then
    [shown] = graph.relations
    assert (shown.description, shown.valid_to, shown.version) == ("Engineer.", None, 1)
    assert shown.recorded_to is not None
    assert [entity.description for entity in graph.entities] == ["", "Anvils."]
    assert world.graph(mia).relations == ()


def test_change_is_known_from_the_very_moment_it_was_made(world: MemoryWorld) -> None:
    # given
    entity = world.entity("Acme", description="One.")
    changed = world.entity("Acme", description="Two.")
    world.entity("Acme", description="Three.")

    def known(at: datetime) -> str:
        return world.graph(entity.id, known_at=at).entities[0].description

    # then
    assert known(changed.updated_at) == "One. Two."
    assert known(changed.updated_at - timedelta(microseconds=1)) == "One."
    assert known(entity.created_at) == "One."


def test_entity_of_later_is_not_known_before(world: MemoryWorld) -> None:
    # given
    before = world.clock.now()
    entity = world.entity("Acme")
    # then
    assert world.graph(entity.id, known_at=before).entities == ()


def test_unknown_seeds_are_passed_over_or_refused(world: MemoryWorld) -> None:
    # given
    a = world.entity("a").id
    foreign = world.entity("x", user="u2").id
    # then
    assert [entity.id for entity in world.graph(a, "nothing", foreign).entities] == [a]
    for seed in ("nothing", foreign):
        with pytest.raises(NotFoundError):
            world.product.graph.around(USER, GraphQuery(entity_ids=(a, seed)))


def test_self_stands_for_the_own_entity(world: MemoryWorld) -> None:
    # given
    tea = world.entity("tea").id
    world.relation("self", tea, RelationType.PREFERS)
    # when
    graph = world.product.graph.around(USER, GraphQuery(entity_ids=("self",)))
    # then
    assert [entity.name for entity in graph.entities] == ["You", "tea"]


def test_one_hop_takes_a_query_an_entity_and_a_batch_a_hundred(world: MemoryWorld) -> None:
    # given
    seeds = [world.entity(f"s{number}").id for number in range(5)]
    for seed in seeds:
        for number in range(8):
            world.relation(seed, world.entity(f"{seed}-{number}").id, KNOWS)
    before = world.store.requests
    # when
    graph = world.graph(*seeds, max_nodes=100)
    # then: the seeds themselves are one batch more
    neighbours = len(graph.entities) - len(seeds)
    assert neighbours == 40
    read = neighbours + len(graph.relations)
    batches = 2  # the in-memory store counts entities and relations of a batch apart
    assert world.store.requests - before <= 1 + len(seeds) + batches * math.ceil(read / 100)


def pages(world: MemoryWorld, **options: object) -> tuple[list[str], list[str], int]:
    """Read the whole graph; return entity names, relation ids and the number of pages."""
    names: list[str] = []
    relations: dict[str, None] = {}
    position, count = None, 0
    while True:
        query = GraphQuery.model_validate(options)
        graph, position = world.product.graph.whole(USER, query, position)
        here = {entity.id for entity in graph.entities}
        assert all({r.source_entity_id, r.target_entity_id} & here for r in graph.relations)
        names += [entity.name for entity in graph.entities]
        relations |= dict.fromkeys(relation.id for relation in graph.relations)
        count += 1
        if position is None:
            return names, list(relations), count


def test_whole_graph_has_every_entity_once_and_all_relations(world: MemoryWorld) -> None:
    # given
    ids = chain(world, *(f"n{number:03d}" for number in range(25)))
    world.relation(ids[0], ids[20], USES)
    world.entity("other", user="u2")
    # when
    names, relations, count = pages(world, max_nodes=10)
    # then
    assert names == [f"n{number:03d}" for number in range(25)]
    assert (len(relations), count) == (25, 3)


def test_whole_graph_shows_nothing_deleted_closed_or_expired(world: MemoryWorld) -> None:
    # given
    soon = world.clock.now() + timedelta(hours=1)
    a, b, gone = chain(world, "a", "b", "gone")
    expiring = world.entity("expiring", expires_at=soon).id
    world.relation(a, expiring, KNOWS)
    world.relation(a, b, WORKS_AT, valid_to=soon)
    kept = world.relation(b, a, USES)
    # when
    world.product.memories.delete(USER, gone)
    world.clock.set(soon)
    names, relations, _ = pages(world, relation_types=(USES, WORKS_AT))
    # then
    assert (names, relations) == (["a", "b"], [kept.id])


def test_page_of_the_whole_graph_ends_early_at_four_megabytes(world: MemoryWorld) -> None:
    # given: 150 entities of 24 KB
    for number in range(150):
        world.entity(f"n{number:03d}", description="d" * 8_000, properties={"p": "x" * 16_000})
    # when
    graph, position = world.product.graph.whole(USER, GraphQuery())
    # then
    assert len(graph.model_dump_json()) <= MAX_PAGE_BYTES
    assert position is not None
    assert len(pages(world)[0]) == 150


def test_relations_over_four_megabytes_at_one_entity_are_cut_and_say_so(
    world: MemoryWorld,
) -> None:
    # given: 200 relations of 24 KB
    hub = world.entity("hub").id
    for number in range(200):
        world.relation(
            hub,
            world.entity(f"n{number:03d}").id,
            KNOWS,
            description="d" * 8_000,
            properties={"p": "x" * 16_000},
        )
    # when
    graph, _ = world.product.graph.whole(USER, GraphQuery())
    # then
    assert len(graph.model_dump_json()) <= MAX_PAGE_BYTES + 100_000
    assert 0 < len(graph.relations) < 200
    assert graph.truncated
    assert hub in graph.frontier
    shown = {relation.target_entity_id for relation in graph.relations}
    assert not shown & set(graph.frontier)
