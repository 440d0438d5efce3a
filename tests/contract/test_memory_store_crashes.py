"""A worker that dies at any of its requests leaves a state from which a retry ends exactly."""

from __future__ import annotations

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
    relation,
    stored,
    stored_relation,
    support,
)
from threadkeep.domain.changes import (
    CreateEntity,
    CreateRelation,
    DeleteRelation,
    UpdateEntity,
    UpdateRelation,
)
from threadkeep.domain.entities import EntityDraft, EntityType, merge
from threadkeep.domain.relations import RelationType
from threadkeep.ports import PageRequest
from threadkeep.storage.memory import DynamoMemoryStore

if TYPE_CHECKING:
    from collections.abc import Callable

    from threadkeep.domain.entities import Entity
    from threadkeep.ports import MemoryStore
    from threadkeep.storage.table import Table

WORKS_AT = RelationType.WORKS_AT
MOST_REQUESTS = 60

type UseCase = Callable[[MemoryStore], None]


def _remember(store: MemoryStore, entity_id: str, name: str, source: str) -> Entity:
    """Create an entity with a source, or merge into the one that has the name."""
    draft = EntityDraft(name=name, entity_type=EntityType.CONCEPT, properties={source: 1})
    held_by = store.find_by_name(USER, EntityType.CONCEPT, name)
    if held_by is None:
        new = entity(entity_id, name).model_copy(update={"properties": draft.properties})
        commit(store, CreateEntity(new, support(source, "said")))
        return stored(store, entity_id)
    known = source in store.entity_sources(USER, held_by)
    before = stored(store, held_by)
    said = None if known else support(source, "said")
    commit(store, UpdateEntity(before, merge(before, draft, NOW), said))
    return stored(store, held_by)


def remember(store: MemoryStore) -> None:
    """Learn two entities and what relates them, from two turns."""
    me, acme = (_remember(store, i, i, "c1/m1") for i in ("me", "acme"))
    _remember(store, "x", "acme", "c1/m2")
    for source in ("c1/m1", "c1/m2"):
        held_by = store.find_relation(USER, me.id, WORKS_AT, acme.id)
        if held_by is None:
            new = relation("r", me.id, acme.id, WORKS_AT)
            commit(store, CreateRelation(new, support(source, "said")))
        elif source not in store.relation_sources(USER, held_by):
            before = stored_relation(store, held_by)
            commit(store, UpdateRelation(before, before, support(source, "said")))


def forget(store: MemoryStore) -> None:
    """Delete a relation, then an entity with the other relations."""
    found = store.get_relation(USER, "r0")
    if found is not None:
        commit(store, DeleteRelation(found))
    hub = store.get_entity(USER, "hub")
    if hub is not None:
        store.delete_entity(USER, hub, at=NOW)
    for item_id in store.unfinished_deletions(USER):
        store.finish_deletion(USER, item_id)


def _hub(store: MemoryStore) -> None:
    commit(store, CreateEntity(entity("hub"), support("c1/m1", "said")))
    for n in range(2):
        create(store, entity(f"e{n}"))
        made = relation(f"r{n}", f"e{n}", "hub", WORKS_AT)
        commit(store, CreateRelation(made, support("c1/m2", "said")))


@pytest.mark.parametrize("answer_lost", [False, True])
def test_what_is_remembered_is_whole_after_a_crash_anywhere(
    table: Table, *, answer_lost: bool
) -> None:
    # Given what the use case leaves when nothing happens
    store = DynamoMemoryStore(table)

    def check(user: str) -> None:
        listed = store.list_entities(user, PageRequest(with_total=True), sort="name", now=NOW)
        assert ([item.name for item in listed.items], listed.total) == (["acme", "me"], 2)
        acme = store.get_entity(user, "acme")
        assert acme is not None
        assert acme.properties == {"c1/m1": 1, "c1/m2": 1}
        assert acme.sources_count == len(acme.evidence) == 2
        relations = store.list_relations(user, PageRequest(with_total=True), now=NOW)
        assert ([item.sources_count for item in relations.items], relations.total) == ([2], 1)
        for item_id, versions in [("acme", [2, 1]), ("me", [1]), ("r", [1])]:
            history = store.history(user, item_id, PageRequest()).items
            assert [entry.version for entry in history] == versions

    remember(store)
    check(USER)
    expected = all_keys(table)
    # When it dies at each of its requests in turn, and is run again
    for at in range(1, MOST_REQUESTS):
        other = DynamoMemoryStore(table)
        _clear(table)
        try:
            with dying(table, at=at, answer_lost=answer_lost):
                remember(other)
        except WorkerDiedError:
            remember(other)
            check(USER)
            # Then every row is the same, with nothing twice and nothing left over
            assert all_keys(table) == expected, f"died at request {at}"
        else:
            break
    assert 10 < at < MOST_REQUESTS - 1


@pytest.mark.parametrize("answer_lost", [False, True])
def test_what_is_forgotten_is_gone_after_a_crash_anywhere(
    table: Table, *, answer_lost: bool
) -> None:
    store = DynamoMemoryStore(table)
    _hub(store)
    forget(store)
    expected = all_keys(table)
    assert not [key for key in expected if "hub" in key[1] and not key[1].startswith("PX#")]
    for at in range(1, MOST_REQUESTS):
        _clear(table)
        _hub(store)
        try:
            with dying(table, at=at, answer_lost=answer_lost):
                forget(store)
        except WorkerDiedError:
            # Then a reader never sees half of it: what is listed is there with both ends
            listed = store.list_relations(USER, PageRequest(with_total=True), now=NOW)
            hub = store.get_entity(USER, "hub")
            assert listed.total == (len(store.halves(USER, "hub")) if hub else 0)
            forget(store)
            assert all_keys(table) == expected, f"died at request {at}"
        else:
            break
    assert 10 < at < MOST_REQUESTS - 1


def _clear(table: Table) -> None:
    table.batch_write(deletes=all_keys(table))
