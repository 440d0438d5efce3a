"""What every memory store promises about entities."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import pytest

from tests.contract.memories import (
    NOW,
    USER,
    commit,
    create,
    entity,
    later,
    renamed,
    stored,
    support,
)
from threadkeep.domain.changes import CreateEntity, UpdateEntity
from threadkeep.domain.entities import (
    SHOWN_EVIDENCE,
    EntityChanges,
    EntityDraft,
    EntityType,
    ExtractionNote,
    Provenance,
    content_of,
    merge,
    replace,
)
from threadkeep.domain.names import name_key
from threadkeep.errors import ConflictError
from threadkeep.ports import PageRequest

if TYPE_CHECKING:
    from collections.abc import Sequence

    from threadkeep.domain.changes import HistoryEntry
    from threadkeep.ports import MemoryStore


def test_an_entity_comes_back_as_it_was_stored(memory_store: MemoryStore) -> None:
    # Given an entity with every field set, and values that a database could bend
    whole = entity(
        "a",
        "Café 王小明 #1/2%*",
        entity_type=EntityType.ORGANIZATION,
        description="x" * 8192,
        properties={
            "pi": math.pi,
            "tiny": 5e-324,
            "big": 2**200,
            "one": 1.0,
            "none": None,
            "nested": {"": [True, "\x00", {"user_id": "victim"}]},
        },
        importance=1e-300,
        provenance=Provenance.USER_STATED,
        extraction=ExtractionNote(language="zh", time_precision="day"),
        expires_at=later(days=1),
        version=3,
        revision=7,
    )
    # When it is stored
    commit(memory_store, CreateEntity(whole))
    # Then each way of reading gives it back, number by number
    assert stored(memory_store, "a") == whole
    assert memory_store.get_entities(USER, ["a"]) == {"a": whole}
    assert memory_store.get_items(USER, entity_ids=["a"], relation_ids=[]) == ({"a": whole}, {})
    assert memory_store.get_entity_with_halves(USER, "a") == (whole, [])
    assert isinstance(stored(memory_store, "a").properties["one"], float)


def test_what_is_not_there_is_left_out(memory_store: MemoryStore) -> None:
    create(memory_store, entity("a"))
    assert memory_store.get_entity(USER, "b") is None
    assert memory_store.get_entity_with_halves(USER, "b") is None
    assert memory_store.get_entities(USER, ["b", "a", "a"]).keys() == {"a"}
    assert memory_store.get_entities(USER, []) == {}


def test_a_name_leads_to_its_entity(memory_store: MemoryStore) -> None:
    create(memory_store, entity("a", "Dark  ROAST"))
    key = name_key("dark roast")
    assert memory_store.find_by_name(USER, EntityType.CONCEPT, key) == "a"
    assert memory_store.find_by_name(USER, EntityType.PERSON, key) is None


def test_a_name_is_taken_once_for_each_type(memory_store: MemoryStore) -> None:
    create(memory_store, entity("a", "Ann"))
    with pytest.raises(ConflictError):
        create(memory_store, entity("b", "ＡＮＮ"))
    create(memory_store, entity("c", "Anna"), entity("d", "Ann", entity_type=EntityType.PERSON))
    assert memory_store.get_entity(USER, "b") is None
    assert memory_store.pending(USER)[-1].ref != "b"


def test_an_id_is_taken_once(memory_store: MemoryStore) -> None:
    create(memory_store, entity("a", "first"))
    with pytest.raises(ConflictError):
        create(memory_store, entity("a", "second"))
    assert memory_store.find_by_name(USER, EntityType.CONCEPT, "second") is None


def test_an_update_replaces_what_was_read(memory_store: MemoryStore) -> None:
    create(memory_store, entity("a"))
    before = stored(memory_store, "a")
    after = replace(before, EntityChanges(description="new"), later(hours=1))
    commit(memory_store, UpdateEntity(before, after))
    assert stored(memory_store, "a") == after
    assert (after.version, after.revision) == (2, 2)


def test_an_update_of_what_has_changed_fails_and_changes_nothing(memory_store: MemoryStore) -> None:
    create(memory_store, entity("a"))
    before = stored(memory_store, "a")
    commit(memory_store, renamed(before, "first"))
    kept = stored(memory_store, "a")
    with pytest.raises(ConflictError):
        commit(memory_store, renamed(before, "second"), CreateEntity(entity("b")))
    assert stored(memory_store, "a") == kept
    assert memory_store.get_entity(USER, "b") is None


def test_a_rename_moves_the_name(memory_store: MemoryStore) -> None:
    create(memory_store, entity("a", "old"), entity("b", "other"))
    commit(memory_store, renamed(stored(memory_store, "a"), "new"))
    assert memory_store.find_by_name(USER, EntityType.CONCEPT, "old") is None
    assert memory_store.find_by_name(USER, EntityType.CONCEPT, "new") == "a"
    with pytest.raises(ConflictError):
        commit(memory_store, renamed(stored(memory_store, "b"), "NEW"))
    create(memory_store, entity("c", "old"))


def test_a_change_of_type_moves_the_name(memory_store: MemoryStore) -> None:
    create(memory_store, entity("a", "Ann"))
    before = stored(memory_store, "a")
    after = replace(before, EntityChanges(entity_type=EntityType.PERSON), NOW)
    commit(memory_store, UpdateEntity(before, after))
    assert memory_store.find_by_name(USER, EntityType.CONCEPT, "ann") is None
    assert memory_store.find_by_name(USER, EntityType.PERSON, "ann") == "a"


def test_two_entities_can_swap_names_in_one_commit(memory_store: MemoryStore) -> None:
    create(memory_store, entity("a", "x"), entity("b", "y"))
    commit(
        memory_store,
        renamed(stored(memory_store, "a"), "y"),
        renamed(stored(memory_store, "b"), "x"),
    )
    assert memory_store.find_by_name(USER, EntityType.CONCEPT, "x") == "b"
    assert memory_store.find_by_name(USER, EntityType.CONCEPT, "y") == "a"


def test_names_that_grow_under_case_folding_stay_apart(memory_store: MemoryStore) -> None:
    # Given names of 255 characters that fold to 4,590 characters and differ in the last one only
    first, second = "\ufdfa" * 255, "\ufdfa" * 254 + "\ufdfb"
    assert len(name_key(first).encode()) > 8000
    create(memory_store, entity("a", first), entity("b", second))
    # Then each finds its own entity, and both are listed
    assert memory_store.find_by_name(USER, EntityType.CONCEPT, name_key(first)) == "a"
    assert memory_store.find_by_name(USER, EntityType.CONCEPT, name_key(second)) == "b"
    page = PageRequest(with_total=True)
    listed = memory_store.list_entities(USER, page, sort="name", now=NOW)
    assert (listed.total, {item.id for item in listed.items}) == (2, {"a", "b"})


def test_one_change_of_an_item_in_a_commit(memory_store: MemoryStore) -> None:
    create(memory_store, entity("a"))
    before = stored(memory_store, "a")
    with pytest.raises(ValueError, match="twice"):
        commit(memory_store, renamed(before, "x"), renamed(before, "y"))


def test_there_is_one_self_entity(memory_store: MemoryStore) -> None:
    assert memory_store.self_id(USER) is None
    me = entity("me", "You", entity_type=EntityType.PERSON, is_self=True)
    create(memory_store, me)
    with pytest.raises(ConflictError):
        create(memory_store, entity("me2", "I", entity_type=EntityType.PERSON, is_self=True))
    assert memory_store.self_id(USER) == "me"
    # When it learns its name, it stays the self entity
    commit(memory_store, renamed(stored(memory_store, "me"), "Ann"))
    assert memory_store.self_id(USER) == "me"
    assert stored(memory_store, "me").is_self


def test_an_entity_that_was_there_can_become_the_self_entity(memory_store: MemoryStore) -> None:
    create(memory_store, entity("a", "You", entity_type=EntityType.PERSON))
    before = stored(memory_store, "a")
    after = before.model_copy(update={"is_self": True})
    commit(memory_store, UpdateEntity(before, after))
    assert memory_store.self_id(USER) == "a"


def test_a_restatement_changes_times_and_sources_only(memory_store: MemoryStore) -> None:
    commit(memory_store, CreateEntity(entity("a"), support("c1/m1", "I like a")))
    before = stored(memory_store, "a")
    again = merge(before, EntityDraft(name="a", entity_type=EntityType.CONCEPT), later(hours=1))
    change = UpdateEntity(before, again, support("c2/m1", "a again", later(hours=1)))
    commit(memory_store, change)
    # Then the store holds what the change said, the count included
    after = stored(memory_store, "a")
    assert after.model_copy(update={"evidence": ()}) == change.result.model_copy(
        update={"evidence": ()}
    )
    assert (after.sources_count, after.version, after.revision) == (2, 1, 2)
    assert [piece.quote for piece in after.evidence] == ["a again", "I like a"]
    assert (after.updated_at, after.touched_at) == (NOW, later(hours=1))
    # And the history does not know of it
    assert len(memory_store.history(USER, "a", PageRequest()).items) == 1


def test_a_source_counts_once(memory_store: MemoryStore) -> None:
    commit(memory_store, CreateEntity(entity("a"), support("c1/m1")))
    before = stored(memory_store, "a")
    with pytest.raises(ConflictError):
        commit(memory_store, UpdateEntity(before, before, support("c1/m1")))
    assert stored(memory_store, "a").sources_count == 1
    assert memory_store.entity_sources(USER, "a") == {"c1/m1"}
    assert memory_store.entity_sources(USER, "b") == frozenset()


def test_a_dropped_source_no_longer_counts(memory_store: MemoryStore) -> None:
    commit(memory_store, CreateEntity(entity("a"), support("c1/m1", "one")))
    before = stored(memory_store, "a")
    commit(memory_store, UpdateEntity(before, before, support("import:1")))
    before = stored(memory_store, "a")
    commit(memory_store, UpdateEntity(before, before, dropped="c1/m1"))
    after = stored(memory_store, "a")
    assert (after.sources_count, after.evidence) == (1, ())
    assert memory_store.entity_sources(USER, "a") == {"import:1"}
    with pytest.raises(ConflictError):
        commit(memory_store, UpdateEntity(after, after, dropped="c1/m1"))


def test_the_newest_evidence_is_read_and_all_of_it_counted(memory_store: MemoryStore) -> None:
    create(memory_store, entity("a"))
    told = SHOWN_EVIDENCE + 5
    for number in range(told):
        before = stored(memory_store, "a")
        said = support(f"c/{number:03d}", f"quote {number}", later(minutes=number))
        commit(memory_store, UpdateEntity(before, before, said))
    after = stored(memory_store, "a")
    assert after.sources_count == told == len(memory_store.entity_sources(USER, "a"))
    newest = range(told - 1, told - 1 - SHOWN_EVIDENCE, -1)
    assert [piece.quote for piece in after.evidence] == [f"quote {n}" for n in newest]


def test_source_ids_of_any_characters_stay_apart(memory_store: MemoryStore) -> None:
    ids = ["a/b", "a#b", "a%2Fb", "a%23b", "a*", "a", "A/b", "x" * 400, "x" * 401, "話/文"]
    create(memory_store, entity("a"))
    for source_id in ids:
        before = stored(memory_store, "a")
        commit(memory_store, UpdateEntity(before, before, support(source_id, source_id)))
    assert memory_store.entity_sources(USER, "a") == set(ids)
    assert {piece.quote for piece in stored(memory_store, "a").evidence} == set(ids)


def test_the_history_tells_who_changed_what(memory_store: MemoryStore) -> None:
    create(memory_store, entity("a", "old"))
    commit(memory_store, renamed(stored(memory_store, "a"), "new"), at=later(hours=1), source="c/m")
    newest, oldest = memory_store.history(USER, "a", PageRequest()).items
    assert (oldest.version, oldest.action, oldest.before, oldest.source) == (
        1,
        "created",
        None,
        None,
    )
    assert oldest.after is not None
    assert oldest.after["name"] == "old"
    assert (newest.version, newest.action, newest.at) == (2, "updated", later(hours=1))
    assert (newest.actor, newest.source) == (f"user:{USER}", "c/m")
    assert newest.before == oldest.after
    assert newest.after == oldest.after | {"name": "new"}


def test_the_history_comes_in_pages(memory_store: MemoryStore) -> None:
    create(memory_store, entity("a"), entity("a2"), entity("A", "other"))
    for number in range(2, 13):
        commit(memory_store, renamed(stored(memory_store, "a"), f"name {number}"))
    seen = []
    page = PageRequest(limit=5, with_total=True)
    while True:
        answer = memory_store.history(USER, "a", page)
        assert answer.total == 12
        seen += [entry.version for entry in answer.items]
        if answer.next_position is None:
            break
        page = PageRequest(limit=5, position=answer.next_position, with_total=True)
    assert seen == list(range(12, 0, -1))
    assert memory_store.history(USER, "none", PageRequest()).items == []


@pytest.mark.parametrize("other", ["u10", "u", "u1#", "U1", "u1#T#c", "*"])
def test_users_see_nothing_of_each_other(memory_store: MemoryStore, other: str) -> None:
    # Given two users whose ids are close, with the same ids and names
    commit(memory_store, CreateEntity(entity("a", "mine"), support("c/m", "mine")))
    yours = entity("a", "yours")
    commit(memory_store, CreateEntity(yours, support("c/m", "yours")), user=other)
    create(memory_store, entity("b", "mine too"))
    # Then neither finds anything of the other's
    assert stored(memory_store, "a").name == "mine"
    assert stored(memory_store, "a", other).name == "yours"
    assert memory_store.get_entity(other, "b") is None
    assert memory_store.find_by_name(other, EntityType.CONCEPT, "mine") is None
    page = PageRequest(with_total=True)
    listed = memory_store.list_entities(other, page, sort="name", now=NOW)
    assert ([item.name for item in listed.items], listed.total) == (["yours"], 1)
    assert [entry.after for entry in _history(memory_store, other)] == [content_of(yours)]
    assert [mark.ref for mark in memory_store.pending(other)] == ["a"]
    # And deleting one's own leaves the other's
    memory_store.delete_entity(USER, stored(memory_store, "a"), at=NOW)
    assert stored(memory_store, "a", other).evidence[0].quote == "yours"
    assert len(_history(memory_store, other)) == 1


def _history(store: MemoryStore, user: str) -> Sequence[HistoryEntry]:
    return store.history(user, "a", PageRequest()).items
