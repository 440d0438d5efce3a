"""In-memory idempotency records."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import timedelta
from threading import RLock
from typing import TYPE_CHECKING

from threadkeep.ports import Fresh, InProgress, OtherBody, Replay

if TYPE_CHECKING:
    from datetime import datetime

    from threadkeep.ports import StoredAnswer


@dataclass
class _Record:
    claim: str
    body_hash: str
    deadline: datetime
    expires_at: datetime
    answer: StoredAnswer | None = None

    def counts(self, now: datetime) -> bool:
        return now < (self.deadline if self.answer is None else self.expires_at)


class FakeIdempotencyStore:
    """Records in a dictionary, one lock around every call."""

    def __init__(self) -> None:
        self._records: dict[tuple[str, str, str], _Record] = {}
        self._claims = 0
        self._lock = RLock()

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
        """Claim a request, or tell what became of it."""
        with self._lock:
            record = self._records.get((user_id, route, key))
            if record is None or not record.counts(now):
                self._claims += 1
                claim = str(self._claims)
                self._records[user_id, route, key] = _Record(
                    claim, body_hash, deadline, now + timedelta(hours=24)
                )
                return Fresh(claim)
            if record.body_hash != body_hash:
                return OtherBody()
            if record.answer is None:
                return InProgress(record.deadline)
            return Replay(record.answer)

    def finish(
        self, user_id: str, route: str, key: str, fresh: Fresh, answer: StoredAnswer
    ) -> None:
        """Store the answer of a claim that still holds."""
        with self._lock:
            record = self._records.get((user_id, route, key))
            if record is not None and record.claim == fresh.claim and record.answer is None:
                record.answer = answer

    def abandon(self, user_id: str, route: str, key: str, fresh: Fresh) -> None:
        """Give a claim back."""
        with self._lock:
            record = self._records.get((user_id, route, key))
            if record is not None and record.claim == fresh.claim and record.answer is None:
                del self._records[user_id, route, key]
