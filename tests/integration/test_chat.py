"""The chat function: one ASGI app behind API Gateway's events."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
import urllib.error
import urllib.request
from pathlib import Path
from typing import Any

import pytest

from functions.chat import app
from tests.gateway import NO_ONE
from tests.world import ALICE, BOB, THREAD, Http, World
from threadkeep.domain.agents import AgentConfig
from threadkeep.errors import ModelError

ROOT = Path(__file__).parents[2]
EVENT = json.loads((ROOT / "events/chat.json").read_text())


@pytest.fixture
def world() -> World:
    return World()


@pytest.fixture
def http(world: World, monkeypatch: pytest.MonkeyPatch) -> Http:
    return world.serve(monkeypatch)


def test_event_is_answered_with_a_turn(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    # given the agent that the event names
    world.serve(monkeypatch)
    agent = world.agent(user="TOKEN")
    event = json.loads(json.dumps(EVENT).replace(EVENT["pathParameters"]["agent_id"], agent))
    # when
    answer = app.lambda_handler(event, None)
    # then
    assert answer["statusCode"] == 200
    body = json.loads(answer["body"])
    assert body["conversation_id"] == "weekend-plans"
    assert body["content"] == "Understood."
    assert set(body) == {
        "conversation_id",
        "message_id",
        "content",
        "recall",
        "usage",
        "cost",
        "stable_prefix_sha256",
        "cacheable_tokens",
        "stop_reason",
    }
    assert body["recall"] == {"entities": [], "relations": [], "episodes": []}
    assert [m.content for m in world.transcript("weekend-plans", "TOKEN")] == [
        "I work at Acme and I prefer dark roast coffee",
        "Understood.",
    ]


BAD: list[tuple[str, Any, int, str]] = [
    ("empty message", {"message": ""}, 422, "validation_failed"),
    ("blank message", {"message": " \n\t"}, 422, "validation_failed"),
    ("no message", {}, 422, "validation_failed"),
    ("null message", {"message": None}, 422, "validation_failed"),
    ("number for a message", {"message": 7}, 422, "validation_failed"),
    ("list for a body", [], 422, "validation_failed"),
    ("message one byte too long", {"message": "x" * 262_145}, 422, "validation_failed"),
    ("unknown field", {"message": "hi", "user_id": BOB}, 422, "validation_failed"),
    ("malformed id", {"message": "hi", "conversation_id": "a/b"}, 422, "validation_failed"),
    ("empty id", {"message": "hi", "conversation_id": ""}, 422, "validation_failed"),
    ("parent elsewhere", {"message": "hi", "parent_message_id": "m"}, 422, "not_active_leaf"),
    ("too long for the model", {"message": "w " * 28_000}, 422, "context_length_exceeded"),
]


@pytest.mark.parametrize(("body", "status", "code"), [b[1:] for b in BAD], ids=[b[0] for b in BAD])
def test_bad_input_is_refused_and_stores_nothing(
    world: World, http: Http, body: Any, status: int, code: str
) -> None:
    agent = world.agent()
    if isinstance(body, dict):
        body = {"conversation_id": THREAD, **body}
    reply = http.post(f"/agents/{agent}/chat", body)
    assert (reply.status, reply.code) == (status, code)
    assert reply.headers["content-type"] == "application/problem+json"
    assert http.get("/conversations").body == {"items": []}
    assert world.model.requests == []
    assert world.queue.sent == []


def test_agent_that_can_not_answer_is_told_apart_and_stores_nothing(
    world: World, http: Http
) -> None:
    draft = world.product.agents.create(ALICE, AgentConfig(name="Draft")).id
    private = world.agent(user=BOB)
    replies = [
        http.post(f"/agents/{agent}/chat", {"message": "hi"})
        for agent in ("unheard-of", private, draft)
    ]
    assert [(r.status, r.code) for r in replies] == [
        (404, "not_found"),
        (404, "not_found"),
        (409, "agent_not_published"),
    ]
    assert {k: v for k, v in replies[0].body.items() if k != "request_id"} == {
        k: v for k, v in replies[1].body.items() if k != "request_id"
    }
    assert http.get("/conversations").body == {"items": []}


def test_nobody_is_served_without_a_token(world: World, http: Http) -> None:
    agent = world.agent(visibility="shared")
    for method, path in (
        ("POST", f"/agents/{agent}/chat"),
        ("GET", "/conversations"),
        ("GET", f"/conversations/{THREAD}"),
        ("GET", f"/conversations/{THREAD}/messages"),
        ("DELETE", f"/conversations/{THREAD}"),
    ):
        body = {"message": "hi"} if method == "POST" else None
        reply = http.call(method, path, body, user=NO_ONE)
        assert (reply.status, reply.code) == (401, "unauthorized")
    assert world.model.requests == []


def test_second_turn_is_told_to_wait(world: World, http: Http) -> None:
    # given
    agent = world.agent()
    replies = []

    def meanwhile(_: Any) -> str:
        replies.append(
            http.post(f"/agents/{agent}/chat", {"message": "me too", "conversation_id": THREAD})
        )
        return "Done."

    world.model.behave = meanwhile
    # when
    first = http.post(f"/agents/{agent}/chat", {"message": "hi", "conversation_id": THREAD})
    # then
    assert first.status == 200
    assert (replies[0].status, replies[0].code) == (409, "conversation_busy")
    assert int(replies[0].headers["retry-after"]) > 0


def test_failed_model_is_503_and_the_message_stays(world: World, http: Http) -> None:
    agent = world.agent()

    def fail(_: Any) -> str:
        raise ModelError("The endpoint does not answer.", extra={"retryable": True})

    world.model.behave = fail
    reply = http.post(f"/agents/{agent}/chat", {"message": "hi", "conversation_id": THREAD})
    assert (reply.status, reply.code, reply.body["retryable"]) == (503, "model_unavailable", True)
    messages = http.get(f"/conversations/{THREAD}/messages").body["items"]
    assert [m["content"] for m in messages] == ["hi"]


def test_repeated_request_with_a_key_asks_the_model_once(world: World, http: Http) -> None:
    """T20: the same turn posted twice is answered with the same ids."""
    agent = world.agent()
    body = {"message": "I like tea", "conversation_id": THREAD}
    key = {"Idempotency-Key": "turn-1"}
    first = http.post(f"/agents/{agent}/chat", body, headers=key)
    second = http.post(f"/agents/{agent}/chat", body, headers=key)
    assert first.status == second.status == 200
    assert first.body == second.body
    assert len(world.model.requests) == 1
    assert len(world.transcript()) == 2


def test_conversations_are_listed_read_renamed_and_deleted(world: World, http: Http) -> None:
    # given
    agent = world.agent()
    for thread in ("a", "b"):
        http.post(f"/agents/{agent}/chat", {"message": "Hi there", "conversation_id": thread})
    # when and then
    listed = http.get("/conversations").body["items"]
    assert [c["id"] for c in listed] == ["b", "a"]
    assert "life" not in listed[0]
    head = http.get("/conversations/a")
    assert (head.body["title"], head.body["message_count"]) == ("Hi there", 2)
    renamed = http.patch(
        "/conversations/a", {"title": "Trip"}, headers={"If-Match": head.headers["etag"]}
    )
    assert (renamed.status, renamed.body["title"]) == (200, "Trip")
    stale = http.patch(
        "/conversations/a", {"title": "x"}, headers={"If-Match": head.headers["etag"]}
    )
    assert (stale.status, stale.body["current_version"]) == (412, renamed.body["version"])
    refused = http.delete("/conversations/a", headers={"If-Match": head.headers["etag"]})
    assert (refused.status, http.get("/conversations/a").status) == (412, 200)
    renewed = {"If-Match": renamed.headers["etag"]}
    assert http.delete("/conversations/a", headers=renewed).status == 204
    assert http.get("/conversations/a").status == 404
    assert http.get("/conversations/a/messages").status == 404
    assert http.delete("/conversations/a").status == 404


def test_messages_come_in_pages_and_tell_nothing_internal(world: World, http: Http) -> None:
    # given
    agent = world.agent()
    for number in range(3):
        http.post(f"/agents/{agent}/chat", {"message": f"m{number}", "conversation_id": THREAD})
    # when
    seen: list[dict[str, Any]] = []
    cursor: dict[str, str] = {}
    while True:
        page = http.get(f"/conversations/{THREAD}/messages", query={"limit": "4", **cursor}).body
        seen += page["items"]
        if "next_cursor" not in page:
            break
        cursor = {"cursor": page["next_cursor"]}
    # then
    assert [m["seq"] for m in seen] == [1, 2, 3, 4, 5, 6]
    assert set(seen[0]) == {
        "id",
        "conversation_id",
        "seq",
        "role",
        "content",
        "tool_calls",
        "agent_id",
        "created_at",
    }
    numbered = http.get(
        f"/conversations/{THREAD}/messages", query={"page": "2", "page_size": "4"}
    ).body
    assert ([m["seq"] for m in numbered["items"]], numbered["total"]) == ([5, 6], 6)
    assert http.get(f"/conversations/{THREAD}/messages", user=BOB).status == 404


def test_cursor_of_another_user_or_conversation_is_refused(world: World, http: Http) -> None:
    agent = world.agent(visibility="shared")
    for user in (ALICE, BOB):
        for thread in ("a", "b"):
            http.post(
                f"/agents/{agent}/chat", {"message": "hi", "conversation_id": thread}, user=user
            )
    page = http.get("/conversations/a/messages", query={"limit": "1"}).body
    query = {"limit": "1", "cursor": page["next_cursor"]}
    for path, user in (("/conversations/b/messages", ALICE), ("/conversations/a/messages", BOB)):
        reply = http.get(path, query=query, user=user)
        assert (reply.status, reply.code) == (422, "invalid_cursor")


@pytest.mark.parametrize("body", [{}, {"title": ""}, {"title": "x" * 256}, {"life": "x"}])
def test_bad_title_is_refused(world: World, http: Http, body: dict[str, str]) -> None:
    world.say(world.agent(), "Hello")
    assert http.patch(f"/conversations/{THREAD}", body).status == 422
    assert http.get(f"/conversations/{THREAD}").body["title"] == "Hello"


def test_entry_point_under_the_web_adapter_serves(tmp_path: Path) -> None:
    # given the function as Lambda starts it, with the layers on its path
    port = _free_port()
    environment = {
        **os.environ,
        "AWS_LWA_PORT": str(port),
        "LAMBDA_RUNTIME_DIR": os.pathsep.join(
            [str(ROOT / "layers/core"), *(path for path in sys.path if "site-packages" in path)]
        ),
        "PATH": f"{Path(sys.executable).parent}:{os.environ['PATH']}",
        "PYTHONDONTWRITEBYTECODE": "1",
    }
    server = subprocess.Popen(
        ["sh", "run.sh"],
        cwd=ROOT / "functions/chat",
        env=environment,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )
    try:
        # when
        status, body = _get(f"http://127.0.0.1:{port}/api/v1/no-such-route")
        # then
        assert (status, body["code"]) == (404, "not_found")
    finally:
        server.terminate()
        server.wait(10)


def _free_port() -> int:
    import socket

    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


def _get(url: str) -> tuple[int, Any]:
    for _ in range(100):
        try:
            with urllib.request.urlopen(url) as answer:
                return answer.status, json.load(answer)
        except urllib.error.HTTPError as error:
            return error.code, json.load(error)
        except OSError:
            time.sleep(0.1)  # a process that starts up has no clock of ours
    raise AssertionError("the server did not start")
