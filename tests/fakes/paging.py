"""Pages of lists that are wholly in memory."""

from __future__ import annotations

from typing import TYPE_CHECKING

from threadkeep.errors import ValidationError
from threadkeep.ports import Page

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from datetime import datetime

    from threadkeep.ports import PageRequest


def newest_first[T](
    items: Sequence[T], page: PageRequest, place: Callable[[T], tuple[datetime, str]]
) -> Page[T]:
    """Cut a page out of all items, sorted by time and id, newest first.

    The position is the place of the page's last item, so that items which come or move between two
    pages shift nothing.
    """
    ordered = sorted(items, key=place, reverse=True)

    def text(item: T) -> str:
        moment, item_id = place(item)
        return f"{moment:%Y-%m-%dT%H:%M:%S.%f}#{item_id}"

    if page.position is not None:
        last = page.position.get("after")
        if last is None:
            raise ValidationError("The cursor is not one of this listing.", code="invalid_cursor")
        rest = [item for item in ordered if text(item) < last]
    else:
        rest = ordered[page.skip :]
    cut = rest[: page.limit]
    return Page(
        cut,
        {"after": text(cut[-1])} if len(cut) < len(rest) else None,
        len(items) if page.with_total else None,
    )
