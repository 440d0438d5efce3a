"""Chromium, and accounts to sign in with."""

from __future__ import annotations

import shutil
from typing import TYPE_CHECKING, Any
from uuid import uuid4

import pytest
from playwright.sync_api import Browser, Page, sync_playwright

from local.seed import create_user
from tests.e2e.console import Account

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    import httpx

    from local.stack import User
    from tests.conftest import RunningStack

type Api = Callable[[User | None], httpx.Client]

CHROMIUM = ("chromium", "chromium-browser", "google-chrome")
FLAGS = ["--disable-gpu", "--disable-quic", "--disable-sync"]


@pytest.fixture(scope="module")
def chromium() -> Iterator[Browser]:
    """Return a browser; while it lives, this thread counts as inside of an event loop."""
    executable = next(filter(None, map(shutil.which, CHROMIUM)), None)
    assert executable, "local/setup.sh browser installs Chromium"
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=executable, args=FLAGS)
        yield browser
        browser.close()


@pytest.fixture
def new_page(chromium: Browser) -> Iterator[Callable[..., Page]]:
    """Return a maker of pages, each in a browser of its own that nobody has used."""
    contexts = []

    def make(**options: Any) -> Page:
        contexts.append(chromium.new_context(locale="en-GB", **options))
        return contexts[-1].new_page()

    yield make
    for context in contexts:
        context.close()


@pytest.fixture
def seeded(stack: RunningStack, api: Api) -> Callable[[str], Account]:
    """Return the accounts of the users that a new stack has."""

    def account(name: str) -> Account:
        return Account(name, stack.stack.config.passwords[name], api(stack.addresses.users[name]))

    return account


@pytest.fixture
def someone(stack: RunningStack, api: Api) -> Account:
    """Return the account of a user that no other test has."""
    name, password = f"console-{uuid4().hex[:12]}", "Console-test-1"
    create_user(stack.stack.clients, stack.stack.outputs["UserPoolId"], name, password)
    return Account(name, password, api(stack.stack.sign_in(name, password)))
