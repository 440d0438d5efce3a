"""What of an extractor's answer is believed, and where told facts belong in time."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

import pytest

from threadkeep.domain.conversations import Message, Role, message_id
from threadkeep.domain.entities import EntityType, ExtractionNote
from threadkeep.domain.extraction import ExtractedEntity, ExtractedRelation, Extraction
from threadkeep.domain.learning import MAX_TURNS, checked, cut_stretch, facts
from threadkeep.domain.relations import RelationType

NOW = datetime(2026, 1, 1, tzinfo=UTC)


def message(seq: int, role: Role, content: str, *, learnable: bool = True) -> Message:
    return Message(
        id=message_id(seq, "x"),
        conversation_id="c",
        seq=seq,
        role=role,
        content=content,
        created_at=NOW,
        learnable=learnable and role is Role.USER,
    )


TURN = message(1, Role.USER, "I work at Acme with Dana. Could we use Obsidian?")
TURNS = {TURN.id: TURN}


def entity(name: str, quote: str = "I work at Acme", **more: Any) -> ExtractedEntity:
    fields = {"ref": name, "entity_type": EntityType.ORGANIZATION, "message_id": TURN.id}
    return ExtractedEntity.model_validate({**fields, "name": name, "quote": quote, **more})


def relation(
    source: str, target: str, quote: str = "I work at Acme", **more: Any
) -> ExtractedRelation:
    fields = {"relation_type": RelationType.WORKS_AT, "message_id": TURN.id}
    ends = {"source_ref": source, "target_ref": target}
    return ExtractedRelation.model_validate({**fields, **ends, "quote": quote, **more})


def reasons(extraction: Extraction, least: float = 0.2) -> list[str]:
    return [one.reason for one in checked(extraction, TURNS, least).rejected]


def test_statement_with_evidence_is_kept() -> None:
    told = Extraction(entities=(entity("Acme"),), relations=(relation("self", "Acme"),))
    assert checked(told, TURNS, 0.2) == told


@pytest.mark.parametrize(
    ("told", "reason"),
    [
        (entity("Acme", quote="I work at Initech"), "no_evidence"),
        (entity("Acme", quote="  "), "no_evidence"),
        (entity("Acme", message_id="000000000002-x"), "not_a_user_turn"),
        (entity("Acme", importance=0.1), "below_importance_threshold"),
        (entity("   "), "invalid"),
        (entity("x" * 256), "invalid"),
        (entity("Acme", description="é" * 5_000), "invalid"),
        (entity("Acme", ref="self"), "duplicate_ref"),
        (
            entity(
                "Obsidian",
                quote="Could we use Obsidian?",
                note=ExtractionNote(modality="hypothetical"),
            ),
            "not_asserted",
        ),
    ],
)
def test_statement_that_the_turn_does_not_make_is_rejected_with_the_reason(
    told: ExtractedEntity, reason: str
) -> None:
    answer = checked(Extraction(entities=(told,)), TURNS, 0.2)
    assert answer.entities == ()
    assert [(one.statement, one.reason) for one in answer.rejected] == [(told.name, reason)]


@pytest.mark.parametrize(
    ("told", "reason"),
    [
        (relation("self", "Globex"), "unknown_ref"),
        (relation("self", "Weak"), "end_rejected"),
        (relation("Acme", "Acme"), "self_relation"),
        (relation("Acme", "acme again"), "self_relation"),
        (relation("self", "Acme", quote="I run Acme"), "no_evidence"),
        (relation("self", "Acme", message_id="000000000009-x"), "not_a_user_turn"),
        (
            relation("self", "Acme", note=ExtractionNote(modality="question")),
            "not_asserted",
        ),
    ],
)
def test_relation_needs_evidence_and_two_stored_ends(told: ExtractedRelation, reason: str) -> None:
    ends = (
        entity("Acme"),
        entity("Weak", importance=0.0),
        entity("ＡＣＭＥ", ref="acme again"),
    )
    answer = checked(Extraction(entities=ends, relations=(told,)), TURNS, 0.2)
    assert answer.relations == ()
    assert reason in [one.reason for one in answer.rejected]


def test_quote_may_differ_in_case_and_white_space_only() -> None:
    assert reasons(Extraction(entities=(entity("Acme", quote="i WORK\n at  acme"),))) == []
    assert reasons(Extraction(entities=(entity("Acme", quote="I don't work at Acme"),))) == [
        "no_evidence"
    ]


def test_name_of_someone_else_is_not_taken_for_the_users() -> None:
    # given "my boss Dana" read as both
    dana = entity("Dana", entity_type=EntityType.PERSON, quote="with Dana")
    # then
    assert reasons(Extraction(self_name="Dana", entities=(dana,))) == ["someone_else"]
    assert reasons(Extraction(self_name="Eve")) == ["no_evidence"]
    assert reasons(Extraction(self_name=" ")) == ["invalid"]
    assert checked(Extraction(self_name="Dana"), TURNS, 0.2).self_name == "Dana"


def test_what_the_extractor_rejected_is_reported_too() -> None:
    first = checked(Extraction(entities=(entity("Acme", quote="no"),)), TURNS, 0.2)
    assert checked(first, TURNS, 0.2).rejected == first.rejected


def test_facts_are_relations_with_their_ends_then_single_entities() -> None:
    told = Extraction(
        self_name="Dana",
        entities=(entity("Acme"), entity("Lone"), entity("Other")),
        relations=(relation("self", "Acme"), relation("Acme", "Other")),
    )
    assert [
        (fact.self_name, [e.name for e in fact.entities], fact.relation is not None)
        for fact in facts(told, TURNS)
    ] == [
        ("Dana", [], False),
        (None, ["Acme"], True),
        (None, ["Acme", "Other"], True),
        (None, ["Lone"], False),
    ]


# What is read of a transcript


def test_only_turns_said_while_extraction_was_on_are_read() -> None:
    said = [
        message(1, Role.USER, "old"),
        message(2, Role.ASSISTANT, "shall I remember?"),
        message(3, Role.USER, "yes"),
        message(4, Role.ASSISTANT, "done"),
        message(5, Role.USER, "private", learnable=False),
        message(6, Role.ASSISTANT, "about the private thing"),
        message(7, Role.USER, "public"),
    ]
    stretch = cut_stretch(said[1:], after_seq=2)
    assert [m.content for m in stretch.messages] == ["shall I remember?", "yes", "done", "public"]
    assert [m.content for m in stretch.turns.values()] == ["yes", "public"]
    assert stretch.to_seq == 7


def test_secrets_and_recalled_memory_are_taken_out_before_anyone_reads() -> None:
    said = message(1, Role.USER, "[memory] user likes tea\nkey AKIAIOSFODNN7EXAMPLE ok thanks")
    (turn,) = cut_stretch([said], after_seq=0).turns.values()
    assert turn.content == "key [redacted] ok thanks"


def test_turn_of_nothing_but_recalled_memory_is_passed_over() -> None:
    stretch = cut_stretch([message(1, Role.USER, "[memory] user likes tea")], after_seq=0)
    assert (stretch.turns, stretch.to_seq) == ({}, 1)


def test_stretch_is_bounded_but_never_empty() -> None:
    many = [message(seq, Role.USER, "hi") for seq in range(1, 99)]
    assert cut_stretch(many, after_seq=0).to_seq == MAX_TURNS
    long = [message(seq, Role.USER, "é" * 60_000) for seq in range(1, 4)]
    assert cut_stretch(long, after_seq=0).to_seq == 1
    assert cut_stretch(long, after_seq=1).to_seq == 2
