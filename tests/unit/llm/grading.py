"""Grading an extractor on sentences with the statements that a careful reader finds in them."""

from __future__ import annotations

import json
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING

from threadkeep.domain.conversations import Message, Role
from threadkeep.domain.extraction import SELF_REF
from threadkeep.domain.names import name_key

if TYPE_CHECKING:
    from threadkeep.domain.extraction import Extraction
    from threadkeep.ports import Extractor

SENTENCES = Path(__file__).parents[2] / "data" / "graded_sentences.json"
_SAID_AT = datetime(2026, 3, 2, 9, tzinfo=UTC)
_LONGEST_RATIO = 4


@dataclass(frozen=True)
class Statement:
    """A statement as graded: alternatives of each part are separated by ``|``."""

    source: str
    relation: str
    target: str

    def accepts(self, found: Statement) -> bool:
        """Tell whether a found statement says this one.

        A found name has to hold the expected one, and may not be more than four times as long.
        """
        name = name_key(found.target)
        return (
            name_key(found.source) == name_key(self.source)
            and found.relation in self.relation.split("|")
            and any(
                name_key(target) in name and len(name) <= _LONGEST_RATIO * len(name_key(target))
                for target in self.target.split("|")
            )
        )


@dataclass(frozen=True)
class Score:
    """Counts over all sentences."""

    found: int
    expected: int
    right: int
    false_alarms: int

    @property
    def precision(self) -> float:
        """Share of the found statements that are right."""
        return self.right / self.found

    @property
    def recall(self) -> float:
        """Share of the expected statements that were found."""
        return self.right / self.expected


def grade(extractor: Extractor, model_id: str) -> Score:
    """Grade an extractor; ``false_alarms`` counts finds in sentences that state nothing."""
    found = expected = right = false_alarms = 0
    for case in json.loads(SENTENCES.read_text()):
        wanted = [_statement(text) for text in case["states"]]
        message = Message(
            id="m1",
            conversation_id="c1",
            seq=1,
            role=Role.USER,
            content=case["text"],
            created_at=_SAID_AT,
        )
        extraction, _ = extractor.extract(model_id, [message], instructions="", zone="UTC")
        read = statements(extraction)
        right += sum(any(want.accepts(one) for one in read) for want in wanted)
        found += len(read)
        expected += len(wanted)
        false_alarms += 0 if wanted else len(read)
    return Score(found, expected, right, false_alarms)


def statements(extraction: Extraction) -> list[Statement]:
    """Return what an extraction states, by names."""
    names = {entity.ref: entity.name for entity in extraction.entities} | {SELF_REF: SELF_REF}
    read = [
        Statement(
            names[relation.source_ref],
            f"no_longer_{relation.relation_type}" if relation.ends else relation.relation_type,
            names[relation.target_ref],
        )
        for relation in extraction.relations
    ]
    if extraction.self_name is not None:
        read.append(Statement(SELF_REF, "is_named", extraction.self_name))
    return read


def _statement(text: str) -> Statement:
    source, relation, target = _split(text)
    return Statement(source, relation, target)


def _split(text: str) -> tuple[str, str, str]:
    words = text.split(" ")
    at = next(i for i, word in enumerate(words) if "_" in word or word.split("|")[0] in _PLAIN)
    return " ".join(words[:at]), words[at], " ".join(words[at + 1 :])


_PLAIN = frozenset({"prefers", "knows", "uses"})
