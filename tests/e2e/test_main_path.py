"""The main path on the deployed stack: say something, be understood in another conversation."""

from __future__ import annotations

import json
import subprocess
import sys
import time
from typing import TYPE_CHECKING, Any

import pytest

from local.config import ROOT

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    import httpx

    from local.stack import User
    from tests.conftest import RunningStack

pytestmark = pytest.mark.stack

type Api = Callable[[User | None], httpx.Client]

LEARNING_SECONDS = 90
"""A fact is there within 20 seconds; the first cold start of a busy machine takes longer."""


def shared_agent(http: httpx.Client) -> str:
    """Return the seeded agent that everyone can use."""
    agents = http.get("/agents").json()["items"]
    return str(next(agent["id"] for agent in agents if agent["visibility"] == "shared"))


def say(http: httpx.Client, agent: str, text: str, **more: Any) -> dict[str, Any]:
    """Run one turn in a new conversation."""
    answer = http.post(f"/agents/{agent}/chat", json={"message": text, **more})
    assert answer.status_code == 200, answer.text
    body: dict[str, Any] = answer.json()
    return body


def names(recall: dict[str, Any]) -> set[str]:
    """Return the names of recalled entities."""
    return {entity["name"] for entity in recall["entities"]}


def learned(http: httpx.Client, *wanted: str) -> set[str]:
    """Wait until the entities are there; return the names of all."""
    deadline = time.monotonic() + LEARNING_SECONDS
    while True:
        found = {item["name"] for item in http.get("/memories/entities").json()["items"]}
        if found.issuperset(wanted) or time.monotonic() > deadline:
            return found
        time.sleep(1)


def test_what_one_conversation_told_another_recalls_and_nobody_else(
    stack: RunningStack, api: Api
) -> None:
    # GIVEN someone who tells an agent about herself
    alice, bob = api(stack.new_user()), api(stack.new_user())
    agent = shared_agent(alice)
    told = say(alice, agent, "I work at Acme and I prefer dark roast coffee")
    assert learned(alice, "Acme", "dark roast coffee") >= {"Acme", "dark roast coffee"}
    # WHEN she asks in a new conversation, and so does somebody else
    asked = say(alice, agent, "what coffee should I buy?")
    other = say(bob, agent, "what coffee should I buy?")
    # THEN hers recalls the preference, the other's knows nothing of it
    assert asked["conversation_id"] != told["conversation_id"]
    assert "dark roast coffee" in names(asked["recall"])
    assert "dark roast coffee" in asked["content"]
    assert other["recall"] == {"entities": [], "relations": [], "episodes": []}
    # AND search, graph and transcript say the same
    hits = alice.post("/memories/search", json={"query": "coffee"}).json()
    assert hits["entities"][0]["name"] == "dark roast coffee"
    graph = alice.get("/memories/graph", params={"entity_ids": hits["entities"][0]["id"]}).json()
    assert [relation["relation_type"] for relation in graph["relations"]] == ["prefers"]
    messages = alice.get(f"/conversations/{told['conversation_id']}/messages").json()["items"]
    assert [message["role"] for message in messages] == ["user", "assistant"]
    assert messages[0]["content"] == "I work at Acme and I prefer dark roast coffee"
    assert len(alice.get("/conversations").json()["items"]) == 2


def test_deleted_entity_is_gone_from_every_surface_at_once(stack: RunningStack, api: Api) -> None:
    """T08, T82: after the 2xx nothing shows it, indexed or not."""
    # GIVEN an entity with a relation
    http = api(stack.new_user())
    made = [
        http.post("/memories/entities", json={"name": name, "entity_type": "fact"}).json()["id"]
        for name in ("tea", "kettle")
    ]
    ends = {"source_entity_id": made[0], "target_entity_id": made[1], "relation_type": "uses"}
    relation = http.post("/memories/relations", json=ends).json()["id"]
    # WHEN it is deleted
    assert http.delete(f"/memories/entities/{made[0]}").status_code == 204
    # THEN no surface has it
    assert http.get(f"/memories/entities/{made[0]}").status_code == 404
    assert http.get(f"/memories/relations/{relation}").status_code == 404
    assert http.get("/memories/entities", params={"page": 1}).json()["total"] == 1
    assert http.get("/memories/relations").json()["items"] == []
    around = http.get("/memories/graph", params={"entity_ids": made[1]}).json()
    assert [entity["name"] for entity in around["entities"]] == ["kettle"]
    for mode in ("semantic", "lexical", "hybrid"):
        found = http.post("/memories/search", json={"query": "tea", "mode": mode}).json()
        assert made[0] not in {entity["id"] for entity in found["entities"]}


@pytest.mark.parametrize(
    ("body", "fields"),
    [
        ({"message": ""}, {"message"}),
        ({"message": "  \n"}, {"message"}),
        ({"message": "x" * (256 * 1024 + 1)}, {"message"}),
        ({"message": 5}, {"message"}),
        ({"message": None}, {"message"}),
        ({}, {"message"}),
        ({"message": "hi", "user_id": "victim"}, {"user_id"}),
        ({"message": "hi", "conversation_id": "no spaces"}, {"conversation_id"}),
    ],
)
def test_bad_chat_request_is_refused_by_field_and_stores_nothing(
    stack: RunningStack, api: Api, body: dict[str, Any], fields: set[str]
) -> None:
    http = api(stack.new_user())
    answer = http.post(f"/agents/{shared_agent(http)}/chat", json=body)
    assert answer.status_code == 422
    assert answer.headers["content-type"].startswith("application/problem+json")
    assert {error["field"] for error in answer.json()["errors"]} == fields
    assert http.get("/conversations").json()["items"] == []
    assert http.get("/memories/entities").json()["items"] == []


def test_agents_that_can_not_answer_are_refused(stack: RunningStack, api: Api) -> None:
    # GIVEN a draft of one's own
    alice, bob = api(stack.new_user()), api(stack.new_user())
    draft = alice.post("/agents", json={"name": "Draft"}).json()["id"]
    # THEN it can not be chatted with, nor can one that is not there, nor another's
    for http, agent, status, code in (
        (alice, draft, 409, "agent_not_published"),
        (bob, draft, 404, "not_found"),
        (alice, "01ARZ3NDEKTSV4RRFFQ69G5FAV", 404, "not_found"),
    ):
        answer = http.post(f"/agents/{agent}/chat", json={"message": "hi"})
        assert (answer.status_code, answer.json()["code"]) == (status, code)
    assert alice.get("/conversations").json()["items"] == []


@pytest.mark.parametrize("path", ["/memories/entities", "/agents", "/conversations"])
def test_nobody_is_never_everybody(stack: RunningStack, api: Api, path: str) -> None:
    """T72: without a user there is no answer, also with a token that somebody made up."""
    token = stack.new_user().token
    head, payload, signature = token.split(".")
    forged = f"{head}.{payload}.{signature[::-1]}"
    http = api(None)
    for headers in ({}, {"Authorization": f"Bearer {forged}"}, {"Authorization": "Bearer x"}):
        assert http.get(path, headers=headers).status_code == 401


def test_replay_ends_with_what_was_sent_and_a_recall(stack: RunningStack, tmp_path: Path) -> None:
    # GIVEN a short conversation in the LoCoMo format
    lines = [
        ("Mia", "Hi Noor!"),
        ("Mia", "I adopted a puppy called Biscuit."),
        ("Noor", "How lovely!"),
        ("Mia", "I work at Initech now."),
        ("Noor", "Congratulations!"),
        ("Noor", "Tell me more."),
    ]
    sample = {
        "sample_id": "short",
        "conversation": {
            "speaker_a": "Mia",
            "speaker_b": "Noor",
            "session_1_date_time": "1:56 pm on 8 May, 2023",
            "session_1": [
                {"speaker": speaker, "dia_id": f"D1:{place}", "text": text}
                for place, (speaker, text) in enumerate(lines, 1)
            ],
        },
        "qa": [{"question": "Where does Mia work?", "evidence": ["D1:4"], "category": 4}],
    }
    file = tmp_path / "short.json"
    file.write_text(json.dumps([sample]))
    config = stack.stack.config
    # WHEN it is replayed
    done = subprocess.run(
        [
            *(sys.executable, ROOT / "bench/replay.py", file),
            *("--stack", config.stack_file, "--port", str(config.ports.replay)),
        ],
        capture_output=True,
        text=True,
        check=False,
        timeout=300,
    )
    # THEN all is stored, and the question recalls what was told
    assert done.returncode == 0, done.stderr
    assert "4 messages of 1 sessions stored as sent and in order" in done.stdout
    assert "I work at Initech now." in done.stdout
    assert "organization: Initech" in done.stdout
