"""Chat models of Amazon Bedrock, asked by Converse.

https://docs.aws.amazon.com/bedrock/latest/APIReference/API_runtime_Converse.html
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

from threadkeep.domain.conversations import Message, Role, Usage
from threadkeep.errors import ModelError
from threadkeep.llm.bedrock_runtime import BedrockRuntime
from threadkeep.llm.transcripts import messages_with_text, model_name
from threadkeep.ports import ChatAnswer, ChatRequest

if TYPE_CHECKING:
    from collections.abc import Iterable

    from mypy_boto3_bedrock_runtime.type_defs import (
        ContentBlockOutputTypeDef,
        ContentBlockUnionTypeDef,
        ConverseRequestTypeDef,
        ConverseResponseTypeDef,
        MessageUnionTypeDef,
        SystemContentBlockTypeDef,
        TokenUsageTypeDef,
        ToolConfigurationTypeDef,
    )

STOP_REASONS = {
    "end_turn": "end_turn",
    "stop_sequence": "end_turn",
    "max_tokens": "max_tokens",
    "tool_use": "tool_use",
    "guardrail_intervened": "content_filter",
    "content_filtered": "content_filter",
    "model_context_window_exceeded": "context_window_exceeded",
}

# Which models take cache points in system blocks (Bedrock user guide, "Prompt caching"); the id may
# be a model's own, an inference profile's, or an ARN ending in either.
_TAKES_CACHE_POINTS = re.compile(
    r"anthropic\.claude-(?:3-5-haiku|3-5-sonnet-20241022-v2|3-7-|(?:sonnet|opus|haiku)-\d)"
    r"|amazon\.nova-"
)


class BedrockChat:
    """Chat models behind ``bedrock:{model id, inference profile or ARN}``."""

    def __init__(self, runtime: BedrockRuntime | None = None) -> None:
        self._runtime = runtime or BedrockRuntime()

    def answer(self, request: ChatRequest) -> ChatAnswer:
        """Answer once.

        Raises:
            ModelThrottledError: Bedrock limits the rate.
            ModelError: The call failed or the answer can not be used.
        """
        body = converse_request(request)
        response = self._runtime.call(
            lambda client: client.converse(**body),
            model_id=request.model_id,
            timeout_seconds=request.timeout_seconds,
        )
        return _answer(response, request.model_id)


def converse_request(request: ChatRequest) -> ConverseRequestTypeDef:
    """Return the call's arguments: system blocks up to a cache point, then the transcript."""
    name = model_name(request.model_id)
    body: ConverseRequestTypeDef = {
        "modelId": name,
        "messages": _messages(request),
        "inferenceConfig": {"maxTokens": request.max_output_tokens},
    }
    system: list[SystemContentBlockTypeDef] = [
        {"text": block} for block in request.system if block.strip()
    ]
    if system:
        if _TAKES_CACHE_POINTS.search(name):
            system.append({"cachePoint": {"type": "default"}})
        body["system"] = system
    tools = _tools_of(request.messages)
    if tools is not None:
        body["toolConfig"] = tools
    return body


def _messages(request: ChatRequest) -> list[MessageUnionTypeDef]:
    """Map the transcript; neighbours of one role become one message, as Converse demands.

    The results of parallel calls so end up in the one user message after the calls.
    """
    mapped: list[tuple[str, list[ContentBlockUnionTypeDef]]] = []
    for message, text in messages_with_text(request):
        role = "assistant" if message.role is Role.ASSISTANT else "user"
        blocks = _blocks(message, text)
        if not blocks:
            continue
        if mapped and mapped[-1][0] == role:
            mapped[-1][1].extend(blocks)
        else:
            mapped.append((role, blocks))
    return [
        {"role": "assistant" if role == "assistant" else "user", "content": blocks}
        for role, blocks in mapped
    ]


def _blocks(message: Message, text: str) -> list[ContentBlockUnionTypeDef]:
    if message.role is Role.TOOL:
        return [
            {
                "toolResult": {
                    "toolUseId": message.tool_call_id or "",
                    "content": [{"text": text or "(no output)"}],
                }
            }
        ]
    # Converse refuses blank text blocks.
    blocks: list[ContentBlockUnionTypeDef] = [{"text": text}] if text.strip() else []
    blocks += [
        {"toolUse": {"toolUseId": call.id, "name": call.name, "input": call.arguments}}
        for call in message.tool_calls
    ]
    return blocks


def _tools_of(messages: Iterable[Message]) -> ToolConfigurationTypeDef | None:
    """Declare the tools that the transcript used: Converse refuses a transcript with others."""
    names = {call.name: None for message in messages for call in message.tool_calls}
    if not names:
        return None
    return {
        "tools": [
            {"toolSpec": {"name": name, "inputSchema": {"json": {"type": "object"}}}}
            for name in names
        ]
    }


def _answer(response: ConverseResponseTypeDef, model_id: str) -> ChatAnswer:
    blocks = response.get("output", {}).get("message", {}).get("content", [])
    content = "".join(_texts(blocks))
    stop_reason = STOP_REASONS.get(response.get("stopReason", ""), "other")
    if not content.strip() and stop_reason != "tool_use":
        raise ModelError(
            f"{model_id} answered without text ({response.get('stopReason')})",
            extra={"retryable": True},
        )
    return ChatAnswer(
        content=content,
        stop_reason=stop_reason,
        usage=_usage(response.get("usage")),
        model_id=model_id,
    )


def _texts(blocks: Iterable[ContentBlockOutputTypeDef]) -> list[str]:
    return [block["text"] for block in blocks if "text" in block]


def _usage(usage: TokenUsageTypeDef | None) -> Usage:
    """Bring usage to the service's form: Converse counts cached tokens apart from the input's."""
    counts: dict[str, Any] = dict(usage or {})
    cached = counts.get("cacheReadInputTokens", 0)
    written = counts.get("cacheWriteInputTokens", 0)
    return Usage(
        input_tokens=counts.get("inputTokens", 0) + cached + written,
        output_tokens=counts.get("outputTokens", 0),
        cached_tokens=cached,
    )
