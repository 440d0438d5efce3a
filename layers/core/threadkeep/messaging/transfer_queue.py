"""Producer of messages that wake the worker of exports and imports up."""

from __future__ import annotations

import json
from functools import cached_property
from threading import Lock
from typing import TYPE_CHECKING

from botocore.exceptions import BotoCoreError, ClientError

from threadkeep.errors import UnavailableError

if TYPE_CHECKING:
    from mypy_boto3_sqs import SQSClient

_THROTTLED = frozenset({"RequestThrottled", "ThrottlingException", "OverLimit"})
_CONNECT_SECONDS = 1.0
_READ_SECONDS = 5.0
_TRIES = 3


class SqsTransferQueue:
    """Sends whose job waits; where it stands is in the table.

    Args:
        url: The queue.
        endpoint: Address of the service; by default the environment's.
    """

    def __init__(self, url: str, *, endpoint: str | None = None) -> None:
        self._url = url
        self._endpoint = endpoint
        self._lock = Lock()

    def send(self, user_id: str, transfer_id: str, *, delay_seconds: int) -> None:
        """Queue a job, to be gone on with after a while, 15 minutes at most.

        Raises:
            UnavailableError: The queue does not answer.
        """
        body = json.dumps({"user_id": user_id, "transfer_id": transfer_id})
        try:
            self._client.send_message(
                QueueUrl=self._url, MessageBody=body, DelaySeconds=delay_seconds
            )
        except ClientError as error:
            code = error.response.get("Error", {}).get("Code", "")
            status = error.response.get("ResponseMetadata", {}).get("HTTPStatusCode", 0)
            if status < 500 and code not in _THROTTLED:
                raise
            raise UnavailableError("The queue does not answer.", retry_after=1) from error
        except BotoCoreError as error:
            raise UnavailableError("The queue does not answer.", retry_after=1) from error

    @property
    def _client(self) -> SQSClient:
        with self._lock:
            return self._made

    @cached_property
    def _made(self) -> SQSClient:
        import boto3
        from botocore.config import Config

        config = Config(
            connect_timeout=_CONNECT_SECONDS,
            read_timeout=_READ_SECONDS,
            retries={"mode": "standard", "total_max_attempts": _TRIES},
        )
        return boto3.client("sqs", endpoint_url=self._endpoint, config=config)
