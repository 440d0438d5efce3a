"""Ports of agents and site settings."""

from collections.abc import Mapping, Sequence
from typing import Any, Protocol

from threadkeep.domain.agents import Agent


class AgentStore(Protocol):
    """Agents: private to their owner, or shared when their live configuration says so."""

    def get(self, user_id: str, agent_id: str) -> Agent | None:
        """Read an own or shared agent.

        Of someone else's shared agent only the live configuration is known: it stands for the draft
        too.
        """
        ...

    def list(self, user_id: str) -> Sequence[Agent]:
        """Return own and shared agents, each once, newest first."""
        ...

    def put(self, agent: Agent, *, expected_version: int | None) -> None:
        """Store an agent in its owner's partition and, when shared, for everyone.

        Raises:
            ConflictError: The stored version is not ``expected_version`` (None: it must not exist).
        """
        ...

    def delete(self, agent: Agent) -> None:
        """Remove an agent everywhere; does nothing if it is gone.

        Raises:
            ConflictError: The stored version is not that of ``agent``.
        """
        ...


class SettingsStore(Protocol):
    """Site settings that administrators change at run time."""

    def all(self) -> Mapping[str, Any]:
        """Return the values that were set, by key."""
        ...

    def put(self, key: str, value: Any) -> None:
        """Set a value."""
        ...

    def reset(self, keys: Sequence[str]) -> None:
        """Remove values, so that the defaults hold again."""
        ...
