"""The graph function: walks, the whole graph in pages, search."""

from __future__ import annotations

import itertools
import json
from pathlib import Path
from typing import Any

import boto3
import pytest
from moto import mock_aws

from functions.graph import app
from functions.memories import app as memories_app
from tests.contract.emulated import REGION, description
from tests.fakes.embedder import HashingEmbedder
from tests.fakes.vector_rows import FakeVectorRows
from tests.gateway import Gateway
from tests.memory_world import MemoryWorld
from threadkeep.bootstrap import Bootstrap
from threadkeep.search.exact import ExactIndex
from threadkeep.settings import Settings
from threadkeep.system import SystemClock

EVENTS = Path(__file__).parents[2] / "events"
GRAPH, SEARCH = "/memories/graph", "/memories/search"


@pytest.fixture
def world() -> MemoryWorld:
    return MemoryWorld()


@pytest.fixture
def api(world: MemoryWorld, monkeypatch: pytest.MonkeyPatch) -> Gateway:
    return world.gateway(monkeypatch)


def names(body: dict[str, Any]) -> list[str]:
    """Return the names of a graph's entities, in order."""
    return [entity["name"] for entity in body["entities"]]


def test_event_walks_from_two_seeds(world: MemoryWorld, monkeypatch: pytest.MonkeyPatch) -> None:
    # given: the entities that the event names, and what is around them
    event = json.loads((EVENTS / "graph.json").read_text())
    owner = event["requestContext"]["authorizer"]["claims"]["sub"]
    seeds = event["multiValueQueryStringParameters"]["entity_ids"]
    coming = iter([*seeds, "id-c", "id-r1", "id-d", "id-r2"])
    monkeypatch.setattr(world.product.ids, "new", lambda: next(coming))
    world.gateway(monkeypatch)
    for name in ("a", "b", "c"):
        world.entity(name, user=owner)
    world.relation(seeds[0], "id-c", user=owner)
    world.entity("d", user=owner)
    world.relation("id-c", "id-d", user=owner)
    # when
    answer = app.lambda_handler(event, None)
    # then
    assert answer["statusCode"] == 200
    assert names(json.loads(answer["body"])) == ["a", "b", "c", "d"]


def test_walk_answers_with_entities_relations_and_where_it_was_cut(
    api: Gateway, world: MemoryWorld
) -> None:
    # given
    hub = world.entity("hub").id
    for number in range(4):
        world.relation(hub, world.entity(f"n{number}").id)
    # when
    whole = api.get(GRAPH, query={"entity_ids": hub}).body
    cut = api.get(GRAPH, query={"entity_ids": hub, "max_nodes": "3"}).body
    # then
    assert (len(whole["entities"]), len(whole["relations"])) == (5, 4)
    assert (whole["truncated"], whole["frontier"]) == (False, [])
    assert (names(cut), cut["truncated"], cut["frontier"]) == (["hub", "n3", "n2"], True, [hub])


def test_unknown_and_foreign_seeds_are_the_same_404(api: Gateway, world: MemoryWorld) -> None:
    """T51: another one's id shows nothing, not even that it is there."""
    # given
    mine, foreign = world.entity("a").id, world.entity("x", user="u2").id
    # when
    replies = [
        api.get(GRAPH, query={"entity_ids": [mine, other]}) for other in ("nothing", foreign)
    ]
    # then
    assert [reply.status for reply in replies] == [404, 404]
    assert replies[0].body == replies[1].body


@pytest.mark.parametrize(
    "query",
    [
        {"max_depth": "0"},
        {"max_depth": "4"},
        {"max_nodes": "0"},
        {"max_nodes": "101"},
        {"max_relations": "0"},
        {"max_relations": "501"},
        {"direction": "sideways"},
        {"relation_types": ["knows", "likes"]},
        {"entity_ids": ["x"] * 51},
        {"entity_ids": ["a b"]},
        {"as_of": "yesterday"},
        {"known_at": "5"},
        {"depth": "1"},
        {"user_id": "u2"},
        {"cursor": "x"},
        {"cursor": "x", "entity_ids": ["x"]},
    ],
)
def test_bad_query_is_refused(api: Gateway, query: dict[str, Any]) -> None:
    assert api.get(GRAPH, query=query).status == 422


def test_bounds_themselves_are_taken(api: Gateway, world: MemoryWorld) -> None:
    # given
    seeds = [world.entity(f"n{number}").id for number in range(50)]
    query = {"max_depth": "3", "max_nodes": "100", "max_relations": "500", "direction": "both"}
    # then
    reply = api.get(GRAPH, query={**query, "entity_ids": seeds})
    assert (reply.status, len(reply.body["entities"])) == (200, 50)


def test_whole_graph_comes_in_pages_that_belong_together(api: Gateway, world: MemoryWorld) -> None:
    # given
    ids = [world.entity(f"n{number:02d}").id for number in range(25)]
    for source, target in zip(ids, ids[1:] + ids[:1], strict=True):
        world.relation(source, target)
    # when
    entities: list[str] = []
    relations: set[str] = set()
    query = {"max_nodes": "10"}
    while True:
        page = api.get(GRAPH, query=query).body
        entities += names(page)
        relations |= {relation["id"] for relation in page["relations"]}
        if "next_cursor" not in page:
            break
        query = {"max_nodes": "10", "cursor": page["next_cursor"]}
    # then
    assert entities == [f"n{number:02d}" for number in range(25)]
    assert len(relations) == 25


def test_cursor_of_the_whole_graph_is_bound_to_its_query_and_user(
    api: Gateway, world: MemoryWorld
) -> None:
    # given
    for number in range(3):
        world.entity(f"n{number}")
    cursor = api.get(GRAPH, query={"max_nodes": "1"}).body["next_cursor"]
    # when
    replies = [
        api.get(GRAPH, query={"max_nodes": "1", "cursor": cursor}, user="u10"),
        api.get(GRAPH, query={"max_nodes": "1", "cursor": cursor, "known_at": "2026-01-01"}),
        api.get(GRAPH, query={"max_nodes": "2", "cursor": cursor}),
    ]
    # then
    assert [(reply.status, reply.code) for reply in replies] == [(422, "invalid_cursor")] * 3


def test_search_finds_ranks_and_explains(api: Gateway, world: MemoryWorld) -> None:
    # given
    coffee = world.entity("dark roast coffee", entity_type="preference").id
    world.entity("green tea", entity_type="preference")
    world.relation("self", coffee)
    # when
    reply = api.post(SEARCH, {"query": "coffee", "max_depth": 1, "explain": True})
    # then
    assert reply.status == 200
    assert names(reply.body)[0] == "dark roast coffee"
    assert reply.body["entities"][0]["score"] > reply.body["entities"][1]["score"]
    assert (reply.body["exact"], reply.body["backend"]) == (True, "exact")
    assert [relation["target_entity_id"] for relation in reply.body["relations"]] == [coffee]
    assert "query" not in reply.body
    assert "explain" in reply.body


@pytest.mark.parametrize(
    "change",
    [
        {"query": ""},
        {"query": None},
        {"query": 7},
        {"top_k": 0},
        {"top_k": 51},
        {"top_k": "10"},
        {"mode": "magic"},
        {"recency_weight": 1.1},
        {"recency_weight": -0.1},
        {"half_life_days": 0},
        {"time_window_days": 0},
        {"max_depth": 4},
        {"entity_types": ["alien"]},
        {"user_id": "u2"},
    ],
)
def test_bad_search_is_refused(api: Gateway, change: dict[str, Any]) -> None:
    assert api.post(SEARCH, {"query": "coffee", **change}).status == 422


def test_search_of_one_user_never_shows_another(api: Gateway, world: MemoryWorld) -> None:
    """T43, T55: the same text of u1 and u10 stays apart in every mode."""
    # given
    for user in ("u1", "u10", "u1#E"):
        world.entity("green tea", user=user)
    # when
    found = {
        user: {
            mode: [
                hit["id"]
                for hit in api.post(SEARCH, {"query": "tea", "mode": mode}, user=user).body[
                    "entities"
                ]
            ]
            for mode in ("semantic", "lexical", "hybrid")
        }
        for user in ("u1", "u10", "u1#E")
    }
    # then
    assert all(len(ids) == 1 for modes in found.values() for ids in modes.values())
    assert len({ids[0] for modes in found.values() for ids in modes.values()}) == 3


def test_search_and_list_agree_on_a_filter(api: Gateway, world: MemoryWorld) -> None:
    # given
    for number in range(12):
        world.entity(f"n{number}", entity_type="goal" if number % 3 else "fact")
    # when
    listed = api.get("/memories/entities", query={"entity_type": "goal", "limit": "100"}).body
    found = api.post(SEARCH, {"query": "n1", "entity_types": ["goal"], "top_k": 50}).body
    # then
    assert {hit["id"] for hit in found["entities"]} == {item["id"] for item in listed["items"]}


def test_real_store_serves_the_same(monkeypatch: pytest.MonkeyPatch) -> None:
    # given: the product with its own store of the graph, on an emulated table
    monkeypatch.setenv("AWS_DEFAULT_REGION", REGION)
    with mock_aws():
        boto3.client("dynamodb").create_table(TableName="threadkeep", **description())
        embedder = HashingEmbedder()
        product = Bootstrap(
            settings=Settings(table_name="threadkeep"),
            embedder=embedder,
            vector_index=ExactIndex(FakeVectorRows(), embedder.dimension, SystemClock()),
        )
        for function in (app, memories_app):
            monkeypatch.setattr(function, "bootstrap", lambda: product)
        api = Gateway(
            (memories_app.api, memories_app.lambda_handler), (app.api, app.lambda_handler)
        )
        body = {"entity_type": "concept"}
        ids = [api.post("/memories/entities", {**body, "name": name}).body["id"] for name in "abcd"]
        for source, target in itertools.pairwise(ids):
            relation = {"source_entity_id": source, "target_entity_id": target}
            api.post("/memories/relations", {**relation, "relation_type": "knows"})
        before = product.clock.now().isoformat()
        api.delete(f"/memories/entities/{ids[2]}")
        # when
        around = api.get(GRAPH, query={"entity_ids": ids[0], "max_depth": "3"}).body
        whole = api.get(GRAPH, query={"max_nodes": "2"}).body
        rest = api.get(GRAPH, query={"max_nodes": "2", "cursor": whole["next_cursor"]}).body
        then = api.get(GRAPH, query={"known_at": before}).body
        found = api.post(SEARCH, {"query": "b", "max_depth": 1}).body
        # then
        assert (names(around), len(around["relations"])) == (["a", "b"], 1)
        assert (names(whole), names(rest), len(whole["relations"])) == (["a", "b"], ["d"], 1)
        assert (names(then), len(then["relations"])) == (["a", "b", "d"], 1)
        assert sorted(names(found)) == ["a", "b", "d"]
