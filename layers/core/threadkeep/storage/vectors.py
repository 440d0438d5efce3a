"""Rows of the exact back end: documents in shards, and a log of what changed."""

from __future__ import annotations

import uuid
from typing import TYPE_CHECKING

from pynamodb.attributes import (
    BinaryAttribute,
    BooleanAttribute,
    ListAttribute,
    NumberAttribute,
    UnicodeAttribute,
)
from pynamodb.expressions.operand import Path

from threadkeep.domain.retrieval import Document
from threadkeep.errors import ConflictError
from threadkeep.ports import VectorRow
from threadkeep.storage import keys
from threadkeep.storage.items import Item

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence
    from datetime import datetime

    from threadkeep.storage.table import Table

LOG_SECONDS = 24 * 3600
"""How long the log is kept; a cache that is older is loaded anew."""

TOMBSTONE_SECONDS = 7 * 24 * 3600
"""How long a removed row still turns away earlier revisions: longer than a stream keeps events."""


class VectorItem(Item, discriminator="V"):
    """A document, or what is left of a removed one."""

    ref = UnicodeAttribute()
    revision = NumberAttribute()
    removed = BooleanAttribute(default=False)
    document = UnicodeAttribute(null=True)
    vector = BinaryAttribute(legacy_encoding=False, null=True)
    generation = UnicodeAttribute(default="")
    ttl = NumberAttribute(null=True, attr_name=keys.TTL)

    def to_row(self) -> VectorRow | None:
        """Return the document, or None if it was removed."""
        if self.removed or self.document is None:
            return None
        return VectorRow(Document.model_validate_json(self.document), self.vector, self.generation)


class IndexLogItem(Item, discriminator="X"):
    """The refs that one batch changed."""

    batch = UnicodeAttribute()
    refs = ListAttribute(of=UnicodeAttribute)
    ttl = NumberAttribute(attr_name=keys.TTL)


class DynamoVectorRows:
    """Vector rows in the one table.

    A row's revision never falls: writes that come late or twice change nothing.

    Args:
        table: The table.
    """

    def __init__(self, table: Table) -> None:
        self._table = table

    def load(self, user_id: str) -> Iterator[VectorRow]:
        """Yield all rows of a user, shards read in parallel."""

        def shard(number: int) -> list[Item]:
            return list(self._table.query(keys.vectors(user_id, number)))

        for items in self._table.parallel(shard, range(keys.VECTOR_SHARDS)):
            yield from _rows(items)

    def get(self, user_id: str, refs: Sequence[str]) -> dict[str, VectorRow]:
        """Read rows by ref; removed ones are left out."""
        items = self._table.batch_get([_key(user_id, ref) for ref in refs])
        return {row.document.ref: row for row in _rows(items)}

    def put(self, user_id: str, rows: Sequence[VectorRow], *, at: datetime) -> None:
        """Store rows unless a later revision is there already, and log their refs."""
        items = []
        for row in rows:
            pk, sk = _key(user_id, row.document.ref)
            items.append(
                VectorItem(
                    pk,
                    sk,
                    ref=row.document.ref,
                    revision=row.document.revision,
                    document=row.document.model_dump_json(exclude_none=True, exclude={"vector"}),
                    vector=row.vector,
                    generation=row.generation,
                )
            )
        self._put_and_log(user_id, items, at)

    def remove(self, user_id: str, refs: Sequence[tuple[str, int]], *, at: datetime) -> None:
        """Remove rows ``(ref, revision)`` unless a later revision is there, and log the refs."""
        items = []
        for ref, revision in refs:
            pk, sk = _key(user_id, ref)
            expiry = int(at.timestamp()) + TOMBSTONE_SECONDS
            items.append(VectorItem(pk, sk, ref=ref, revision=revision, removed=True, ttl=expiry))
        self._put_and_log(user_id, items, at)

    def changes(self, user_id: str, *, since: datetime) -> Mapping[str, Sequence[str]]:
        """Return the refs that changed, by the id of the batch that logged them, in one query."""
        low, high = keys.index_log(since, ""), keys.between(keys.INDEX_LOG)[1]
        items = self._table.query(keys.user(user_id), Path(keys.SORT_KEY).between(low, high))
        return {
            item.batch: [str(ref) for ref in item.refs]
            for item in items
            if isinstance(item, IndexLogItem)
        }

    def estimate(self, user_id: str) -> int:
        """Return about how many documents a user has: as many in each shard as in the first."""
        pk, attributes = keys.vectors(user_id, 0), [keys.SORT_KEY, "kind"]
        return keys.VECTOR_SHARDS * sum(1 for _ in self._table.query(pk, attributes=attributes))

    def _put_and_log(self, user_id: str, items: Sequence[VectorItem], at: datetime) -> None:
        """Store rows, then log them: a row that is not logged yet is still marked pending."""
        self._table.parallel(self._put_if_newer, items)
        batch = uuid.uuid4().hex
        self._table.put(
            IndexLogItem(
                keys.user(user_id),
                keys.index_log(at, batch),
                batch=batch,
                refs=[item.ref for item in items],
                ttl=int(at.timestamp()) + LOG_SECONDS,
            )
        )

    def _put_if_newer(self, item: VectorItem) -> None:
        revision = Path("revision")
        try:
            self._table.put(item, condition=revision.does_not_exist() | (revision <= item.revision))
        except ConflictError:
            return


def _key(user_id: str, ref: str) -> tuple[str, str]:
    return keys.vectors(user_id, keys.vector_shard(ref)), keys.vector(ref)


def _rows(items: Sequence[Item]) -> Iterator[VectorRow]:
    for item in items:
        row = item.to_row() if isinstance(item, VectorItem) else None
        if row is not None:
            yield row
