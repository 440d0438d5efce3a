"""What the deployed stack itself promises: errors of the gateway, settings, restarts."""

import os
import time
from collections.abc import Callable
from uuid import uuid4

import httpx
import pytest

from local.config import LocalStackError
from local.deploy import deploy
from local.seed import AGENT, seed
from local.stack import User
from tests.conftest import REUSE, RunningStack
from threadkeep.storage import keys

pytestmark = pytest.mark.stack

type ClientOf = Callable[[User | None], httpx.Client]

WAIT_SECONDS = 60

reused = pytest.mark.skipif(
    os.environ.get(REUSE) == "running", reason="it is somebody's stack: not to be broken or stopped"
)


@pytest.mark.parametrize(
    ("path", "token", "status", "code"),
    [
        ("/agents", None, 401, "unauthorized"),
        ("/agents", "eyJhbGciOiJub25lIn0.eyJzdWIiOiJ4In0.", 401, "unauthorized"),
        ("/nothing-of-this-name", None, 404, "not_found"),
    ],
)
def test_gateway_answers_errors_as_problem_documents(
    api: ClientOf, path: str, token: str | None, status: int, code: str
) -> None:
    headers = {"Authorization": f"Bearer {token}"} if token else {}
    answer = api(None).get(path, headers=headers)
    assert answer.status_code == status
    assert answer.headers["content-type"] == "application/problem+json"
    problem = answer.json()
    assert (problem["status"], problem["code"]) == (status, code)
    assert problem["request_id"]


def test_header_in_any_bytes_is_passed_on(api: ClientOf) -> None:
    answer = api(None).get("/health", headers=[(b"X-Note", "é".encode("latin-1"))])
    assert answer.status_code == 200


def test_signature_of_another_pool_is_refused(api: ClientOf, stack: RunningStack) -> None:
    # Given a token whose signature was tampered with
    head, payload, signature = stack.addresses.users["alice"].token.split(".")
    forged = f"{head}.{payload}.{signature[:-8]}AAAAAAAA"
    # Then neither the gateway nor the function that verifies for itself takes it
    for base in (stack.addresses.api_url, stack.addresses.stream_url):
        answer = httpx.get(
            f"{base}/api/v1/conversations", headers={"Authorization": f"Bearer {forged}"}
        )
        assert answer.status_code == 401
        assert answer.json()["code"] == "unauthorized"


def test_seeding_again_adds_nothing(api: ClientOf, stack: RunningStack) -> None:
    admin = stack.addresses.users["admin"]
    seed(stack.addresses.api_url, admin.token)
    agents = api(admin).get("/agents", params={"limit": 100}).json()["items"]
    assert [agent["name"] for agent in agents].count(AGENT["name"]) == 1


@reused
def test_stack_resumes_where_it_was_stopped(api: ClientOf, stack: RunningStack) -> None:
    # Given an entity of a user, indexed: the emulator keeps no records of a stream
    user = stack.new_user()
    path = "/memories/entities"
    created = api(user).post(path, json={"name": f"kept {uuid4()}", "entity_type": "concept"})
    kept = created.json()["id"]
    wait_until_indexed(stack, user)
    # When the stack is stopped and started again
    stack.stack.stop()
    stack.stack.start()
    # Then the entity is there, and tokens are still good
    assert api(user).get(f"{path}/{kept}").status_code == 200
    # And what is written now is indexed: the table's stream is followed again
    api(user).post(path, json={"name": "new", "entity_type": "concept"}).raise_for_status()
    wait_until_indexed(stack, user)


@reused
def test_wrong_setting_fails_the_deployment_by_its_name(
    api: ClientOf, stack: RunningStack, monkeypatch: pytest.MonkeyPatch
) -> None:
    # Given a dimension that is not the embedder's
    monkeypatch.setenv("EMBEDDING_DIMENSION", "999")
    # When it is deployed
    with pytest.raises(LocalStackError) as failure:
        deploy(stack.stack.config, stack.stack.clients)
    # Then the deployment fails, the message names the setting and both numbers
    message = str(failure.value)
    assert all(word in message for word in ("EMBEDDING_DIMENSION", "999", "256"))
    # And what was deployed before serves on
    assert api(stack.new_user()).get("/agents").status_code == 200


def wait_until_indexed(stack: RunningStack, user: User) -> None:
    """Wait until no mark says that something of a user's is not indexed."""
    deadline = time.monotonic() + WAIT_SECONDS
    while stack.stack.clients.dynamodb.query(
        TableName=stack.stack.outputs["TableName"],
        KeyConditionExpression="PK = :user AND begins_with(SK, :pending)",
        ExpressionAttributeValues={
            ":user": {"S": keys.user(user.sub)},
            ":pending": {"S": keys.PENDING},
        },
        ConsistentRead=True,
    )["Count"]:
        assert time.monotonic() < deadline, "the indexer does not follow the table's stream"
        time.sleep(0.2)
