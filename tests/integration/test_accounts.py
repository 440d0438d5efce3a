"""The accounts function: agents, site settings, health, and the check at deployment."""

from __future__ import annotations

import json
import threading
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from functions.accounts import app
from tests.gateway import NO_ONE
from tests.world import ALICE, BOB, Http, World
from threadkeep.bootstrap import Bootstrap
from threadkeep.errors import MisconfiguredError
from threadkeep.settings import Settings

if TYPE_CHECKING:
    from collections.abc import Iterator

EVENTS = Path(__file__).parents[2] / "events"
SETTINGS = "/admin/site-settings"
COOLDOWN = "memory_extraction_cooldown_seconds"


@pytest.fixture
def world() -> World:
    return World()


@pytest.fixture
def http(world: World, monkeypatch: pytest.MonkeyPatch) -> Http:
    return world.serve(monkeypatch)


def event(name: str) -> dict[str, Any]:
    loaded: dict[str, Any] = json.loads((EVENTS / f"{name}.json").read_text())
    return loaded


def test_event_creates_an_agent(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    world.serve(monkeypatch)
    answer = app.lambda_handler(event("accounts"), None)
    assert answer["statusCode"] == 201
    body = json.loads(answer["body"])
    owner = event("accounts")["requestContext"]["authorizer"]["claims"]["sub"]
    assert world.product.agents.get(owner, body["id"]).name == "Concierge"
    assert (body["status"], body["has_draft"], body["is_own"]) == ("draft", True, True)


def test_event_of_an_administrator_changes_a_setting(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    world.serve(monkeypatch)
    world.settings_store.reset(["memory_async_extraction_enabled"])
    answer = app.lambda_handler(event("accounts_settings"), None)
    assert answer["statusCode"] == 200
    assert world.product.site_settings.current().memory_async_extraction_enabled is True


def test_agent_goes_from_draft_to_published_to_gone(http: Http) -> None:
    # given
    made = http.post("/agents", {"name": "Helper", "memory_config": {"max_depth": 2}})
    assert made.status == 201
    path = f"/agents/{made.body['id']}"
    # when
    edited = http.put(path, {"persona": "calm"}, headers={"If-Match": made.headers["etag"]})
    published = http.post(f"{path}/publish")
    # then
    assert (edited.status, edited.body["persona"]) == (200, "calm")
    assert edited.body["memory_config"]["max_depth"] == 2
    assert (published.status, published.body["status"]) == (200, "published")
    assert http.get(path).body == published.body
    stale = http.put(path, {"persona": "x"}, headers={"If-Match": made.headers["etag"]})
    assert (stale.status, stale.body["current_version"]) == (412, 3)
    assert http.delete(path).status == 204
    assert http.get(path).status == 404


def test_null_is_absent_in_a_new_agent(http: Http) -> None:
    # given
    names = ("description", "system_prompt", "max_iterations", "visibility", "index_turns")
    config = {"max_depth": None, "importance_threshold": None, "recency_weight": None}
    # when
    made = http.post("/agents", dict.fromkeys(names) | {"name": "A", "memory_config": config})
    plain = http.post("/agents", {"name": "A"})
    # then
    assert made.status == plain.status == 201
    for field in {*names, "memory_config"} - {"index_turns"}:
        assert made.body[field] == plain.body[field]


def test_others_see_shared_agents_and_change_none(http: Http) -> None:
    ids = {}
    for visibility in ("private", "shared"):
        made = http.post("/agents", {"name": visibility, "visibility": visibility})
        ids[visibility] = made.body["id"]
        http.post(f"/agents/{made.body['id']}/publish")
    assert [a["name"] for a in http.get("/agents", user=BOB).body["items"]] == ["shared"]
    assert http.get(f"/agents/{ids['private']}", user=BOB).status == 404
    refused = http.put(f"/agents/{ids['shared']}", {"name": "mine"}, user=BOB)
    assert (refused.status, refused.code) == (403, "not_agent_owner")


@pytest.mark.parametrize(
    ("body", "code"),
    [
        ({}, "validation_failed"),
        ({"name": ""}, "validation_failed"),
        ({"name": "x" * 256}, "validation_failed"),
        ({"name": "x", "owner_id": BOB}, "validation_failed"),
        ({"name": "x", "user_id": BOB}, "validation_failed"),
        ({"name": "x", "max_iterations": 0}, "validation_failed"),
        ({"name": "x", "max_iterations": 201}, "validation_failed"),
        ({"name": "x", "max_iterations": "5"}, "validation_failed"),
        ({"name": "x", "enable_memory": "yes"}, "validation_failed"),
        ({"name": "x", "visibility": "public"}, "validation_failed"),
        ({"name": "x", "memory_config": {"max_memories_per_retrieval": 51}}, "validation_failed"),
        ({"name": "x", "memory_config": {"recency_weight": 1.1}}, "validation_failed"),
        ({"name": "x", "memory_config": {"importance_threshold": "huge"}}, "validation_failed"),
        ({"name": "x", "memory_config": {"unheard_of": 1}}, "validation_failed"),
        ({"name": "x", "model_id": "openai:unheard-of"}, "unknown_model"),
    ],
)
def test_bad_agent_is_refused_and_nothing_is_stored(
    http: Http, body: dict[str, Any], code: str
) -> None:
    reply = http.post("/agents", body)
    assert (reply.status, reply.code) == (422, code)
    assert reply.fields
    assert http.get("/agents").body == {"items": []}


def test_site_settings_are_read_set_and_reset_by_administrators(http: Http) -> None:
    admin: dict[str, Any] = {"user": "root", "groups": "[admin]"}
    # given
    before = http.get(SETTINGS, query={"category": "memory"}, **admin).body
    assert before[COOLDOWN] == 180
    # when
    all_of_them = http.put(SETTINGS, {COOLDOWN: 10, "default_agent_id": "a1"}, **admin)
    one = http.put(f"{SETTINGS}/memory_extraction_max_pending_turns", {"value": 2}, **admin)
    # then
    assert all_of_them.body[COOLDOWN] == 10
    assert (one.body["value"], one.body["default"], one.body["maximum"]) == (2, 6, 50)
    assert http.get(f"{SETTINGS}/{COOLDOWN}", **admin).body["value"] == 10
    reset = http.post(f"{SETTINGS}/reset", {"category": "memory"}, **admin).body
    assert (reset[COOLDOWN], reset["memory_extraction_max_pending_turns"]) == (180, 6)
    assert reset["default_agent_id"] == "a1"


@pytest.mark.parametrize("groups", [None, "[users]", "[administrators]", "[not-admin other]"])
def test_site_settings_are_for_administrators_only(
    world: World, http: Http, groups: str | None
) -> None:
    for method, path, body in (
        ("GET", SETTINGS, None),
        ("PUT", SETTINGS, {COOLDOWN: 10}),
        ("GET", f"{SETTINGS}/{COOLDOWN}", None),
        ("PUT", f"{SETTINGS}/{COOLDOWN}", {"value": 10}),
        ("POST", f"{SETTINGS}/reset", {}),
    ):
        reply = http.call(method, path, body, user=ALICE, groups=groups)
        assert (reply.status, reply.code) == (403, "forbidden")
    assert world.product.site_settings.current().memory_extraction_cooldown_seconds == 180


def test_bad_setting_is_refused_and_none_of_the_request_is_stored(world: World, http: Http) -> None:
    admin: dict[str, Any] = {"user": "root", "groups": "[admin]"}
    for body in (
        {COOLDOWN: 9, "default_agent_id": "a1"},
        {"unheard_of": 1},
        {COOLDOWN: "10"},
        [COOLDOWN],
    ):
        assert http.put(SETTINGS, body, **admin).status == 422
    assert http.put(f"{SETTINGS}/unheard_of", {"value": 1}, **admin).status == 404
    assert http.put(f"{SETTINGS}/{COOLDOWN}", {"value": 3601}, **admin).status == 422
    assert dict(world.settings_store.all()) == {"memory_async_extraction_enabled": True}


def test_everything_but_health_needs_a_token(http: Http) -> None:
    assert http.get("/health", user=NO_ONE).body == {"status": "ok"}
    for path in ("/agents", "/agents/x", SETTINGS):
        reply = http.get(path, user=NO_ONE)
        assert (reply.status, reply.code) == (401, "unauthorized")


def test_description_of_the_api_is_open_and_names_its_routes(http: Http) -> None:
    reply = http.get("/openapi.json", user=NO_ONE)
    assert reply.body["openapi"] == "3.1.0"
    assert "/api/v1/agents/{agent_id}/chat" in reply.body["paths"]


# The check at deployment


class Receiver(BaseHTTPRequestHandler):
    """Stands where CloudFormation takes answers."""

    received: list[tuple[str | None, dict[str, str]]] = []  # noqa: RUF012 (one test at a time)

    def do_PUT(self) -> None:
        """Take an answer."""
        body = self.rfile.read(int(self.headers["content-length"]))
        self.received.append((self.headers["content-type"], json.loads(body)))
        self.send_response(200)
        self.end_headers()

    def log_message(self, *_: object) -> None:
        """Say nothing."""


@pytest.fixture
def receiver() -> Iterator[str]:
    Receiver.received.clear()
    server = HTTPServer(("127.0.0.1", 0), Receiver)
    thread = threading.Thread(target=server.serve_forever)
    thread.start()
    yield f"http://127.0.0.1:{server.server_port}/answer?signature=x"
    server.shutdown()
    thread.join()
    server.server_close()


def deploy(product: Any, receiver: str, **changes: str) -> dict[str, str]:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(app, "bootstrap", lambda: product)
        app.on_deploy({**event("settings_check"), "ResponseURL": receiver, **changes}, None)
    ((content_type, answer),) = Receiver.received
    # an answer is signed for no content type
    assert content_type == ""
    return answer


def test_wrong_setting_fails_the_deployment_by_its_name(receiver: str) -> None:
    product = Bootstrap(settings=Settings(table_name="t", default_model="gpt-4"))
    answer = deploy(product, receiver)
    assert answer["Status"] == "FAILED"
    assert "DEFAULT_MODEL" in answer["Reason"]
    assert answer["RequestId"] == event("settings_check")["RequestId"]
    assert answer["LogicalResourceId"] == "SettingsCheck"


def test_missing_setting_fails_the_deployment_by_its_name(
    receiver: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("TABLE_NAME", raising=False)
    assert "TABLE_NAME" in deploy(Bootstrap(), receiver)["Reason"]


class Checked:
    """A product whose check ends as a test says."""

    def __init__(self, error: Exception | None) -> None:
        self._error = error

    def check_settings(self) -> None:
        """Pass, or fail."""
        if self._error is not None:
            raise self._error


def test_good_settings_let_the_deployment_pass(receiver: str) -> None:
    answer = deploy(Checked(None), receiver, RequestType="Update", PhysicalResourceId="kept")
    assert (answer["Status"], answer["PhysicalResourceId"]) == ("SUCCESS", "kept")


def test_unexpected_failure_is_answered_too_and_tells_no_internals(receiver: str) -> None:
    answer = deploy(Checked(RuntimeError("secret://user:pass@host")), receiver)
    assert answer["Status"] == "FAILED"
    assert "RuntimeError" in answer["Reason"]
    assert "secret" not in answer["Reason"]


def test_deletion_never_fails(receiver: str) -> None:
    answer = deploy(Checked(MisconfiguredError("gone")), receiver, RequestType="Delete")
    assert answer["Status"] == "SUCCESS"
