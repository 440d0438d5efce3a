"""The port of requests that carry an Idempotency-Key."""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Protocol


@dataclass(frozen=True)
class StoredAnswer:
    """An answer as it is replayed.

    Args:
        status: HTTP status.
        headers: Headers that belong to the answer, such as ``ETag`` and ``Location``.
        body: The body as it was sent.
    """

    status: int
    headers: Mapping[str, str]
    body: str


@dataclass(frozen=True)
class Fresh:
    """The request has not run: the caller runs it, then finishes or abandons it with ``claim``."""

    claim: str


@dataclass(frozen=True)
class Replay:
    """The request has run: this is what it answered."""

    answer: StoredAnswer


@dataclass(frozen=True)
class InProgress:
    """The request is running until ``until`` at the latest."""

    until: datetime


@dataclass(frozen=True)
class OtherBody:
    """The key was used with another body."""


class IdempotencyStore(Protocol):
    """Records of requests that carried an ``Idempotency-Key``, in the user's partition.

    A record counts for 24 hours from when its request began. What is expired counts as absent,
    whether or not it was reclaimed.
    """

    def begin(
        self,
        user_id: str,
        route: str,
        key: str,
        *,
        body_hash: str,
        now: datetime,
        deadline: datetime,
    ) -> Fresh | Replay | InProgress | OtherBody:
        """Claim a request, or learn what became of it.

        Args:
            user_id: Owner of the key.
            route: Method and path of the request: a key counts for one of them.
            key: The caller's key.
            body_hash: Digest of the body.
            now: The current time.
            deadline: When a running request is given up: a claim older than this can be taken over.
        """
        ...

    def finish(
        self, user_id: str, route: str, key: str, fresh: Fresh, answer: StoredAnswer
    ) -> None:
        """Store the answer; does nothing when the claim was taken over or has an answer."""
        ...

    def abandon(self, user_id: str, route: str, key: str, fresh: Fresh) -> None:
        """Give the claim back, so that the next try runs; does nothing when it was taken over or
        has an answer."""
        ...
