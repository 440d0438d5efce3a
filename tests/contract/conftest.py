"""Fixtures of the contract suites."""

from collections.abc import Iterator

import pytest

from tests.contract.emulated import ROOT_USER, new_table, running_emulator
from tests.fakes.memory import FakeMemoryStore
from threadkeep.ports import MemoryStore
from threadkeep.storage.memory import DynamoMemoryStore
from threadkeep.storage.table import Table


@pytest.fixture(scope="session")
def emulator(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """Address of an AWS emulator, whose root user the environment names from then on."""
    with pytest.MonkeyPatch.context() as environment:
        for name, value in ROOT_USER.items():
            environment.setenv(name, value)
        environment.delenv("AWS_PROFILE", raising=False)
        with running_emulator(tmp_path_factory.mktemp("emulator")) as url:
            yield url


@pytest.fixture
def table(emulator: str) -> Table:
    """An empty table on the emulator."""
    return new_table(emulator)


@pytest.fixture(params=["fake", "dynamodb"])
def memory_store(request: pytest.FixtureRequest) -> MemoryStore:
    """Every memory store in turn, empty."""
    if request.param == "fake":
        return FakeMemoryStore()
    return DynamoMemoryStore(request.getfixturevalue("table"))
