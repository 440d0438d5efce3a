"""Listings: ``limit`` and ``cursor``, or ``page`` and ``page_size`` with an exact total."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Self

from pydantic import BaseModel, Field, model_validator

from threadkeep.domain import cursors
from threadkeep.domain.limits import MAX_PAGE_SIZE, MAX_PAGE_WINDOW
from threadkeep.domain.types import Model
from threadkeep.http.routes import Answer, Request
from threadkeep.ports import Page, PageRequest

if TYPE_CHECKING:
    from collections.abc import Callable

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


def page_request[B, Q: ListQuery](request: Request[B, Q]) -> PageRequest:
    """Return the page that a request asks for.

    Raises:
        ValidationError: The cursor is not one of this listing (``invalid_cursor``).
    """
    query = request.query
    if query.by_page:
        skip = (query.page_number - 1) * query.size
        return PageRequest(limit=query.size, skip=skip, with_total=True)
    if query.cursor is None:
        return PageRequest(limit=query.size)
    position = cursors.unseal(
        query.cursor, user_id=request.user_id, route=request.target, filters=query.filters
    )
    return PageRequest(limit=query.size, position=position)


def listed[T, B, Q: ListQuery](
    request: Request[B, Q],
    fetch: Callable[[PageRequest], Page[T]],
    show: Callable[[T], Any] = lambda item: item,
) -> Answer:
    """Answer with the page that a request asks for.

    Args:
        request: The request.
        fetch: Reads a page.
        show: Turns an item into what is answered.
    """
    page = fetch(page_request(request))
    query = request.query
    body: dict[str, Any] = {"items": [show(item) for item in page.items]}
    if page.next_position is not None:
        body["next_cursor"] = cursors.seal(
            page.next_position, user_id=request.user_id, route=request.target, filters=query.filters
        )
    if query.by_page:
        body |= {"page": query.page_number, "page_size": query.size, "total": page.total}
    return Answer(body)
