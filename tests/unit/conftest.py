"""Unit tests reach nothing outside of the process."""

import pytest
from pytest_socket import disable_socket


@pytest.fixture(autouse=True)
def no_network() -> None:
    """Shut sockets; those that an event loop wakes itself with stay open."""
    disable_socket(allow_unix_socket=True)
