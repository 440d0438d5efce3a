"""What every memory store promises about relations."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from tests.contract.memories import (
    NOW,
    USER,
    commit,
    create,
    entity,
    later,
    relation,
    stored,
    stored_relation,
    support,
    updated,
)
from threadkeep.domain.changes import CreateEntity, CreateRelation, DeleteRelation, UpdateRelation
from threadkeep.domain.relations import (
    Direction,
    RelationChanges,
    RelationType,
    close,
    replace,
    settle,
)
from threadkeep.errors import ConflictError
from threadkeep.ports import Half, PageRequest

if TYPE_CHECKING:
    from threadkeep.ports import MemoryStore

KNOWS, USES, WORKS_AT = RelationType.KNOWS, RelationType.USES, RelationType.WORKS_AT


@pytest.fixture
def memory_store(memory_store: MemoryStore) -> MemoryStore:
    """A store with the entities a, b, c and d."""
    create(memory_store, *map(entity, "abcd"))
    return memory_store


def test_a_relation_comes_back_as_it_was_stored(memory_store: MemoryStore) -> None:
    whole = relation(
        "r",
        "a",
        "b",
        description="met in München",
        properties={"since": 2020, "share": 0.1},
        valid_from=later(days=-400_000),
        valid_to=later(days=1),
    )
    commit(memory_store, CreateRelation(whole, support("c/m", "they met")))
    found = stored_relation(memory_store, "r")
    assert [piece.quote for piece in found.sources] == ["they met"]
    counted = whole.model_copy(update={"sources_count": 1})
    assert found.model_copy(update={"sources": ()}) == counted
    assert memory_store.get_relations(USER, ["r", "x"]) == {"r": counted}
    assert memory_store.get_items(USER, entity_ids=[], relation_ids=["r"]) == ({}, {"r": counted})
    assert memory_store.relation_sources(USER, "r") == {"c/m"}
    assert memory_store.get_relation(USER, "x") is None


def test_a_relation_is_seen_from_both_ends(memory_store: MemoryStore) -> None:
    create(memory_store, relation("r", "a", "b"), relation("s", "c", "a", USES))
    out = Half("r", "a", "b", True, KNOWS, True)
    into = Half("s", "a", "c", False, USES, True)
    assert set(memory_store.halves(USER, "a")) == {out, into}
    assert memory_store.halves(USER, "a", direction=Direction.OUTGOING) == [out]
    assert memory_store.halves(USER, "a", direction=Direction.INCOMING) == [into]
    assert memory_store.halves(USER, "b") == [Half("r", "b", "a", False, KNOWS, True)]
    found = memory_store.get_entity_with_halves(USER, "a")
    assert found is not None
    assert set(found[1]) == {out, into}
    assert memory_store.halves_of(USER, ["b", "d", "a"]) == {
        "b": memory_store.halves(USER, "b"),
        "d": [],
        "a": memory_store.halves(USER, "a"),
    }


def test_halves_can_be_of_some_types_and_few(memory_store: MemoryStore) -> None:
    create(
        memory_store,
        relation("r", "a", "b", KNOWS),
        relation("s", "a", "c", KNOWS),
        relation("t", "a", "b", USES),
        relation("v", "d", "a", USES),
    )

    def ids(**wanted: object) -> set[str]:
        return {half.relation_id for half in memory_store.halves(USER, "a", **wanted)}  # type: ignore[arg-type]

    outgoing = Direction.OUTGOING
    assert ids(relation_types=[USES]) == {"t", "v"}
    assert ids(relation_types=[USES], direction=outgoing) == {"t"}
    assert ids(relation_types=[USES, KNOWS], direction=outgoing) == {"r", "s", "t"}
    assert ids(relation_types=[WORKS_AT]) == ids(relation_types=[]) == set()
    assert len(ids(limit=3)) == 3
    # A limit counts what is asked for, not what is read on the way to it
    assert ids(relation_types=[USES], limit=2) == {"t", "v"}


def test_a_triple_is_current_once(memory_store: MemoryStore) -> None:
    create(memory_store, relation("r", "a", "b"))
    with pytest.raises(ConflictError):
        create(memory_store, relation("s", "a", "b"))
    create(memory_store, relation("back", "b", "a"), relation("other", "a", "b", USES))
    assert memory_store.find_relation(USER, "a", KNOWS, "b") == "r"
    assert memory_store.find_relation(USER, "b", KNOWS, "a") == "back"
    assert memory_store.find_relation(USER, "b", USES, "a") is None
    assert memory_store.get_relation(USER, "s") is None


@pytest.mark.parametrize(("source", "target"), [("a", "x"), ("x", "a"), ("x", "y")])
def test_a_relation_needs_both_ends(memory_store: MemoryStore, source: str, target: str) -> None:
    with pytest.raises(ConflictError):
        create(memory_store, relation("r", source, target))
    assert memory_store.get_relation(USER, "r") is None
    assert memory_store.halves(USER, "a") == []


def test_a_relation_can_come_with_its_ends(memory_store: MemoryStore) -> None:
    commit(
        memory_store,
        CreateRelation(relation("r", "a", "new")),
        CreateEntity(entity("new")),
        CreateRelation(relation("s", "new", "b")),
    )
    assert len(memory_store.halves(USER, "new")) == 2


def test_an_update_needs_the_relation_as_read_and_its_ends(memory_store: MemoryStore) -> None:
    create(memory_store, relation("r", "a", "b"))
    before = stored_relation(memory_store, "r")
    after = replace(before, RelationChanges(description="x"), later(hours=1))
    commit(memory_store, updated(before, after))
    assert stored_relation(memory_store, "r") == after
    with pytest.raises(ConflictError):
        commit(memory_store, updated(before, after))
    memory_store.delete_entity(USER, stored(memory_store, "b"), at=NOW)
    with pytest.raises(ConflictError):
        commit(memory_store, updated(after, after, support=support("s")))


def test_a_closed_relation_makes_room_and_stays_readable(memory_store: MemoryStore) -> None:
    # Given a relation that ended
    create(memory_store, relation("r", "a", "b"))
    before = stored_relation(memory_store, "r")
    ended = close(before, valid_to=later(hours=1), now=later(hours=1))
    commit(memory_store, updated(before, ended), at=later(hours=1))
    # Then it is no longer among the current ones, at either end
    assert memory_store.halves(USER, "a") == memory_store.halves(USER, "b") == []
    assert memory_store.find_relation(USER, "a", KNOWS, "b") is None
    assert memory_store.edges(USER) == []
    # And is still found by who asks for what was
    was = Half("r", "a", "b", True, KNOWS, False, later(hours=1))
    assert memory_store.halves(USER, "a", closed=True) == [was]
    assert memory_store.edges(USER, closed=True) == [was]
    assert stored_relation(memory_store, "r") == ended
    assert memory_store.history(USER, "r", PageRequest()).items[0].action == "closed"
    # And another of the same triple can come, and end too
    create(memory_store, relation("s", "a", "b", at=later(hours=2)))
    second = stored_relation(memory_store, "s")
    commit(memory_store, updated(second, close(second, valid_to=NOW, now=later(hours=3))))
    assert {half.relation_id for half in memory_store.halves(USER, "b", closed=True)} == {"r", "s"}


def test_a_relation_can_be_closed_when_it_is_made(memory_store: MemoryStore) -> None:
    past = relation("r", "a", "b", valid_from=later(days=-9), valid_to=later(days=-8))
    create(memory_store, past, relation("s", "a", "b"))
    assert [half.relation_id for half in memory_store.halves(USER, "a")] == ["s"]
    assert len(memory_store.halves(USER, "a", closed=True)) == 2


def test_a_closed_relation_can_be_opened_again(memory_store: MemoryStore) -> None:
    create(memory_store, relation("r", "a", "b", valid_from=NOW, valid_to=later(hours=1)))
    before = stored_relation(memory_store, "r")
    ended = close(before, valid_to=later(hours=1), now=later(hours=2))
    settled = settle(ended, later(hours=2))
    commit(memory_store, updated(ended, settled))
    assert memory_store.halves(USER, "a") == []
    again = replace(settled, RelationChanges(valid_to=None), later(hours=3))
    commit(memory_store, updated(settled, again))
    assert memory_store.halves(USER, "a") == [Half("r", "a", "b", True, KNOWS, True)]
    assert memory_store.halves(USER, "a", closed=True) == memory_store.halves(USER, "a")


def test_halves_tell_when_a_current_relation_will_end(memory_store: MemoryStore) -> None:
    create(memory_store, relation("r", "a", "b"))
    before = stored_relation(memory_store, "r")
    ending = replace(before, RelationChanges(valid_to=later(days=1)), NOW)
    commit(memory_store, updated(before, ending))
    (half,) = memory_store.halves(USER, "b")
    assert (half.current, half.valid_to) == (True, later(days=1))
    assert half.is_current(later(hours=23))
    assert not half.is_current(later(days=1))
    assert [edge.valid_to for edge in memory_store.edges(USER)] == [later(days=1)]


def test_a_lapsed_relation_gives_way_when_it_is_settled(memory_store: MemoryStore) -> None:
    # Given a relation whose end lay ahead when it was written, and has passed since
    create(memory_store, relation("old", "a", "b", valid_to=later(hours=1)))
    lapsed = stored_relation(memory_store, "old")
    now = later(hours=2)
    # When another of the triple is made, it is in the way
    with pytest.raises(ConflictError):
        create(memory_store, relation("new", "a", "b", at=now))
    # Until the same commit settles it
    change = updated(lapsed, settle(lapsed, now))
    commit(memory_store, change, CreateRelation(relation("new", "a", "b", at=now)), at=now)
    assert memory_store.find_relation(USER, "a", KNOWS, "b") == "new"
    assert {half.relation_id for half in memory_store.halves(USER, "b", closed=True)} == {
        "old",
        "new",
    }
    assert stored_relation(memory_store, "old").version == 1
    assert len(memory_store.history(USER, "old", PageRequest()).items) == 1


def test_a_source_has_one_open_relation_of_a_single_valued_type(memory_store: MemoryStore) -> None:
    create(memory_store, relation("r", "a", "b", WORKS_AT))
    # Another target is refused, unless the same commit closes the first
    with pytest.raises(ConflictError):
        create(memory_store, relation("s", "a", "c", WORKS_AT))
    first = stored_relation(memory_store, "r")
    ended = close(first, valid_to=later(hours=1), now=later(hours=1))
    commit(
        memory_store,
        CreateRelation(relation("s", "a", "c", WORKS_AT, at=later(hours=1))),
        updated(first, ended),
    )
    assert [half.relation_id for half in memory_store.halves(USER, "a")] == ["s"]
    # And the first can not be opened again while the other is
    reopened = replace(ended, RelationChanges(valid_to=None), later(hours=2))
    with pytest.raises(ConflictError):
        commit(memory_store, updated(ended, reopened))
    # Many-valued types, other sources and closed relations know no such bound
    create(
        memory_store,
        relation("k1", "a", "b"),
        relation("k2", "a", "c"),
        relation("t", "d", "c", WORKS_AT),
        relation("u", "a", "d", WORKS_AT, valid_from=later(days=-9), valid_to=later(days=-8)),
    )


def test_a_deleted_relation_frees_its_place(memory_store: MemoryStore) -> None:
    create(memory_store, relation("r", "a", "b", WORKS_AT))
    commit(memory_store, DeleteRelation(stored_relation(memory_store, "r")))
    create(memory_store, relation("s", "a", "c", WORKS_AT), relation("t", "d", "b", WORKS_AT))


def test_a_deleted_relation_takes_everything_with_it(memory_store: MemoryStore) -> None:
    # Given a relation with a history and sources, and another one beside it
    commit(memory_store, CreateRelation(relation("r", "a", "b"), support("c/m", "quote")))
    create(memory_store, relation("r2", "a", "c"))
    before = stored_relation(memory_store, "r")
    commit(memory_store, updated(before, replace(before, RelationChanges(description="x"), NOW)))
    # When it is deleted in the revision that was read
    with pytest.raises(ConflictError):
        commit(memory_store, DeleteRelation(before))
    commit(memory_store, DeleteRelation(stored_relation(memory_store, "r")))
    # Then nothing of it is found anywhere, and the other is as it was
    assert memory_store.get_relation(USER, "r") is None
    assert memory_store.get_relations(USER, ["r"]) == {}
    assert memory_store.find_relation(USER, "a", KNOWS, "b") is None
    assert memory_store.halves(USER, "b", closed=True) == []
    assert [half.relation_id for half in memory_store.halves(USER, "a")] == ["r2"]
    assert memory_store.relation_sources(USER, "r") == frozenset()
    assert memory_store.history(USER, "r", PageRequest()).items == []
    assert memory_store.unfinished_deletions(USER) == frozenset()
    assert len(memory_store.history(USER, "r2", PageRequest()).items) == 1


def test_a_restatement_counts_its_source_and_makes_no_version(memory_store: MemoryStore) -> None:
    commit(memory_store, CreateRelation(relation("r", "a", "b"), support("c1/m", "one")))
    before = stored_relation(memory_store, "r")
    commit(memory_store, UpdateRelation(before, before, support("c2/m", "two", later(hours=1))))
    after = stored_relation(memory_store, "r")
    assert (after.version, after.revision, after.sources_count) == (1, 2, 2)
    assert [piece.quote for piece in after.sources] == ["two", "one"]
    # Of two who count a source for what they read, one must read again
    with pytest.raises(ConflictError):
        commit(memory_store, UpdateRelation(before, before, support("c3/m")))
    # Dropping one source keeps what another supports
    commit(memory_store, UpdateRelation(after, after, dropped="c2/m"))
    kept = stored_relation(memory_store, "r")
    assert (kept.sources_count, [piece.quote for piece in kept.sources]) == (1, ["one"])


def test_edges_are_all_relations_once(memory_store: MemoryStore) -> None:
    create(memory_store, relation("r", "a", "b"), relation("s", "b", "a"), relation("t", "c", "d"))
    assert set(memory_store.edges(USER)) == {
        Half("r", "a", "b", True, KNOWS, True),
        Half("s", "b", "a", True, KNOWS, True),
        Half("t", "c", "d", True, KNOWS, True),
    }
    assert memory_store.edges("u10") == []


def test_ids_that_are_prefixes_of_each_other_stay_apart(memory_store: MemoryStore) -> None:
    ids = ["e", "e1", "e10", "e.1", "e-1", "e:R:O", "e@", "E", "e" * 128]
    create(memory_store, *(entity(item, f"name {n}") for n, item in enumerate(ids)))
    for number, target in enumerate(ids[1:]):
        create(memory_store, relation(f"r{number}", "e", target))
    assert {half.other_id for half in memory_store.halves(USER, "e")} == set(ids[1:])
    for target in ids[1:]:
        assert [half.other_id for half in memory_store.halves(USER, target)] == ["e"]
        assert stored(memory_store, target).id == target
    assert {edge.other_id for edge in memory_store.edges(USER)} == set(ids[1:])
