"""What of a transcript is read for facts, and what of an extractor's answer is believed."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import pydantic

from threadkeep.domain.conversations import Role
from threadkeep.domain.entities import SELF_NAME, EntityDraft, EntityType
from threadkeep.domain.extraction import SELF_REF, Extraction, Rejection
from threadkeep.domain.names import name_key
from threadkeep.domain.prompting import without_recall
from threadkeep.domain.redaction import redact
from threadkeep.domain.types import Model

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from threadkeep.domain.conversations import Message
    from threadkeep.domain.extraction import ExtractedEntity, ExtractedRelation

MAX_TURNS = 50
MAX_STRETCH_BYTES = 100_000
_ASSERTED = (None, "asserted")


@dataclass(frozen=True)
class Stretch:
    """The part of a transcript that one job reads.

    Args:
        messages: What the extractor reads, in order.
        turns: The user's messages among them that are covered, by id: facts come from these only.
        to_seq: Last message that is done with once the job is.
    """

    messages: tuple[Message, ...]
    turns: Mapping[str, Message]
    to_seq: int


def cut_stretch(messages: Sequence[Message], *, after_seq: int) -> Stretch:
    """Take the next turns to learn from, at most 50 and 100 kB of text, but always one.

    Only what the user said while extraction was on is read. Recalled memory that a client sent back
    inside a message is taken out, and so are secrets: what no extractor sees is never stored.

    Args:
        messages: Messages in order, from the watermark on, itself included.
        after_seq: The watermark.
    """
    read: list[Message] = []
    turns: dict[str, Message] = {}
    size, to_seq, learning = 0, after_seq, False
    for message in messages:
        if not turns and message.role is Role.ASSISTANT:
            read = [message]  # what the assistant said last tells what "yes" answers
        if message.seq <= after_seq:
            continue
        content = message.content
        if message.role is Role.USER:
            content = redact(without_recall(content))
            learning = message.learnable and bool(content.strip())
        if learning:
            size += len(content.encode())
            shown = message.model_copy(update={"content": content})
            if message.role is Role.USER:
                if turns and (len(turns) == MAX_TURNS or size > MAX_STRETCH_BYTES):
                    break
                turns[message.id] = shown
            read.append(shown)
        to_seq = message.seq
    return Stretch(tuple(read), turns, to_seq)


def checked(extraction: Extraction, turns: Mapping[str, Message], least: float) -> Extraction:
    """Keep the statements that a user's turn really makes; report the others with the reason.

    Args:
        extraction: What an extractor answered; nothing in it is trusted.
        turns: The user's messages that it was asked about, by id.
        least: Importance below which an entity is not stored.
    """
    rejected = list(extraction.rejected)
    entities: dict[str, ExtractedEntity] = {}
    for entity in extraction.entities:
        fault = _fault(entity, turns) or _entity_fault(entity, least)
        if fault is None and entity.ref in (*entities, SELF_REF):
            fault = "duplicate_ref"
        if fault is None:
            entities[entity.ref] = entity
        else:
            rejected.append(_rejection(entity.name, entity.message_id, fault))
    relations = []
    for relation in extraction.relations:
        fault = _fault(relation, turns) or _relation_fault(relation, extraction, entities)
        if fault is None:
            relations.append(relation)
        else:
            ends = (relation.source_ref, relation.relation_type.value, relation.target_ref)
            rejected.append(_rejection(" ".join(ends), relation.message_id, fault))
    self_name = extraction.self_name
    fault = _self_name_fault(self_name, extraction, turns) if self_name is not None else None
    if self_name is not None and fault is not None:
        rejected.append(_rejection(self_name, None, fault))
        self_name = None
    return Extraction(
        self_name=self_name,
        entities=tuple(entities.values()),
        relations=tuple(relations),
        rejected=tuple(rejected),
    )


def _fault(
    statement: ExtractedEntity | ExtractedRelation, turns: Mapping[str, Message]
) -> str | None:
    turn = turns.get(statement.message_id)
    if turn is None:
        return "not_a_user_turn"
    quote = name_key(statement.quote)
    if not quote or quote not in name_key(turn.content):
        return "no_evidence"
    if statement.note.modality not in _ASSERTED:
        return "not_asserted"
    return None


def _entity_fault(entity: ExtractedEntity, least: float) -> str | None:
    try:
        draft_of(entity)
    except pydantic.ValidationError:
        return "invalid"
    return "below_importance_threshold" if entity.importance < least else None


def _relation_fault(
    relation: ExtractedRelation, extraction: Extraction, kept: Mapping[str, ExtractedEntity]
) -> str | None:
    named = {entity.ref for entity in extraction.entities}
    refs = (relation.source_ref, relation.target_ref)
    for ref in refs:
        if ref != SELF_REF and ref not in kept:
            return "end_rejected" if ref in named else "unknown_ref"
    source, target = (_place_of(kept.get(ref)) for ref in refs)
    return "self_relation" if source == target else None


def _place_of(entity: ExtractedEntity | None) -> tuple[EntityType, str]:
    """Return under what an entity is unique; None is the user."""
    if entity is None:
        return EntityType.PERSON, name_key(SELF_NAME)
    return entity.entity_type, name_key(entity.name)


def _self_name_fault(name: str, extraction: Extraction, turns: Mapping[str, Message]) -> str | None:
    try:
        EntityDraft(name=name, entity_type=EntityType.PERSON)
    except pydantic.ValidationError:
        return "invalid"
    key = name_key(name)
    if any(
        entity.entity_type is EntityType.PERSON and name_key(entity.name) == key
        for entity in extraction.entities
    ):
        return "someone_else"  # "my boss Dana": the answer itself says that Dana is another person
    return None if naming_turn(name, turns) else "no_evidence"


def naming_turn(name: str, turns: Mapping[str, Message]) -> Message | None:
    """Return the first turn that holds a name, or None."""
    key = name_key(name)
    return next((turn for turn in turns.values() if key in name_key(turn.content)), None)


def draft_of(entity: ExtractedEntity) -> EntityDraft:
    """Return an extracted entity as a statement.

    Raises:
        pydantic.ValidationError: It breaks a limit.
    """
    return EntityDraft(
        name=entity.name,
        entity_type=entity.entity_type,
        description=entity.description or None,
        properties=entity.properties or None,
        importance=entity.importance,
    )


def _rejection(statement: str, message_id: str | None, reason: str) -> Rejection:
    return Rejection(statement=statement, message_id=message_id, reason=reason)


@dataclass(frozen=True)
class Fact:
    """Statements that are stored together: a relation with its ends, or one entity, or a name.

    Args:
        message_id: The turn that tells it.
        entities: The entity, or the ends of the relation but for the user.
        relation: The relation, if any.
        self_name: The user's own name, if that is what is told.
    """

    message_id: str
    entities: tuple[ExtractedEntity, ...] = ()
    relation: ExtractedRelation | None = None
    self_name: str | None = None

    @property
    def statement(self) -> str:
        """The fact in short, for the job record."""
        if self.self_name is not None:
            return self.self_name
        names = [entity.name for entity in self.entities]
        return " ".join(names if self.relation is None else [self.relation.relation_type, *names])

    def entity(self, ref: str) -> ExtractedEntity | None:
        """Return the entity that a reference names, or None for the user."""
        return next((entity for entity in self.entities if entity.ref == ref), None)


def facts(extraction: Extraction, turns: Mapping[str, Message]) -> tuple[Fact, ...]:
    """Group checked statements into facts, in an order that is always the same."""
    by_ref = {entity.ref: entity for entity in extraction.entities}
    found = []
    name = extraction.self_name
    turn = naming_turn(name, turns) if name is not None else None
    if turn is not None:
        found.append(Fact(turn.id, self_name=name))
    joined: set[str] = set()
    for relation in extraction.relations:
        refs = [ref for ref in (relation.source_ref, relation.target_ref) if ref != SELF_REF]
        ends = tuple(by_ref[ref] for ref in refs)
        found.append(Fact(relation.message_id, ends, relation))
        joined.update(refs)
    found += [
        Fact(entity.message_id, (entity,)) for ref, entity in by_ref.items() if ref not in joined
    ]
    return tuple(found)


class Outcome(Model):
    """What came of a fact: statements that were new, that were known, and that were refused."""

    stored: int = 0
    merged: int = 0
    rejected: tuple[Rejection, ...] = ()
