"""What every memory store promises about deleting entities."""

from __future__ import annotations

from itertools import batched, islice
from typing import TYPE_CHECKING

import pytest

from tests.contract.emulated import all_keys
from tests.contract.faults import WorkerDiedError, dying
from tests.contract.memories import (
    NOW,
    USER,
    commit,
    create,
    entity,
    later,
    relation,
    renamed,
    stored,
    stored_relation,
    support,
    updated,
)
from tests.fakes.memory import FakeMemoryStore
from threadkeep.domain.changes import (
    MAX_CHANGES,
    CreateEntity,
    CreateRelation,
    DeleteRelation,
    UpdateEntity,
)
from threadkeep.domain.entities import EntityType
from threadkeep.domain.relations import SINGLE_VALUED, RelationChanges, RelationType, close, replace
from threadkeep.domain.retrieval import DocumentKind
from threadkeep.errors import ConflictError, UnavailableError
from threadkeep.ports import PageRequest, Pending
from threadkeep.storage.memory import DynamoMemoryStore

if TYPE_CHECKING:
    from collections.abc import Iterator

    from threadkeep.domain.relations import Relation
    from threadkeep.ports import MemoryStore
    from threadkeep.storage.table import Table

WORKS_AT = RelationType.WORKS_AT


def begin_deletion(store: MemoryStore, entity_id: str, table: Table | None) -> None:
    """Delete an entity with a worker that dies after the first step."""
    if isinstance(store, FakeMemoryStore):
        store.interrupt_deletions = True
        with pytest.raises(UnavailableError):
            store.delete_entity(USER, stored(store, entity_id), at=NOW)
        store.interrupt_deletions = False
        return
    assert table is not None
    whole = stored(store, entity_id)
    with dying(table, at=1, answer_lost=True), pytest.raises(WorkerDiedError):
        store.delete_entity(USER, whole, at=NOW)


@pytest.fixture
def own_table(memory_store: MemoryStore, request: pytest.FixtureRequest) -> Table | None:
    """The table of the store, if it has one."""
    if isinstance(memory_store, FakeMemoryStore):
        return None
    table: Table = request.getfixturevalue("table")
    return table


def _populate(store: MemoryStore) -> None:
    """Give the entity a one of everything, beside b, c and d."""
    commit(store, CreateEntity(entity("a", "Ann"), support("c1/m1", "about Ann")))
    create(store, *map(entity, "bcd"))
    commit(store, CreateRelation(relation("out", "a", "b", WORKS_AT), support("c1/m1", "at b")))
    create(store, relation("in", "c", "a"), relation("was", "a", "d"), relation("bc", "b", "c"))
    was = stored_relation(store, "was")
    commit(store, updated(was, close(was, valid_to=NOW, now=NOW)))
    commit(store, renamed(stored(store, "a"), "Anna"))
    store.count_accesses(USER, ["a"], NOW)


def _check_gone(store: MemoryStore) -> None:
    """Check that no surface shows the entity a."""
    assert store.get_entity(USER, "a") is None
    assert store.get_entity_with_halves(USER, "a") is None
    assert store.get_entities(USER, ["a", "b"]).keys() == {"b"}
    assert store.get_items(USER, entity_ids=["a"], relation_ids=[])[0] == {}
    assert store.find_by_name(USER, EntityType.CONCEPT, "anna") is None
    for sort in ("updated", "name"):
        listed = store.list_entities(USER, PageRequest(with_total=True), sort=sort, now=NOW)
        assert ({item.id for item in listed.items}, listed.total) == ({"b", "c", "d"}, 3)
    for entity_id in (None, "b", "c"):
        relations = store.list_relations(
            USER, PageRequest(with_total=True), now=NOW, entity_id=entity_id
        )
        assert ([item.id for item in relations.items], relations.total) == (["bc"], 1)
    assert Pending(DocumentKind.ENTITY, "a", 3, True, NOW) in store.pending(USER)


def test_a_deleted_entity_takes_everything_with_it(
    memory_store: MemoryStore, own_table: Table | None
) -> None:
    # Given an entity with relations of each kind, history, evidence and counter
    _populate(memory_store)
    # When it is deleted
    memory_store.delete_entity(USER, stored(memory_store, "a"), at=NOW)
    # Then no surface shows it, and nothing of it is left to be found another way
    _check_gone(memory_store)
    assert memory_store.entity_sources(USER, "a") == frozenset()
    assert memory_store.halves(USER, "a", closed=True) == []
    for relation_id in ("out", "in", "was"):
        assert memory_store.get_relation(USER, relation_id) is None
        assert memory_store.relation_sources(USER, relation_id) == frozenset()
    for item_id in ("a", "out", "in", "was"):
        assert memory_store.history(USER, item_id, PageRequest()).items == []
    assert [half.relation_id for half in memory_store.halves(USER, "b", closed=True)] == ["bc"]
    assert memory_store.halves(USER, "d", closed=True) == []
    assert [edge.relation_id for edge in memory_store.edges(USER, closed=True)] == ["bc"]
    assert memory_store.unfinished_deletions(USER) == frozenset()
    if own_table is not None:
        left = {key for key in all_keys(own_table) if {"a", "out", "in", "was"} & _parts(key)}
        assert left == {(f"U#{USER}", "PX#a")}


def test_a_half_deleted_entity_is_on_no_surface(
    memory_store: MemoryStore, own_table: Table | None
) -> None:
    # Given an entity whose deletion stopped after its first step
    _populate(memory_store)
    begin_deletion(memory_store, "a", own_table)
    # Then it is gone for every reader
    _check_gone(memory_store)
    assert memory_store.unfinished_deletions(USER) == {"a"}
    # And nothing can be added to it, while what is left of it does no harm
    with pytest.raises(ConflictError):
        create(memory_store, relation("new", "b", "a"))
    kept = memory_store.get_relations(USER, ["in"]).get("in")
    assert kept is not None
    with pytest.raises(ConflictError):
        changed = replace(kept, RelationChanges(description="x"), NOW)
        commit(memory_store, updated(kept, changed))
    # And it can be finished, by several and more than once
    memory_store.finish_deletion(USER, "a")
    memory_store.finish_deletion(USER, "a")
    _check_gone(memory_store)
    assert memory_store.unfinished_deletions(USER) == frozenset()
    assert memory_store.edges(USER, closed=True) == memory_store.edges(USER)


def test_the_id_of_a_half_deleted_entity_is_not_free(
    memory_store: MemoryStore, own_table: Table | None
) -> None:
    # Given an entity that is being deleted
    _populate(memory_store)
    begin_deletion(memory_store, "a", own_table)
    # Then its name is free at once, and its id only when nothing of it can be swept any more
    create(memory_store, entity("new", "Anna"))
    with pytest.raises(ConflictError):
        create(memory_store, entity("a", "other"))
    memory_store.finish_deletion(USER, "a")
    create(memory_store, entity("a", "other"))
    assert memory_store.halves(USER, "a", closed=True) == []


def test_only_the_entity_as_read_is_deleted(memory_store: MemoryStore) -> None:
    create(memory_store, entity("a"))
    before = stored(memory_store, "a")
    commit(memory_store, UpdateEntity(before, before, support("s")))
    with pytest.raises(ConflictError):
        memory_store.delete_entity(USER, before, at=NOW)
    memory_store.delete_entity(USER, stored(memory_store, "a"), at=NOW)
    with pytest.raises(ConflictError):
        memory_store.delete_entity(USER, before, at=NOW)


def test_there_is_nothing_to_finish_of_what_lives(memory_store: MemoryStore) -> None:
    _populate(memory_store)
    before = memory_store.get_entity_with_halves(USER, "a")
    for item_id in ("a", "out", "none"):
        memory_store.finish_deletion(USER, item_id)
    assert memory_store.get_entity_with_halves(USER, "a") == before


def test_deleting_the_self_entity_frees_its_place(memory_store: MemoryStore) -> None:
    create(memory_store, entity("me", "You", entity_type=EntityType.PERSON, is_self=True))
    memory_store.delete_entity(USER, stored(memory_store, "me"), at=NOW)
    assert memory_store.self_id(USER) is None
    create(memory_store, entity("me2", "You", entity_type=EntityType.PERSON, is_self=True))


def test_a_deleted_end_frees_the_one_place_of_a_source(memory_store: MemoryStore) -> None:
    create(memory_store, *map(entity, "abc"), relation("r", "a", "b", WORKS_AT))
    memory_store.delete_entity(USER, stored(memory_store, "b"), at=NOW)
    create(memory_store, relation("s", "a", "c", WORKS_AT))


def test_an_access_of_a_deleted_entity_leaves_nothing(
    memory_store: MemoryStore, own_table: Table | None
) -> None:
    create(memory_store, entity("a"), entity("b"))
    memory_store.delete_entity(USER, stored(memory_store, "a"), at=NOW)
    memory_store.count_accesses(USER, ["a", "b", "none"], NOW)
    assert stored(memory_store, "b").access_count == 1
    if own_table is not None:
        assert not [key for key in all_keys(own_table) if key[1].startswith("E#a")]


@pytest.mark.parametrize("answer_lost", [False, True])
@pytest.mark.parametrize("sources", [1, 12])
def test_a_relation_is_deleted_whole_after_a_crash_anywhere(
    table: Table, sources: int, *, answer_lost: bool
) -> None:
    # Given a relation with few or many sources whose deletion dies at each of its requests in turn
    store = DynamoMemoryStore(table)
    create(store, entity("a"), entity("b"))
    for at in range(1, 50):
        commit(store, CreateRelation(relation("r", "a", "b", WORKS_AT), support("c/0", "quote")))
        for number in range(1, sources):
            before = stored_relation(store, "r")
            commit(store, updated(before, before, support=support(f"c/{number}", "quote")))
        try:
            with dying(table, at=at, answer_lost=answer_lost):
                commit(store, DeleteRelation(stored_relation(store, "r")))
        except WorkerDiedError:
            left = store.get_relation(USER, "r")
        else:
            break
        # Then it is there whole, or gone for every reader
        if left is not None:
            assert left.sources_count == len(left.sources) == sources
            assert len(store.halves(USER, "a")) == 1
            commit(store, DeleteRelation(left))
        else:
            assert store.halves(USER, "a", closed=True) == store.halves(USER, "b") == []
            # Few rows have gone at once; the index mark has the sweep of many taken up
            for mark in store.pending(USER):
                store.finish_deletion(USER, mark.ref)
        store.clear_pending(USER, store.pending(USER))
        # And then nothing of it is left
        assert not [key for key in all_keys(table) if "r" in _parts(key)]
    assert at >= (5 if sources > 1 else 3)


@pytest.mark.slow
def test_a_hub_of_1250_relations_is_deleted_whole_by_workers_that_die(table: Table) -> None:
    # Given an entity with 1,250 relations in both directions, and relations beside it
    store = DynamoMemoryStore(table)
    others = [f"e{number}" for number in range(79)]
    for chunk in batched(others, MAX_CHANGES, strict=False):
        commit(store, *(CreateEntity(entity(entity_id)) for entity_id in chunk))
    create(store, relation("beside", "e0", "e1"))
    before = all_keys(table)
    create(store, entity("hub"))
    relations = list(islice(_around("hub", others), 1250))
    assert len(relations) == 1250
    for some in batched(relations, MAX_CHANGES, strict=False):
        commit(store, *(CreateRelation(item) for item in some))
    assert len(store.halves(USER, "hub")) == 1250
    # When the worker that deletes it dies half-way, and so do those who go on after it
    hub = stored(store, "hub")
    with dying(table, at=60, of="BatchWriteItem"), pytest.raises(WorkerDiedError):
        store.delete_entity(USER, hub, at=NOW)
    half_way = len(store.halves(USER, "hub"))
    assert 100 < half_way < 1150
    # Then nothing of it is visible meanwhile
    assert store.get_entity(USER, "hub") is None
    listed = store.list_relations(USER, PageRequest(with_total=True), now=later(days=1))
    assert ([item.id for item in listed.items], listed.total) == (["beside"], 1)
    assert (
        store.list_relations(USER, PageRequest(with_total=True), now=NOW, entity_id="e0").total == 1
    )
    for at in (3, 17, 41):
        with (
            dying(table, at=at, of="BatchWriteItem", answer_lost=True),
            pytest.raises(WorkerDiedError),
        ):
            store.finish_deletion(USER, "hub")
    # When one lives to the end
    store.finish_deletion(USER, "hub")
    # Then all of it is gone, and what stood beside it is whole
    assert all_keys(table) == before | {(f"U#{USER}", "PX#hub")}


def _around(hub: str, others: list[str]) -> Iterator[Relation]:
    """Yield relations between an entity and others, of every type in both directions."""
    for number, other in enumerate(others):
        for kind in RelationType:
            yield relation(f"in-{kind}-{number}", other, hub, kind)
            if kind not in SINGLE_VALUED:
                yield relation(f"out-{kind}-{number}", hub, other, kind)


def _parts(key: tuple[str, str]) -> set[str]:
    """Return what the keys of a row name."""
    return set("#".join(key).split("#"))
