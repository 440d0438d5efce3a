"""Every function may do all that its routes and events ask of it: IAM is enforced here as on AWS.

A role that lacks a permission makes its function answer 500 or log an error.
"""

import time
from collections.abc import Callable, Iterator
from typing import Any
from uuid import uuid4

import httpx
import pytest

from local.deploy import STACK_NAME
from local.stack import User
from tests.conftest import RunningStack

pytestmark = pytest.mark.stack

type ClientOf = Callable[[User | None], httpx.Client]

ERROR = '"level":"ERROR"'
WAIT_SECONDS = 90


@pytest.fixture
def errors(stack: RunningStack) -> Iterator[Callable[[], list[str]]]:
    """Return what functions have logged as errors since the test began."""
    began = int(time.time() * 1000)
    logs = stack.stack.clients.logs

    def logged() -> list[str]:
        groups = logs.describe_log_groups(logGroupNamePrefix=f"/aws/lambda/{STACK_NAME}")
        return [
            event["message"]
            for group in groups["logGroups"]
            for event in logs.filter_log_events(
                logGroupName=group["logGroupName"], startTime=began
            )["events"]
            if ERROR in event["message"]
        ]

    yield logged
    assert logged() == []


def checked(answer: httpx.Response) -> Any:
    """Return the body of an answer that must be good."""
    assert answer.is_success, f"{answer.request.method} {answer.request.url}: {answer.text}"
    return answer.json() if answer.content else None


def entity(http: httpx.Client, kind: str = "concept", **more: Any) -> str:
    """Create an entity; return its id."""
    body = {"name": f"thing {uuid4()}", "entity_type": kind, **more}
    return str(checked(http.post("/memories/entities", json=body))["id"])


def test_memories_and_graph(api: ClientOf, stack: RunningStack, errors: object) -> None:
    user, admin = stack.new_user(), stack.addresses.users["admin"]
    http = api(user)
    here, there, old = entity(http), entity(http, "location"), entity(http, "location")
    # Relations of which one closes the other, changed and read in every way
    for target in (old, there):
        body = {"source_entity_id": here, "target_entity_id": target, "relation_type": "located_in"}
        relation = checked(http.post("/memories/relations", json=body))["id"]
    checked(http.put(f"/memories/relations/{relation}", json={"description": "since May"}))
    checked(http.put(f"/memories/entities/{here}", json={"name": f"renamed {uuid4()}"}))
    key = {"Idempotency-Key": str(uuid4())}
    for _ in range(2):
        body = {"name": "once", "entity_type": "fact"}
        checked(http.post("/memories/entities", json=body, headers=key))
    for path in (
        f"/memories/entities/{here}",
        f"/memories/entities/{here}/history",
        "/memories/entities?sort=name&page=1&page_size=2",
        f"/memories/relations?entity_id={here}",
        f"/memories/relations/{relation}",
        f"/memories/graph?entity_ids={here}&max_depth=2",
        f"/memories/graph?entity_ids={here}&as_of=2026-01-01T00:00:00Z",
        "/memories/graph",
    ):
        checked(http.get(path))
    for mode in ("semantic", "lexical", "hybrid"):
        checked(http.post("/memories/search", json={"query": "thing", "mode": mode}))
    # An administrator's reads, each of which is audited
    for path in (f"entities/{here}", "entities", "graph"):
        checked(api(admin).get(f"/admin/users/{user.sub}/memories/{path}"))
    body = {"query": "thing"}
    checked(api(admin).post(f"/admin/users/{user.sub}/memories/search", json=body))
    # Deletion of each kind
    checked(http.delete(f"/memories/relations/{relation}"))
    checked(http.delete(f"/memories/entities/{here}"))
    checked(http.post("/memories/entities/batch-delete", json={"ids": [there, old]}))


def test_agents_and_site_settings(api: ClientOf, stack: RunningStack, errors: object) -> None:
    http = api(stack.new_user())
    agent = checked(http.post("/agents", json={"name": "mine"}))["id"]
    checked(http.put(f"/agents/{agent}", json={"persona": "short", "visibility": "shared"}))
    checked(http.post(f"/agents/{agent}/publish"))
    checked(http.get(f"/agents/{agent}"))
    checked(http.delete(f"/agents/{agent}"))
    admin = api(stack.addresses.users["admin"])
    path = "/admin/site-settings/base_instructions"
    checked(admin.put(path, json={"value": "Answer in verse."}))
    checked(admin.get(path))
    checked(admin.post("/admin/site-settings/reset", json={"keys": ["base_instructions"]}))


def test_export(api: ClientOf, stack: RunningStack, errors: object) -> None:
    http = api(stack.new_user())
    name = f"exported {uuid4()}"
    checked(http.post("/memories/entities", json={"name": name, "entity_type": "fact"}))
    path = f"/memories/transfers/{checked(http.post('/memories/export'))['id']}"
    deadline = time.monotonic() + WAIT_SECONDS
    while "download" not in (transfer := checked(http.get(path))):
        assert time.monotonic() < deadline, transfer
        time.sleep(0.5)
    file = httpx.get(transfer["download"]["url"])
    assert file.is_success
    assert name in file.text


def test_chat_learning_and_forgetting(api: ClientOf, stack: RunningStack, errors: object) -> None:
    http = api(stack.new_user())
    agent = checked(http.get("/agents"))["items"][0]["id"]
    # Two turns, of which the second recalls and both are learned from
    first = checked(http.post(f"/agents/{agent}/chat", json={"message": "I work at Acme."}))
    more = {"message": "I like tea.", "conversation_id": first["conversation_id"]}
    checked(http.post(f"/agents/{agent}/chat", json=more))
    path = f"/conversations/{first['conversation_id']}"
    checked(http.get(path))
    checked(http.get(f"{path}/messages"))
    checked(http.patch(path, json={"title": "work"}))
    deadline = time.monotonic() + WAIT_SECONDS
    while not (jobs := checked(http.get("/memories/jobs"))["items"]) or jobs[0]["status"] != "done":
        assert time.monotonic() < deadline, jobs
        time.sleep(0.5)
    checked(http.get(f"/memories/jobs/{jobs[0]['id']}"))
    checked(http.delete(path))
    assert http.get(path).status_code == 404
