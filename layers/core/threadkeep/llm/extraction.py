"""Reading statements from turns by a chat model, and keeping only those with evidence."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

from threadkeep.domain.conversations import Message, Role, Usage
from threadkeep.errors import ModelError
from threadkeep.llm.dates import zone_of
from threadkeep.llm.evidence import EvidencedReading
from threadkeep.llm.lenient_json import parse
from threadkeep.llm.own_words import own_words
from threadkeep.llm.prompts.extraction import PROMPT_HASH, SYSTEM, Turn, render
from threadkeep.ports import ChatRequest

if TYPE_CHECKING:
    from collections.abc import Sequence
    from datetime import tzinfo

    from threadkeep.domain.extraction import Extraction
    from threadkeep.ports import ChatAnswer, ChatModel

MAX_ANSWER_TOKENS = 4_000
_TIMEOUT_SECONDS = 180.0
_SHORTEST_HALF_CHARS = 200


class PromptExtractor:
    """Asks a chat model for the statements of turns.

    Args:
        chat_model: The model; its id comes with each call.
    """

    def __init__(self, chat_model: ChatModel) -> None:
        self._chat_model = chat_model

    @property
    def prompt_hash(self) -> str:
        """sha256 of the prompt."""
        return PROMPT_HASH

    def extract(
        self,
        model_id: str,
        messages: Sequence[Message],
        *,
        instructions: str,
        zone: str,
        known_names: Sequence[str] = (),
    ) -> tuple[Extraction, Usage]:
        """Read the statements of the user's turns; without words of the user no model is asked.

        An answer that was cut off is asked for again in halves, down to a stretch of text that can
        not be halved.

        Args:
            model_id: Model to ask.
            messages: Turns in order; assistant turns are context.
            instructions: The agent's own rules about what to remember.
            zone: The user's time zone, for "yesterday".
            known_names: Names that the memory holds already.

        Raises:
            ModelError: The model does not answer, or its answer can not be used; never a part of
                the statements as if it were all.
        """
        turns = _turns(messages, zone_of(zone))
        reading = EvidencedReading(turns, zone_of(zone), known_names)
        usage = Usage()
        waiting = [turns]
        while waiting:
            part = waiting.pop(0)
            if not any(turn.role == Role.USER and turn.text.strip() for turn in part):
                continue
            answer = self._ask(model_id, part, instructions, known_names, messages[-1])
            usage = _sum(usage, answer.usage)
            items = _items(answer, model_id)
            if items is None:
                waiting[:0] = _halves(part, answer, model_id)
            elif not reading.add(items):
                raise _unusable(model_id, "has no statement of the right form", answer)
        return reading.extraction(), usage

    def _ask(
        self,
        model_id: str,
        turns: Sequence[Turn],
        instructions: str,
        known_names: Sequence[str],
        last: Message,
    ) -> ChatAnswer:
        text = render(turns, instructions=instructions, known_names=known_names)
        asked = Message(
            id=last.id,
            conversation_id=last.conversation_id,
            seq=1,
            role=Role.USER,
            content=text,
            created_at=last.created_at,
        )
        return self._chat_model.answer(
            ChatRequest(
                model_id=model_id,
                system=(SYSTEM,),
                messages=(asked,),
                max_output_tokens=MAX_ANSWER_TOKENS,
                timeout_seconds=_TIMEOUT_SECONDS,
            )
        )


def _turns(messages: Sequence[Message], zone: tzinfo) -> list[Turn]:
    """Return what is read of each message; its ref is the message id."""
    return [
        Turn(
            ref=message.id,
            role=message.role.value,
            said_at=message.created_at.astimezone(zone),
            text=own_words(message.content),
        )
        for message in messages
        if message.role is not Role.TOOL
    ]


def _items(answer: ChatAnswer, model_id: str) -> dict[str, Any] | None:
    """Return the statements of an answer, or None if it was cut off."""
    parsed = parse(answer.content)
    if answer.stop_reason == "max_tokens" or (parsed is not None and not parsed.complete):
        return None
    if parsed is None or not isinstance(parsed.value, dict):
        raise _unusable(model_id, "holds no JSON object", answer)
    items = parsed.value
    if not all(isinstance(items.get(part) or [], list) for part in ("entities", "relations")):
        raise _unusable(model_id, "holds no lists", answer)
    return items


def _halves(turns: Sequence[Turn], answer: ChatAnswer, model_id: str) -> list[list[Turn]]:
    """Split turns between two of them, or the text of the only one between two sentences."""
    if len(turns) > 1:
        middle = len(turns) // 2
        return [list(turns[:middle]), list(turns[middle:])]
    turn = turns[0]
    if len(turn.text) < 2 * _SHORTEST_HALF_CHARS:
        raise _unusable(model_id, "was cut off", answer)
    middle = len(turn.text) // 2
    ends = [turn.text.rfind(end, _SHORTEST_HALF_CHARS, middle) for end in "\n.!?。！？;；, "]
    cut = next((end + 1 for end in ends if end > 0), middle)
    return [[replace(turn, text=turn.text[:cut])], [replace(turn, text=turn.text[cut:])]]


def _unusable(model_id: str, what: str, answer: ChatAnswer) -> ModelError:
    return ModelError(
        f"the answer of {model_id} {what} (stop reason {answer.stop_reason}, "
        f"{answer.usage.output_tokens} tokens)",
        code="model_answer_unusable",
        extra={"retryable": True},
    )


def _sum(one: Usage, other: Usage) -> Usage:
    return Usage(
        input_tokens=one.input_tokens + other.input_tokens,
        output_tokens=one.output_tokens + other.output_tokens,
        cached_tokens=one.cached_tokens + other.cached_tokens,
    )
