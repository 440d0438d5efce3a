"""Exports and imports on the deployed stack: real uploads, queue and downloads."""

from __future__ import annotations

import json
import time
from typing import TYPE_CHECKING, Any

import httpx
import pytest

from tests.transfer_world import essence

if TYPE_CHECKING:
    from collections.abc import Callable

    from local.stack import User
    from tests.conftest import RunningStack

pytestmark = pytest.mark.stack

type Api = Callable[[User | None], httpx.Client]

WAIT_SECONDS = 120


def finished(http: httpx.Client, transfer_id: str) -> dict[str, Any]:
    """Wait until a job is through."""
    deadline = time.monotonic() + WAIT_SECONDS
    while True:
        job: dict[str, Any] = http.get(f"/memories/transfers/{transfer_id}").json()
        if job["status"] in ("done", "failed") or time.monotonic() > deadline:
            return job
        time.sleep(0.5)


def exported(http: httpx.Client) -> list[dict[str, Any]]:
    """Export a memory and download the file."""
    asked = http.post("/memories/export")
    assert asked.status_code == 202, asked.text
    job = finished(http, asked.json()["id"])
    assert job["status"] == "done", job
    file = httpx.get(job["download"]["url"])
    assert file.status_code == 200, file.text
    return [json.loads(line) for line in file.content.splitlines()]


def imported(http: httpx.Client, lines: list[dict[str, Any]]) -> dict[str, Any]:
    """Upload a file, import it and return the finished job."""
    prepared = http.post("/memories/import").raise_for_status().json()
    form = prepared["upload"]
    body = "\n".join(map(json.dumps, lines)).encode()
    sent = httpx.post(form["url"], data=form["fields"], files={"file": body})
    assert sent.status_code in (200, 204), sent.text
    started = http.post(f"/memories/import/{prepared['id']}/start")
    assert started.status_code == 202, started.text
    return finished(http, prepared["id"])


def test_memory_moves_to_another_user_and_is_found_there(api: Api, stack: RunningStack) -> None:
    # given
    one, other = (api(stack.new_user()) for _ in range(2))
    ids = [
        one.post("/memories/entities", json={"name": name, "entity_type": kind}).json()["id"]
        for name, kind in (("Acme", "organization"), ("Ann", "person"))
    ]
    relation = {"source_entity_id": ids[1], "target_entity_id": ids[0]}
    one.post("/memories/relations", json={**relation, "relation_type": "works_at"})
    said = {
        "type": "message",
        "conversation": "trip",
        "speaker": "Ann",
        "content": "We hiked to the glacier in Iceland.",
        "created_at": "2024-05-01T10:00:00Z",
    }
    # when
    transcript = imported(one, [said])
    lines = exported(one)
    moved = imported(other, lines)
    # then
    assert (transcript["status"], transcript["created"]) == ("done", 1)
    assert (moved["status"], moved["created"], moved["rejected"]) == ("done", 4, 0)
    assert essence(exported(other)) == essence(lines)
    found = other.post("/memories/search", json={"query": "hiking on a glacier"}).json()
    assert [episode["content"] for episode in found["episodes"]][:1] == [said["content"]]
