"""Producer of repair messages: refs of one user that could not be indexed."""

from __future__ import annotations

import json
from functools import cached_property
from itertools import batched
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Sequence

    from mypy_boto3_sqs import SQSClient

MAX_REFS = 500
"""Refs of one message: far below SQS's 256 KB."""


class SqsRepairQueue:
    """Sends refs to be indexed again.

    Args:
        url: The queue.
    """

    def __init__(self, url: str) -> None:
        self._url = url

    def send(self, user_id: str, refs: Sequence[str], *, delay_seconds: int) -> None:
        """Queue refs of a user; every message is stored when this returns."""
        for chunk in batched(refs, MAX_REFS, strict=False):
            self._client.send_message(
                QueueUrl=self._url,
                MessageBody=json.dumps({"user_id": user_id, "refs": list(chunk)}),
                DelaySeconds=delay_seconds,
            )

    @cached_property
    def _client(self) -> SQSClient:
        import boto3

        return boto3.client("sqs")
