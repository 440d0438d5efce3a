"""Answering CloudFormation's custom resources."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from threadkeep.errors import ThreadkeepError
from threadkeep.observability import describe, logger

if TYPE_CHECKING:
    from collections.abc import Callable

_RESOURCE_ID = "settings"
_SECONDS = 10.0
_TRIES = 3


def answer_custom_resource(event: dict[str, Any], check: Callable[[], None]) -> None:
    """Run a check and tell CloudFormation what came of it; a deletion always succeeds.

    Whatever goes wrong is answered: a resource without an answer blocks its stack for an hour.
    https://docs.aws.amazon.com/AWSCloudFormation/latest/UserGuide/crpg-ref-responses.html

    Args:
        event: The request, with ``RequestType`` and ``ResponseURL``.
        check: Raises if the stack must not be deployed.
    """
    reason = None
    if event.get("RequestType") != "Delete":
        try:
            check()
        except ThreadkeepError as error:
            reason = error.detail
        except Exception as error:
            logger().error("unexpected", extra=describe(error))
            reason = f"The check failed with {type(error).__name__}; the function's log says where."
    answer = {
        "Status": "SUCCESS" if reason is None else "FAILED",
        "Reason": reason or "",
        "PhysicalResourceId": event.get("PhysicalResourceId") or _RESOURCE_ID,
        "StackId": event["StackId"],
        "RequestId": event["RequestId"],
        "LogicalResourceId": event["LogicalResourceId"],
    }
    _put(event["ResponseURL"], json.dumps(answer).encode())


def _put(url: str, body: bytes) -> None:
    import urllib3

    # The presigned address is signed for an empty content type.
    urllib3.PoolManager().request(
        "PUT",
        url,
        body=body,
        headers={"content-type": ""},
        timeout=_SECONDS,
        retries=urllib3.Retry(_TRIES, backoff_factor=1.0, status_forcelist=(500, 503)),
    )
