"""Pages of listings, and the positions where they go on."""

from __future__ import annotations

from itertools import islice
from typing import TYPE_CHECKING

from threadkeep.errors import ValidationError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence

    from threadkeep.ports import PageRequest


def start_of(page: PageRequest, prefixes: Mapping[str, str]) -> dict[str, str] | None:
    """Return the sort keys after which a page starts, or None for the first page.

    Args:
        page: The page.
        prefixes: What the value of each sort key starts with in this listing.

    Raises:
        ValidationError: The position is of no page of this listing (``invalid_cursor``).
    """
    if page.position is None:
        return None
    position = dict(page.position)
    if position.keys() != prefixes.keys() or not all(
        value.startswith(prefixes[name]) and _is_text(value) for name, value in position.items()
    ):
        raise invalid_cursor()
    return position


def invalid_cursor() -> ValidationError:
    """Make the error for a position that is of no page of a listing."""
    return ValidationError("The cursor is not one of this listing.", code="invalid_cursor")


def cut[T](
    rows: Iterable[T], page: PageRequest, place: Callable[[T], Mapping[str, str]]
) -> tuple[list[T], Mapping[str, str] | None]:
    """Take a page's rows from those that follow its start.

    Returns:
        The rows, and where the next page starts: at the last row's place, if there are more.
    """
    taken = list(islice(rows, page.skip, page.skip + page.limit + 1))
    if len(taken) <= page.limit:
        return taken, None
    del taken[page.limit :]
    return taken, place(taken[-1])


def following[T](
    rows: Sequence[T],
    start: Mapping[str, str] | None,
    order: str,
    place: Callable[[T], Mapping[str, str]],
    *,
    descending: bool,
) -> Sequence[T]:
    """Return the rows after a position in a listing that was read whole and is in order.

    Args:
        rows: All rows.
        start: The position.
        order: Its part that orders the listing.
        place: Tells the position of a row.
        descending: Whether the listing is.
    """
    if start is None:
        return rows
    last = start[order]
    if descending:
        return [row for row in rows if place(row)[order] < last]
    return [row for row in rows if place(row)[order] > last]


def _is_text(value: str) -> bool:
    try:
        value.encode()
    except UnicodeEncodeError:
        return False
    return True
