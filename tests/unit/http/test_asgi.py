"""The same routes under ASGI, where the token is verified by the function itself."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest
from mangum import Mangum
from starlette.testclient import TestClient

from tests.gateway import event
from tests.unit.http.test_tokens import CLIENT, ISSUER, JWKS, Issuer
from threadkeep.domain.limits import MAX_BODY_BYTES
from threadkeep.http import asgi_app
from threadkeep.http.tokens import TokenVerifier

if TYPE_CHECKING:
    from starlette.applications import Starlette

    from tests.unit.http.conftest import Site


@pytest.fixture
def issuer(site: Site) -> Issuer:
    issuer = Issuer(site.clock)
    site.token_verifier = TokenVerifier(ISSUER, CLIENT, JWKS, site.clock, issuer.fetch)
    return issuer


@pytest.fixture
def app(site: Site, issuer: Issuer) -> Starlette:
    return asgi_app(site.api, lambda: site)


@pytest.fixture
def client(app: Starlette) -> TestClient:
    return TestClient(app, raise_server_exceptions=False)


def signed(issuer: Issuer, **changes: Any) -> dict[str, str]:
    """Return headers with a token."""
    return {"Authorization": issuer.header(**changes)}


def test_answers_are_the_same_as_behind_the_gateway(client: TestClient, issuer: Issuer) -> None:
    # when
    reply = client.post("/api/v1/things", json={"name": "a"}, headers=signed(issuer))
    # then
    assert reply.status_code == 201
    assert reply.json() == {"id": "thing-1", "name": "a", "properties": {}, "version": 3}
    assert reply.headers["etag"] == '"v3"'


def test_no_or_a_forged_token_is_a_401(client: TestClient, site: Site) -> None:
    # when
    replies = [
        client.get("/api/v1/things", headers=headers)
        for headers in ({}, {"Authorization": "Bearer x.y.z"})
    ]
    # then
    assert [reply.status_code for reply in replies] == [401, 401]
    assert [reply.json()["code"] for reply in replies] == ["unauthorized"] * 2
    assert replies[0].headers["www-authenticate"] == "Bearer"
    assert not site.seen


def test_claims_in_the_event_do_not_stand_in_for_a_token(app: Starlette, site: Site) -> None:
    # given: an event that says who calls, without the token that proves it
    sent = event("GET", "/api/v1/things", claims={"sub": "victim", "cognito:groups": "admin"})
    # when
    answer = Mangum(app, lifespan="off")(sent, None)  # type: ignore[arg-type]
    # then
    assert answer["statusCode"] == 401
    assert not site.seen


def test_event_with_a_token_is_served(app: Starlette, site: Site, issuer: Issuer) -> None:
    # given
    sent = event(
        "GET", "/api/v1/things", claims=None, query={"only": ["a", "b"]}, headers=signed(issuer)
    )
    # when
    answer = Mangum(app, lifespan="off")(sent, None)  # type: ignore[arg-type]
    # then
    assert answer["statusCode"] == 200
    assert answer["headers"]["x-request-id"] == "request-1"
    assert site.seen[0].query.only == ("a", "b")  # type: ignore[attr-defined]


def test_group_admin_opens_admin_routes(client: TestClient, issuer: Issuer) -> None:
    # when
    statuses = [
        client.get("/api/v1/settings", headers=signed(issuer, **{"cognito:groups": groups}))
        for groups in (["admin"], ["administrators"], None)
    ]
    # then
    assert [reply.status_code for reply in statuses] == [200, 403, 403]


def test_routing_failures_are_problems(client: TestClient) -> None:
    # when
    missing, wrong = client.get("/api/v1/nothing"), client.delete("/api/v1/things")
    # then
    assert (missing.status_code, missing.json()["code"]) == (404, "not_found")
    assert (wrong.status_code, wrong.json()["code"]) == (405, "method_not_allowed")
    assert wrong.headers["allow"] == "GET, POST"
    assert wrong.headers["content-type"] == "application/problem+json"


def test_body_over_the_limit_is_a_413(client: TestClient, issuer: Issuer, site: Site) -> None:
    # when
    reply = client.post(
        "/api/v1/things", content=b"x" * (MAX_BODY_BYTES + 1), headers=signed(issuer)
    )
    # then
    assert (reply.status_code, reply.json()["code"]) == (413, "payload_too_large")
    assert not site.seen


def test_unexpected_failure_tells_nothing(client: TestClient, issuer: Issuer, site: Site) -> None:
    # given
    site.failures.append(RuntimeError("the user said: I love tea"))
    # when
    reply = client.delete("/api/v1/things/t1", headers=signed(issuer))
    # then
    assert (reply.status_code, reply.json()["code"]) == (500, "internal_error")
    assert "tea" not in reply.text


def test_encoded_path_parameter_is_decoded(client: TestClient, issuer: Issuer, site: Site) -> None:
    # when
    client.delete("/api/v1/things/a%3Ab", headers=signed(issuer))
    # then
    assert site.seen[0].path == {"thing_id": "a:b"}


def test_open_route_needs_no_token(client: TestClient) -> None:
    assert client.get("/api/v1/health").json() == {"status": "ok"}
