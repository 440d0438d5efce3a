"""Agents in DynamoDB: the draft and the live configuration are a row each.

Together the two can be larger than DynamoDB's 400 KB. Everyone else reads only the live one, of
which a copy stands in the partition of shared agents.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from pynamodb.attributes import NumberAttribute, UnicodeAttribute

from threadkeep.domain.agents import Agent, AgentConfig
from threadkeep.storage import keys
from threadkeep.storage.items import Item, JsonAttribute, TimeAttribute
from threadkeep.storage.transactions import Transaction

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from threadkeep.storage.table import Table

_TEXTS = ("name", "description", "system_prompt", "persona", "duties")
"""Kept as they are: in JSON, quotes and control characters would take a multiple of their size."""


class AgentItem(Item, discriminator="G"):
    """An agent's draft, or (as ``LiveAgentItem``) its live configuration."""

    item_id = UnicodeAttribute()
    owner_id = UnicodeAttribute()
    created_at = TimeAttribute()
    updated_at = TimeAttribute()
    version = NumberAttribute()
    name = UnicodeAttribute()
    description = UnicodeAttribute()
    system_prompt = UnicodeAttribute()
    persona = UnicodeAttribute()
    duties = UnicodeAttribute()
    settings = JsonAttribute()

    @classmethod
    def of(cls, pk: str, sk: str, agent: Agent, config: AgentConfig) -> AgentItem:
        """Make the row of one configuration of an agent."""
        texts: dict[str, Any] = {name: getattr(config, name) for name in _TEXTS}
        return cls(
            pk,
            sk,
            item_id=agent.id,
            owner_id=agent.owner_id,
            created_at=agent.created_at,
            updated_at=agent.updated_at,
            version=agent.version,
            settings=config.model_dump(mode="json", exclude=set(_TEXTS)),
            **texts,
        )

    @property
    def config(self) -> AgentConfig:
        """The configuration."""
        texts = {name: getattr(self, name) for name in _TEXTS}
        return AgentConfig.model_validate({**self.settings, **texts})

    def agent(self, live: LiveAgentItem | None) -> Agent:
        """Return the agent whose draft this is, or whose live configuration stands for it too."""
        return Agent(
            id=self.item_id,
            owner_id=self.owner_id,
            draft=self.config,
            live=live.config if live else None,
            created_at=self.created_at,
            updated_at=self.updated_at,
            version=int(self.version),
        )


class LiveAgentItem(AgentItem, discriminator="GL"):
    """An agent's live configuration."""


class DynamoAgentStore:
    """Agents in their owners' partitions, and copies of what is shared in one that all read.

    Args:
        table: The table.
    """

    def __init__(self, table: Table) -> None:
        self._table = table

    def get(self, user_id: str, agent_id: str) -> Agent | None:
        """Read an own or shared agent, in one batch request."""
        own = keys.user(user_id)
        rows = self._table.batch_get(
            [
                (own, keys.agent(agent_id)),
                (own, keys.agent_live(agent_id)),
                (keys.AGENTS, keys.agent_live(agent_id)),
            ]
        )
        return next(iter(_agents(user_id, rows)), None)

    def list(self, user_id: str) -> Sequence[Agent]:
        """Return own and shared agents, each once, newest first, in two queries per 1 MB."""
        rows = self._table.parallel(
            lambda pk: list(self._table.query(pk, Item.sk.startswith(keys.AGENT))),
            [keys.user(user_id), keys.AGENTS],
        )
        agents = _agents(user_id, [row for found in rows for row in found])
        return sorted(agents, key=lambda agent: (agent.created_at, agent.id), reverse=True)

    def put(self, agent: Agent, *, expected_version: int | None) -> None:
        """Store an agent and, when its live configuration is shared, the copy, in a transaction.

        Raises:
            ConflictError: The stored version is not ``expected_version`` (None: it must not exist).
        """
        own, sk = keys.user(agent.owner_id), keys.agent_live(agent.id)
        transaction = Transaction()
        transaction.put(
            AgentItem.of(own, keys.agent(agent.id), agent, agent.draft),
            Item.pk.does_not_exist()
            if expected_version is None
            else AgentItem.version == expected_version,
        )
        if agent.live is None:
            transaction.delete(own, sk)
        else:
            transaction.put(LiveAgentItem.of(own, sk, agent, agent.live))
        free_or_own = Item.pk.does_not_exist() | (AgentItem.owner_id == agent.owner_id)
        if agent.live is not None and agent.is_shared:
            shared = LiveAgentItem.of(keys.AGENTS, sk, agent, agent.live)
            transaction.put(shared, free_or_own)
        else:
            transaction.delete(keys.AGENTS, sk, free_or_own)
        self._table.transact(transaction.writes)

    def delete(self, agent: Agent) -> None:
        """Remove an agent everywhere; does nothing if it is gone.

        Raises:
            ConflictError: The stored version is not that of ``agent``.
        """
        own, sk = keys.user(agent.owner_id), keys.agent_live(agent.id)
        absent = Item.pk.does_not_exist()
        transaction = Transaction()
        transaction.delete(own, keys.agent(agent.id), absent | (AgentItem.version == agent.version))
        transaction.delete(own, sk)
        transaction.delete(keys.AGENTS, sk, absent | (AgentItem.owner_id == agent.owner_id))
        self._table.transact(transaction.writes)


def _agents(user_id: str, rows: Iterable[Item]) -> list[Agent]:
    """Return the agents that a user sees in rows of the own and the shared partition."""
    drafts: dict[str, AgentItem] = {}
    live: dict[str, LiveAgentItem] = {}
    shared: list[LiveAgentItem] = []
    for row in rows:
        match row:
            case LiveAgentItem(pk=keys.AGENTS):
                shared.append(row)
            case LiveAgentItem():
                live[row.item_id] = row
            case AgentItem():
                drafts[row.item_id] = row
    own = [draft.agent(live.get(agent_id)) for agent_id, draft in drafts.items()]
    return own + [row.agent(row) for row in shared if row.owner_id != user_id]
