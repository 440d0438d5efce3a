"""What a request may not be: each a clear 4xx, and no handler sees it."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from tests.gateway import Gateway
from threadkeep.domain.limits import MAX_BODY_BYTES, MAX_NAME_CHARS, MAX_PROPERTIES_BYTES
from threadkeep.http import rest_handler
from threadkeep.http.reading import MAX_JSON_DEPTH

if TYPE_CHECKING:
    from tests.unit.http.conftest import Site


@pytest.fixture
def gateway(site: Site) -> Gateway:
    return Gateway((site.api, rest_handler(site.api, lambda: site)))


@pytest.mark.parametrize(
    ("raw", "status", "code"),
    [
        ("", 400, "invalid_json"),
        ("{", 400, "invalid_json"),
        ('{"name": "a"} x', 400, "invalid_json"),
        ("{'name': 'a'}", 400, "invalid_json"),
        ('{"name": "a", "name": "b"}', 400, "duplicate_key"),
        ('{"name": "a", "properties": {"k": 1, "k": 2}}', 400, "duplicate_key"),
        ('{"name": "a", "share": NaN}', 400, "invalid_json"),
        ('{"name": "a", "share": Infinity}', 400, "invalid_json"),
        ('{"name": "a", "properties": {"x": -Infinity}}', 400, "invalid_json"),
        (r'{"name": "\ud800"}', 400, "invalid_json"),
        (r'{"name": "a", "properties": {"\udc00": 1}}', 400, "invalid_json"),
        ("[" * 10_000 + "]" * 10_000, 400, "invalid_json"),
        ('{"a":' * 10_000 + "1" + "}" * 10_000, 400, "invalid_json"),
        ("[" * 100_000, 400, "invalid_json"),
        ('{"name": "a", "size": ' + "9" * 5_000 + "}", 400, "invalid_json"),
        ("[]", 422, "validation_failed"),
        ("null", 422, "validation_failed"),
        ('"name"', 422, "validation_failed"),
        ("{}", 422, "validation_failed"),
        ('{"name": null}', 422, "validation_failed"),
        ('{"name": 1}', 422, "validation_failed"),
        ('{"name": ""}', 422, "validation_failed"),
        ('{"name": " \\t\\n"}', 422, "validation_failed"),
        ('{"name": "a", "size": "1"}', 422, "validation_failed"),
        ('{"name": "a", "size": 1.5}', 422, "validation_failed"),
        ('{"name": "a", "size": true}', 422, "validation_failed"),
        ('{"name": "a", "share": 1e999}', 422, "validation_failed"),
        ('{"name": "a", "kind": "alien"}', 422, "validation_failed"),
        ('{"name": "a", "since": "yesterday"}', 422, "validation_failed"),
        ('{"name": "a", "since": "1700000000"}', 422, "validation_failed"),
        ('{"name": "a", "since": 1700000000}', 422, "validation_failed"),
        ('{"name": "a", "since": "0001-01-01T00:00:00+14:00"}', 422, "validation_failed"),
        ('{"name": "a", "since": "2026-02-30"}', 422, "validation_failed"),
        ('{"name": "a", "properties": {"x": 1e999}}', 422, "validation_failed"),
        ('{"name": "a", "properties": []}', 422, "validation_failed"),
        ('{"name": "a", "user_id": "victim"}', 422, "validation_failed"),
    ],
)
def test_bad_body_is_refused(
    gateway: Gateway, site: Site, raw: str, status: int, code: str
) -> None:
    """T10: a user named in the body is an unknown field."""
    # when
    reply = gateway.call("POST", "/things", raw=raw)
    # then
    assert (reply.status, reply.code) == (status, code)
    assert not site.seen


def test_quotes_that_none_closes_are_refused_at_once(gateway: Gateway) -> None:
    """A search for each quote's end would take hours here."""
    # given
    raw = "[" * (MAX_JSON_DEPTH + 1) + '"' + '\\"' * (MAX_BODY_BYTES // 2 - MAX_JSON_DEPTH)
    # when
    reply = gateway.call("POST", "/things", raw=raw)
    # then
    assert (reply.status, reply.code) == (400, "invalid_json")


def test_nesting_inside_strings_does_not_count(gateway: Gateway) -> None:
    assert gateway.post("/things", {"name": "[" * MAX_NAME_CHARS}).status == 201


def test_nesting_up_to_the_limit_is_parsed(gateway: Gateway) -> None:
    # given
    def nested(levels: int) -> str:
        inner = levels - 2
        return '{"name":"a","properties":{"x":' + "[" * inner + "]" * inner + "}}"

    # when
    most, over = (
        gateway.call("POST", "/things", raw=nested(levels))
        for levels in (MAX_JSON_DEPTH, MAX_JSON_DEPTH + 1)
    )
    # then
    assert (most.status, most.fields) == (422, {"properties": "value_error"})
    assert over.status == 400


@pytest.mark.parametrize(("levels", "status"), [(8, 201), (9, 422)])
def test_properties_nest_eight_levels(gateway: Gateway, levels: int, status: int) -> None:
    # given
    raw = '{"name":"a","properties":' + '{"x":' * levels + "1" + "}" * levels + "}"
    # then
    assert gateway.call("POST", "/things", raw=raw).status == status


@pytest.mark.parametrize(("extra", "status"), [(0, 201), (1, 422)])
def test_properties_take_16_kb(gateway: Gateway, extra: int, status: int) -> None:
    # given: {"k":"…"} is eight bytes without the text
    text = "é" * ((MAX_PROPERTIES_BYTES - 8) // 2) + "x" * extra
    # then
    assert gateway.post("/things", {"name": "a", "properties": {"k": text}}).status == status


@pytest.mark.parametrize(("chars", "status"), [(MAX_NAME_CHARS, 201), (MAX_NAME_CHARS + 1, 422)])
def test_name_takes_255_characters(gateway: Gateway, chars: int, status: int) -> None:
    assert gateway.post("/things", {"name": "🍵" * chars}).status == status


@pytest.mark.parametrize(("extra", "status"), [(0, 201), (1, 413)])
def test_body_takes_one_megabyte(gateway: Gateway, extra: int, status: int) -> None:
    # given
    raw = '{"name":"a"' + " " * (MAX_BODY_BYTES - 12 + extra) + "}"
    # when
    reply = gateway.call("POST", "/things", raw=raw)
    # then
    assert reply.status == status


def test_errors_name_each_field_and_never_repeat_what_was_sent(gateway: Gateway) -> None:
    # when
    reply = gateway.post("/things", {"name": 7, "kind": "s3cret", "whose": "bob"})
    # then
    assert reply.fields == {
        "name": "string_type",
        "kind": "enum",
        "whose": "extra_forbidden",
    }
    assert "s3cret" not in str(reply.body)
    assert "bob" not in str(reply.body)


@pytest.mark.parametrize(
    ("query", "field"),
    [
        ({"unknown": "1"}, "unknown"),
        ({"user_id": "victim"}, "user_id"),
        ({"kind": "alien"}, "kind"),
        ({"kind": ["person", "goal"]}, "kind"),
        ({"limit": "0"}, "limit"),
        ({"limit": "101"}, "limit"),
        ({"limit": "ten"}, "limit"),
        ({"limit": ""}, "limit"),
        ({"limit": ["1", "2"]}, "limit"),
        ({"page": "0"}, "page"),
        ({"page": "-1"}, "page"),
        ({"page_size": "101"}, "page_size"),
        ({"page": "101", "page_size": "100"}, "query"),
        ({"page": "1", "limit": "5"}, "query"),
        ({"page_size": "5", "cursor": "x"}, "query"),
        ({"only": ["a", "b c"]}, "only.1"),
    ],
)
def test_bad_query_is_refused(
    gateway: Gateway, site: Site, query: dict[str, str | list[str]], field: str
) -> None:
    # when
    reply = gateway.get("/things", query=query)
    # then
    assert reply.status == 422
    assert field in reply.fields
    assert not site.seen


def test_query_on_a_route_without_any_is_refused(gateway: Gateway) -> None:
    assert gateway.get("/health", query={"x": "1"}).status == 422


def test_repeated_parameter_is_taken_where_several_make_sense(gateway: Gateway, site: Site) -> None:
    # when
    gateway.get("/things", query={"only": ["a", "b"]})
    # then
    assert site.seen[0].query.only == ("a", "b")  # type: ignore[attr-defined]


def test_body_on_a_route_without_one_is_refused(gateway: Gateway) -> None:
    # when
    refused = gateway.post("/things/t1/publish", {"force": True})
    taken = gateway.post("/things/t1/publish", {})
    # then
    assert (refused.status, refused.code) == (422, "unexpected_body")
    assert taken.status == 200


def test_other_content_types_are_read_as_json(gateway: Gateway) -> None:
    # when
    reply = gateway.post("/things", {"name": "a"}, headers={"Content-Type": "text/plain"})
    # then
    assert reply.status == 201


@pytest.mark.parametrize("given", ["2026-01-01", "2026-01-01T02:00:00+02:00"])
def test_dates_and_offsets_become_utc(gateway: Gateway, site: Site, given: str) -> None:
    """T23: naive and aware times are the same kind of time."""
    # when
    gateway.post("/things", {"name": "a", "since": given})
    # then
    assert site.seen[0].body.since.isoformat() == "2026-01-01T00:00:00+00:00"  # type: ignore[attr-defined]
