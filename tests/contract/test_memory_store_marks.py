"""What every memory store promises about index marks, access counts, job steps and evidence."""

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
    renamed,
    stored,
    stored_relation,
    support,
)
from tests.fakes.conversations import FakeConversationStore
from tests.fakes.memory import FakeMemoryStore
from threadkeep.domain.changes import (
    CreateEntity,
    CreateRelation,
    DeleteRelation,
    Step,
    UpdateEntity,
)
from threadkeep.domain.conversations import Conversation
from threadkeep.domain.retrieval import DocumentKind
from threadkeep.errors import ConflictError
from threadkeep.ports import Pending
from threadkeep.storage import keys
from threadkeep.storage.items import Item
from threadkeep.storage.memory import DynamoMemoryStore
from threadkeep.storage.memory_evidence import drop_evidence

if TYPE_CHECKING:
    from collections.abc import Callable

    from threadkeep.ports import MemoryStore
    from threadkeep.storage.table import Table

ENTITY = DocumentKind.ENTITY


def test_each_write_of_an_entity_leaves_one_mark_of_its_revision(memory_store: MemoryStore) -> None:
    create(memory_store, entity("a"), entity("b"), relation("r", "a", "b"))
    assert set(memory_store.pending(USER)) == {
        Pending(ENTITY, "a", 1, False, NOW),
        Pending(ENTITY, "b", 1, False, NOW),
    }
    commit(memory_store, renamed(stored(memory_store, "a"), "x"), at=later(hours=1))
    memory_store.delete_entity(USER, stored(memory_store, "b"), at=later(hours=2))
    assert set(memory_store.pending(USER)) == {
        Pending(ENTITY, "a", 2, False, later(hours=1)),
        Pending(ENTITY, "b", 2, True, later(hours=2)),
    }
    assert memory_store.pending("u10") == []


def test_a_mark_is_cleared_in_its_revision_only(memory_store: MemoryStore) -> None:
    # Given marks that were read before one of the entities changed again
    create(memory_store, *map(entity, "abc"))
    read = [mark for mark in memory_store.pending(USER) if mark.ref != "c"]
    commit(memory_store, renamed(stored(memory_store, "a"), "x"))
    # When they are cleared, twice, with one that was never there
    stray = Pending(ENTITY, "none", 1, False, NOW)
    memory_store.clear_pending(USER, [*read, stray])
    memory_store.clear_pending(USER, [*read, *read])
    memory_store.clear_pending(USER, [])
    # Then the later mark stays, and so does what was not asked for
    assert {(mark.ref, mark.revision) for mark in memory_store.pending(USER)} == {
        ("a", 2),
        ("c", 1),
    }


def test_many_marks_are_cleared_at_once(memory_store: MemoryStore) -> None:
    create(memory_store, *(entity(f"e{n}") for n in range(120)))
    memory_store.clear_pending(USER, memory_store.pending(USER))
    assert memory_store.pending(USER) == []


def test_recalls_are_counted_beside_the_versioned_entity(memory_store: MemoryStore) -> None:
    create(memory_store, *(entity(f"e{n}") for n in range(105)))
    ids = [f"e{n}" for n in range(105)]
    memory_store.count_accesses(USER, [*ids, "none", "e1"], NOW)
    memory_store.count_accesses(USER, ["e0"], later(hours=1))
    memory_store.count_accesses(USER, [], NOW)
    # Then they show where they are asked for
    counted = memory_store.get_entities(USER, ids, counts=True)
    assert {counted[i].access_count for i in ids[1:]} == {1}
    assert (counted["e0"].access_count, counted["e0"].last_accessed_at) == (2, later(hours=1))
    assert counted["e0"] == stored(memory_store, "e0")
    assert memory_store.get_entities(USER, ["e0"])["e0"].access_count == 0
    # And the entity is as it was: neither an ETag nor the index knows of a recall
    assert (counted["e0"].version, counted["e0"].revision) == (1, 1)
    # And a change of the entity loses none of them
    commit(memory_store, renamed(stored(memory_store, "e0"), "x"))
    assert stored(memory_store, "e0").access_count == 2


@pytest.fixture
def begin_life(memory_store: MemoryStore, request: pytest.FixtureRequest) -> Callable[[str], None]:
    """Start a life of the conversation c beside the store."""
    if isinstance(memory_store, FakeMemoryStore):
        fake = memory_store

        def begin_fake(life: str) -> None:
            conversations = FakeConversationStore(fake)
            head = Conversation(id="c", created_at=NOW, last_activity_at=NOW, life=life)
            conversations.acquire(USER, head, now=NOW, until=later(minutes=1))
            fake.join(conversations)

        return begin_fake
    table: Table = request.getfixturevalue("table")

    def begin(life: str) -> None:
        table.client.put_item(
            TableName=table.name,
            Item={
                keys.PARTITION_KEY: {"S": keys.thread(USER, "c")},
                keys.SORT_KEY: {"S": keys.META},
                "life": {"S": life},
            },
        )

    return begin


def test_a_step_of_a_job_takes_effect_once_and_in_order(
    memory_store: MemoryStore, begin_life: Callable[[str], None]
) -> None:
    begin_life("life1")
    first, second = (Step("j", "c", "life1", n, f"outcome {n}") for n in range(2))
    assert memory_store.steps(USER, "j") == []
    # Given that the first step was applied
    commit(memory_store, CreateEntity(entity("a")), step=first)
    # When it is delivered again, after what it made was deleted by hand
    memory_store.delete_entity(USER, stored(memory_store, "a"), at=NOW)
    with pytest.raises(ConflictError):
        commit(memory_store, CreateEntity(entity("a2", "a")), step=first)
    # Then it brings nothing back
    assert memory_store.get_entity(USER, "a2") is None
    # And the next one counts, also without changes, and none can be left out
    with pytest.raises(ConflictError):
        commit(memory_store, step=Step("j", "c", "life1", 2))
    commit(memory_store, step=second)
    assert memory_store.steps(USER, "j") == ["outcome 0", "outcome 1"]
    assert memory_store.steps("u10", "j") == memory_store.steps(USER, "j2") == []


def test_a_step_whose_changes_fail_is_not_counted(
    memory_store: MemoryStore, begin_life: Callable[[str], None]
) -> None:
    begin_life("life1")
    create(memory_store, entity("a"))
    with pytest.raises(ConflictError):
        commit(memory_store, CreateEntity(entity("b", "a")), step=Step("j", "c", "life1", 0))
    assert memory_store.steps(USER, "j") == []


def test_no_step_takes_effect_after_its_conversations_life(
    memory_store: MemoryStore, begin_life: Callable[[str], None]
) -> None:
    begin_life("life2")
    for step in (Step("j", "c", "life1", 0), Step("j", "other", "life2", 0)):
        with pytest.raises(ConflictError):
            commit(memory_store, CreateEntity(entity("a")), step=step)
    assert memory_store.get_entity(USER, "a") is None


@pytest.fixture
def forget(memory_store: MemoryStore, request: pytest.FixtureRequest) -> Callable[[str], None]:
    """Drop the evidence of a conversation, as its deletion does."""
    if isinstance(memory_store, FakeMemoryStore):
        fake = memory_store
        return lambda conversation: fake.drop_evidence(USER, conversation)
    table: Table = request.getfixturevalue("table")

    def drop(conversation: str) -> None:
        drop_evidence(table, USER, conversation, NOW, require=lambda _: None)

    return drop


def test_the_words_of_a_conversation_go_and_what_was_learned_stays(
    memory_store: MemoryStore, forget: Callable[[str], None]
) -> None:
    # Given an entity and a relation learned from two conversations
    commit(memory_store, CreateEntity(entity("a"), support("c1/m1", "one")))
    before = stored(memory_store, "a")
    commit(memory_store, UpdateEntity(before, before, support("c10/m1", "ten")))
    create(memory_store, entity("b"))
    commit(memory_store, CreateRelation(relation("r", "a", "b"), support("c1/m1", "one")))
    memory_store.clear_pending(USER, memory_store.pending(USER))
    # When the evidence of one is dropped, twice
    forget("c1")
    forget("c1")
    # Then its words are gone, the count of sources stays, and the entity is indexed anew
    after = stored(memory_store, "a")
    assert ([piece.quote for piece in after.evidence], after.sources_count) == (["ten"], 2)
    assert (after.version, after.revision) == (1, 3)
    assert [(mark.ref, mark.revision) for mark in memory_store.pending(USER)] == [("a", 3)]
    assert stored_relation(memory_store, "r").sources == ()
    assert memory_store.relation_sources(USER, "r") == {"c1/m1"}


def test_a_source_leaves_no_pointer_in_its_conversation(table: Table) -> None:
    # Given sources from a conversation, by an entity that stays, one that goes, and a relation
    store = DynamoMemoryStore(table)

    def pointers() -> set[str]:
        rows = table.query(keys.thread(USER, "c"), Item.sk.startswith(keys.EVIDENCE_POINTERS))
        return {row.sk for row in rows}

    commit(store, CreateEntity(entity("a"), support("c/m1", "one")))
    commit(store, CreateEntity(entity("b"), support("c/m2", "two")))
    commit(store, CreateRelation(relation("r", "a", "b"), support("c/m3", "three")))
    commit(store, CreateRelation(relation("s", "b", "a"), support("c/m3", "three")))
    assert pointers() == {"EV#a#c%2Fm1", "EV#b#c%2Fm2", "EV#r#c%2Fm3", "EV#s#c%2Fm3"}
    # When a source is dropped, a relation deleted, and an end deleted
    before = stored(store, "a")
    commit(store, UpdateEntity(before, before, dropped="c/m1"))
    commit(store, DeleteRelation(stored_relation(store, "s")))
    assert pointers() == {"EV#b#c%2Fm2", "EV#r#c%2Fm3"}
    store.delete_entity(USER, stored(store, "b"), at=NOW)
    # Then no pointer to it is left
    assert pointers() == set()
