"""Time, ids and pages: what every other port speaks in."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Protocol


class Clock(Protocol):
    """Time, injected so that tests set it."""

    def now(self) -> datetime:
        """Return the current UTC time."""
        ...

    def sleep(self, seconds: float) -> None:
        """Wait; used between retries only."""
        ...


class Ids(Protocol):
    """Source of new ids."""

    def new(self) -> str:
        """Return a new opaque id; later ids sort after earlier ones."""
        ...


@dataclass(frozen=True)
class Page[T]:
    """One page of a listing.

    Args:
        items: The page's items in the listing's order.
        next_position: Where the next page starts, or None on the last one. Opaque to services:
            they seal it into a cursor.
        total: Exact number of all items, when it was asked for.
    """

    items: Sequence[T]
    next_position: Mapping[str, str] | None = None
    total: int | None = None


@dataclass(frozen=True)
class PageRequest:
    """Where a page starts and how long it is.

    Args:
        limit: Most items of the page, 1–100.
        position: ``next_position`` of the page before, or None for the first.
        skip: Items to pass over before the page (page and page_size listings).
        with_total: Whether to count all items exactly.
    """

    limit: int = 20
    position: Mapping[str, str] | None = None
    skip: int = 0
    with_total: bool = False
