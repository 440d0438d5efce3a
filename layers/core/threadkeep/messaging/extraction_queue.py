"""Producer of extraction jobs on SQS."""

from __future__ import annotations

from contextlib import contextmanager
from functools import cached_property
from threading import Lock
from typing import TYPE_CHECKING, Any, Final

from botocore.exceptions import BotoCoreError, ClientError

from threadkeep.errors import UnavailableError

if TYPE_CHECKING:
    from collections.abc import Iterator

    from threadkeep.domain.extraction import DueExtraction

MAX_DELAY_SECONDS: Final = 900
"""SQS delays a message by 15 minutes at most."""

REASON: Final = "reason"
"""Attribute that says why a job was given up."""

_MAX_REASON_CHARS = 1000
_THROTTLED = frozenset({"RequestThrottled", "ThrottlingException", "OverLimit"})
_CONNECT_SECONDS = 1.0
_READ_SECONDS = 5.0
_TRIES = 3


class SqsExtractionQueue:
    """Sends due rows as JSON; what is due is in the table, a message only wakes the worker up.

    Args:
        url: The queue.
        dead_letter_url: Queue of what was given up.
        endpoint: Address of the service; by default the environment's.
    """

    def __init__(self, url: str, dead_letter_url: str, *, endpoint: str | None = None) -> None:
        self._url = url
        self._dead_letter_url = dead_letter_url
        self._endpoint = endpoint
        self._lock = Lock()

    def send(self, due: DueExtraction, *, delay_seconds: int) -> None:
        """Queue the job of a due row, for 15 minutes at most.

        Raises:
            UnavailableError: The queue does not answer.
        """
        with _translated():
            self._client.send_message(
                QueueUrl=self._url,
                MessageBody=due.model_dump_json(),
                DelaySeconds=max(0, min(delay_seconds, MAX_DELAY_SECONDS)),
            )

    def dead_letter(self, due: DueExtraction, reason: str) -> None:
        """Send a job to the dead-letter queue with the reason as a message attribute.

        Raises:
            UnavailableError: The queue does not answer.
        """
        text = reason[:_MAX_REASON_CHARS] or "unknown"
        with _translated():
            self._client.send_message(
                QueueUrl=self._dead_letter_url,
                MessageBody=due.model_dump_json(),
                MessageAttributes={REASON: {"DataType": "String", "StringValue": text}},
            )

    @property
    def _client(self) -> Any:
        with self._lock:
            return self._made

    @cached_property
    def _made(self) -> Any:
        import boto3
        from botocore.config import Config

        config = Config(
            connect_timeout=_CONNECT_SECONDS,
            read_timeout=_READ_SECONDS,
            retries={"mode": "standard", "total_max_attempts": _TRIES},
        )
        return boto3.client("sqs", endpoint_url=self._endpoint, config=config)


@contextmanager
def _translated() -> Iterator[None]:
    """Raise the service's own error where a later try may work; a wrong queue stays as it is."""
    try:
        yield
    except ClientError as error:
        code = error.response.get("Error", {}).get("Code", "")
        status = error.response.get("ResponseMetadata", {}).get("HTTPStatusCode", 0)
        if status < 500 and code not in _THROTTLED:
            raise
        raise _unavailable() from error
    except BotoCoreError as error:
        raise _unavailable() from error


def _unavailable() -> UnavailableError:
    return UnavailableError("The queue does not answer.", retry_after=1)
