"""Signing in to the console and out of it, in Chromium."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from playwright.sync_api import Page, expect

from tests.e2e.console import Account, sign_in

if TYPE_CHECKING:
    from collections.abc import Callable

    from tests.conftest import RunningStack

pytestmark = [pytest.mark.stack, pytest.mark.browser]


def test_wrong_password_signs_nobody_in(
    stack: RunningStack, seeded: Callable[[str], Account], new_page: Callable[..., Page]
) -> None:
    page = new_page()
    page.goto(stack.addresses.console_url)
    page.get_by_role("button", name="Sign in").click()
    page.get_by_label("Username").fill("alice")
    page.get_by_label("Password").fill(seeded("bob").password)
    page.get_by_role("button", name="Sign in").click()
    expect(page.get_by_text("Incorrect username or password")).to_be_visible()
    page.goto(stack.addresses.console_url)
    expect(page.get_by_role("button", name="Sign in")).to_be_visible()


def test_forged_return_signs_nobody_in(stack: RunningStack, new_page: Callable[..., Page]) -> None:
    page = new_page()
    page.goto(f"{stack.stack.config.origin}/callback?code=forged&state=forged")
    expect(page.get_by_role("alert")).to_contain_text("Signing in did not work")
    assert page.url == stack.addresses.console_url
    assert page.evaluate("sessionStorage.length") == 0


def test_other_name_of_the_server_leads_to_the_origin_that_sign_in_knows(
    stack: RunningStack, new_page: Callable[..., Page]
) -> None:
    page = new_page()
    page.goto(f"http://127.0.0.1:{stack.stack.config.ports.origin}/app/memories?q=tea")
    page.wait_for_url(f"{stack.addresses.console_url}?q=tea")
    expect(page.get_by_role("button", name="Sign in")).to_be_visible()


def test_signing_out_leaves_nothing_behind(
    stack: RunningStack, someone: Account, new_page: Callable[..., Page]
) -> None:
    # Given someone who looked at a memory
    someone.remember("the secret garden")
    page = new_page()
    sign_in(page, stack, someone)
    expect(page.get_by_text("the secret garden")).to_be_visible()
    # When they sign out
    page.get_by_role("button", name="Sign out").click()
    # Then neither going back nor loading again shows it
    expect(page.get_by_role("button", name="Sign in")).to_be_visible()
    assert page.evaluate("sessionStorage.length") == 0
    for leave in (page.go_back, page.reload):
        leave()
        page.wait_for_load_state()
        expect(page.get_by_role("button", name="Sign in")).to_be_visible()
        expect(page.get_by_text("the secret garden")).to_have_count(0)


def test_session_that_the_api_refuses_ends_at_the_sign_in_page(
    stack: RunningStack, someone: Account, new_page: Callable[..., Page]
) -> None:
    # Given someone whose tokens are no longer taken
    someone.remember("gone by now")
    page = new_page()
    sign_in(page, stack, someone)
    page.evaluate(
        """() => {
          const [key] = Object.keys(sessionStorage);
          const user = { ...JSON.parse(sessionStorage[key]), refresh_token: "forged" };
          user.id_token = user.id_token.replace(/[^.]+$/, "forged");
          sessionStorage[key] = JSON.stringify(user);
        }"""
    )
    # When the page is loaded again
    page.reload()
    # Then they have to sign in, and see nothing before
    expect(page.get_by_role("button", name="Sign in")).to_be_visible()
    expect(page.get_by_text("gone by now")).to_have_count(0)
    assert page.evaluate("sessionStorage.length") == 0
