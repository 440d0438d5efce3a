"""Ports of chat models."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

from threadkeep.domain.conversations import Message, Usage


@dataclass(frozen=True)
class ChatRequest:
    """What a model is asked.

    Args:
        model_id: Model to ask, as in the settings.
        system: System blocks in order.
        messages: Messages in order, the newest user message last.
        max_output_tokens: Most tokens of the answer.
        context: Recalled memory to be read with the newest message; never stored as user text.
        timeout_seconds: Longest wait for the whole answer; past it the call fails.
    """

    model_id: str
    system: Sequence[str]
    messages: Sequence[Message]
    max_output_tokens: int
    context: str = ""
    timeout_seconds: float = 270.0


@dataclass(frozen=True)
class ChatAnswer:
    """What a model answered."""

    content: str
    stop_reason: str
    usage: Usage
    model_id: str


class ChatModel(Protocol):
    """A chat model behind one way of asking."""

    def answer(self, request: ChatRequest) -> ChatAnswer:
        """Answer once.

        Raises:
            ModelError: The model does not answer (``retryable`` in its extra members).
        """
        ...


class TokenCounter(Protocol):
    """Counts tokens without asking a provider."""

    def count(self, text: str, model_id: str) -> int:
        """Return a count that is never under 0.95 of the model's own."""
        ...
