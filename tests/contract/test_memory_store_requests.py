"""How many requests to DynamoDB each use of the memory store takes: docs/architecture.md says so.

Measured on the emulator with few and small rows; more than 1 MB of rows takes a request for each.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from itertools import batched
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from tests.contract.memories import (
    NOW,
    USER,
    commit,
    entity,
    relation,
    stored,
    stored_relation,
    support,
)
from tests.fakes.clock import FakeClock
from tests.fakes.ids import SequentialIds
from threadkeep.domain.changes import (
    MAX_CHANGES,
    CreateEntity,
    CreateRelation,
    Origin,
    Support,
    UpdateEntity,
)
from threadkeep.domain.entities import EntityChanges, EntityDraft, EntityType, merge
from threadkeep.domain.graph import GraphQuery
from threadkeep.domain.relations import RelationChanges, RelationDraft, RelationType
from threadkeep.ports import PageRequest
from threadkeep.services.graph import Graph
from threadkeep.services.memories import Memories
from threadkeep.services.relation_statements import RelationStatements
from threadkeep.services.relations import Relations
from threadkeep.services.statements import EntityStatements
from threadkeep.storage.memory import DynamoMemoryStore

if TYPE_CHECKING:
    from collections.abc import Callable

    from threadkeep.storage.table import Table

DOCUMENT = Path(__file__).parents[2] / "docs" / "architecture.md"
ORIGIN = Origin(f"user:{USER}")
KNOWS, WORKS_AT = RelationType.KNOWS, RelationType.WORKS_AT


@dataclass
class World:
    """A user with some memory: e0 knows e1 to e40, e41 knows e42 to e195."""

    store: DynamoMemoryStore
    memories: Memories
    relations: Relations
    graph: Graph


@pytest.fixture
def world(table: Table) -> World:
    """The use cases on the emulator."""
    store = DynamoMemoryStore(table)
    clock, ids = FakeClock(NOW), SequentialIds("new")
    statements = EntityStatements(store, ids)
    memories = Memories(store, statements, clock)
    relations = Relations(store, memories, RelationStatements(store, ids), clock)
    every = [CreateEntity(entity(f"e{n}")) for n in range(197)]
    every[7] = CreateEntity(every[7].entity, support("c/m", "quote"))
    for some in batched(every, MAX_CHANGES, strict=False):
        commit(store, *some)
    ends = [("e0", n) for n in range(1, 41)] + [("e41", n) for n in range(42, 196)]
    made = [CreateRelation(relation(f"r{n}", source, f"e{n}", KNOWS)) for source, n in ends]
    for part in batched(made, MAX_CHANGES, strict=False):
        commit(store, *part)
    return World(store, memories, relations, Graph(store, clock))


def uses(world: World) -> dict[str, Callable[[], object]]:
    """Name each use that the document counts."""
    store, page = world.store, PageRequest(limit=20)
    total = PageRequest(limit=20, with_total=True)

    def draft(name: str) -> EntityDraft:
        return EntityDraft(name=name, entity_type=EntityType.CONCEPT)

    def related(source: str, target: str, kind: RelationType) -> RelationDraft:
        return RelationDraft(source_entity_id=source, target_entity_id=target, relation_type=kind)

    def hop(count: int, *at: str) -> Callable[[], object]:
        def run() -> int:
            halves = store.halves_of(USER, at)
            others = {half.other_id for found in halves.values() for half in found}
            assert len(store.get_entities(USER, sorted(others)[:count])) == count
            return count

        return run

    def graph(**bounds: int) -> object:
        return world.graph.around(USER, GraphQuery(entity_ids=("e0",), **bounds))

    def restate() -> None:
        before = stored(store, "e7")
        sources = store.entity_sources(USER, "e7")
        assert "c/m2" not in sources
        again = merge(before, draft("e7"), NOW)
        commit(store, UpdateEntity(before, again, Support("c/m2")))

    return {
        "create an entity": lambda: world.memories.create(USER, draft("new"), ORIGIN),
        "create an entity that is there (merge)": lambda: world.memories.create(
            USER, draft("E5"), ORIGIN
        ),
        "state an entity again, with a source": restate,
        "change an entity": lambda: world.memories.update(
            USER, "e6", EntityChanges(description="x"), ORIGIN
        ),
        "rename an entity": lambda: world.memories.update(
            USER, "e6", EntityChanges(name="six"), ORIGIN
        ),
        "get an entity with 40 relations": lambda: world.memories.get(USER, "e0"),
        "get an entity without relations": lambda: store.get_entity(USER, "e7"),
        "list 20 entities": lambda: world.memories.list(USER, page),
        "list 20 entities with total": lambda: world.memories.list(USER, total),
        "list 20 entities by text": lambda: world.memories.list(USER, total, text="E1"),
        "history of an entity": lambda: world.memories.history(USER, "e6", page),
        "create a relation": lambda: world.relations.create(
            USER, related("e1", "e2", KNOWS), ORIGIN
        ),
        "create a relation of a single-valued type": lambda: world.relations.create(
            USER, related("e1", "e3", WORKS_AT), ORIGIN
        ),
        "replace a relation of a single-valued type": lambda: world.relations.create(
            USER, related("e1", "e4", WORKS_AT), ORIGIN
        ),
        "change a relation": lambda: world.relations.update(
            USER, "r3", RelationChanges(description="x"), ORIGIN
        ),
        "get a relation": lambda: world.relations.get(USER, "r3"),
        "list 20 relations": lambda: world.relations.list(USER, page),
        "list 20 relations with total": lambda: world.relations.list(USER, total),
        "list the 40 relations of an entity": lambda: world.relations.list(
            USER, total, entity_id="e0"
        ),
        "delete a relation": lambda: world.relations.delete(USER, "r1", ORIGIN),
        "hop from 3 entities to 40 neighbours": hop(40, "e0", "e2", "e3"),
        "hop from 1 entity to 154 neighbours": hop(154, "e41"),
        "graph of 1 hop, 30 nodes": lambda: graph(max_depth=1),
        "all relations of a user": lambda: store.edges(USER),
        "read 50 hits with counts": lambda: store.get_entities(
            USER, [f"e{n}" for n in range(50)], counts=True
        ),
        "read index marks": lambda: store.pending(USER),
        "read index marks and clear 100": lambda: store.clear_pending(
            USER, store.pending(USER)[:100]
        ),
        "count 10 recalls": lambda: store.count_accesses(USER, [f"e{n}" for n in range(10)], NOW),
        "delete an entity without relations": lambda: world.memories.delete(USER, "e196"),
        "delete an entity with 1 relation": lambda: world.memories.delete(USER, "e195"),
        "delete an entity with 39 relations": lambda: world.memories.delete(USER, "e0"),
    }


def documented() -> dict[str, int]:
    """Read the measured requests from the document."""
    row = re.compile(r"^\| (?P<use>[^|]+) \| (?P<requests>\d+) \|", re.MULTILINE)
    _, _, section = DOCUMENT.read_text().partition("## Requests per operation")
    return {match["use"]: int(match["requests"]) for match in row.finditer(section)}


def test_each_use_takes_the_requests_that_are_documented(world: World) -> None:
    taken = {}
    for name, use in uses(world).items():
        before = world.store.requests
        use()
        taken[name] = world.store.requests - before
    assert taken == documented()


def test_what_is_documented_keeps_within_the_bounds() -> None:
    # Given the bounds that the product promises
    counts = documented()
    # A create is at most one read and one transaction
    assert counts["create an entity"] <= 1 + 1
    # An entity with its relations is at most two requests per megabyte
    assert counts["get an entity with 40 relations"] <= 2
    assert counts["get an entity without relations"] <= 1
    # A hop over n entities and m neighbours is at most n + ceil(m / 100) requests per megabyte
    assert counts["hop from 3 entities to 40 neighbours"] <= 3 + 1
    assert counts["hop from 1 entity to 154 neighbours"] <= 1 + 2


def test_a_relation_can_be_read_with_a_megabyte_in_two_requests(table: Table) -> None:
    # Given an entity with sources and relations of some 100 KB in all, and a relation of 20 KB
    store = DynamoMemoryStore(table)
    commit(store, *(CreateEntity(entity(i, description="x" * 8000)) for i in "ab"))
    made = relation("r", "a", "b", properties={"text": "x" * 16_000}, description="x" * 8000)
    commit(store, CreateRelation(made, support("c/m", "x" * 60_000)))
    before = store.requests
    found = store.get_entity_with_halves(USER, "a")
    assert found is not None
    store.get_items(USER, entity_ids=["b"], relation_ids=[half.relation_id for half in found[1]])
    assert store.requests - before == 2
    assert stored_relation(store, "r").sources_count == 1
