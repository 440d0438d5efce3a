"""Agents: edits go to the draft, publishing makes them live."""

from __future__ import annotations

from typing import TYPE_CHECKING

from threadkeep.domain.agents import Agent, AgentConfig, edit, view_of
from threadkeep.domain.versions import require_version
from threadkeep.errors import ConflictError, ForbiddenError, NotFoundError, ValidationError
from threadkeep.ports import Page
from threadkeep.services.retry import on_conflict

if TYPE_CHECKING:
    from collections.abc import Callable, Collection

    from threadkeep.domain.agents import AgentChanges, AgentView
    from threadkeep.domain.models import Models
    from threadkeep.ports import AgentStore, Clock, Ids, PageRequest


class Agents:
    """Use cases of agents."""

    def __init__(self, store: AgentStore, models: Models, clock: Clock, ids: Ids) -> None:
        self._store = store
        self._models = models
        self._clock = clock
        self._ids = ids

    def create(self, user_id: str, config: AgentConfig) -> AgentView:
        """Store a new agent as a draft.

        Raises:
            ValidationError: The model is unknown (``unknown_model``) or its window too small.
        """
        require_model(self._models, config)
        now = self._clock.now()
        agent = Agent(
            id=self._ids.new(), owner_id=user_id, draft=config, created_at=now, updated_at=now
        )
        self._store.put(agent, expected_version=None)
        return view_of(agent, user_id)

    def get(self, user_id: str, agent_id: str) -> AgentView:
        """Return an own or shared agent.

        Raises:
            NotFoundError: There is none, or it is someone else's and private.
        """
        return view_of(self._read(user_id, agent_id), user_id)

    def list(self, user_id: str, page: PageRequest) -> Page[AgentView]:
        """List own and shared agents, newest first."""
        agents = self._store.list(user_id)
        start = page.skip
        if page.position is not None:
            last = (page.position["created_at"], page.position["id"])
            start = sum(1 for agent in agents if _place(agent) >= last)
        cut = agents[start : start + page.limit]
        more = start + len(cut) < len(agents)
        created_at, agent_id = _place(cut[-1]) if cut else ("", "")
        return Page(
            [view_of(agent, user_id) for agent in cut],
            {"created_at": created_at, "id": agent_id} if more else None,
            len(agents) if page.with_total else None,
        )

    def edit(
        self, user_id: str, agent_id: str, changes: AgentChanges, if_match: Collection[int] | None
    ) -> AgentView:
        """Replace fields of the draft; what is live stays as it is.

        Raises:
            NotFoundError: There is no such agent for this user.
            ForbiddenError: It is someone else's (``not_agent_owner``).
            ValidationError: The model is unknown or its window too small.
            PreconditionFailedError: It has another version than ``if_match`` names.
        """

        def decide(agent: Agent) -> Agent:
            draft = edit(agent.draft, changes)
            require_model(self._models, draft)
            return agent.model_copy(update={"draft": draft})

        return self._change(user_id, agent_id, if_match, decide)

    def publish(self, user_id: str, agent_id: str, if_match: Collection[int] | None) -> AgentView:
        """Make the draft live.

        Raises:
            NotFoundError: There is no such agent for this user.
            ForbiddenError: It is someone else's (``not_agent_owner``).
            ValidationError: The model is not known any more.
            PreconditionFailedError: It has another version than ``if_match`` names.
        """

        def decide(agent: Agent) -> Agent:
            require_model(self._models, agent.draft)
            return agent.model_copy(update={"live": agent.draft})

        return self._change(user_id, agent_id, if_match, decide)

    def delete(self, user_id: str, agent_id: str, if_match: Collection[int] | None) -> None:
        """Delete an own agent; conversations held with it stay.

        Raises:
            NotFoundError: There is no such agent for this user.
            ForbiddenError: It is someone else's (``not_agent_owner``).
            PreconditionFailedError: It has another version than ``if_match`` names.
        """

        def attempt() -> None:
            agent = self._own(user_id, agent_id)
            require_version(agent.version, if_match)
            self._store.delete(agent)

        on_conflict(self._clock, attempt)

    def live(self, user_id: str, agent_id: str) -> AgentConfig:
        """Return the configuration with which an agent answers a user.

        Raises:
            NotFoundError: There is no such agent for this user.
            ConflictError: It was never published (``agent_not_published``).
        """
        agent = self._read(user_id, agent_id)
        if agent.live is None:
            raise ConflictError("Publish the agent first.", code="agent_not_published")
        return agent.live

    def _change(
        self,
        user_id: str,
        agent_id: str,
        if_match: Collection[int] | None,
        decide: Callable[[Agent], Agent],
    ) -> AgentView:
        def attempt() -> Agent:
            agent = self._own(user_id, agent_id)
            require_version(agent.version, if_match)
            changed = decide(agent)
            if changed == agent:
                return agent
            stamps = {"updated_at": self._clock.now(), "version": agent.version + 1}
            changed = changed.model_copy(update=stamps)
            self._store.put(changed, expected_version=agent.version)
            return changed

        return view_of(on_conflict(self._clock, attempt), user_id)

    def _read(self, user_id: str, agent_id: str) -> Agent:
        agent = self._store.get(user_id, agent_id)
        if agent is None:
            raise NotFoundError("There is no such agent.")
        return agent

    def _own(self, user_id: str, agent_id: str) -> Agent:
        agent = self._read(user_id, agent_id)
        if agent.owner_id != user_id:
            raise ForbiddenError("Only its owner changes an agent.", code="not_agent_owner")
        return agent


def require_model(models: Models, config: AgentConfig) -> str:
    """Return the id of the model that an agent uses.

    Raises:
        ValidationError: This deployment has no such model (``unknown_model``), or its window leaves
            no room for a request (``model_window_too_small``).
    """
    model_id = config.model_id or models.default
    if not models.knows(model_id):
        raise _model_error("unknown_model", "names no model of this deployment")
    budget = models.budget(model_id)
    if budget.input_budget <= 0:
        raise _model_error(
            "model_window_too_small",
            f"has a window of {budget.window} tokens, which leaves no room for a request",
        )
    return model_id


def _place(agent: Agent) -> tuple[str, str]:
    return agent.created_at.isoformat(timespec="microseconds"), agent.id


def _model_error(code: str, detail: str) -> ValidationError:
    return ValidationError(
        f"model_id {detail}.",
        code=code,
        fields=[{"field": "model_id", "code": code, "detail": detail}],
    )
