"""Agents: who answers a chat, with which model, prompt and memory."""

from enum import StrEnum
from typing import Annotated, Literal

from pydantic import Field, StringConstraints

from threadkeep.domain.types import (
    Description,
    Id,
    MessageText,
    Model,
    Name,
    NullIsAbsent,
    Share,
    UtcTime,
)

IMPORTANCE_LEVELS = {"low": 0.2, "medium": 0.5, "high": 0.8}
ModelId = Annotated[str, StringConstraints(min_length=1, max_length=200)]
Iterations = Annotated[int, Field(ge=1, le=200)]


class Visibility(StrEnum):
    """Who sees an agent: its owner, or everyone once it is published."""

    PRIVATE = "private"
    SHARED = "shared"


class MemoryConfig(Model):
    """How an agent recalls and learns.

    ``retrieval_mode`` and ``recency_weight`` left out take the service's own defaults, which the
    retrieval benchmark chose.
    """

    max_memories_per_retrieval: Annotated[int, Field(ge=1, le=50), NullIsAbsent()] = 10
    auto_extract: Annotated[bool, NullIsAbsent()] = True
    retrieval_mode: Literal["semantic", "lexical", "hybrid"] | None = None
    recency_weight: Share | None = None
    half_life_days: float | None = Field(default=None, gt=0, allow_inf_nan=False)
    max_depth: Annotated[int, Field(ge=0, le=3), NullIsAbsent()] = 1
    importance_threshold: Annotated[Literal["low", "medium", "high"] | Share, NullIsAbsent()] = (
        "low"
    )
    custom_instructions: Annotated[Description, NullIsAbsent()] = ""

    @property
    def least_importance(self) -> float:
        """The threshold as a number in 0–1."""
        level = self.importance_threshold
        return IMPORTANCE_LEVELS[level] if isinstance(level, str) else level


class AgentConfig(Model):
    """What an agent's owner sets; the draft and the live copy each hold one."""

    name: Name
    description: Annotated[Description, NullIsAbsent()] = ""
    model_id: ModelId | None = Field(
        default=None, description="Without one: the service's default model."
    )
    system_prompt: Annotated[MessageText | Literal[""], NullIsAbsent()] = ""
    persona: Annotated[Description, NullIsAbsent()] = ""
    duties: Annotated[Description, NullIsAbsent()] = ""
    max_iterations: Annotated[Iterations, NullIsAbsent()] = 5
    visibility: Annotated[Visibility, NullIsAbsent()] = Visibility.PRIVATE
    enable_memory: Annotated[bool, NullIsAbsent()] = False
    index_turns: bool | None = Field(
        default=None, description="Whether the user's own turns become searchable; on with memory."
    )
    memory_config: Annotated[MemoryConfig, NullIsAbsent()] = MemoryConfig()

    @property
    def indexes_turns(self) -> bool:
        """Whether the user's own turns become searchable episodes."""
        return self.enable_memory if self.index_turns is None else self.index_turns


class Agent(Model):
    """An agent with its draft and, once published, its live configuration."""

    id: Id
    owner_id: str
    draft: AgentConfig
    live: AgentConfig | None = None
    created_at: UtcTime
    updated_at: UtcTime
    version: int = 1

    @property
    def is_published(self) -> bool:
        """Whether it can answer a chat."""
        return self.live is not None

    @property
    def has_draft(self) -> bool:
        """Whether there are edits that are not live yet."""
        return self.live != self.draft

    @property
    def is_shared(self) -> bool:
        """Whether others can use it: what counts is the live configuration."""
        return self.live is not None and self.live.visibility is Visibility.SHARED


class AgentChanges(Model):
    """The body of a PUT: the named fields are replaced in the draft, nested ones as a whole.

    Null brings a field back to its default; ``name`` has none and stays as it is.
    """

    name: Name | None = None
    description: Description | None = None
    model_id: ModelId | None = None
    system_prompt: MessageText | Literal[""] | None = None
    persona: Description | None = None
    duties: Description | None = None
    max_iterations: Iterations | None = None
    visibility: Visibility | None = None
    enable_memory: bool | None = None
    index_turns: bool | None = None
    memory_config: MemoryConfig | None = None


def edit(config: AgentConfig, changes: AgentChanges) -> AgentConfig:
    """Replace the fields of a configuration that ``changes`` names."""
    update = {}
    for field in changes.model_fields_set:
        value = getattr(changes, field)
        if value is not None:
            update[field] = value
        elif field != "name":
            update[field] = AgentConfig.model_fields[field].get_default()
    return config.model_copy(update=update)


class AgentView(AgentConfig):
    """An agent as one caller sees it: its owner the draft, anyone else the live configuration."""

    id: Id
    status: Literal["draft", "published"]
    has_draft: bool
    is_own: bool
    created_at: UtcTime
    updated_at: UtcTime
    version: int


def view_of(agent: Agent, user_id: str) -> AgentView:
    """Show an agent to a caller; who else owns it is not told."""
    is_own = agent.owner_id == user_id
    config = agent.draft if is_own or agent.live is None else agent.live
    return AgentView(
        **dict(config),
        id=agent.id,
        status="published" if agent.is_published else "draft",
        has_draft=is_own and agent.has_draft,
        is_own=is_own,
        created_at=agent.created_at,
        updated_at=agent.updated_at,
        version=agent.version,
    )
