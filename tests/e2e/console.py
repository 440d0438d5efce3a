"""People who use the console: their account, and their way through the hosted sign-in page."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from playwright.sync_api import Page, expect

if TYPE_CHECKING:
    import httpx

    from tests.conftest import RunningStack

expect.set_options(timeout=30_000)  # a cold function on a busy machine


@dataclass(frozen=True)
class Account:
    """Someone who signs in at the hosted page.

    Args:
        name: User name there.
        password: Password there.
        http: The API as this user.
    """

    name: str
    password: str
    http: httpx.Client

    def remember(self, name: str, **fields: Any) -> str:
        """Create an entity through the API and return its id."""
        draft = {"name": name, "entity_type": "fact", **fields}
        answer = self.http.post("/memories/entities", json=draft)
        assert answer.status_code == 201, answer.text
        return str(answer.json()["id"])


def sign_in(page: Page, stack: RunningStack, account: Account, path: str = "") -> None:
    """Go to the console, or a path of it, and through the hosted page."""
    page.goto(stack.addresses.console_url + path)
    page.get_by_role("button", name="Sign in").click()
    page.get_by_label("Username").fill(account.name)
    page.get_by_label("Password").fill(account.password)
    page.get_by_role("button", name="Sign in").click()
    expect(page.get_by_role("button", name="Sign out")).to_be_visible()
