"""Assembling a request: what the model reads, within what it has room for."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import timedelta
from typing import TYPE_CHECKING

from threadkeep.domain.prompting import recall_block
from threadkeep.domain.turns import TURN_SECONDS, Recall, for_model
from threadkeep.errors import ValidationError
from threadkeep.ports import ChatRequest

if TYPE_CHECKING:
    from collections.abc import Sequence
    from datetime import datetime

    from threadkeep.domain.agents import AgentConfig
    from threadkeep.domain.budget import Budget
    from threadkeep.domain.conversations import Message
    from threadkeep.domain.prompting import Block
    from threadkeep.domain.site_settings import SiteSettings
    from threadkeep.domain.turns import TurnRequest
    from threadkeep.ports import TokenCounter
    from threadkeep.services.retrieval import Retrieval

MESSAGE_OVERHEAD = 4
"""Tokens that a message takes beside its text, as OpenAI-compatible providers count them."""


@dataclass(frozen=True)
class Turn:
    """What is fixed once a turn was accepted.

    Args:
        user_id: Who chats.
        agent_id: Agent that answers.
        agent: Its live configuration.
        request: What the user sent.
        model_id: Model that answers.
        budget: How the model's window is divided.
        blocks: System prompt; it stays the same from turn to turn.
        site: Site settings at the start.
        started: When the turn was accepted.
    """

    user_id: str
    agent_id: str
    agent: AgentConfig
    request: TurnRequest
    model_id: str
    budget: Budget
    blocks: tuple[Block, ...]
    site: SiteSettings
    started: datetime

    @property
    def deadline(self) -> datetime:
        """When the turn must have ended."""
        return self.started + timedelta(seconds=TURN_SECONDS)


class Assembly:
    """Puts a request together and counts it before anyone is asked."""

    def __init__(self, counter: TokenCounter, retrieval: Retrieval) -> None:
        self._counter = counter
        self._retrieval = retrieval

    def prefix_tokens(self, turn: Turn) -> int:
        """Return the tokens of the stable prefix."""
        return sum(self._counter.count(block.text, turn.model_id) for block in turn.blocks)

    def require_room(self, turn: Turn, history: Sequence[Message], *, reason: str) -> int:
        """Count a request without recalled memory.

        Nothing is ever cut off silently: without compression, a conversation that has grown too
        long can not go on.

        Args:
            turn: The turn.
            history: Messages before the new one.
            reason: Why there is nothing to be done if it is too long.

        Returns:
            Its tokens.

        Raises:
            ValidationError: It is over the input budget (``context_length_exceeded``).
        """
        texts = [*(message.content for message in history), turn.request.message]
        used = self.prefix_tokens(turn) + sum(
            self._counter.count(text, turn.model_id) + MESSAGE_OVERHEAD for text in texts
        )
        budget = turn.budget
        if used > budget.input_budget:
            raise ValidationError(
                f"The request takes {used} tokens, and the model {turn.model_id} has room for"
                f" {budget.input_budget}.",
                code="context_length_exceeded",
                extra={
                    "error": "ContextLengthError",
                    "retryable": False,
                    "reason": reason,
                    "max_tokens": budget.input_budget,
                    "actual_tokens": used,
                    "context_limit": budget.window,
                },
            )
        return used

    def recall(self, turn: Turn, conversation_id: str, *, room: int) -> tuple[str, Recall]:
        """Recall what fits beside everything else: memory never crowds the conversation out.

        Returns:
            The block that the model reads with the user's message, and what is in it.
        """
        if not turn.agent.enable_memory:
            return "", Recall()
        found = self._retrieval.recall(
            turn.user_id,
            turn.request.message,
            turn.agent.memory_config,
            index_turns=turn.agent.indexes_turns,
            conversation_id=conversation_id,
        )
        return recall_block(
            found,
            most_tokens=min(turn.budget.recall, room),
            count=lambda text: self._counter.count(text, turn.model_id),
        )

    def request(
        self, turn: Turn, messages: Sequence[Message], context: str, *, timeout_seconds: float
    ) -> ChatRequest:
        """Return what the model is asked: system prompt, messages, and recall with the newest."""
        return ChatRequest(
            model_id=turn.model_id,
            system=[block.text for block in turn.blocks],
            messages=for_model(messages),
            max_output_tokens=turn.budget.output_reserve,
            context=context,
            timeout_seconds=timeout_seconds,
        )
