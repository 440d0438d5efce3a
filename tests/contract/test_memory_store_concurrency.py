"""Writers that run at the same time: the database alone keeps them apart.

On the emulator, whose transactions were found exact under parallel writers; moto's lose updates.
"""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING

from tests.contract.memories import (
    NOW,
    USER,
    commit,
    create,
    entity,
    relation,
    stored,
    stored_relation,
    support,
)
from threadkeep.domain.changes import CreateEntity, CreateRelation, UpdateEntity, UpdateRelation
from threadkeep.domain.entities import EntityDraft, EntityType, merge
from threadkeep.domain.relations import RelationType, close
from threadkeep.errors import ConflictError
from threadkeep.ports import PageRequest
from threadkeep.storage.memory import DynamoMemoryStore

if TYPE_CHECKING:
    from collections.abc import Callable

    from threadkeep.ports import MemoryStore
    from threadkeep.storage.table import Table

WRITERS = 16


def at_once[T](call: Callable[[int], T]) -> list[T]:
    """Run a call for each writer, all at the same time."""
    with ThreadPoolExecutor(WRITERS) as pool:
        return list(pool.map(call, range(WRITERS)))


def until_no_conflict(attempt: Callable[[], None]) -> None:
    """Decide anew for as long as another writer is first; with this few, one gets through soon."""
    for _ in range(20 * WRITERS):
        try:
            return attempt()
        except ConflictError:
            continue
    raise AssertionError("others were always first")


def _state(store: MemoryStore, number: int) -> None:
    """State one property and one source of the entity "Acme", creating or merging it."""
    draft = EntityDraft(
        name="acme", entity_type=EntityType.ORGANIZATION, properties={f"p{number}": number}
    )
    said = support(f"c{number}/m", f"quote {number}")

    def attempt() -> None:
        held_by = store.find_by_name(USER, EntityType.ORGANIZATION, "acme")
        if held_by is None:
            new = entity(f"id{number}", "Acme", entity_type=EntityType.ORGANIZATION)
            new = new.model_copy(update={"properties": draft.properties})
            commit(store, CreateEntity(new, said))
        else:
            before = stored(store, held_by)
            commit(store, UpdateEntity(before, merge(before, draft, NOW), said))

    until_no_conflict(attempt)


def test_parallel_statements_of_one_name_make_one_entity_that_keeps_all(table: Table) -> None:
    store = DynamoMemoryStore(table)
    at_once(lambda number: _state(store, number))
    listed = store.list_entities(USER, PageRequest(with_total=True), sort="name", now=NOW)
    assert listed.total == 1
    whole = stored(store, listed.items[0].id)
    assert whole.properties == {f"p{n}": n for n in range(WRITERS)}
    assert whole.sources_count == len(store.entity_sources(USER, whole.id)) == WRITERS
    assert (whole.version, whole.revision) == (WRITERS, WRITERS)
    history = store.history(USER, whole.id, PageRequest(limit=100))
    assert [entry.version for entry in history.items] == list(range(WRITERS, 0, -1))


def test_of_parallel_creates_of_one_name_one_succeeds(table: Table) -> None:
    store = DynamoMemoryStore(table)

    def attempt(number: int) -> bool:
        try:
            create(store, entity(f"id{number}", "Acme"))
        except ConflictError:
            return False
        return True

    # Transactions that meet may all be refused: then one that comes later gets the name
    assert sum(at_once(attempt)) + attempt(WRITERS) == 1
    listed = store.list_entities(USER, PageRequest(with_total=True), sort="name", now=NOW)
    assert listed.total == 1
    assert len(store.pending(USER)) == 1


def test_parallel_employers_leave_one_current(table: Table) -> None:
    # Given a person, and statements at the same time of where that person works now
    store = DynamoMemoryStore(table)
    works_at = RelationType.WORKS_AT
    create(store, entity("me"), *(entity(f"o{n}") for n in range(WRITERS)))

    def state(number: int) -> None:
        def attempt() -> None:
            held = [half.relation_id for half in store.halves(USER, "me")]
            closing = [
                UpdateRelation(before, close(before, valid_to=NOW, now=NOW))
                for before in store.get_relations(USER, held).values()
            ]
            new = relation(f"r{number}", "me", f"o{number}", works_at)
            commit(store, CreateRelation(new), *closing)

        until_no_conflict(attempt)

    # When all are stored
    at_once(state)
    # Then one is current, and the others were closed one after the other
    assert len(store.halves(USER, "me")) == 1
    every = store.halves(USER, "me", closed=True)
    assert len(every) == WRITERS
    current = [half for half in every if half.valid_to is None]
    assert current == store.halves(USER, "me")


def test_a_relation_never_outlives_an_end_that_is_deleted_meanwhile(table: Table) -> None:
    # Given relations that are made to an entity while it is deleted
    store = DynamoMemoryStore(table)
    create(store, entity("hub"), *(entity(f"e{n}") for n in range(WRITERS)))

    def write(number: int) -> None:
        def attempt() -> None:
            if number:
                if store.get_entities(USER, ["hub"]):
                    create(store, relation(f"r{number}", f"e{number}", "hub"))
            else:
                store.delete_entity(USER, stored(store, "hub"), at=NOW)

        until_no_conflict(attempt)

    at_once(write)
    # Then none of them is left at either end
    assert store.edges(USER, closed=True) == []
    found = store.halves_of(USER, ["hub", *(f"e{n}" for n in range(WRITERS))], closed=True)
    assert not any(found.values())
    assert store.unfinished_deletions(USER) == frozenset()


def test_parallel_sources_of_a_relation_are_all_counted(table: Table) -> None:
    store = DynamoMemoryStore(table)
    create(store, entity("a"), entity("b"), relation("r", "a", "b"))

    def state(number: int) -> None:
        def attempt() -> None:
            before = stored_relation(store, "r")
            commit(store, UpdateRelation(before, before, support(f"c{number}/m")))

        until_no_conflict(attempt)

    at_once(state)
    assert stored_relation(store, "r").sources_count == WRITERS


def test_recalls_at_the_same_time_change_no_entity_and_fail_no_turn(table: Table) -> None:
    store = DynamoMemoryStore(table)
    create(store, *(entity(f"e{n}") for n in range(5)))
    ids = [f"e{n}" for n in range(5)]
    at_once(lambda _: store.count_accesses(USER, ids, NOW))
    read = store.get_entities(USER, ids, counts=True).values()
    # Recalls that meet may be left out, never counted twice
    assert all(1 <= item.access_count <= WRITERS and item.revision == 1 for item in read)


def test_several_workers_finish_one_deletion(table: Table) -> None:
    store = DynamoMemoryStore(table)
    create(store, entity("hub"), *(entity(f"e{n}") for n in range(30)))
    for n in range(30):
        create(store, relation(f"r{n}", "hub", f"e{n}"))
    hub = stored(store, "hub")

    def work(number: int) -> None:
        if number == 0:
            store.delete_entity(USER, hub, at=NOW)
        else:
            store.finish_deletion(USER, "hub")

    at_once(work)
    assert store.unfinished_deletions(USER) == frozenset()
    assert store.edges(USER) == []
    assert store.halves(USER, "e0") == []
