"""Requests made up from the published description, sent to the deployed stack.

In process (``tests/integration/test_fuzz.py``) many more are tried; here few for each route go all
the way: through the gateway, the authorizer, the function and the stores.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from itertools import cycle
from typing import TYPE_CHECKING, Any

import pytest
import schemathesis
from hypothesis import HealthCheck, given, settings
from schemathesis.checks import not_a_server_error
from schemathesis.specs.openapi.checks import (
    content_type_conformance,
    response_schema_conformance,
    status_code_conformance,
)

from local import docs
from local.seed import SITE_SETTINGS
from threadkeep import openapi
from threadkeep.domain.relations import RelationType

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    import httpx
    from schemathesis import Case
    from schemathesis.schemas import BaseSchema

    from local.stack import User
    from tests.conftest import RunningStack

pytestmark = pytest.mark.stack

EXAMPLES = 8
COLD_START_SECONDS = 60
CHECKS = [
    not_a_server_error,
    status_code_conformance,
    content_type_conformance,
    response_schema_conformance,
]
OPERATIONS = [
    (method.upper(), path)
    for path, operations in openapi.published()["paths"].items()
    for method in operations
]
PROBLEM = {"type", "title", "status", "detail", "code", "request_id"}


@pytest.fixture(scope="module")
def codes() -> set[tuple[str, int]]:
    """Return what the table of error codes says, and what the gateway answers by itself."""
    rows = re.findall(r"^\| `(\w+)` \| (\d+) \|", docs.ERRORS.read_text("utf-8"), re.MULTILINE)
    template = (docs.ROOT / "template.yaml").read_text("utf-8")
    by_gateway = re.findall(r'"status":(\d+),.*?"code":"(\w+)"', template)
    return {(code, int(status)) for code, status in rows} | {
        (code, int(status)) for status, code in by_gateway
    }


@pytest.fixture(scope="module")
def schema(stack: RunningStack) -> BaseSchema:
    """Return the description that is published, at the address of the stack."""
    loaded: BaseSchema = schemathesis.openapi.from_dict(dict(openapi.published()))
    loaded.config.update(base_url=stack.addresses.api_url)
    return loaded


@dataclass(frozen=True)
class Caller:
    """An administrator with a memory.

    Args:
        token: The token.
        known: Path parameters that lead to something of the administrator's.
    """

    token: str
    known: dict[str, str]


@pytest.fixture(scope="module")
def caller(stack: RunningStack) -> Iterator[Caller]:
    """Return an administrator of a small memory; what is left for others to see is put right."""
    import httpx

    user = stack.new_user(admin=True)
    headers = {"Authorization": f"Bearer {user.token}"}
    with httpx.Client(
        base_url=f"{stack.addresses.api_url}/api/v1", headers=headers, timeout=COLD_START_SECONDS
    ) as http:
        ids = [remember(http, name) for name in ("You", "b")]
        related = dict(zip(("source_entity_id", "target_entity_id"), ids, strict=True))
        relation = http.post(
            "/memories/relations", json={**related, "relation_type": RelationType.KNOWS}
        )
        export = http.post("/memories/export").raise_for_status()
        known = {
            "user_id": user.sub,
            "entity_id": "self",  # it can not be deleted
            "relation_id": relation.raise_for_status().json()["id"],
            "transfer_id": export.json()["id"],
        }
        yield Caller(user.token, known)
        http.post("/admin/site-settings/reset", json={})
        http.put("/admin/site-settings", json=SITE_SETTINGS).raise_for_status()
        for agent in http.get("/agents", params={"limit": 100}).json()["items"]:
            http.delete(f"/agents/{agent['id']}")


def remember(http: httpx.Client, name: str) -> str:
    """Create an entity and return its id."""
    answer = http.post("/memories/entities", json={"name": name, "entity_type": "person"})
    return str(answer.raise_for_status().json()["id"])


def stays_on_its_path(case: Case[Any]) -> bool:
    """Tell whether an HTTP client sends the path as it is: dot segments are resolved by clients."""
    return not {".", ".."} & {str(value) for value in (case.path_parameters or {}).values()}


@pytest.mark.parametrize(("method", "path"), OPERATIONS, ids=str)
def test_made_up_requests_get_what_is_described(
    schema: BaseSchema, caller: Caller, codes: set[tuple[str, int]], method: str, path: str
) -> None:
    # given
    operation = schema[path][method]
    turns = cycle((True, False))

    # when
    @settings(
        max_examples=EXAMPLES,
        deadline=None,
        derandomize=True,
        suppress_health_check=list(HealthCheck),
    )
    @given(operation.as_strategy().filter(stays_on_its_path))
    def send(case: Case[Any]) -> None:
        if next(turns):
            parameters = case.path_parameters or {}
            parameters.update(
                {name: caller.known[name] for name in parameters.keys() & caller.known.keys()}
            )
        # then
        answer = case.call_and_validate(
            headers={"Authorization": f"Bearer {caller.token}"},
            checks=CHECKS,
            timeout=COLD_START_SECONDS,
        )
        if answer.status_code >= 400:
            problem = answer.json()
            assert problem.keys() >= PROBLEM
            assert problem["status"] == answer.status_code
            assert (problem["code"], problem["status"]) in codes

    send()


@pytest.mark.parametrize(("method", "path"), OPERATIONS, ids=str)
def test_request_without_a_token_is_refused(
    api: Callable[[User | None], httpx.Client], method: str, path: str
) -> None:
    # given
    is_open = openapi.published()["paths"][path][method.lower()].get("security") == []
    filled = re.sub(r"\{\w+\}", "x", path).removeprefix("/api/v1")
    # when
    answer = api(None).request(method, filled)
    # then
    assert answer.status_code == (200 if is_open else 401)
    if not is_open:
        assert answer.json()["code"] == "unauthorized"
