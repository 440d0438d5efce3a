"""The parts of turning a transcript into a provider's messages that all providers share."""

from __future__ import annotations

from typing import TYPE_CHECKING

from threadkeep.domain.conversations import Role

if TYPE_CHECKING:
    from collections.abc import Iterator

    from threadkeep.domain.conversations import Message
    from threadkeep.ports import ChatRequest


def messages_with_text(request: ChatRequest) -> Iterator[tuple[Message, str]]:
    """Yield each message with the text to send: recalled memory stands before the newest user text.

    It stands nowhere else, so that all that precedes the newest user message stays byte-identical
    from turn to turn and providers can cache it.
    """
    newest = max(
        (at for at, message in enumerate(request.messages) if message.role is Role.USER),
        default=None,
    )
    for at, message in enumerate(request.messages):
        if at == newest and request.context.strip():
            yield message, f"{request.context}\n\n{message.content}"
        else:
            yield message, message.content


def model_name(model_id: str) -> str:
    """Return a model's name at its provider: ``bedrock:a.b-v1:0`` is ``a.b-v1:0`` there."""
    return model_id.partition(":")[2]
