"""Listings: ``limit`` and ``cursor``, or ``page`` and ``page_size`` with an exact total."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any, Self

from pydantic import BaseModel, Field, model_validator

from threadkeep.domain import cursors
from threadkeep.domain.limits import MAX_PAGE_BYTES, MAX_PAGE_SIZE, MAX_PAGE_WINDOW
from threadkeep.domain.sizes import fitting
from threadkeep.domain.types import Model
from threadkeep.http.routes import Answer, Request
from threadkeep.ports import PageRequest

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from threadkeep.ports import Page

DEFAULT_PAGE_SIZE = 20
_PAGING = {"limit", "cursor", "page", "page_size"}


class ListQuery(Model):
    """Query parameters of every listing; one with filters adds them in a subclass."""

    limit: int | None = Field(default=None, ge=1, le=MAX_PAGE_SIZE, description="Default 20.")
    cursor: str | None = Field(default=None, description="`next_cursor` of the page before.")
    page: int | None = Field(default=None, ge=1, description="Default 1 with `page_size`.")
    page_size: int | None = Field(
        default=None, ge=1, le=MAX_PAGE_SIZE, description="Default 20 with `page`."
    )

    @model_validator(mode="after")
    def _one_way_of_paging(self) -> Self:
        if not self.by_page:
            return self
        if self.limit is not None or self.cursor is not None:
            raise ValueError("page and page_size can not be mixed with limit and cursor")
        if self.page_number * self.size > MAX_PAGE_WINDOW:
            raise ValueError(f"page times page_size is over {MAX_PAGE_WINDOW}")
        return self

    @property
    def by_page(self) -> bool:
        """Whether pages are numbered."""
        return self.page is not None or self.page_size is not None

    @property
    def page_number(self) -> int:
        """Number of the page, from 1."""
        return self.page or 1

    @property
    def size(self) -> int:
        """Most items of the page."""
        return self.page_size or self.limit or DEFAULT_PAGE_SIZE

    @property
    def filters(self) -> dict[str, Any]:
        """The listing's own parameters as JSON values: a cursor is bound to them."""
        return self.model_dump(mode="json", exclude=_PAGING)


class Listing[T: BaseModel](Model):
    """One page of a listing; ``page``, ``page_size`` and ``total`` with numbered pages only."""

    items: tuple[T, ...]
    next_cursor: str | None = None
    page: int | None = None
    page_size: int | None = None
    total: int | None = None


def position_of(
    request: Request[Any, Any], cursor: str | None, filters: Any
) -> Mapping[str, str] | None:
    """Return where a cursor says to go on; None without one.

    Args:
        request: The request: the cursor must have been made for its user and path.
        cursor: What the caller sent.
        filters: The listing's filters as JSON values: the cursor must have been made for them.

    Raises:
        ValidationError: The cursor is not one of this listing (``invalid_cursor``).
    """
    if cursor is None:
        return None
    return cursors.unseal(cursor, user_id=request.user_id, route=request.target, filters=filters)


def cursor_at(
    request: Request[Any, Any], position: Mapping[str, str] | None, filters: Any
) -> str | None:
    """Return the cursor of a position, for :func:`position_of`; None at the end."""
    if position is None:
        return None
    return cursors.seal(position, user_id=request.user_id, route=request.target, filters=filters)


def listed[T, B, Q: ListQuery](
    request: Request[B, Q],
    fetch: Callable[[PageRequest], Page[T]],
    show: Callable[[T], Any] = lambda item: item,
) -> Answer:
    """Answer with the page that a request asks for; it ends early at 4 MB.

    Args:
        request: The request.
        fetch: Reads a page.
        show: Turns an item into what is answered.

    Raises:
        ValidationError: The cursor is not one of this listing (``invalid_cursor``).
    """
    query = request.query
    wanted = PageRequest(
        limit=query.size,
        position=position_of(request, query.cursor, query.filters),
        skip=(query.page_number - 1) * query.size,
        with_total=query.by_page,
    )
    page = fetch(wanted)
    items = [show(item) for item in page.items]
    fits = fitting(items, MAX_PAGE_BYTES)
    if fits < len(items):
        page = fetch(replace(wanted, limit=max(1, fits)))
        items = [show(item) for item in page.items]
    body: dict[str, Any] = {"items": items}
    cursor = cursor_at(request, page.next_position, query.filters)
    if cursor is not None:
        body["next_cursor"] = cursor
    if query.by_page:
        body |= {"page": query.page_number, "page_size": query.size, "total": page.total}
    return Answer(body)
