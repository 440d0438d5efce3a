"""Many writers at once, and writers that die: what was acknowledged is there, once."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from typing import TYPE_CHECKING, Any

import pytest

from tests.fakes.memory import FakeMemoryStore
from tests.memory_world import HAND, USER, MemoryWorld
from threadkeep.domain.entities import EntityChanges
from threadkeep.domain.graph import GraphQuery
from threadkeep.domain.relations import RelationChanges, RelationType
from threadkeep.errors import ThreadkeepError
from threadkeep.ports import PageRequest
from threadkeep.system import SystemClock

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from tests.gateway import Gateway, Reply

WRITERS = 100


@pytest.fixture
def world() -> MemoryWorld:
    return MemoryWorld(clock=SystemClock())


@pytest.fixture
def api(world: MemoryWorld, monkeypatch: pytest.MonkeyPatch) -> Gateway:
    return world.many_at_once(monkeypatch)


def at_once(requests: Sequence[Callable[[], Reply]]) -> list[Reply]:
    """Send all requests at the same time."""
    with ThreadPoolExecutor(len(requests)) as pool:
        return list(pool.map(lambda send: send(), requests))


def test_parallel_creates_of_one_name_make_one_entity_with_every_property(api: Gateway) -> None:
    """T56, T11: 100 writers state something about one name; all of it is kept."""

    # when
    def send(number: int) -> Callable[[], Reply]:
        body = {"name": "Acme", "entity_type": "organization", "properties": {f"p{number}": number}}
        return lambda: api.post("/memories/entities", body)

    replies = at_once([send(number) for number in range(WRITERS)])
    # then
    assert sorted(reply.status for reply in replies) == [200] * (WRITERS - 1) + [201]
    [entity_id] = {reply.body["id"] for reply in replies}
    entity = api.get(f"/memories/entities/{entity_id}").body
    assert entity["properties"] == {f"p{number}": number for number in range(WRITERS)}
    assert entity["version"] == WRITERS
    page = api.get("/memories/entities", query={"page": "1"}).body
    assert (page["total"], len(page["items"])) == (1, 1)
    history = api.get(f"/memories/entities/{entity_id}/history", query={"limit": "100"}).body
    assert [entry["version"] for entry in history["items"]] == list(range(WRITERS, 0, -1))


def test_parallel_writes_that_were_acknowledged_are_all_there(api: Gateway) -> None:
    """T56: a 2xx means that it is stored."""
    # when
    replies = at_once(
        [
            lambda number=number: api.post(  # type: ignore[misc]
                "/memories/entities", {"name": f"n{number}", "entity_type": "fact"}
            )
            for number in range(WRITERS)
        ]
    )
    # then
    assert {reply.status for reply in replies} == {201}
    page = api.get("/memories/entities", query={"page_size": "100"}).body
    assert {item["id"] for item in page["items"]} == {reply.body["id"] for reply in replies}
    assert page["total"] == WRITERS


def test_of_parallel_updates_of_one_version_one_wins(api: Gateway) -> None:
    """T11: the others learn that the version has changed, and nothing is lost silently."""
    # given
    made = api.post("/memories/entities", {"name": "Acme", "entity_type": "fact"})
    path = f"/memories/entities/{made.body['id']}"
    # when
    replies = at_once(
        [
            lambda number=number: api.put(  # type: ignore[misc]
                path, {"properties": {"by": number}}, headers={"If-Match": '"v1"'}
            )
            for number in range(16)
        ]
    )
    # then
    assert sorted(reply.status for reply in replies) == [200] + [412] * 15
    [winner] = [reply.body for reply in replies if reply.status == 200]
    assert {reply.body["current_version"] for reply in replies if reply.status == 412} == {2}
    assert api.get(path).body["properties"] == winner["properties"]


def test_parallel_employers_leave_one_that_is_current(api: Gateway) -> None:
    # given
    def create(name: str) -> str:
        body = {"name": name, "entity_type": "custom"}
        return str(api.post("/memories/entities", body).body["id"])

    mia, employers = create("Mia"), [create(f"employer {number}") for number in range(16)]
    # when
    replies = at_once(
        [
            lambda employer=employer: api.post(  # type: ignore[misc]
                "/memories/relations",
                {
                    "source_entity_id": mia,
                    "target_entity_id": employer,
                    "relation_type": "works_at",
                },
            )
            for employer in employers
        ]
    )
    # then
    assert {reply.status for reply in replies} == {201}
    assert len(api.get("/memories/relations").body["items"]) == 1
    closed = [api.get(f"/memories/relations/{reply.body['id']}").body for reply in replies]
    assert sum("valid_to" in relation for relation in closed) == 15


def test_parallel_first_uses_make_one_own_entity(world: MemoryWorld) -> None:
    # when
    with ThreadPoolExecutor(16) as pool:
        made = list(pool.map(lambda _: world.product.memories.own(USER, HAND).id, range(16)))
    # then
    assert len(set(made)) == 1


class Dying(FakeMemoryStore):
    """A store whose worker dies at one of its calls, before or after the call took effect.

    Attributes:
        calls_left: Calls until it dies; None for never.
        takes_effect: Whether the last call still takes effect.
    """

    def __init__(self) -> None:
        self.calls_left: int | None = None
        self.takes_effect = False
        super().__init__()

    def __getattribute__(self, name: str) -> Any:
        found = super().__getattribute__(name)
        if name.startswith("_") or not callable(found):
            return found

        def call(*arguments: Any, **options: Any) -> Any:
            if self.calls_left is None:
                return found(*arguments, **options)
            left, self.calls_left = self.calls_left, None
            dies = left == 0
            if dies and not self.takes_effect:
                raise WorkerDiedError
            answer = found(*arguments, **options)
            if dies:
                raise WorkerDiedError
            self.calls_left = left - 1
            return answer

        return call


class WorkerDiedError(Exception):
    """The worker is gone, whatever the call did."""


def use_cases(world: MemoryWorld, ids: dict[str, str]) -> dict[str, Callable[[], object]]:
    """Return each use case that writes, ready to be run again."""
    product = world.product
    a, b, relation, expired = (ids[name] for name in ("a", "b", "relation", "expired"))
    return {
        "create": lambda: world.entity("new", properties={"x": 1}),
        "merge": lambda: world.entity("a", properties={"x": 1}),
        "create over an expired one": lambda: world.entity("expired"),
        "own": lambda: product.memories.own(USER, HAND),
        "update": lambda: product.memories.update(
            USER, a, EntityChanges(description="changed"), HAND
        ),
        "rename": lambda: product.memories.update(USER, a, EntityChanges(name="z"), HAND),
        "rename over an expired one": lambda: product.memories.update(
            USER, a, EntityChanges(name="expired"), HAND
        ),
        "delete": lambda: product.memories.delete(USER, a),
        "relate": lambda: world.relation(b, a, RelationType.USES, properties={"x": 1}),
        "change employer": lambda: world.relation(a, ids["c"], RelationType.WORKS_AT),
        "close": lambda: product.relations.update(
            USER, relation, RelationChanges(valid_to=world.clock.now()), HAND
        ),
        "delete relation": lambda: product.relations.delete(USER, relation, HAND),
        "keep": lambda: expired,
    }


def picture(world: MemoryWorld) -> object:
    """Return what a user sees, without times and without the ids of what is new."""
    listed = world.product.memories.list(USER, PageRequest(limit=100, with_total=True))
    graph, _ = world.product.graph.whole(USER, GraphQuery())
    name_of = {entity.id: entity.name for entity in graph.entities}
    assert listed.total == len(listed.items) == len(graph.entities)
    return (
        sorted(
            (e.name, e.description, sorted(e.properties.items()), e.version) for e in listed.items
        ),
        sorted(
            (name_of[r.source_entity_id], r.relation_type, name_of[r.target_entity_id], r.version)
            for r in graph.relations
        ),
    )


def staged() -> tuple[MemoryWorld, Dying, dict[str, str]]:
    """Return a small memory, always the same."""
    store = Dying()
    world = MemoryWorld(memory_store=store)
    ids = {name: world.entity(name).id for name in ("a", "b", "c")}
    ids["relation"] = world.relation(ids["a"], ids["b"], RelationType.WORKS_AT).id
    ids["expired"] = world.entity("expired", expires_at=world.clock.now()).id
    return world, store, ids


@pytest.mark.parametrize("takes_effect", [False, True])
@pytest.mark.parametrize("name", sorted(use_cases(*staged()[::2])))
def test_worker_that_dies_at_any_call_leaves_what_a_retry_completes(
    name: str, takes_effect: bool
) -> None:
    # given: what it looks like when nothing goes wrong
    world, _, ids = staged()
    use_cases(world, ids)[name]()
    expected = picture(world)
    died = 0
    for calls in range(30):
        # when: the worker dies at one call, and the caller tries again
        world, store, ids = staged()
        store.calls_left, store.takes_effect = calls, takes_effect
        try:
            use_cases(world, ids)[name]()
        except WorkerDiedError:
            died += 1
        else:
            break
        # A delete that took effect is a 404 the second time, as it should be.
        with suppress(ThreadkeepError):
            use_cases(world, ids)[name]()
        # then
        assert picture(world) == expected, f"died at call {calls}"
    assert died == calls
    assert died > 0 or name == "keep"
