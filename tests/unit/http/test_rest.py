"""Serving behind API Gateway: callers, errors, versions, admin variants."""

from __future__ import annotations

import base64
import json
from typing import TYPE_CHECKING, Any

import pytest

from tests.gateway import NO_ONE, Gateway, event
from threadkeep.errors import NotFoundError, PreconditionFailedError
from threadkeep.http import rest_handler

if TYPE_CHECKING:
    from tests.unit.http.conftest import Site


@pytest.fixture
def gateway(site: Site) -> Gateway:
    return Gateway((site.api, rest_handler(site.api, lambda: site)))


def everything(caplog: pytest.LogCaptureFixture) -> str:
    """Return all that was logged, with the fields that go along."""
    return json.dumps([record.__dict__ for record in caplog.records], default=str)


def test_answer_is_bare_json_with_an_etag_of_its_version(gateway: Gateway) -> None:
    # when
    reply = gateway.post("/things", {"name": "a"})
    # then
    assert reply.status == 201
    assert reply.body == {"id": "thing-1", "name": "a", "properties": {}, "version": 3}
    assert reply.headers["etag"] == '"v3"'
    assert reply.headers["cache-control"] == "no-store"
    assert reply.headers["x-request-id"] == "request-1"


def test_null_inside_properties_is_kept_and_null_fields_are_left_out(gateway: Gateway) -> None:
    # when
    reply = gateway.post("/things", {"name": "a", "properties": {"gone": None}})
    # then
    assert reply.body["properties"] == {"gone": None}
    assert "note" not in reply.body


def test_caller_is_the_tokens_subject_whatever_is_sent_along(gateway: Gateway, site: Site) -> None:
    # when
    gateway.get("/things", user="u1", headers={"X-User-Id": "u2"})
    # then
    assert site.seen[0].user_id == "u1"
    assert site.seen[0].origin.actor == "user:u1"


@pytest.mark.parametrize(
    "claims",
    [
        None,
        {},
        *({"sub": sub, "token_use": "id"} for sub in ("", "  ", None)),
        *({"sub": "u1", "token_use": use} for use in ("access", "refresh", None)),
        {"sub": "u1"},
    ],
)
def test_request_without_a_user_is_refused(site: Site, claims: dict[str, Any] | None) -> None:
    """T72: a request without scope is never about everyone."""
    # given
    handler = rest_handler(site.api, lambda: site)
    # when
    answer = handler(event("GET", "/api/v1/things", claims=claims), None)
    # then
    assert answer["statusCode"] == 401
    assert json.loads(answer["body"])["code"] == "unauthorized"
    assert not site.seen


def test_open_route_needs_no_token(gateway: Gateway) -> None:
    assert gateway.get("/health", user=NO_ONE).body == {"status": "ok"}


@pytest.mark.parametrize(
    "groups", ["admin", "[admin]", "[staff admin]", "staff,admin", ["admin"], '["admin"]']
)
def test_group_admin_is_known_in_each_form(gateway: Gateway, groups: Any) -> None:
    assert gateway.get("/settings", groups=groups).status == 200


@pytest.mark.parametrize(
    "groups",
    [
        None,
        "",
        "[]",
        "administrators",
        "not-admin",
        "admin-readonly",
        "[not-admin]",
        "Admin",
        ["x,admin"],
        ["x admin"],
        '["x,admin"]',
        7,
        {"admin": True},
    ],
)
def test_no_other_group_makes_an_administrator(gateway: Gateway, site: Site, groups: Any) -> None:
    # when
    reply = gateway.get("/settings", groups=groups)
    # then
    assert (reply.status, reply.code) == (403, "forbidden")
    assert not site.seen


def test_admin_variant_is_about_the_user_of_the_path_and_audited(
    gateway: Gateway, site: Site
) -> None:
    # when
    reply = gateway.get("/admin/users/u7/things", user="root", groups="[admin]")
    # then
    assert reply.status == 200
    assert site.seen[0].user_id == "u7"
    assert site.seen[0].origin.actor == "admin:root"
    [entry] = site.audit_log.kept
    assert (entry.actor, entry.user_id, entry.request_id) == ("admin:root", "u7", "request-1")
    assert entry.action == "GET /admin/users/{user_id}/things"


def test_admin_variant_without_a_record_hands_out_nothing(gateway: Gateway, site: Site) -> None:
    # given
    site.audit_log.is_down = True
    # when
    reply = gateway.get("/admin/users/u7/things", user="root", groups="admin")
    # then
    assert (reply.status, reply.code) == (503, "unavailable")
    assert not site.seen


def test_admin_variant_is_closed_to_users_for_their_own_id_too(gateway: Gateway) -> None:
    assert gateway.get("/admin/users/u1/things", user="u1").status == 403


def test_own_routes_are_not_audited(gateway: Gateway, site: Site) -> None:
    # when
    gateway.get("/things", user="root", groups="admin")
    # then
    assert site.audit_log.kept == []


def test_known_failure_is_a_problem_document(gateway: Gateway, site: Site) -> None:
    # given
    site.failures.append(PreconditionFailedError("Changed.", extra={"current_version": 4}))
    # when
    reply = gateway.put("/things/t1", {"name": "a"}, headers={"If-Match": '"v3"'})
    # then
    assert reply.headers["content-type"] == "application/problem+json"
    assert reply.body == {
        "type": "urn:threadkeep:problem:precondition_failed",
        "title": "The version has changed",
        "status": 412,
        "detail": "Changed.",
        "code": "precondition_failed",
        "current_version": 4,
        "request_id": "request-1",
    }


def test_retry_after_is_sent(gateway: Gateway, site: Site, busy: Exception) -> None:
    # given
    site.failures.append(busy)
    # when
    reply = gateway.put("/things/t1", {"name": "a"})
    # then
    assert (reply.status, reply.headers["retry-after"]) == (409, "1")


def test_unexpected_failure_tells_and_logs_nothing_of_its_message(
    gateway: Gateway, site: Site, caplog: pytest.LogCaptureFixture
) -> None:
    # given
    site.failures.append(RuntimeError("the user said: I love tea"))
    # when
    reply = gateway.put("/things/t1", {"name": "a"})
    # then
    assert (reply.status, reply.code) == (500, "internal_error")
    assert "tea" not in json.dumps(reply.body)
    logged = everything(caplog)
    assert "request-1" in logged
    assert "RuntimeError" in logged
    assert "tea" not in logged


def test_names_of_things_are_not_logged(gateway: Gateway, caplog: pytest.LogCaptureFixture) -> None:
    # when
    gateway.post("/things", {"name": "my secret plan"})
    gateway.get("/things", query={"kind": "person"})
    # then
    assert "POST /things" in everything(caplog)
    assert "secret plan" not in everything(caplog)


def test_unknown_path_and_unknown_method_are_problems(gateway: Gateway) -> None:
    # when
    missing, wrong = gateway.get("/nothing"), gateway.delete("/things")
    # then
    assert (missing.status, missing.code) == (404, "not_found")
    assert (wrong.status, wrong.code, wrong.headers["allow"]) == (
        405,
        "method_not_allowed",
        "GET, POST",
    )


@pytest.mark.parametrize("strange", ["a#b", "\x00", "a\nb", "\ufffd"])
def test_id_that_no_route_takes_is_not_found(gateway: Gateway, strange: str) -> None:
    """The gateway decodes paths, so that any character can stand in one."""
    assert gateway.delete(f"/things/{strange}").status in (404, 422)


def test_delete_answers_without_a_body(gateway: Gateway) -> None:
    # when
    reply = gateway.delete("/things/t1")
    # then
    assert (reply.status, reply.body) == (204, None)


@pytest.mark.parametrize(
    ("header", "versions"),
    [
        (None, None),
        ("*", None),
        ('"v3"', (3,)),
        ('W/"v3"', (3,)),
        ('"v3", W/"v5"', (3, 5)),
        ('"3"', ()),
        ("v3", ()),
        ("", ()),
        ('"v99999999999999999999"', ()),
    ],
)
def test_if_match_names_versions(
    gateway: Gateway, site: Site, header: str | None, versions: tuple[int, ...] | None
) -> None:
    # when
    gateway.delete("/things/t1", headers={} if header is None else {"if-match": header})
    # then
    assert site.seen[0].if_match == versions


def test_path_parameters_are_decoded_once_and_must_be_ids(gateway: Gateway, site: Site) -> None:
    # when
    good = gateway.delete("/things/a%3Ab")
    bad = [gateway.delete(f"/things/{part}") for part in ("a%20b", "a*b", "é", "x" * 129)]
    # then
    assert good.status == 204
    assert site.seen[0].path == {"thing_id": "a:b"}
    assert [reply.status for reply in bad] == [422] * 4
    assert bad[0].fields == {"thing_id": "invalid_id"}
    assert len(site.seen) == 1


def test_body_in_base64_is_read(site: Site) -> None:
    # given
    sent = event("POST", "/api/v1/things", claims={"sub": "u1", "token_use": "id"})
    sent |= {"body": base64.b64encode(b'{"name": "b"}').decode(), "isBase64Encoded": True}
    # when
    answer = rest_handler(site.api, lambda: site)(sent, None)
    # then
    assert answer["statusCode"] == 201


def test_broken_base64_is_a_bad_request(site: Site) -> None:
    # given
    sent = event("POST", "/api/v1/things", claims={"sub": "u1", "token_use": "id"})
    sent |= {"body": "not base64!", "isBase64Encoded": True}
    # when
    answer = rest_handler(site.api, lambda: site)(sent, None)
    # then
    assert answer["statusCode"] == 400


def test_event_that_is_no_request_is_answered_with_a_500(site: Site) -> None:
    # when
    answer = rest_handler(site.api, lambda: site)({"Records": []}, None)
    # then
    assert answer["statusCode"] == 500
    assert json.loads(answer["body"])["code"] == "internal_error"


def test_failure_of_a_handler_reaches_the_caller(gateway: Gateway, site: Site) -> None:
    # given
    site.failures.append(NotFoundError("No such thing."))
    # when
    reply = gateway.delete("/things/t1")
    # then
    assert (reply.status, reply.body["detail"]) == (404, "No such thing.")
