"""Chat models and embedders of any endpoint that speaks OpenAI's API.

https://platform.openai.com/docs/api-reference/chat, /embeddings
"""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any, Literal

from threadkeep.domain.conversations import Message, Role, Usage
from threadkeep.llm.openai_endpoint import OpenAiEndpoint, RefusedError, unusable
from threadkeep.llm.transcripts import messages_with_text, model_name
from threadkeep.llm.vectors import Vector, cut, dimension_mismatch, embed_texts
from threadkeep.ports import ChatAnswer, ChatRequest

if TYPE_CHECKING:
    from collections.abc import Sequence

STOP_REASONS = {
    "stop": "end_turn",
    "length": "max_tokens",
    "tool_calls": "tool_use",
    "function_call": "tool_use",
    "content_filter": "content_filter",
}
_LIMIT, _NEW_LIMIT = "max_tokens", "max_completion_tokens"
_EMBEDDING_SECONDS = 30.0
_EMBEDDING_TEXTS = 96
# The models that take the length of their vectors, and the longest each makes.
_LONGEST = {"text-embedding-3-small": 1536, "text-embedding-3-large": 3072}


class OpenAiChat:
    """Chat models behind ``openai:{name}``."""

    def __init__(self, endpoint: OpenAiEndpoint) -> None:
        self._endpoint = endpoint
        self._limit_names: dict[str, str] = {}

    def answer(self, request: ChatRequest) -> ChatAnswer:
        """Answer once.

        Raises:
            ModelThrottledError: The endpoint limits the rate.
            ModelError: The call failed or the answer can not be used.
        """
        limit = self._limit_names.get(request.model_id, _LIMIT)
        try:
            response = self._ask(request, limit)
        except RefusedError as error:
            # OpenAI's reasoning models want the limit under its new name, older servers under the
            # old one; no list of models stays true for long, so the refusal itself tells.
            if limit == _NEW_LIMIT or _NEW_LIMIT not in error.text:
                raise
            response = self._ask(request, _NEW_LIMIT)
            self._limit_names[request.model_id] = _NEW_LIMIT
        return _answer(response, request.model_id)

    def _ask(self, request: ChatRequest, limit: str) -> dict[str, Any]:
        body = {
            "model": model_name(request.model_id),
            "messages": chat_messages(request),
            limit: request.max_output_tokens,
        }
        return self._endpoint.post(
            "/chat/completions",
            body,
            model_id=request.model_id,
            timeout_seconds=request.timeout_seconds,
        )


def chat_messages(request: ChatRequest) -> list[dict[str, Any]]:
    """Return the system blocks as one system message, then the transcript.

    Many servers take one system message only, and at the beginning.
    """
    system = "\n\n".join(block for block in request.system if block.strip())
    messages: list[dict[str, Any]] = [{"role": "system", "content": system}] if system else []
    return messages + [_message(message, text) for message, text in messages_with_text(request)]


def _message(message: Message, text: str) -> dict[str, Any]:
    if message.role is Role.TOOL:
        return {"role": "tool", "tool_call_id": message.tool_call_id, "content": text}
    mapped: dict[str, Any] = {"role": message.role.value, "content": text}
    if message.tool_calls:
        mapped["tool_calls"] = [
            {
                "id": call.id,
                "type": "function",
                "function": {"name": call.name, "arguments": json.dumps(call.arguments)},
            }
            for call in message.tool_calls
        ]
    return mapped


def _answer(response: dict[str, Any], model_id: str) -> ChatAnswer:
    try:
        choice = response["choices"][0]
        content = choice["message"].get("content") or ""
        finish = choice.get("finish_reason") or "stop"
    except (KeyError, IndexError, TypeError, AttributeError):
        raise unusable(model_id, "without a choice") from None
    if not isinstance(content, str):
        raise unusable(model_id, "content that is no text")
    stop_reason = STOP_REASONS.get(str(finish), "other")
    if not content.strip() and stop_reason != "tool_use":
        raise unusable(model_id, f"without text ({finish})")
    return ChatAnswer(
        content=content,
        stop_reason=stop_reason,
        usage=_usage(response.get("usage")),
        model_id=model_id,
    )


def _usage(usage: object) -> Usage:
    """Read the counts that are there: not every server sends usage, or all of it."""
    counts = usage if isinstance(usage, dict) else {}
    details = counts.get("prompt_tokens_details")
    return Usage(
        input_tokens=_count(counts.get("prompt_tokens")),
        output_tokens=_count(counts.get("completion_tokens")),
        cached_tokens=_count(details.get("cached_tokens")) if isinstance(details, dict) else 0,
    )


def _count(value: object) -> int:
    return value if isinstance(value, int) and value >= 0 else 0


class OpenAiEmbedder:
    """Embeds with ``openai:{name}``.

    Args:
        endpoint: Where the model is.
        model_id: As in the settings.
        dimension: Length that the vectors must have.

    Raises:
        MisconfiguredError: The model does not make vectors of such a length.
    """

    def __init__(self, endpoint: OpenAiEndpoint, model_id: str, dimension: int) -> None:
        longest = _LONGEST.get(model_name(model_id), dimension)
        if dimension > longest:
            raise dimension_mismatch(model_id, dimension, longest)
        self._endpoint = endpoint
        self._model_id = model_id
        self._dimension = dimension

    @property
    def model_id(self) -> str:
        """Name of the model, as in the settings."""
        return self._model_id

    @property
    def dimension(self) -> int:
        """Length of every vector."""
        return self._dimension

    def embed(
        self, texts: Sequence[str], *, purpose: Literal["document", "query"]
    ) -> tuple[Vector, ...]:
        """Embed texts; what would exceed a window of 8,192 tokens is cut off.

        Raises:
            ModelThrottledError: The endpoint limits the rate.
            ModelError: A call failed or its answer can not be used.
            MisconfiguredError: The vectors have another length.
        """
        return embed_texts(
            texts, self._dimension, self._ask, model_id=self._model_id, batch=_EMBEDDING_TEXTS
        )

    def _ask(self, texts: Sequence[str]) -> Sequence[Sequence[float]]:
        name = model_name(self._model_id)
        body: dict[str, Any] = {
            "model": name,
            "input": [cut(text) for text in texts],
            "encoding_format": "float",
        }
        if name in _LONGEST:  # other servers refuse the field
            body["dimensions"] = self._dimension
        response = self._endpoint.post(
            "/embeddings", body, model_id=self._model_id, timeout_seconds=_EMBEDDING_SECONDS
        )
        try:
            rows = sorted(response["data"], key=lambda row: row["index"])
            return [[float(value) for value in row["embedding"]] for row in rows]
        except (KeyError, TypeError, ValueError):
            raise unusable(self._model_id, "no vectors") from None
