"""The pages of the console in Chromium: the list, the drawer, and that all can use them."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING
from uuid import uuid4

import pytest
from playwright.sync_api import Page, Route, expect

from local.config import ROOT
from tests.e2e.console import Account, sign_in

if TYPE_CHECKING:
    from collections.abc import Callable

    from tests.conftest import RunningStack

pytestmark = [pytest.mark.stack, pytest.mark.browser]

AXE = ROOT / "console/node_modules/axe-core/axe.min.js"
WCAG_AA = ["wcag2a", "wcag2aa", "wcag21a", "wcag21aa", "wcag22aa"]
PAGE_SIZE = 50


def violations(page: Page) -> list[str]:
    """Return what axe finds against WCAG 2.2 AA on the page as it is shown."""
    page.evaluate(AXE.read_text())
    found = page.evaluate("tags => axe.run({ runOnly: tags })", WCAG_AA)
    return [
        f"{rule['id']}: {node['target']} {node['failureSummary']}"
        for rule in found["violations"]
        for node in rule["nodes"]
    ]


def test_user_sees_own_memories_and_no_one_elses(
    stack: RunningStack, seeded: Callable[[str], Account], new_page: Callable[..., Page]
) -> None:
    # Given a memory of alice and one of bob
    alice, bob = seeded("alice"), seeded("bob")
    hers, his = f"hers {uuid4().hex[:8]}", f"his {uuid4().hex[:8]}"
    alice.remember(hers, entity_type="preference", description="Buys it whole.", importance=0.8)
    bob.remember(his)
    # When both sign in
    for account, own, other in ((alice, hers, his), (bob, his, hers)):
        page = new_page()
        sign_in(page, stack, account)
        # Then each sees the own one only
        row = page.get_by_role("row").filter(has_text=own)
        expect(row).to_be_visible()
        expect(page.get_by_text(other)).to_have_count(0)
        assert page.url == stack.addresses.console_url  # and no code stays in the address
        if account is alice:
            for text in ("Buys it whole.", "preference", "0.80", "just now"):
                expect(row).to_contain_text(text)


def test_search_filter_and_order_choose_what_is_listed(
    stack: RunningStack, someone: Account, new_page: Callable[..., Page]
) -> None:
    # Given three memories
    someone.remember("zebra crossing", entity_type="location")
    someone.remember("Ümit", entity_type="person", description="Draws a zebra each day.")
    someone.remember("aardvark")
    page = new_page()
    # When an address with a search is opened before signing in
    sign_in(page, stack, someone, "?q=ZEBRA")
    # Then that search is what one sees
    names = page.get_by_role("rowheader").get_by_role("button")
    expect(names).to_have_text(["Ümit", "zebra crossing"])
    expect(page.get_by_role("searchbox")).to_have_value("ZEBRA")
    # And the filter narrows it
    page.get_by_label("Type").select_option("location")
    expect(names).to_have_text(["zebra crossing"])
    page.get_by_label("Type").select_option("goal")
    expect(page.get_by_text("No memory matches")).to_be_visible()
    # And clearing both and ordering by name shows all
    page.get_by_role("button", name="Clear search and filter").click()
    page.get_by_label("Order").select_option("Name")
    expect(names).to_have_text(["aardvark", "zebra crossing", "Ümit"])
    expect(page.get_by_role("searchbox")).to_have_value("")


def test_more_than_a_page_is_shown_on_demand(
    stack: RunningStack, someone: Account, new_page: Callable[..., Page]
) -> None:
    for number in range(PAGE_SIZE + 3):
        someone.remember(f"memory {number:02d}")
    page = new_page()
    sign_in(page, stack, someone, "?sort=name")
    names = page.get_by_role("rowheader")
    expect(names).to_have_count(PAGE_SIZE)
    page.get_by_role("button", name="Show more").click()
    expect(names).to_have_count(PAGE_SIZE + 3)
    assert names.all_inner_texts() == [f"memory {number:02d}" for number in range(PAGE_SIZE + 3)]
    expect(page.get_by_role("button", name="Show more")).to_have_count(0)
    expect(page.get_by_text("53 memories")).to_be_visible()


def test_keyboard_opens_a_memory_follows_its_relation_and_comes_back(
    stack: RunningStack, someone: Account, new_page: Callable[..., Page]
) -> None:
    # Given a person who works somewhere
    ann = someone.remember("Ann", entity_type="person", properties={"desk": {"floor": 3}})
    acme = someone.remember("Acme", entity_type="organization", description="Makes anvils.")
    relation = {"source_entity_id": ann, "target_entity_id": acme, "relation_type": "works_at"}
    assert someone.http.post("/memories/relations", json=relation).status_code == 201
    page = new_page()
    sign_in(page, stack, someone)
    # When the keyboard opens the person
    name = page.get_by_role("button", name="Ann")
    name.focus()
    page.keyboard.press("Enter")
    # Then the drawer shows it, with the relation
    drawer = page.get_by_role("dialog", name="Ann")
    expect(drawer).to_contain_text('"floor": 3')
    expect(drawer.get_by_role("listitem")).to_have_text(["→ works at Acme"])
    # And Tab stays within, so that it reaches the other end
    other = drawer.get_by_role("button", name="Acme")
    for _ in range(5):
        if other.evaluate("element => element === document.activeElement"):
            break
        page.keyboard.press("Tab")
    page.keyboard.press("Enter")
    employer = page.get_by_role("dialog", name="Acme")
    expect(employer).to_contain_text("Makes anvils.")
    expect(employer.get_by_role("listitem")).to_have_text(["← works at Ann"])
    # And the way back leads over the person to the list, where it began
    page.go_back()
    expect(page.get_by_role("dialog", name="Ann")).to_be_visible()
    page.keyboard.press("Escape")
    expect(page.get_by_role("dialog")).to_have_count(0)
    expect(name).to_be_focused()


def test_failure_is_told_and_trying_again_helps(
    stack: RunningStack, someone: Account, new_page: Callable[..., Page]
) -> None:
    # Given an API that refuses the list
    someone.remember("patience")
    problem = {"title": "Conflict", "detail": "Try later.", "code": "conflict", "request_id": "r-7"}

    def refuse(route: Route) -> None:
        headers = {"content-type": "application/problem+json"}
        route.fulfill(status=409, headers=headers, body=json.dumps(problem))

    page = new_page()
    page.route("**/api/v1/memories/entities?*", refuse)
    sign_in(page, stack, someone)
    # When it is read, the reason and the request's id are told
    for text in ("Memories can not be read", "Try later.", "r-7"):
        expect(page.get_by_role("alert")).to_contain_text(text)
    # Then, once it works again, so does the page
    page.unroute("**/api/v1/memories/entities?*")
    page.get_by_role("button", name="Try again").click()
    expect(page.get_by_text("patience")).to_be_visible()


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("width", [1280, 360])
def test_every_state_meets_wcag_aa_and_breaks_no_policy(
    stack: RunningStack,
    someone: Account,
    new_page: Callable[..., Page],
    scheme: str,
    width: int,
) -> None:
    # Given a page that is asked about each of its states
    page = new_page(color_scheme=scheme, viewport={"width": width, "height": 800})
    refused: list[str] = []
    page.on("console", lambda message: refused.append(message.text))
    page.on("pageerror", lambda error: refused.append(str(error)))
    found: dict[str, list[str]] = {}

    def look(state: str) -> None:
        found[state] = violations(page)
        overflow = page.evaluate("document.documentElement.scrollWidth - innerWidth")
        assert overflow <= 0, f"{state} is wider than the window"

    # When it goes through them
    page.goto(stack.addresses.console_url)
    expect(page.get_by_role("button", name="Sign in")).to_be_visible()
    look("signed out")
    sign_in(page, stack, someone)
    expect(page.get_by_text("Nothing is remembered yet")).to_be_visible()
    look("nothing remembered")
    someone.remember("W" * 255, entity_type="custom", description="w" * 2000)
    someone.remember("plain", properties={"a": 1})
    page.reload()
    expect(page.get_by_role("button", name="plain")).to_be_visible()
    look("list")
    page.get_by_role("button", name="plain").click()
    expect(page.get_by_role("dialog")).to_contain_text("Incoming relations")
    look("drawer")
    page.keyboard.press("Escape")
    page.get_by_role("searchbox").fill("no such thing")
    expect(page.get_by_text("No memory matches")).to_be_visible()
    look("no match")
    # Then everyone can read and use all of them
    assert {state: faults for state, faults in found.items() if faults} == {}
    # And nothing was refused by the content security policy
    assert [
        text for text in refused if "Content Security Policy" in text or "Trusted" in text
    ] == []
