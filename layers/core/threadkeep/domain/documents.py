"""What of an entity or a turn is made searchable.

The speaker and date of a turn and its neighbours are the largest levers on recall that were
measured (docs/decisions.md), so they are part of what is indexed.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from threadkeep.domain.retrieval import Document, DocumentKind

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from datetime import datetime

    from threadkeep.domain.conversations import Message
    from threadkeep.domain.entities import Entity

WINDOW = 2
"""How many turns on each side of a turn are its neighbours."""

MAX_NEIGHBOUR_CHARS = 600
"""What a neighbour adds at most: a pasted file must not drown the turn beside it."""

MAX_TEXT_CHARS = 8_000
"""What is indexed of one text; the table keeps all of it."""


@dataclass(frozen=True)
class Draft:
    """A document and the text that its vector is made of.

    Args:
        document: The document, without vector.
        embedded: The text to embed.
    """

    document: Document
    embedded: str


def entity_draft(entity: Entity, turns: Mapping[str, Message]) -> Draft:
    """Make the document of an entity: name, description and the turns that support it.

    Args:
        entity: The entity with its evidence.
        turns: The messages that evidence was taken from, by ``conversation/message``, as far as
            they are still there.
    """
    stated = ". ".join(part for part in (entity.name, entity.description) if part)
    quotes = [
        f"{headed(evidence.speaker, evidence.date)} {evidence.quote}"
        for evidence in entity.evidence
        if evidence.quote
    ]
    around = [
        turns[evidence.turn].content[:MAX_NEIGHBOUR_CHARS]
        for evidence in entity.evidence
        if evidence.turn in turns and turns[evidence.turn].content != evidence.quote
    ]
    text = "\n".join([stated, *quotes])[:MAX_TEXT_CHARS]
    note = entity.extraction
    return Draft(
        Document(
            kind=DocumentKind.ENTITY,
            ref=entity.id,
            revision=entity.revision,
            text=text,
            context="\n".join(around)[:MAX_TEXT_CHARS],
            turns=tuple(evidence.turn for evidence in entity.evidence),
            entity_type=entity.entity_type,
            created_at=entity.created_at,
            touched_at=entity.touched_at,
            time_precision=note.time_precision if note else None,
            expires_at=entity.expires_at,
        ),
        embedded=text,
    )


def episode_draft(messages: Sequence[Message], place: int) -> Draft:
    """Make the document of a turn: the turn, who spoke when, and its neighbours.

    Its revision is the place of the last neighbour, so that it rises as the conversation goes on.

    Args:
        messages: A stretch of one conversation, in order.
        place: Index of the turn in it.
    """
    message = messages[place]
    before = messages[max(0, place - WINDOW) : place]
    after = messages[place + 1 : place + 1 + WINDOW]
    speaker = message.speaker or message.role
    head = headed(speaker, message.created_at)
    own = f"{head} {message.content}"[:MAX_TEXT_CHARS]
    lead = [neighbour.content[:MAX_NEIGHBOUR_CHARS] for neighbour in before]
    return Draft(
        Document(
            kind=DocumentKind.EPISODE,
            ref=f"{message.conversation_id}/{message.id}",
            revision=(after[-1] if after else message).seq,
            text=own,
            context="\n".join(n.content[:MAX_NEIGHBOUR_CHARS] for n in (*before, *after)),
            speaker=speaker,
            conversation_id=message.conversation_id,
            created_at=message.created_at,
            touched_at=message.created_at,
        ),
        embedded=" ".join([head, *lead, message.content])[:MAX_TEXT_CHARS],
    )


def headed(speaker: str, date: datetime) -> str:
    """Return who spoke when, in words that questions use: ``[7 May 2023] Mia:``."""
    return f"[{date.day} {date:%B %Y}] {speaker}:"
