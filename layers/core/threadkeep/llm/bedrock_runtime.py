"""Calls of Amazon Bedrock's runtime API: time limits, retries of throttled calls, errors."""

from __future__ import annotations

import random
import time
from functools import cache
from typing import TYPE_CHECKING, Any

from threadkeep.errors import ModelError, ModelThrottledError

if TYPE_CHECKING:
    from collections.abc import Callable

    from botocore.exceptions import ClientError
    from mypy_boto3_bedrock_runtime import BedrockRuntimeClient

_THROTTLED = frozenset({"ThrottlingException", "ServiceQuotaExceededException"})
_TRANSIENT = frozenset(
    {
        "InternalServerException",
        "ModelErrorException",
        "ModelNotReadyException",
        "ModelTimeoutException",
        "ServiceUnavailableException",
    }
)
_ATTEMPTS = 3
_CONNECT_SECONDS = 5
# A client has one read timeout for all its calls, so there is one client per limit of this ladder.
_READ_SECONDS = (840, 270, 180, 120, 60, 30, 15, 5)


class BedrockRuntime:
    """The runtime API with the service's own errors.

    Args:
        client_for: Returns the boto3 client whose calls end after so many seconds.
        sleep: Waits between attempts.
    """

    def __init__(
        self,
        client_for: Callable[[float], BedrockRuntimeClient] | None = None,
        sleep: Callable[[float], None] = time.sleep,
    ) -> None:
        self._client_for = client_for or _client
        self._sleep = sleep

    def call[Answer](
        self,
        operation: Callable[[BedrockRuntimeClient], Answer],
        *,
        model_id: str,
        timeout_seconds: float,
    ) -> Answer:
        """Call an operation; throttled calls are repeated with full jitter.

        Nothing else is repeated here: a call that failed after its time limit has used it up, and
        whether another try pays is for the caller to say.

        Raises:
            ModelThrottledError: Bedrock still limits the rate after the last attempt.
            ModelError: The call failed; ``retryable`` tells whether a later one may succeed.
        """
        from botocore import exceptions
        from botocore.exceptions import BotoCoreError, ClientError

        interrupted = (exceptions.ConnectionError, exceptions.HTTPClientError)

        for attempt in range(1, _ATTEMPTS + 1):
            try:
                return operation(self._client_for(timeout_seconds))
            except ClientError as error:
                if _code(error) not in _THROTTLED:
                    raise _failure(error, model_id) from error
                if attempt == _ATTEMPTS:
                    raise ModelThrottledError(
                        f"{model_id} is throttled", extra={"retryable": True}, retry_after=5
                    ) from error
            except BotoCoreError as error:
                raise ModelError(
                    f"{model_id} can not be reached ({type(error).__name__})",
                    extra={"retryable": isinstance(error, interrupted)},
                ) from error
            self._sleep(random.uniform(0, 2.0**attempt / 2))
        raise AssertionError("the last attempt returns or raises")


def _code(error: ClientError) -> str:
    return str(error.response.get("Error", {}).get("Code", ""))


def _failure(error: ClientError, model_id: str) -> ModelError:
    code = _code(error)
    status: Any = error.response.get("ResponseMetadata", {}).get("HTTPStatusCode", 0)
    retryable = code in _TRANSIENT or status >= 500
    return ModelError(f"{model_id} failed ({code})", extra={"retryable": retryable})


def _client(timeout_seconds: float) -> BedrockRuntimeClient:
    fitting = (seconds for seconds in _READ_SECONDS if seconds <= timeout_seconds)
    return _client_with(next(fitting, _READ_SECONDS[-1]))


@cache
def _client_with(read_seconds: int) -> BedrockRuntimeClient:
    import boto3
    from botocore.config import Config

    config = Config(
        connect_timeout=_CONNECT_SECONDS,
        read_timeout=read_seconds,
        retries={"total_max_attempts": 1, "mode": "standard"},
        max_pool_connections=16,
    )
    client: BedrockRuntimeClient = boto3.client("bedrock-runtime", config=config)
    return client
