"""Reading conversations in the LoCoMo format (Maharana et al. 2024) as the product's own data."""

from __future__ import annotations

import json
import re
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

from threadkeep.domain.conversations import Message, Role
from threadkeep.domain.entities import Entity, EntityType, Evidence, Provenance
from threadkeep.domain.limits import MAX_NAME_CHARS

if TYPE_CHECKING:
    from pathlib import Path

MULTI_HOP, TEMPORAL, OPEN_DOMAIN, SINGLE_HOP, ADVERSARIAL = 1, 2, 3, 4, 5
CATEGORIES = {
    MULTI_HOP: "multi_hop",
    TEMPORAL: "temporal",
    OPEN_DOMAIN: "open_domain",
    SINGLE_HOP: "single_hop",
    ADVERSARIAL: "adversarial",
}

_DATE = "%I:%M %p on %d %B, %Y"
_TURN_ID = re.compile(r"D:?(\d+):(\d+)")
_SESSION = re.compile(r"session_(\d+)")


@dataclass(frozen=True)
class Question:
    """A question and the turns that hold its answer.

    Args:
        text: The question.
        category: One of ``CATEGORIES``.
        gold: Refs of the turns, ``conversation/message``, at least one.
    """

    text: str
    category: int
    gold: frozenset[str]


@dataclass(frozen=True)
class Sample:
    """One conversation of two people: its sessions, what was learned from them, and questions.

    Args:
        name: Name of the conversation.
        sessions: The sessions in order, each a conversation of the product.
        facts: One entity for each observed fact, with the turns it was observed in as evidence.
        questions: Questions with evidence.
        dropped: Pieces of evidence that name no turn, and questions without any.
    """

    name: str
    sessions: tuple[tuple[Message, ...], ...]
    facts: tuple[Entity, ...]
    questions: tuple[Question, ...]
    dropped: tuple[str, ...]

    @property
    def last_activity(self) -> datetime:
        """When the last turn was spoken."""
        return max(message.created_at for session in self.sessions for message in session)


def read(path: Path) -> list[Sample]:
    """Read all conversations of a file.

    Raises:
        ValueError: The file is no JSON list of conversations with ``conversation`` and ``qa``.
    """
    data = json.loads(path.read_text(encoding="utf-8"))
    if not isinstance(data, list) or not all(
        isinstance(item, dict) and {"conversation", "qa"} <= item.keys() for item in data
    ):
        raise ValueError(f"{path} is not in the LoCoMo format: a list of conversations with qa")
    return [_sample(item, str(item.get("sample_id", place))) for place, item in enumerate(data)]


def _sample(item: dict[str, Any], name: str) -> Sample:
    conversation = item["conversation"]
    numbers = sorted(
        int(match[1])
        for key, turns in conversation.items()
        if (match := _SESSION.fullmatch(key)) and turns
    )
    sessions = []
    turns: dict[str, Message] = {}
    for number in numbers:
        at = datetime.strptime(conversation[f"session_{number}_date_time"], _DATE).replace(
            tzinfo=UTC
        )
        session = [
            _message(turn, number, seq, at, conversation["speaker_a"])
            for seq, turn in enumerate(conversation[f"session_{number}"], 1)
        ]
        sessions.append(tuple(session))
        turns |= {
            turn["dia_id"]: message
            for turn, message in zip(conversation[f"session_{number}"], session, strict=True)
        }
    questions, dropped = _questions(item["qa"], turns)
    facts = _facts(item.get("observation", {}), turns)
    return Sample(name, tuple(sessions), tuple(facts), tuple(questions), tuple(dropped))


def ref_of(message: Message) -> str:
    """Return the ref of a turn, as the index names it."""
    return f"{message.conversation_id}/{message.id}"


def _message(turn: dict[str, Any], session: int, seq: int, at: datetime, user: str) -> Message:
    return Message(
        id=f"{seq:012d}-{seq}",
        conversation_id=f"session-{session}",
        seq=seq,
        role=Role.USER if turn["speaker"] == user else Role.ASSISTANT,
        speaker=turn["speaker"],
        content=turn["text"],
        created_at=at,
    )


def _questions(
    qa: list[dict[str, Any]], turns: dict[str, Message]
) -> tuple[list[Question], list[str]]:
    questions, dropped = [], []
    for entry in qa:
        gold = set()
        for evidence in entry.get("evidence", []):
            named = turns_named(evidence)
            gold |= {ref_of(turns[turn]) for turn in named if turn in turns}
            if not named or any(turn not in turns for turn in named):
                dropped.append(f"evidence {evidence!r}")
        if gold:
            questions.append(Question(entry["question"], entry["category"], frozenset(gold)))
        else:
            dropped.append(f"question without evidence: {entry['question']!r}")
    return questions, dropped


def turns_named(evidence: str) -> list[str]:
    """Return the turns that evidence names; reads "D8:6; D9:17", "D:11:26" and "D30:05" too."""
    return [f"D{int(session)}:{int(turn)}" for session, turn in _TURN_ID.findall(evidence)]


def _facts(observation: dict[str, Any], turns: dict[str, Message]) -> list[Entity]:
    facts: list[Entity] = []
    for by_speaker in observation.values():
        for observed in by_speaker.values():
            for text, source in observed:
                named = source if isinstance(source, list) else [source]
                sources = [turns[t] for n in named for t in turns_named(n) if t in turns]
                if sources:
                    facts.append(_fact(len(facts), text, sources))
    return facts


def _fact(number: int, text: str, sources: list[Message]) -> Entity:
    told = max(message.created_at for message in sources)
    return Entity(
        id=f"fact-{number:05d}",
        name=text[:MAX_NAME_CHARS],
        entity_type=EntityType.FACT,
        description=text[MAX_NAME_CHARS:],
        provenance=Provenance.IMPORTED,
        evidence=tuple(
            Evidence(
                turn=ref_of(message),
                speaker=message.speaker or message.role,
                date=message.created_at,
                quote=message.content,
            )
            for message in sources
        ),
        sources_count=len(sources),
        created_at=told,
        updated_at=told,
        touched_at=told,
    )
