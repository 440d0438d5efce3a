"""Amazon Bedrock's runtime API without a network: a real client whose HTTP answers a test gives.

Requests go through botocore's own validation, serialisation and parsing, so that a call of a wrong
shape fails here as it would there.
"""

from __future__ import annotations

import io
import json
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any
from urllib.parse import unquote

import boto3
from botocore.awsrequest import AWSResponse
from botocore.compat import HTTPHeaders
from botocore.config import Config

from threadkeep.llm.bedrock_runtime import BedrockRuntime

if TYPE_CHECKING:
    from collections.abc import Callable

    from botocore.awsrequest import AWSPreparedRequest
    from mypy_boto3_bedrock_runtime import BedrockRuntimeClient

type Answer = tuple[int, dict[str, Any]] | Exception


@dataclass
class BedrockApi:
    """Answers calls of the runtime API.

    Args:
        respond: Maps model id and body of a call to status and body, or to an error of the network.

    Attributes:
        calls: Model id and body of each call.
        waits: Seconds waited between attempts.
        limits: Time limit of each call.
    """

    respond: Callable[[str, dict[str, Any]], Answer]
    calls: list[tuple[str, dict[str, Any]]] = field(default_factory=list)
    waits: list[float] = field(default_factory=list)
    limits: list[float] = field(default_factory=list)

    def runtime(self) -> BedrockRuntime:
        """Return the runtime as the adapters use it."""
        client = self._client()

        def client_for(seconds: float) -> BedrockRuntimeClient:
            self.limits.append(seconds)
            return client

        return BedrockRuntime(client_for, self.waits.append)

    def _client(self) -> BedrockRuntimeClient:
        client = boto3.client(
            "bedrock-runtime",
            region_name="eu-central-1",
            aws_access_key_id="test",
            aws_secret_access_key="test",
            config=Config(retries={"total_max_attempts": 1}),
        )
        # The stubs know handlers without a result only; this event takes the answer from it.
        send: Callable[..., Any] = self._send
        client.meta.events.register("before-send.bedrock-runtime.*", send)
        return client

    def _send(self, request: AWSPreparedRequest, **_: Any) -> AWSResponse:
        model_id = unquote(request.url.split("/model/")[1].rsplit("/", 1)[0])
        assert isinstance(request.body, bytes)
        body = json.loads(request.body)
        self.calls.append((model_id, body))
        answer = self.respond(model_id, body)
        if isinstance(answer, Exception):
            raise answer
        status, content = answer
        headers = HTTPHeaders()
        headers["content-type"] = "application/json"
        if "__type" in content:
            headers["x-amzn-errortype"] = content["__type"]
        return AWSResponse(request.url, status, headers, _Raw(json.dumps(content).encode()))


class _Raw(io.BytesIO):
    """The body as urllib3 gives it."""

    def stream(self, **_: Any) -> Any:
        """Yield the whole body."""
        yield self.read()


def failure(code: str, status: int = 400) -> Answer:
    """Return the answer of a failed call."""
    return status, {"__type": code, "message": "internal words of the provider"}


def converse_answer(
    text: str, stop_reason: str = "end_turn", **usage: int
) -> tuple[int, dict[str, Any]]:
    """Return an answer of Converse with one text block."""
    return 200, {
        "output": {"message": {"role": "assistant", "content": [{"text": text}]}},
        "stopReason": stop_reason,
        "usage": {"inputTokens": 10, "outputTokens": 5, "totalTokens": 15, **usage},
        "metrics": {"latencyMs": 1},
    }
