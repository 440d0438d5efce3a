"""Pages of the in-memory memory store."""

from __future__ import annotations

from typing import TYPE_CHECKING

from threadkeep.errors import ValidationError
from threadkeep.ports import Page

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from threadkeep.ports import PageRequest


def cut[T](
    items: Sequence[T], page: PageRequest, place: Callable[[T], str], *, descending: bool = True
) -> Page[T]:
    """Cut a page out of all items; the position is the place of the page's last item."""
    ordered = sorted(items, key=place, reverse=descending)
    last = _last_place(page.position)
    if last is not None:
        ordered = [i for i in ordered if (place(i) < last if descending else place(i) > last)]
    rest = ordered[page.skip :]
    cut = rest[: page.limit]
    return Page(
        cut,
        {"place": place(cut[-1])} if len(cut) < len(rest) else None,
        len(items) if page.with_total else None,
    )


def _last_place(position: Mapping[str, str] | None) -> str | None:
    if position is None:
        return None
    if position.keys() != {"place"}:
        raise ValidationError("The cursor is of no page of this listing.", code="invalid_cursor")
    return position["place"]
