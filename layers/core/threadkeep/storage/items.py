"""Rows of the table as pynamodb models without a table of their own (``Table`` has the connection).

Every row says its ``kind``, which picks the class that it is read as, and its ``schema``.
"""

from __future__ import annotations

import json
from datetime import datetime
from typing import Any

from pynamodb.attributes import (
    Attribute,
    BooleanAttribute,
    DiscriminatorAttribute,
    NumberAttribute,
    UnicodeAttribute,
)
from pynamodb.constants import STRING
from pynamodb.models import Model

from threadkeep.domain.retrieval import DocumentKind
from threadkeep.ports import Pending
from threadkeep.storage import keys


class TimeAttribute(Attribute[datetime]):
    """A UTC time as text of fixed width: its order as text is the order of time."""

    attr_type = STRING

    def serialize(self, value: datetime) -> str:
        """Return the text of a time."""
        return keys.timestamp(value)

    def deserialize(self, value: str) -> datetime:
        """Read a time."""
        return datetime.fromisoformat(value)


class OptionalTimeAttribute(Attribute[datetime | None]):
    """A time that may be absent."""

    attr_type = STRING
    null = True

    def serialize(self, value: datetime | None) -> str | None:
        """Return the text of a time."""
        return None if value is None else keys.timestamp(value)

    def deserialize(self, value: str) -> datetime:
        """Read a time."""
        return datetime.fromisoformat(value)


class JsonAttribute(Attribute[Any]):
    """A JSON value as text: numbers survive, which DynamoDB's own cut to 38 digits would not."""

    attr_type = STRING

    def serialize(self, value: Any) -> str:
        """Return the JSON text of a value."""
        return json.dumps(value, ensure_ascii=False, allow_nan=False, separators=(",", ":"))

    def deserialize(self, value: str) -> Any:
        """Read a JSON text."""
        return json.loads(value)


class Item(Model):
    """What every row has."""

    pk = UnicodeAttribute(hash_key=True, attr_name=keys.PARTITION_KEY)
    sk = UnicodeAttribute(range_key=True, attr_name=keys.SORT_KEY)
    kind = DiscriminatorAttribute()
    schema = NumberAttribute(default=1)


class PendingItem(Item, discriminator="P"):
    """Mark that an entity or a turn waits to be indexed, written with the change itself."""

    document = UnicodeAttribute()
    ref = UnicodeAttribute()
    revision = NumberAttribute()
    deleted = BooleanAttribute()
    marked_at = TimeAttribute()

    @classmethod
    def of(cls, user_id: str, mark: Pending) -> PendingItem:
        """Make the row of a mark."""
        return cls(
            keys.user(user_id),
            keys.pending(mark.ref),
            document=mark.kind.value,
            ref=mark.ref,
            revision=mark.revision,
            deleted=mark.deleted,
            marked_at=mark.marked_at,
        )

    def to_domain(self) -> Pending:
        """Return the mark."""
        return Pending(
            kind=DocumentKind(self.document),
            ref=self.ref,
            revision=int(self.revision),
            deleted=self.deleted,
            marked_at=self.marked_at,
        )
