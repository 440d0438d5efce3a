"""Requests made up from the API's own description: never a 500, always what is described."""

from __future__ import annotations

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

from functions.graph import app as graph_app
from functions.memories import app as memories_app
from tests.memory_world import USER, MemoryWorld
from threadkeep import openapi
from threadkeep.errors import UnauthorizedError
from threadkeep.http import Answer, Api, Request, asgi_app

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from schemathesis import Case
    from schemathesis.schemas import BaseSchema

    from threadkeep.http import Route

CHECKS = [
    not_a_server_error,
    status_code_conformance,
    content_type_conformance,
    response_schema_conformance,
]


ROUTES = [*memories_app.api.routes, *graph_app.api.routes]


class AdminTokens:
    """Takes any bearer token for one of the only user, an administrator."""

    def claims(self, authorization: str | None) -> Mapping[str, Any]:
        """Return the claims of the one token."""
        if authorization != "Bearer token":
            raise UnauthorizedError
        return {"sub": USER, "token_use": "id", "cognito:groups": ["admin"]}


@pytest.fixture(scope="module")
def schema() -> Iterator[BaseSchema]:
    """The routes of memories and graph with their description, over a memory of a few things."""
    world = MemoryWorld(token_verifier=AdminTokens())
    api = Api("all")
    api.routes = list(ROUTES)
    document = openapi.describe(ROUTES)

    @api.get("/openapi.json", open_to_all=True)
    def describe(_: Request) -> Answer:
        """Describe the API."""
        return Answer(document)

    with pytest.MonkeyPatch.context() as patch:
        world.gateway(patch)
        ids = [world.entity(name).id for name in ("a", "b", "c")]
        world.relation(ids[0], ids[1])
        app = asgi_app(api, lambda: world.product)
        yield schemathesis.openapi.from_asgi("/api/v1/openapi.json", app)


@pytest.mark.parametrize("route", ROUTES, ids=lambda route: f"{route.method} {route.path}")
def test_made_up_requests_get_what_is_described(schema: BaseSchema, route: Route) -> None:
    # given
    operation = schema[route.full_path][route.method.lower()]

    # when
    @settings(
        max_examples=30, deadline=None, derandomize=True, suppress_health_check=list(HealthCheck)
    )
    @given(operation.as_strategy())
    def send(case: Case[Any]) -> None:
        # then
        case.call_and_validate(headers={"Authorization": "Bearer token"}, checks=CHECKS)

    send()
