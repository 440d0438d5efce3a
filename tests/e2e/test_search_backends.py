"""The deployed stack searching a real OpenSearch: indexing, deletion, an outage and a rebuild."""

from __future__ import annotations

import subprocess
import sys
import tempfile
import time
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import httpx
import pytest
from opensearchpy import OpenSearch

from local import emulator
from local.config import ROOT, Config, free_ports
from local.deploy import STACK_NAME
from local.opensearch.__main__ import HOME
from local.opensearch.install import find_java, install
from local.opensearch.node import Node
from local.stack import Stack

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from local.stack import User

pytestmark = [pytest.mark.stack, pytest.mark.slow]

SECONDS = 60
ALIAS = "threadkeep-local"


@dataclass(frozen=True)
class SearchStack:
    """A stack of its own whose search engine can be stopped.

    Args:
        stack: The stack.
        node: Its OpenSearch.
        data: Where that keeps its data.
    """

    stack: Stack
    node: Node
    data: Path

    @contextmanager
    def client(self, user: User) -> Iterator[httpx.Client]:
        """Open a client of the API for a user."""
        url = f"{self.stack.config.origin}/local/api/v1"
        headers = {"Authorization": f"Bearer {user.token}"}
        with httpx.Client(base_url=url, headers=headers, timeout=60) as client:
            yield client

    def start_node(self) -> None:
        """Start the engine on the data it had."""
        self.node.start(find_java(), install(HOME), self.data)

    def held(self) -> int:
        """Count the live documents that the engine finds."""
        with OpenSearch(self.node.url) as client:
            query = {"query": {"term": {"deleted": False}}}
            return int(client.count(index=ALIAS, body=query)["count"])

    def run_cli(self, *words: str) -> subprocess.CompletedProcess[str]:
        """Run the command line on the deployed stack, as an operator does."""
        environment = {
            **emulator.root_environment(self.stack.config),
            "PYTHONPATH": str(ROOT / "layers/core"),
        }
        command = [sys.executable, "-m", "threadkeep.cli", "--stack", STACK_NAME, *words]
        return subprocess.run(
            command, env=environment, capture_output=True, text=True, check=False, timeout=120
        )


@pytest.fixture(scope="module")
def search_stack() -> Iterator[SearchStack]:
    """Deploy the template with ``SearchBackend=opensearch`` to an emulator of its own."""
    with (
        tempfile.TemporaryDirectory(prefix="threadkeep-") as folder,
        pytest.MonkeyPatch.context() as env,
    ):
        node = Node(HOME, free_ports(1)[0])
        made = SearchStack(
            Stack(Config.throwaway(Path(folder, "stack"))), node, Path(folder, "data")
        )
        made.start_node()
        env.setenv("SEARCH_BACKEND", "opensearch")
        env.setenv("OPENSEARCH_URL", node.url)
        try:
            made.stack.start()
            yield made
        finally:
            made.stack.stop()
            node.stop()


def until(what: Callable[[], bool]) -> None:
    """Wait until something holds: streams and queues take their time."""
    deadline = time.monotonic() + SECONDS
    while not what():
        assert time.monotonic() < deadline, "it did not come true"
        time.sleep(0.2)


def create(client: httpx.Client, name: str) -> str:
    """Create an entity and return its id."""
    answer = client.post("/memories/entities", json={"name": name, "entity_type": "fact"})
    assert answer.status_code == 201, answer.text
    return str(answer.json()["id"])


def search(client: httpx.Client, text: str, **more: Any) -> dict[str, Any]:
    """Search and return the answer."""
    answer = client.post("/memories/search", json={"query": text, **more})
    assert answer.status_code == 200, answer.text
    found: dict[str, Any] = answer.json()
    return found


def names(answer: dict[str, Any]) -> list[str]:
    """Return the names of the entities of an answer."""
    return [entity["name"] for entity in answer["entities"]]


def test_search_runs_on_opensearch_through_an_outage_and_a_rebuild(
    search_stack: SearchStack,
) -> None:
    stack = search_stack.stack
    users = {name: stack.sign_in(name, stack.config.passwords[name]) for name in ("alice", "bob")}
    with search_stack.client(users["alice"]) as alice, search_stack.client(users["bob"]) as bob:
        # given memories of two users, found in the same moment and by their owner only
        for number in range(5):
            create(alice, f"green tea number {number}")
        secret = create(bob, "SMOKE-14806012 green tea")
        assert names(search(bob, "SMOKE-14806012"))[0] == "SMOKE-14806012 green tea"
        before = search_stack.held()
        until(lambda: search_stack.held() >= 6)
        assert before <= 6
        for mode in ("semantic", "lexical", "hybrid"):
            answer = search(alice, "green tea", mode=mode, explain=True)
            assert (answer["backend"], answer["exact"]) == ("opensearch", True)
            assert len(names(answer)) == 5
            assert not [name for name in names(answer) if "SMOKE" in name]
        # when one is deleted, then it is gone at once and from the engine soon
        assert bob.delete(f"/memories/entities/{secret}").status_code == 204
        assert names(search(bob, "SMOKE-14806012", mode="lexical")) == []
        until(lambda: search_stack.held() == 5)
        # when the engine stops, then memories are still written, read and found, and it is told
        search_stack.node.stop()
        late = create(alice, "green tea in the outage")
        assert alice.get(f"/memories/entities/{late}").status_code == 200
        answer = search(alice, "green tea in the outage", mode="hybrid")
        assert names(answer)[0] == "green tea in the outage"
        assert len(names(answer)) == 6
        assert answer["backend"] == "exact"
        # when it is back, then what was written meanwhile gets there
        search_stack.start_node()
        until(lambda: search(alice, "green tea")["backend"] == "opensearch")
        assert len(names(search(alice, "green tea"))) == 6
        # when its index is lost, then an operator builds it anew and nothing is missing
        with OpenSearch(search_stack.node.url) as engine:
            engine.indices.delete(index=f"{ALIAS}-*")
        assert search_stack.run_cli("verify").returncode == 2
        assert search(alice, "green tea")["backend"] == "exact"
        rebuilt = search_stack.run_cli("rebuild", "--all")
        assert rebuilt.returncode == 0, rebuilt.stdout + rebuilt.stderr
        until(lambda: search_stack.run_cli("verify").returncode == 0)
        listed = search_stack.run_cli("generations")
        assert listed.stdout.split() == [listed.stdout.split()[0], "serves"]
        assert len(names(search(alice, "green tea"))) == 6
