"""The record of what administrators did with users' data."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pynamodb.attributes import UnicodeAttribute

from threadkeep.ports import AuditEntry, Page
from threadkeep.storage import keys
from threadkeep.storage.items import Item, TimeAttribute
from threadkeep.storage.paging import cut, start_of

if TYPE_CHECKING:
    from threadkeep.ports import PageRequest
    from threadkeep.storage.table import Table

_FIELDS = tuple(AuditEntry.__dataclass_fields__)


class AuditItem(Item, discriminator="AU"):
    """One act of an administrator."""

    id = UnicodeAttribute()
    at = TimeAttribute()
    actor = UnicodeAttribute()
    user_id = UnicodeAttribute()
    action = UnicodeAttribute()
    request_id = UnicodeAttribute()
    resource = UnicodeAttribute(null=True)


class DynamoAuditLog:
    """Audit entries in a partition per month, outside of every user's own.

    Args:
        table: The table.
    """

    def __init__(self, table: Table) -> None:
        self._table = table

    def record(self, entry: AuditEntry) -> None:
        """Store an entry, in one request; stored again it stays one."""
        values = {name: getattr(entry, name) for name in _FIELDS}
        pk = keys.audit(entry.at.year, entry.at.month)
        self._table.put(AuditItem(pk, keys.audit_entry(entry.at, entry.id), **values))

    def entries(self, year: int, month: int, page: PageRequest) -> Page[AuditEntry]:
        """List the entries of a month, newest first; a total reads them all.

        Raises:
            ValidationError: The position is of no page of a month (``invalid_cursor``).
        """
        pk = keys.audit(year, month)
        rows = self._table.query(
            pk,
            page_size=page.skip + page.limit + 1,
            after=start_of(page, {keys.SORT_KEY: ""}),
            descending=True,
        )
        entries = (row for row in rows if isinstance(row, AuditItem))
        taken, next_position = cut(entries, page, lambda row: {keys.SORT_KEY: row.sk})
        total = None
        if page.with_total:
            total = sum(1 for _ in self._table.query(pk, attributes=[keys.SORT_KEY, "kind"]))
        return Page(
            [AuditEntry(**{name: getattr(row, name) for name in _FIELDS}) for row in taken],
            next_position,
            total,
        )
