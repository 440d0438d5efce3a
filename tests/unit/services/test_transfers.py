"""Exports and imports: what goes out, and what comes in again."""

from __future__ import annotations

from typing import Any

import pytest

from tests.transfer_world import ALICE, BOB, TransferWorld, entity, essence, filled, said
from threadkeep.domain.changes import Origin
from threadkeep.domain.conversations import Role
from threadkeep.domain.entities import EntityChanges, EntityType
from threadkeep.domain.relations import RelationType
from threadkeep.domain.transfers import MAX_LINE_BYTES, TransferStatus
from threadkeep.errors import ConflictError, NotFoundError

USER, ASSISTANT = Role.USER, Role.ASSISTANT


def test_export_holds_everything_of_the_user_and_nothing_of_others() -> None:
    # given
    world = filled(TransferWorld())
    world.entity("secret of Bob", BOB)
    # when
    lines = world.export(ALICE)
    # then
    kinds = [line["type"] for line in lines]
    assert kinds[0] == "threadkeep"
    assert {kind: kinds.count(kind) for kind in set(kinds) - {"threadkeep", "history"}} == {
        "conversation": 1,
        "message": 3,
        "entity": 4,
        "relation": 3,
        "source": 5,
    }
    assert "secret of Bob" not in str(lines)
    closed = [line for line in lines if line["type"] == "relation" and "valid_to" in line]
    assert [len(line["spans"]) for line in closed] == [2]
    assert not any("user_id" in line or "access_count" in line for line in lines)


def test_what_is_imported_by_another_user_exports_the_same() -> None:
    # given
    world = filled(TransferWorld())
    lines = world.export(ALICE)
    # when
    job = world.take(BOB, lines)
    # then
    assert (job.status, job.rejected, job.errors) == (TransferStatus.DONE, 0, ())
    assert essence(world.export(BOB)) == essence(lines)
    assert essence(world.export(ALICE)) == essence(lines)
    assert {line["provenance"] for line in world.export(BOB) if line["type"] == "entity"} == {
        "imported"
    }


def test_importing_the_own_export_changes_nothing() -> None:
    # given
    world = filled(TransferWorld())
    before = world.export(ALICE)
    # when
    job = world.take(ALICE, before)
    # then
    assert (job.created, job.merged, job.rejected) == (0, 0, 0)
    after = world.export(ALICE)
    assert after[1:] == before[1:]


def test_ids_stay_when_they_are_free_and_are_mapped_when_a_name_is_taken() -> None:
    # given: Bob knows Acme under another id, and has another thing under the id of Alice's roast
    world = filled(TransferWorld())
    lines = world.export(ALICE)
    ids = {line["name"]: line["id"] for line in lines if line["type"] == "entity"}
    mine = world.entity("ACME", BOB, entity_type="organization", properties={"size": 1, "y": 2})
    world.take(BOB, [entity("taken", id=ids["dark roast"])])
    # when
    world.take(BOB, lines)
    # then
    memories = world.product.memories
    acme = memories.get(BOB, mine.id)
    assert (acme.name, acme.properties) == ("ACME", {"size": 7, "x": None, "y": 2})
    assert [one.relation_type for one in acme.incoming_relations] == [RelationType.WORKS_AT]
    assert memories.get(BOB, ids["Globex"]).name == "Globex"
    assert memories.get(BOB, ids["dark roast"]).name == "taken"
    key = world.store.find_by_name(BOB, EntityType.PREFERENCE, "dark roast")
    assert key not in (None, *ids.values())
    assert [one.relation_type for one in memories.get(BOB, str(key)).incoming_relations] == [
        RelationType.PREFERS
    ]


def test_restored_entity_is_newer_to_an_index_than_its_deletion() -> None:
    # given an entity that was written often, exported and deleted
    world = TransferWorld()
    made = world.entity("Ann", ALICE)
    for _ in range(5):
        world.entity("Ann", ALICE)
    lines = world.export(ALICE)
    world.product.memories.delete(ALICE, made.id)
    (mark,) = [one for one in world.store.pending(ALICE) if one.ref == made.id]
    assert mark.deleted
    # when it comes back by an import
    world.take(ALICE, lines)
    # then
    (again,) = [one for one in world.store.pending(ALICE) if one.ref == made.id]
    assert (again.deleted, again.revision > mark.revision) == (False, True)


def test_older_fact_of_a_single_value_does_not_retire_a_newer_one() -> None:
    # given where Bob works now, and a file that knows where he worked before
    world = TransferWorld()
    own = world.entity("You", BOB, entity_type="person")
    new = world.entity("Globex", BOB, entity_type="organization")
    current = world.relation(own.id, new.id, RelationType.WORKS_AT, BOB)
    old = entity("Acme", id="acme", entity_type="organization")
    works = {
        "type": "relation",
        "source_entity_id": own.id,
        "target_entity_id": "acme",
        "relation_type": "works_at",
        "valid_from": "2020-01-01T00:00:00Z",
    }
    # when
    world.take(BOB, [old, works])
    # then
    halves = world.store.halves(BOB, own.id, closed=True)
    assert {(half.relation_id == current.id, half.current) for half in halves} == {
        (True, True),
        (False, False),
    }


def test_transcript_becomes_a_conversation_whose_user_turns_are_episodes() -> None:
    # given
    world = TransferWorld()
    lines = [
        said("I moved to Oslo"),
        said("How nice!", speaker="assistant"),
        said("Bob here", speaker="Bob", created_at="2024-05-01T11:00:00+02:00"),
    ]
    # when
    job = world.take(ALICE, lines)
    # then
    talk = world.talk(ALICE, "c1")
    assert [(one.role, one.speaker, one.content) for one in talk] == [
        (USER, "Ann", "I moved to Oslo"),
        (ASSISTANT, "assistant", "How nice!"),
        (USER, "Bob", "Bob here"),
    ]
    assert talk[2].created_at.isoformat() == "2024-05-01T09:00:00+00:00"
    assert world.conversations.indexed(ALICE, "c1") == [talk[0].id, talk[2].id]
    assert (job.counts.messages, job.created) == (3, 3)
    head = world.conversations.get(ALICE, "c1")
    assert head is not None
    assert head.title == "I moved to Oslo"


def test_conversation_of_a_taken_id_gets_another_and_evidence_follows() -> None:
    # given
    world = TransferWorld()
    world.say(BOB, "c1", (USER, "mine"))
    lines = [
        {"type": "conversation", "id": "c1", "title": "Theirs"},
        said("I like tea", id="000000000001-abc"),
        entity("tea", id="tea"),
        {
            "type": "source",
            "of": "entity",
            "item_id": "tea",
            "source_id": "c1/000000000001-abc",
            "evidence": {
                "turn": "c1/000000000001-abc",
                "speaker": "Ann",
                "date": "2024-05-01T10:00:00Z",
                "quote": "tea",
            },
        },
    ]
    # when
    world.take(BOB, lines)
    # then
    assert [one.content for one in world.talk(BOB, "c1")] == ["mine"]
    (piece,) = world.product.memories.get(BOB, "tea").evidence
    conversation, _, message = piece.turn.partition("/")
    assert conversation != "c1"
    assert [(one.id, one.content) for one in world.talk(BOB, conversation)] == [
        (message, "I like tea")
    ]


def test_lines_that_can_not_be_taken_are_named_and_passed_over() -> None:
    # given
    world = TransferWorld()
    lines: list[Any] = [
        entity("a", id="a"),
        b"{not json",
        b"\xff\xfe",
        b"",
        entity("b", user_id=BOB),
        entity("b", properties={"x": float("nan")}),
        entity(""),
        entity("c", entity_type="nothing"),
        b'{"type":"entity","name":"' + b"x" * MAX_LINE_BYTES + b'"}',
        {"type": "relation", "source_entity_id": "a", "target_entity_id": "a",
         "relation_type": "knows"},
        {"type": "relation", "source_entity_id": "a", "target_entity_id": "gone",
         "relation_type": "knows"},
        {"type": "source", "of": "entity", "item_id": "gone", "source_id": "s"},
        said(" "),
        said("orphan", role="tool", tool_call_id="1"),
        b"[" * 10_000,
        {"type": "other"},
        entity("z"),
        {"type": "relation", "source_entity_id": "a", "target_entity_id": "b",
         "relation_type": "knows", "valid_to": "2020-01-01T00:00:00Z"},
        said("", role="assistant", tool_calls=[{"id": str(n), "name": "x"} for n in range(91)]),
        said("", role="assistant", tool_calls=[{"id": "1", "name": "x" * 300_000}]),
        said("x", role="assistant", model_id="x" * 400_000),
        entity("b", id="b", description="x" * 9000),
        entity("self", id="self"),
    ]  # fmt: skip
    # when
    job = world.take(ALICE, lines)
    # then
    assert job.status is TransferStatus.DONE
    assert {error.line: error.code for error in job.errors} == {
        2: "json_invalid",
        3: "json_invalid",
        5: "extra_forbidden",
        6: "value_error",
        7: "string_too_short",
        8: "enum",
        9: "line_too_long",
        10: "self_relation",
        11: "not_found",
        12: "not_found",
        13: "value_error",
        14: "tool_result_without_call",
        15: "json_invalid",
        16: "union_tag_invalid",
        18: "not_found",
        19: "too_long",
        20: "value_error",
        21: "string_too_long",
        22: "value_error",
    }
    assert (job.lines, job.created, job.rejected) == (23, 3, 19)
    assert not list(world.store.walk_entities(BOB))


def test_relation_that_is_over_says_when_it_began() -> None:
    over = {
        "type": "relation",
        "source_entity_id": "a",
        "target_entity_id": "b",
        "relation_type": "knows",
        "valid_to": "2020-01-01T00:00:00Z",
    }
    job = TransferWorld().take(ALICE, [entity("a", id="a"), entity("b", id="b"), over])
    assert [(error.line, error.code) for error in job.errors] == [(3, "valid_from_missing")]


def test_errors_are_all_counted_and_the_first_hundred_shown() -> None:
    job = TransferWorld().take(ALICE, [b"?"] * 250)
    assert (job.rejected, [error.line for error in job.errors]) == (250, list(range(1, 101)))


def test_tool_calls_and_results_come_together_or_not_at_all() -> None:
    # given a round that is whole, and one that lacks a result
    call = {"id": "1", "name": "look_up", "arguments": {"q": "x"}}
    again = {"id": "2", "name": "look_up"}
    asks: dict[str, Any] = {"role": "assistant", "speaker": None, "tool_calls": [call]}
    lines = [
        said("q"),
        said("", **asks),
        said("found", role="tool", tool_call_id="1"),
        said("", **{**asks, "tool_calls": [call, again]}),
        said("found", role="tool", tool_call_id="1"),
        said("bye"),
    ]
    world = TransferWorld()
    # when
    job = world.take(ALICE, lines)
    # then
    assert [one.role for one in world.talk(ALICE, "c1")] == [USER, ASSISTANT, Role.TOOL, USER]
    assert {error.line: error.code for error in job.errors} == {
        4: "tool_call_mismatch",
        5: "tool_call_mismatch",
    }


def test_only_the_owner_finds_a_job() -> None:
    # given
    world = TransferWorld()
    job = world.product.transfers.prepare_import(ALICE, Origin("user:alice"))
    # then
    for user, transfer_id in ((BOB, job.id), (ALICE, "unknown")):
        with pytest.raises(NotFoundError):
            world.product.transfers.get(user, transfer_id)
        with pytest.raises(NotFoundError):
            world.product.transfers.start(user, transfer_id)
    world.deliver(BOB, job.id)
    assert world.job(ALICE, job.id).status is TransferStatus.AWAITING_UPLOAD


def test_import_starts_when_its_file_is_there_and_not_again_when_it_is_done() -> None:
    # given
    world = TransferWorld()
    transfers = world.product.transfers
    job = transfers.prepare_import(ALICE, Origin("user:alice"))
    # then
    with pytest.raises(ConflictError) as early:
        transfers.start(ALICE, job.id)
    assert early.value.code == "not_uploaded"
    done = world.take(ALICE, [entity("a")])
    with pytest.raises(ConflictError) as late:
        transfers.start(ALICE, done.id)
    assert late.value.code == "transfer_finished"


def test_file_that_is_replaced_meanwhile_is_not_read_on() -> None:
    # given an import that was started
    world = TransferWorld()
    job_id = world.upload(ALICE, [entity("a")])
    # when another file takes the place of its own
    world.files.put(ALICE, f"{job_id}/upload.jsonl", b'{"type":"entity"}')
    world.deliver(ALICE, job_id)
    # then
    job = world.job(ALICE, job_id)
    assert (job.status, job.reason) == (TransferStatus.FAILED, "upload_changed")


def test_work_goes_on_in_the_next_invocation_when_time_runs_out() -> None:
    # given
    world = filled(TransferWorld())
    whole = world.export(ALICE)
    job = world.product.transfers.start_export(ALICE, Origin("user:alice"))
    # when each invocation has time for a single step
    world.queue.sent.clear()
    world.finish(ALICE, job.id, slice_seconds=0)
    assert len(world.queue.sent) > 10
    assert set(world.queue.sent) == {(ALICE, job.id, 0)}
    world.finish(BOB, world.upload(BOB, whole), slice_seconds=0)
    # then nothing is missing or twice
    assert world.exported(ALICE, job.id)[1:] == whole[1:]
    assert essence(world.export(BOB)) == essence(whole)


def test_conversation_that_is_deleted_while_it_is_imported_stays_deleted() -> None:
    # given an import that has stored the first run of a conversation
    world = TransferWorld()
    lines = [said(f"text {number}") for number in range(60)]
    job_id = world.upload(ALICE, lines)
    world.deliver(ALICE, job_id, slice_seconds=0)
    assert len(world.talk(ALICE, "c1")) < 60
    # when it is deleted and the import goes on
    world.conversations.delete(ALICE, "c1", at=world.clock.now())
    world.finish(ALICE, job_id)
    # then
    assert world.conversations.get(ALICE, "c1") is None
    assert {error.code for error in world.job(ALICE, job_id).errors} == {"conversation_deleted"}


@pytest.mark.parametrize(("taken", "name"), [(False, "Alice"), (True, "You")])
def test_own_entity_is_merged_into_the_own_entity(taken: bool, name: str) -> None:
    # given Alice's own entity with a name, and Bob who may know another Alice
    world = TransferWorld()
    own = world.entity("You", ALICE, entity_type="person", properties={"born": 1990})
    changes = EntityChanges(name="Alice")
    world.product.memories.update(ALICE, own.id, changes, Origin("user:alice"))
    bobs = world.entity("You", BOB, entity_type="person", properties={"eyes": "blue"})
    if taken:
        world.entity("alice", BOB, entity_type="person")
    # when
    world.take(BOB, world.export(ALICE))
    # then there is one of it, and it takes a name that is free
    found = world.product.memories.get(BOB, "self")
    assert (found.id, found.name, found.is_self) == (bobs.id, name, True)
    assert found.properties == {"born": 1990, "eyes": "blue"}
