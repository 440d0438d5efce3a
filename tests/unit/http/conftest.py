"""An Api to call, with the parts that serving needs."""

from collections.abc import Callable
from dataclasses import dataclass, field

import pytest
from pydantic import Field

from tests.fakes.audit import FakeAuditLog
from tests.fakes.clock import FakeClock
from tests.fakes.idempotency import FakeIdempotencyStore
from tests.fakes.ids import SequentialIds
from threadkeep.domain.entities import EntityType
from threadkeep.domain.types import Id, Model, Name, Properties, Share, UtcTime
from threadkeep.errors import ConflictError
from threadkeep.http import Answer, Api, Listing, ListQuery, Request, listed
from threadkeep.http.tokens import TokenVerifier
from threadkeep.ports import Page, PageRequest


class Thing(Model):
    """A resource with a version."""

    id: str
    name: str
    note: str | None = None
    properties: Properties = Field(default_factory=dict)
    version: int = 1


class ThingDraft(Model):
    """The body of a create."""

    name: Name
    size: int = 1
    share: Share = 0.5
    kind: EntityType | None = None
    since: UtcTime | None = None
    properties: Properties | None = None


class ThingsQuery(ListQuery):
    """A filter, and a repeatable parameter."""

    kind: EntityType | None = None
    only: tuple[Id, ...] = ()


def no_fetch(url: str) -> bytes:
    """Fail: nothing is to be fetched."""
    raise AssertionError(url)


@dataclass
class Site:
    """An Api of things, and the parts that serve it.

    Attributes:
        seen: Every request that reached a handler.
        failures: Errors to raise from the next handlers.
        meanwhile: Called while a handler runs.
    """

    clock: FakeClock = field(default_factory=FakeClock)
    ids: SequentialIds = field(default_factory=SequentialIds)
    idempotency_store: FakeIdempotencyStore = field(default_factory=FakeIdempotencyStore)
    audit_log: FakeAuditLog = field(default_factory=FakeAuditLog)
    seen: list[Request[object, object]] = field(default_factory=list)
    failures: list[BaseException] = field(default_factory=list)
    meanwhile: Callable[[], None] = lambda: None
    api: Api = field(default_factory=lambda: Api("things"))

    def __post_init__(self) -> None:
        self.token_verifier = TokenVerifier("iss", "aud", "http://keys", self.clock, no_fetch)
        self._declare()

    def _note(self, request: Request[object, object]) -> None:
        self.seen.append(request)
        self.meanwhile()
        if self.failures:
            raise self.failures.pop(0)

    def _declare(self) -> None:
        api = self.api

        @api.get("/things", query=ThingsQuery, response=Listing[Thing], admin_twin=True)
        def list_things(request: Request[None, ThingsQuery]) -> Answer:
            """List things."""
            self._note(request)
            names = [f"t{number:02d}" for number in range(45)]

            def fetch(page: PageRequest) -> Page[Thing]:
                start = int(page.position["at"]) if page.position else page.skip
                cut = names[start : start + page.limit]
                after = start + len(cut)
                return Page(
                    [Thing(id=name, name=name) for name in cut],
                    {"at": str(after)} if after < len(names) else None,
                    len(names) if page.with_total else None,
                )

            return listed(request, fetch)

        @api.post("/things", body=ThingDraft, response=Thing, status=(201, 200), admin_twin=True)
        def create_thing(request: Request[ThingDraft]) -> Answer:
            """Create a thing."""
            self._note(request)
            return Answer(
                Thing(
                    id=f"thing-{len(self.seen)}",
                    name=request.body.name,
                    properties=request.body.properties or {},
                    version=3,
                )
            )

        @api.post("/things/{thing_id}/publish", response=Thing)
        def publish_thing(request: Request) -> Answer:
            """Publish a thing."""
            self._note(request)
            return Answer(Thing(id=request.path["thing_id"], name="x"))

        @api.put("/things/{thing_id}", body=ThingDraft, response=Thing, versioned=True)
        def update_thing(request: Request[ThingDraft]) -> Answer:
            """Replace a thing."""
            self._note(request)
            return Answer(Thing(id=request.path["thing_id"], name="x"))

        @api.delete("/things/{thing_id}", versioned=True)
        def delete_thing(request: Request) -> Answer:
            """Delete a thing."""
            self._note(request)
            return Answer()

        @api.get("/settings", admin=True)
        def read_settings(request: Request) -> Answer:
            """Read settings."""
            self._note(request)
            return Answer({"on": True})

        @api.get("/health", open_to_all=True)
        def health(request: Request) -> Answer:
            """Tell that it runs."""
            self._note(request)
            return Answer({"status": "ok"})


@pytest.fixture
def site() -> Site:
    return Site()


@pytest.fixture
def busy() -> ConflictError:
    return ConflictError("Others are at it.", retry_after=1)
