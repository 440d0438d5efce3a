"""The memories function: every route, its statuses and headers, by users and administrators."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import boto3
import pytest
from moto import mock_aws

from functions.memories import app
from tests.contract.emulated import REGION, description
from tests.gateway import Gateway
from tests.indexing import index_pending
from tests.memory_world import MemoryWorld
from threadkeep.bootstrap import Bootstrap
from threadkeep.domain.limits import MAX_DESCRIPTION_BYTES, MAX_NAME_CHARS
from threadkeep.ports import PageRequest
from threadkeep.settings import Settings

EVENTS = Path(__file__).parents[2] / "events"
ENTITIES, RELATIONS = "/memories/entities", "/memories/relations"


@pytest.fixture
def world() -> MemoryWorld:
    return MemoryWorld()


@pytest.fixture
def api(world: MemoryWorld, monkeypatch: pytest.MonkeyPatch) -> Gateway:
    return world.gateway(monkeypatch)


def create(api: Gateway, name: str, user: str = "u1", **fields: Any) -> str:
    """Create an entity; return its id."""
    body = {"name": name, "entity_type": "concept", **fields}
    return str(api.post(ENTITIES, body, user=user).body["id"])


def relate(api: Gateway, source: str, target: str, kind: str = "knows", user: str = "u1") -> str:
    """Create a relation; return its id."""
    body = {"source_entity_id": source, "target_entity_id": target, "relation_type": kind}
    return str(api.post(RELATIONS, body, user=user).body["id"])


def test_event_creates_an_entity(world: MemoryWorld, monkeypatch: pytest.MonkeyPatch) -> None:
    # given
    world.gateway(monkeypatch)
    event = json.loads((EVENTS / "memories.json").read_text())
    # when
    answer = app.lambda_handler(event, None)
    # then
    assert answer["statusCode"] == 201
    owner = event["requestContext"]["authorizer"]["claims"]["sub"]
    entity = world.product.memories.get(owner, json.loads(answer["body"])["id"])
    assert (entity.name, entity.properties) == ("dark roast coffee", {"origin": "Ethiopia"})


def test_entity_goes_from_created_to_merged_to_gone(api: Gateway) -> None:
    # when
    body = {"name": "Acme", "entity_type": "organization"}
    made = api.post(ENTITIES, body)
    restated = api.post(ENTITIES, body)
    merged = api.post(ENTITIES, {**body, "properties": {"a": 1}})
    path = f"{ENTITIES}/{made.body['id']}"
    # then
    assert (made.status, made.headers["etag"]) == (201, '"v1"')
    assert made.body["created_at"].endswith("Z")
    assert "expires_at" not in made.body
    assert "revision" not in made.body
    assert (restated.status, restated.headers["etag"]) == (200, '"v1"')
    assert (merged.status, merged.headers["etag"]) == (200, '"v2"')
    read = api.get(path)
    assert (read.status, read.headers["etag"]) == (200, '"v2"')
    assert (read.body["outgoing_relations"], read.body["incoming_relations"]) == ([], [])
    assert api.delete(path, headers={"If-Match": '"v1"'}).body["current_version"] == 2
    assert api.delete(path, headers={"If-Match": 'W/"v2"'}).status == 204
    assert [api.get(path).status, api.delete(path).status] == [404, 404]


def test_put_replaces_clears_and_renames(api: Gateway) -> None:
    # given
    path = f"{ENTITIES}/{create(api, 'Acme', description='Anvils.', properties={'a': 1})}"
    create(api, "Globex")
    # when
    replaced = api.put(path, {"name": "ACME", "properties": {"b": None}, "description": None})
    taken = api.put(path, {"name": "globex"})
    # then
    assert replaced.status == 200
    assert (replaced.body["name"], replaced.body["properties"]) == ("ACME", {"b": None})
    assert replaced.body["description"] == ""
    assert (taken.status, taken.code) == (409, "name_taken")


def test_history_lists_the_changes_with_their_authors(api: Gateway) -> None:
    # given
    path = f"{ENTITIES}/{create(api, 'Acme')}"
    api.put(path, {"description": "Anvils."})
    admin = f"/admin/users/u1{path}"
    api.put(admin, {"description": "Rockets."}, user="root", groups="[admin]")
    # when
    first = api.get(f"{path}/history", query={"limit": "2"}).body
    rest = api.get(f"{path}/history", query={"limit": "2", "cursor": first["next_cursor"]}).body
    # then
    entries = [*first["items"], *rest["items"]]
    assert [(entry["version"], entry["actor"]) for entry in entries] == [
        (3, "admin:root"),
        (2, "user:u1"),
        (1, "user:u1"),
    ]
    assert entries[0]["before"]["description"] == "Anvils."


def test_list_filters_searches_and_sorts(api: Gateway) -> None:
    # given
    create(api, "b", description="about tea")
    create(api, "a", entity_type="goal")
    create(api, "c")

    def listed(**query: str) -> list[str]:
        return [item["name"] for item in api.get(ENTITIES, query=query).body["items"]]

    # then
    assert listed() == ["c", "a", "b"]
    assert listed(sort="name") == ["a", "b", "c"]
    assert listed(entity_type="goal") == ["a"]
    assert listed(q="TEA") == ["b"]
    assert listed(q="nothing") == []


def test_pages_agree_with_the_total_and_each_other(api: Gateway) -> None:
    # given
    made = {create(api, f"n{number}") for number in range(23)}
    # when
    numbered = [
        api.get(ENTITIES, query={"page": str(page), "page_size": "10"}).body for page in (1, 2, 3)
    ]
    seen = [item["id"] for page in numbered for item in page["items"]]
    # then
    assert {page["total"] for page in numbered} == {23}
    assert (len(seen), set(seen)) == (23, made)


def test_page_ends_early_at_four_megabytes_and_goes_on(api: Gateway) -> None:
    # given: control characters take six bytes each in JSON, so that 100 entities are 4.8 MB
    made = {create(api, f"n{number}", description="\x00" * 8_000) for number in range(100)}
    # when
    first = api.get(ENTITIES, query={"limit": "100"})
    rest = api.get(ENTITIES, query={"limit": "100", "cursor": first.body["next_cursor"]})
    # then
    assert len(json.dumps(first.body)) <= 4 * 1024 * 1024
    seen = [item["id"] for item in [*first.body["items"], *rest.body["items"]]]
    assert (len(seen), set(seen)) == (100, made)
    assert "next_cursor" not in rest.body


def test_relation_goes_from_created_to_closed_to_gone(api: Gateway) -> None:
    # given
    mia, acme, globex = (create(api, name) for name in ("Mia", "Acme", "Globex"))
    body = {"source_entity_id": mia, "target_entity_id": acme, "relation_type": "works_at"}
    # when
    made, restated = api.post(RELATIONS, body), api.post(RELATIONS, body)
    moved = api.post(RELATIONS, {**body, "target_entity_id": globex})
    # then
    assert (made.status, restated.status, moved.status) == (201, 200, 201)
    assert restated.body["id"] == made.body["id"]
    path = f"{RELATIONS}/{made.body['id']}"
    closed = api.get(path)
    assert (closed.headers["etag"], "valid_to" in closed.body) == ('"v2"', True)
    assert [item["id"] for item in api.get(RELATIONS).body["items"]] == [moved.body["id"]]
    shown = api.get(f"{ENTITIES}/{mia}").body["outgoing_relations"]
    assert [relation["id"] for relation in shown] == [moved.body["id"]]
    assert api.delete(path, headers={"If-Match": '"v9"'}).status == 412
    assert api.delete(path).status == 204
    assert api.get(path).status == 404


def test_relation_times_become_utc_and_are_ordered(api: Gateway) -> None:
    """T23: a date and a time with an offset are both times."""
    # given
    a, b = create(api, "a"), create(api, "b")
    body = {"source_entity_id": a, "target_entity_id": b, "relation_type": "knows"}
    # when
    made = api.post(
        RELATIONS, {**body, "valid_from": "2026-01-01", "valid_to": "2126-01-01T02:00:00+02:00"}
    )
    wrong = api.post(
        RELATIONS, {**body, "valid_from": "2026-01-01", "valid_to": "2026-01-01T01:00:00+02:00"}
    )
    # then
    assert (made.body["valid_from"], made.body["valid_to"]) == (
        "2026-01-01T00:00:00Z",
        "2126-01-01T00:00:00Z",
    )
    assert wrong.status == 422


def test_list_of_relations_matches_either_end_and_type(api: Gateway) -> None:
    # given
    a, b, c = (create(api, name) for name in "abc")
    ab, cb = relate(api, a, b), relate(api, c, b, "uses")

    def listed(**query: str) -> list[str]:
        return [item["id"] for item in api.get(RELATIONS, query=query).body["items"]]

    # then
    assert listed(entity_id=b) == [cb, ab]
    assert listed(entity_id=a) == [ab]
    assert listed(relation_type="uses") == [cb]
    assert listed(entity_id="nothing") == []


def test_batch_delete_answers_for_each_id(api: Gateway) -> None:
    # given
    a, foreign = create(api, "a"), create(api, "x", user="u2")
    # when
    reply = api.post(f"{ENTITIES}/batch-delete", {"ids": [a, foreign, "nothing"]})
    # then
    assert reply.status == 200
    assert reply.body["results"] == [
        {"id": a, "deleted": True},
        {"id": foreign, "deleted": False, "code": "not_found"},
        {"id": "nothing", "deleted": False, "code": "not_found"},
    ]
    assert api.get(f"{ENTITIES}/{foreign}", user="u2").status == 200


@pytest.mark.parametrize("ids", [[], ["x"] * 101, ["a b"], "abc", None])
def test_batch_delete_takes_one_to_a_hundred_ids(api: Gateway, ids: Any) -> None:
    assert api.post(f"{ENTITIES}/batch-delete", {"ids": ids}).status == 422


def test_deleted_entity_is_gone_from_every_surface(api: Gateway, world: MemoryWorld) -> None:
    """T08, T82: at once, and after the index has caught up."""
    # given
    a, b = create(api, "Ada Lovelace"), create(api, "Babbage")
    edge = relate(api, a, b)
    index_pending(world.product, "u1")
    # when
    api.delete(f"{ENTITIES}/{a}")
    # then
    for _ in range(2):
        assert api.get(f"{ENTITIES}/{a}").status == 404
        assert api.get(f"{ENTITIES}/{a}/history").status == 404
        assert api.get(f"{RELATIONS}/{edge}").status == 404
        for path in (ENTITIES, RELATIONS):
            assert a not in json.dumps(api.get(path).body)
        for query in ({}, {"entity_ids": b}, {"as_of": "2126-01-01"}):
            graph = api.get("/memories/graph", query=query).body
            assert ([e["id"] for e in graph["entities"]], graph["relations"]) == ([b], [])
        for mode in ("semantic", "lexical", "hybrid"):
            search = {"query": "Ada Lovelace", "mode": mode, "max_depth": 2}
            assert a not in json.dumps(api.post("/memories/search", search).body)
        index_pending(world.product, "u1")


def test_what_is_created_can_be_read_through_every_route(api: Gateway) -> None:
    """T25: writes and reads mean the same place."""
    # given
    a, b = create(api, "a"), create(api, "b")
    edge = relate(api, a, b)
    # then
    assert api.get(f"{ENTITIES}/{a}").body["outgoing_relations"][0]["id"] == edge
    assert api.get(f"{ENTITIES}/{b}").body["incoming_relations"][0]["id"] == edge
    assert api.get(f"{RELATIONS}/{edge}").body["source_entity_id"] == a
    graph = api.get("/memories/graph", query={"entity_ids": a}).body
    assert [entity["id"] for entity in graph["entities"]] == [a, b]
    found = api.post("/memories/search", {"query": "a"}).body["entities"]
    assert {hit["id"] for hit in found} == {a, b}


def test_post_twice_with_a_key_is_one_write(api: Gateway) -> None:
    """T20: the second answer is the first one, also after the entity has changed."""
    # given
    body, key = {"name": "Acme", "entity_type": "fact"}, {"Idempotency-Key": "k-1"}
    first = api.post(ENTITIES, body, headers=key)
    api.put(f"{ENTITIES}/{first.body['id']}", {"description": "changed"})
    # when
    second = api.post(ENTITIES, body, headers=key)
    # then
    assert (second.status, second.body) == (201, first.body)
    assert api.get(f"{ENTITIES}/{first.body['id']}").body["version"] == 2


def test_body_and_properties_choose_no_user(api: Gateway) -> None:
    """T09, T10: the token's user is the owner, whatever is sent."""
    # when
    bodies: list[dict[str, Any]] = [
        {"name": "x", "entity_type": "fact", field: "victim"}
        for field in ("user_id", "tenant_id", "owner", "id", "agent_id")
    ]
    statuses = [api.post(ENTITIES, body).status for body in bodies]
    made = create(api, "x", properties={"user_id": "victim", "tenant_id": "victim"})
    # then
    assert statuses == [422] * 5
    assert api.get(ENTITIES, user="victim").body["items"] == []
    assert api.get(f"{ENTITIES}/{made}").body["properties"]["user_id"] == "victim"


def test_administrator_reads_and_writes_for_a_user_and_is_recorded(
    api: Gateway, world: MemoryWorld
) -> None:
    # given
    entity = create(api, "Acme")
    as_admin: dict[str, Any] = {"user": "root", "groups": "[admin]"}
    base = "/admin/users/u1"
    # when
    read = api.get(f"{base}{ENTITIES}/{entity}", **as_admin)
    api.get(f"{base}/memories/graph", **as_admin)
    api.post(f"{base}/memories/search", {"query": "Acme"}, **as_admin)
    made = api.post(f"{base}{ENTITIES}", {"name": "b", "entity_type": "fact"}, **as_admin)
    # then
    assert read.body["name"] == "Acme"
    assert api.get(f"{ENTITIES}/{made.body['id']}").status == 200
    assert api.get(ENTITIES, user="root").body["items"] == []
    assert [(entry.user_id, entry.action, entry.resource) for entry in world.audit.kept] == [
        ("u1", "GET /admin/users/{user_id}/memories/entities/{entity_id}", entity),
        ("u1", "GET /admin/users/{user_id}/memories/graph", None),
        ("u1", "POST /admin/users/{user_id}/memories/search", None),
        ("u1", "POST /admin/users/{user_id}/memories/entities", None),
    ]


def test_unknown_user_is_an_empty_one_to_an_administrator(api: Gateway) -> None:
    # given
    as_admin: dict[str, Any] = {"user": "root", "groups": "admin"}
    # then
    assert api.get(f"/admin/users/nobody{ENTITIES}", **as_admin).body == {"items": []}
    graph = api.get("/admin/users/nobody/memories/graph", **as_admin).body
    assert (graph["entities"], graph["relations"]) == ([], [])
    assert api.get(f"/admin/users/nobody{ENTITIES}/self", **as_admin).status == 404


@pytest.mark.parametrize("groups", [None, "administrators", "[not-admin]"])
def test_nobody_else_gets_into_the_admin_variants(api: Gateway, groups: str | None) -> None:
    # given
    create(api, "secret", user="u2")
    # then
    for path in (ENTITIES, RELATIONS, "/memories/graph"):
        reply = api.get(f"/admin/users/u2{path}", user="u1", groups=groups)
        assert (reply.status, reply.code) == (403, "forbidden")
    assert api.post("/admin/users/u2/memories/search", {"query": "x"}).status == 403


@pytest.mark.parametrize(
    "body",
    [
        {"name": "", "entity_type": "fact"},
        {"name": "\u2003", "entity_type": "fact"},
        {"name": "x" * (MAX_NAME_CHARS + 1), "entity_type": "fact"},
        {"name": "x"},
        {"name": "x", "entity_type": "alien"},
        {"name": "x", "entity_type": "fact", "importance": 1.01},
        {"name": "x", "entity_type": "fact", "importance": -0.01},
        {"name": "x", "entity_type": "fact", "importance": "0.5"},
        {"name": "x", "entity_type": "fact", "description": 1},
        {"name": "x", "entity_type": "fact", "description": "é" * (MAX_DESCRIPTION_BYTES // 2 + 1)},
        {"name": "x", "entity_type": "fact", "properties": "{}"},
        {"name": "x", "entity_type": "fact", "expires_at": "never"},
        {"name": "x", "entity_type": "fact", "is_self": True},
        {"name": "x", "entity_type": "fact", "version": 7},
    ],
)
def test_entity_over_a_limit_is_refused_and_nothing_is_stored(
    api: Gateway, body: dict[str, Any]
) -> None:
    # when
    reply = api.post(ENTITIES, body)
    # then
    assert (reply.status, reply.code) == (422, "validation_failed")
    assert api.get(ENTITIES).body["items"] == []


@pytest.mark.parametrize(
    "body",
    [
        {"name": "ﷺ" * MAX_NAME_CHARS, "entity_type": "fact"},
        {"name": "x" * MAX_NAME_CHARS, "entity_type": "fact"},
        {"name": "x", "entity_type": "fact", "description": "é" * (MAX_DESCRIPTION_BYTES // 2)},
        {"name": "x", "entity_type": "fact", "importance": 0, "properties": {"": ""}},
        {"name": "\x00#/%*", "entity_type": "fact", "description": None, "properties": None},
    ],
)
def test_entity_at_a_limit_is_stored_as_given(api: Gateway, body: dict[str, Any]) -> None:
    # when
    reply = api.post(ENTITIES, body)
    # then
    assert reply.status == 201
    stored = api.get(f"{ENTITIES}/{reply.body['id']}").body
    assert {key: stored[key] for key, value in body.items() if value is not None} == {
        key: value for key, value in body.items() if value is not None
    }


def test_relation_with_bad_ends_is_refused(api: Gateway) -> None:
    # given
    a, foreign = create(api, "a"), create(api, "x", user="u2")

    def send(**fields: Any) -> tuple[int, str]:
        body = {"source_entity_id": a, "relation_type": "knows", **fields}
        reply = api.post(RELATIONS, body)
        return reply.status, reply.code

    # then
    assert send(target_entity_id=a) == (422, "self_relation")
    assert send(target_entity_id="nothing") == (404, "not_found")
    assert send(target_entity_id=foreign) == (404, "not_found")
    assert send(target_entity_id="a b") == (422, "validation_failed")
    assert send() == (422, "validation_failed")
    assert send(target_entity_id="b", relation_type="likes") == (422, "validation_failed")
    assert api.get(RELATIONS).body["items"] == []


def test_real_adapters_serve_the_same(monkeypatch: pytest.MonkeyPatch) -> None:
    # given: the product with its own stores, on an emulated table
    monkeypatch.setenv("AWS_DEFAULT_REGION", REGION)
    with mock_aws():
        boto3.client("dynamodb").create_table(TableName="threadkeep", **description())
        product = Bootstrap(settings=Settings(table_name="threadkeep"))
        monkeypatch.setattr(app, "bootstrap", lambda: product)
        api = Gateway((app.api, app.lambda_handler))
        key = {"Idempotency-Key": "k-1"}
        # when
        made = api.post(ENTITIES, {"name": "Mia", "entity_type": "person"}, headers=key)
        again = api.post(ENTITIES, {"name": "Mia", "entity_type": "person"}, headers=key)
        acme = create(api, "Acme")
        edge = relate(api, made.body["id"], acme, "works_at")
        path = f"{ENTITIES}/{made.body['id']}"
        detail = api.get(path)
        page = api.get(ENTITIES, query={"page": "1", "sort": "name"})
        history = api.get(f"{path}/history")
        as_admin = api.get(f"/admin/users/u1{path}", user="root", groups="admin")
        gone = api.delete(path)
        # then
        assert (made.status, again.status, again.body) == (201, 201, made.body)
        assert [r["id"] for r in detail.body["outgoing_relations"]] == [edge]
        assert (page.body["total"], [e["name"] for e in page.body["items"]]) == (2, ["Acme", "Mia"])
        assert [entry["version"] for entry in history.body["items"]] == [1]
        assert as_admin.status == 200
        now = product.clock.now()
        [entry] = product.audit_log.entries(now.year, now.month, PageRequest()).items
        assert (entry.actor, entry.user_id) == ("admin:root", "u1")
        assert (gone.status, api.get(path).status) == (204, 404)
        assert api.get(RELATIONS).body["items"] == []
