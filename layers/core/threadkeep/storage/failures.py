"""What goes wrong in DynamoDB, told once in the service's own terms."""

from __future__ import annotations

from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from botocore.exceptions import BotoCoreError, ClientError, HTTPClientError
from pynamodb.exceptions import PynamoDBException

from threadkeep.errors import ConflictError, StorageFullError, UnavailableError

if TYPE_CHECKING:
    from collections.abc import Iterator

    from threadkeep.errors import ThreadkeepError

RETRY_AFTER_SECONDS = 1

_CONFLICTS = frozenset(
    {
        "ConditionalCheckFailed",
        "ConditionalCheckFailedException",
        "DuplicateItem",
        "TransactionConflict",
        "TransactionConflictException",
        "TransactionInProgressException",
    }
)
_OVERLOAD = frozenset(
    {
        "InternalServerError",
        "ProvisionedThroughputExceeded",
        "ProvisionedThroughputExceededException",
        "RequestLimitExceeded",
        "ServiceUnavailable",
        "ThrottlingError",
        "ThrottlingException",
    }
)
_FULL = frozenset({"ItemCollectionSizeLimitExceeded", "ItemCollectionSizeLimitExceededException"})


class TransactionCancelledError(ConflictError):
    """A condition of a transaction did not hold, or another writer was at one of its rows.

    Attributes:
        failed: Places of the writes that caused it, from 0.
    """

    def __init__(self, failed: tuple[int, ...]) -> None:
        super().__init__("Another writer was first.")
        self.failed = failed


@contextmanager
def translated() -> Iterator[None]:
    """Raise the service's own error in place of botocore's and pynamodb's.

    botocore has made its retries by then. What no caller can mend, such as a missing permission,
    stays as it is.
    """
    try:
        yield
    except (PynamoDBException, ClientError, BotoCoreError) as error:
        meaning = _meaning(error)
        if meaning is None:
            raise
        raise meaning from error


def is_rejected(error: PynamoDBException) -> bool:
    """Tell whether DynamoDB found a request invalid."""
    return error.cause_response_code == "ValidationException"


def overloaded() -> UnavailableError:
    """Make the error for a table that takes no more requests now."""
    return UnavailableError("Storage is overloaded.", retry_after=RETRY_AFTER_SECONDS)


def _meaning(error: Exception) -> ThreadkeepError | None:
    cause: Any = getattr(error, "cause", None) or error
    if isinstance(cause, HTTPClientError):
        return UnavailableError("Storage does not answer.", retry_after=RETRY_AFTER_SECONDS)
    response: dict[str, Any] = getattr(cause, "response", {})
    code = response.get("Error", {}).get("Code", "")
    if code == "TransactionCanceledException":
        reasons = [reason.code if reason else "" for reason in cause.cancellation_reasons]
        return _meaning_of_reasons(reasons)
    return _meaning_of_code(code)


def _meaning_of_reasons(reasons: list[str]) -> ThreadkeepError | None:
    """Judge a cancelled transaction: a condition that failed outweighs all that may pass."""
    if failed := [i for i, code in enumerate(reasons) if code == "ConditionalCheckFailed"]:
        return TransactionCancelledError(tuple(failed))
    if failed := [i for i, code in enumerate(reasons) if code in _CONFLICTS]:
        return TransactionCancelledError(tuple(failed))
    meanings = [_meaning_of_code(code) for code in reasons]
    return next((meaning for meaning in meanings if meaning), None)


def _meaning_of_code(code: str) -> ThreadkeepError | None:
    if code in _CONFLICTS:
        return ConflictError("Another writer was first.")
    if code in _OVERLOAD:
        return overloaded()
    if code in _FULL:
        return StorageFullError("This user's storage is full.")
    return None
