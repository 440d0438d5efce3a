"""A chat model that answers what a test says."""

from __future__ import annotations

from typing import TYPE_CHECKING

from threadkeep.domain.conversations import Usage
from threadkeep.ports import ChatAnswer

if TYPE_CHECKING:
    from collections.abc import Callable

    from threadkeep.ports import ChatRequest

type Script = Callable[[ChatRequest], str | ChatAnswer]


class FakeChatModel:
    """Answers by a script and remembers what it was asked.

    Args:
        script: Answers a request, with a text or a whole answer, or raises.

    Attributes:
        requests: All requests, in order.
    """

    def __init__(self, script: Script = lambda _: "Understood.") -> None:
        self._script = script
        self.requests: list[ChatRequest] = []

    def answer(self, request: ChatRequest) -> ChatAnswer:
        """Answer as scripted."""
        self.requests.append(request)
        answer = self._script(request)
        if isinstance(answer, ChatAnswer):
            return answer
        usage = Usage(input_tokens=7, output_tokens=len(answer.split()))
        return ChatAnswer(answer, "end_turn", usage, request.model_id)
