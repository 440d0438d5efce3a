"""In-memory agent store."""

from __future__ import annotations

from threading import RLock
from typing import TYPE_CHECKING

from threadkeep.errors import ConflictError

if TYPE_CHECKING:
    from collections.abc import Sequence

    from threadkeep.domain.agents import Agent


class FakeAgentStore:
    """Agents in a dictionary, one lock around every call."""

    def __init__(self) -> None:
        self._agents: dict[tuple[str, str], Agent] = {}
        self._lock = RLock()

    def get(self, user_id: str, agent_id: str) -> Agent | None:
        """Read an own or shared agent."""
        return next((a for a in self._visible(user_id) if a.id == agent_id), None)

    def list(self, user_id: str) -> Sequence[Agent]:
        """Return own and shared agents, newest first."""
        return sorted(self._visible(user_id), key=lambda a: (a.created_at, a.id), reverse=True)

    def put(self, agent: Agent, *, expected_version: int | None) -> None:
        """Store an agent if its stored version is the expected one."""
        key = (agent.owner_id, agent.id)
        with self._lock:
            stored = self._agents.get(key)
            if (stored.version if stored else None) != expected_version:
                raise ConflictError("The agent has changed.")
            self._require_free(agent)
            self._agents[key] = agent

    def delete(self, agent: Agent) -> None:
        """Remove an agent if it is still as given."""
        key = (agent.owner_id, agent.id)
        with self._lock:
            stored = self._agents.get(key)
            if stored is not None and stored.version != agent.version:
                raise ConflictError("The agent has changed.")
            self._require_free(agent)
            self._agents.pop(key, None)

    def _require_free(self, agent: Agent) -> None:
        for other in self._agents.values():
            if other.id == agent.id and other.owner_id != agent.owner_id and other.is_shared:
                raise ConflictError("The agent's id is another's.")

    def _visible(self, user_id: str) -> Sequence[Agent]:
        with self._lock:
            agents = list(self._agents.values())
        own = [agent for agent in agents if agent.owner_id == user_id]
        return own + [
            agent.model_copy(update={"draft": agent.live})
            for agent in agents
            if agent.is_shared and agent.owner_id != user_id
        ]
