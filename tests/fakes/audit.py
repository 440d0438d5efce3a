"""In-memory audit log."""

from __future__ import annotations

from typing import TYPE_CHECKING

from threadkeep.errors import UnavailableError, ValidationError
from threadkeep.ports import Page

if TYPE_CHECKING:
    from threadkeep.ports import AuditEntry, PageRequest


class FakeAuditLog:
    """Entries in a list.

    Attributes:
        kept: All entries, oldest first.
        is_down: Whether recording fails.
    """

    def __init__(self) -> None:
        self.kept: list[AuditEntry] = []
        self.is_down = False

    def record(self, entry: AuditEntry) -> None:
        """Keep an entry."""
        if self.is_down:
            raise UnavailableError
        if entry not in self.kept:
            self.kept.append(entry)

    def entries(self, year: int, month: int, page: PageRequest) -> Page[AuditEntry]:
        """List the entries of a month, newest first."""
        found = [e for e in self.kept if (e.at.year, e.at.month) == (year, month)]
        found.sort(key=lambda e: (e.at, e.id), reverse=True)
        if page.position is not None and page.position.keys() != {"id"}:
            raise ValidationError("The cursor is not one of this listing.", code="invalid_cursor")
        after = (page.position or {}).get("id")
        left = [entry for entry in found if after is None or entry.id < after]
        cut = left[page.skip : page.skip + page.limit]
        more = page.skip + page.limit < len(left)
        return Page(
            cut, {"id": cut[-1].id} if more else None, len(found) if page.with_total else None
        )
