"""Records of requests that carried an Idempotency-Key, in DynamoDB."""

from __future__ import annotations

import uuid
import zlib
from datetime import timedelta
from typing import TYPE_CHECKING

from pynamodb.attributes import BinaryAttribute, NumberAttribute, UnicodeAttribute

from threadkeep.errors import ConflictError
from threadkeep.ports import Fresh, InProgress, OtherBody, Replay, StoredAnswer
from threadkeep.storage import keys
from threadkeep.storage.items import Item, JsonAttribute, TimeAttribute
from threadkeep.storage.transactions import Transaction

if TYPE_CHECKING:
    from collections.abc import Sequence
    from datetime import datetime

    from threadkeep.storage.table import Table

KEPT = timedelta(hours=24)

_PART_BYTES = 350_000


class IdempotencyItem(Item, discriminator="I"):
    """A request: claimed until ``deadline``, then with its answer until ``expires_at``."""

    claim = UnicodeAttribute()
    body_hash = UnicodeAttribute()
    deadline = TimeAttribute()
    expires_at = TimeAttribute()
    status = NumberAttribute(null=True)
    headers = JsonAttribute(null=True)
    ttl = NumberAttribute(attr_name=keys.TTL)

    @property
    def is_finished(self) -> bool:
        """Whether there is an answer."""
        return bool(self.status)

    def counts(self, now: datetime) -> bool:
        """Tell whether the record still speaks for its key."""
        return now < (self.expires_at if self.is_finished else self.deadline)


class AnswerPartItem(Item, discriminator="IP"):
    """A part of a stored answer's body, compressed."""

    body = BinaryAttribute(legacy_encoding=False)
    ttl = NumberAttribute(attr_name=keys.TTL)


class DynamoIdempotencyStore:
    """Records in the user's partition: they go with the user.

    Args:
        table: The table.
    """

    def __init__(self, table: Table) -> None:
        self._table = table

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

        Raises:
            ConflictError: Others keep claiming it.
        """
        pk, sk = keys.user(user_id), keys.idempotency(route, key)
        for _ in self._table.attempts():
            rows = list(self._table.query(pk, Item.sk.startswith(sk)))
            record = next((row for row in rows if isinstance(row, IdempotencyItem)), None)
            if record is not None and record.counts(now):
                if record.body_hash != body_hash:
                    return OtherBody()
                return (
                    Replay(_answer(record, rows))
                    if record.is_finished
                    else InProgress(record.deadline)
                )
            claimed = IdempotencyItem(
                pk,
                sk,
                claim=uuid.uuid4().hex,
                body_hash=body_hash,
                deadline=deadline,
                expires_at=now + KEPT,
                ttl=int((now + KEPT).timestamp()),
            )
            transaction = Transaction()
            transaction.put(
                claimed,
                Item.pk.does_not_exist()
                if record is None
                else IdempotencyItem.claim == record.claim,
            )
            for part in rows:
                if part is not record:
                    transaction.delete(part.pk, part.sk)
            if self._table.try_transact(transaction.writes):
                return Fresh(claimed.claim)
        raise ConflictError("Others keep using this key.", retry_after=1)

    def finish(
        self, user_id: str, route: str, key: str, fresh: Fresh, answer: StoredAnswer
    ) -> None:
        """Store the answer; does nothing when the claim was taken over.

        Raises:
            PayloadTooLargeError: It takes more than 4 MB compressed.
        """
        pk, sk = keys.user(user_id), keys.idempotency(route, key)
        for _ in self._table.attempts():
            record = self._table.get(IdempotencyItem, pk, sk)
            if record is None or record.claim != fresh.claim or record.is_finished:
                return
            transaction = Transaction()
            transaction.update(
                pk,
                sk,
                [
                    IdempotencyItem.status.set(answer.status),
                    IdempotencyItem.headers.set(dict(answer.headers)),
                ],
                (IdempotencyItem.claim == fresh.claim) & IdempotencyItem.status.does_not_exist(),
            )
            for number, part in enumerate(_parts(answer.body)):
                part_key = keys.idempotency_part(route, key, number)
                transaction.put(AnswerPartItem(pk, part_key, body=part, ttl=int(record.ttl)))
            if self._table.try_transact(transaction.writes):
                return

    def abandon(self, user_id: str, route: str, key: str, fresh: Fresh) -> None:
        """Give the claim back; does nothing when it was taken over."""
        pk, sk = keys.user(user_id), keys.idempotency(route, key)
        transaction = Transaction()
        transaction.delete(
            pk,
            sk,
            (IdempotencyItem.claim == fresh.claim) & IdempotencyItem.status.does_not_exist(),
        )
        for _ in self._table.attempts():
            if self._table.try_transact(transaction.writes):
                return
            record = self._table.get(IdempotencyItem, pk, sk)
            if record is None or record.claim != fresh.claim or record.is_finished:
                return


def _parts(body: str) -> list[bytes]:
    packed = zlib.compress(body.encode())
    return [packed[at : at + _PART_BYTES] for at in range(0, len(packed), _PART_BYTES)]


def _answer(record: IdempotencyItem, rows: Sequence[Item]) -> StoredAnswer:
    packed = b"".join(row.body for row in rows if isinstance(row, AnswerPartItem))
    return StoredAnswer(
        int(record.status), record.headers, zlib.decompress(packed).decode() if packed else ""
    )
