"""Listings by cursor and by page."""

from __future__ import annotations

import base64
import json
from typing import TYPE_CHECKING

import pytest

from tests.gateway import Gateway
from threadkeep.http import rest_handler

if TYPE_CHECKING:
    from tests.unit.http.conftest import Site

ALL = [f"t{number:02d}" for number in range(45)]


@pytest.fixture
def gateway(site: Site) -> Gateway:
    return Gateway((site.api, rest_handler(site.api, lambda: site)))


def names(body: dict[str, list[dict[str, str]]]) -> list[str]:
    """Return the names of a page's items."""
    return [item["name"] for item in body["items"]]


def test_pages_follow_each_other_without_gap_or_overlap(gateway: Gateway) -> None:
    # when
    seen: list[str] = []
    query = {"limit": "10"}
    while True:
        page = gateway.get("/things", query=query).body
        seen += names(page)
        if "next_cursor" not in page:
            break
        query = {"limit": "10", "cursor": page["next_cursor"]}
    # then
    assert seen == ALL


def test_default_is_twenty_items_without_a_total(gateway: Gateway) -> None:
    # when
    page = gateway.get("/things").body
    # then
    assert names(page) == ALL[:20]
    assert "total" not in page


def test_numbered_page_tells_its_place_and_the_exact_total(gateway: Gateway) -> None:
    # when
    page = gateway.get("/things", query={"page": "3"}).body
    # then
    assert names(page) == ALL[40:]
    assert (page["page"], page["page_size"], page["total"]) == (3, 20, 45)


def test_page_size_alone_is_the_first_page(gateway: Gateway) -> None:
    # when
    page = gateway.get("/things", query={"page_size": "7"}).body
    # then
    assert names(page) == ALL[:7]
    assert page["page"] == 1


def test_page_past_the_end_is_empty(gateway: Gateway) -> None:
    # when
    page = gateway.get("/things", query={"page": "100", "page_size": "100"}).body
    # then
    assert (page["items"], page["total"]) == ([], 45)


def test_limit_may_change_between_pages(gateway: Gateway) -> None:
    # given
    cursor = gateway.get("/things", query={"limit": "5"}).body["next_cursor"]
    # when
    page = gateway.get("/things", query={"cursor": cursor, "limit": "2"}).body
    # then
    assert names(page) == ALL[5:7]


def test_cursor_of_another_user_filter_or_path_is_refused(gateway: Gateway) -> None:
    """T43: a cursor carries nobody into another one's listing."""
    # given
    cursor = gateway.get("/things", user="u1").body["next_cursor"]
    # when
    replies = [
        gateway.get("/things", user="u10", query={"cursor": cursor}),
        gateway.get("/things", user="u1", query={"cursor": cursor, "kind": "person"}),
        gateway.get("/things", user="u1", query={"cursor": cursor, "only": "a"}),
        gateway.get(
            "/admin/users/u1/things", user="root", groups="admin", query={"cursor": cursor}
        ),
    ]
    # then
    assert [(reply.status, reply.code) for reply in replies] == [(422, "invalid_cursor")] * 4


def forgeries(cursor: str) -> list[str]:
    """Return texts that look like a cursor and are none."""
    position, binding = json.loads(base64.urlsafe_b64decode(cursor + "=" * (-len(cursor) % 4)))

    def encode(value: object) -> str:
        return base64.urlsafe_b64encode(json.dumps(value).encode()).rstrip(b"=").decode()

    return [
        "x",
        "%%%",
        "é",
        cursor[:-1],
        cursor + "A",
        cursor + "=",
        cursor.swapcase(),
        "A" * 9_000,
        encode([{"at": "44"}, binding]),
        encode([position, "0" * 64]),
        encode([position]),
        encode(position),
        encode(None),
        encode({"position": position, "binding": binding}),
        base64.urlsafe_b64encode(b"[" * 3_000).decode(),
        base64.urlsafe_b64encode(b"\xff\xfe").decode(),
    ]


def test_forged_cursors_are_refused(gateway: Gateway, site: Site) -> None:
    # given
    cursor = gateway.get("/things").body["next_cursor"]
    for forged in forgeries(cursor):
        # when
        reply = gateway.get("/things", query={"cursor": forged})
        # then
        assert (reply.status, reply.code) == (422, "invalid_cursor"), forged
        assert reply.fields == {"cursor": "invalid_cursor"}


def test_empty_cursor_is_refused(gateway: Gateway) -> None:
    assert gateway.get("/things", query={"cursor": ""}).code == "invalid_cursor"
