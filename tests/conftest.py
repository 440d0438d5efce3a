"""What tests share that need more than this process: the deployed stack and OpenSearch."""

import os
import tempfile
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from uuid import uuid4

import httpx
import pytest

from local.config import Config, free_ports
from local.opensearch.__main__ import HOME as OPENSEARCH_HOME
from local.opensearch.install import find_java, install
from local.opensearch.node import Node
from local.stack import Addresses, Stack, User

REUSE = "THREADKEEP_STACK"


@dataclass(frozen=True)
class RunningStack:
    """A stack that serves.

    Args:
        addresses: Where, and the seeded users.
        stack: Its clients, outputs and configuration.
    """

    addresses: Addresses
    stack: Stack

    def new_user(self, *, admin: bool = False) -> User:
        """Return a user that no other test has."""
        return self.stack.add_user(f"user-{uuid4().hex[:12]}", admin=admin)


@pytest.fixture(scope="session")
def stack() -> Iterator[RunningStack]:
    """Deploy the template to an emulator of this run's own and serve it.

    With ``THREADKEEP_STACK=running`` the stack of ``make up`` is used instead, which is quicker
    while working on one test.
    """
    if os.environ.get(REUSE) == "running":
        running = Stack(Config.default())
        yield RunningStack(running.attach(), running)
        return
    with tempfile.TemporaryDirectory(prefix="threadkeep-") as folder:
        own = Stack(Config.throwaway(Path(folder)))
        try:
            yield RunningStack(own.start(), own)
        finally:
            own.stop()


@pytest.fixture
def api(stack: RunningStack) -> Iterator[Callable[[User | None], httpx.Client]]:
    """Return a maker of HTTP clients of the API, below ``/api/v1``, for a user or for nobody."""
    with ExitStack() as clients:

        def client_of(user: User | None) -> httpx.Client:
            headers = {"Authorization": f"Bearer {user.token}"} if user else {}
            base_url = f"{stack.addresses.api_url}/api/v1"
            return clients.enter_context(
                httpx.Client(base_url=base_url, headers=headers, timeout=60)
            )

        yield client_of


@pytest.fixture(scope="session")
def opensearch_url() -> Iterator[str]:
    """Address of a real OpenSearch: that of ``OPENSEARCH_URL``, else a node of this run's own.

    One that can not be started is an error, never a skip.
    """
    url = os.environ.get("OPENSEARCH_URL")
    if url:
        yield url
        return
    node = Node(OPENSEARCH_HOME, free_ports(1)[0])
    node.start(find_java(), install(OPENSEARCH_HOME))
    try:
        yield node.url
    finally:
        node.stop()
