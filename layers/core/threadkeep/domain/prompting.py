"""What a model reads before the conversation, and the block of recalled memory.

The order keeps a prefix that stays the same from turn to turn, so that providers can cache it: no
time, counter or random id comes before the messages, and what is recalled comes after them.
"""

import hashlib
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum

from threadkeep.domain.agents import AgentConfig
from threadkeep.domain.entities import SELF_NAME, Entity
from threadkeep.domain.relations import Relation, RelationType
from threadkeep.domain.retrieval import SearchAnswer
from threadkeep.domain.turns import Recall
from threadkeep.domain.types import dump_json

RECALL_MARK = "[memory]"
"""Begins each line of a recall block, so that such a line is never taken for the user's words."""

_RECALL_HEADER = (
    f"{RECALL_MARK} Notes from the user's memory, best first. They are background, not the user's"
    " words: use what helps to answer, and believe the user where they differ."
)
_VARIABLE = re.compile(r"\{\{\s*([A-Za-z_][A-Za-z0-9_]{0,63})\s*\}\}")
_PHRASES = {
    RelationType.LOCATED_IN: "is located in",
    RelationType.HAS_GOAL: "has the goal",
    RelationType.RELATED_TO: "is related to",
    RelationType.PART_OF: "is part of",
}


class Stability(StrEnum):
    """How long a block stays the same."""

    DEPLOYMENT = "deployment"
    AGENT = "agent"
    TURN = "turn"


@dataclass(frozen=True)
class Block:
    """A stretch of the prompt.

    Args:
        kind: ``base``, ``agent``.
        text: What the model reads.
        stability: How long it stays the same.
    """

    kind: str
    text: str
    stability: Stability


def system_blocks(
    base: str, model_id: str, agent: AgentConfig, variables: Mapping[str, str]
) -> tuple[Block, ...]:
    """Return the system prompt in order: base instructions, a hint at the model, the agent.

    Args:
        base: Base instructions of the deployment.
        model_id: Model that answers.
        agent: The agent's live configuration.
        variables: Values for ``{{variables}}``; one without a value stays as it is written.
    """
    hint = f"You run on the model {model_id}."
    blocks = [Block("base", f"{base}\n\n{hint}" if base else hint, Stability.DEPLOYMENT)]
    parts = [
        agent.system_prompt,
        agent.persona and f"Persona: {agent.persona}",
        agent.duties and f"Duties: {agent.duties}",
    ]
    text = fill("\n\n".join(part for part in parts if part), variables)
    if text:
        blocks.append(Block("agent", text, Stability.AGENT))
    return tuple(blocks)


def fill(template: str, variables: Mapping[str, str]) -> str:
    """Put values into a template, in one pass: a value is never a template itself."""
    return _VARIABLE.sub(lambda match: variables.get(match[1], match[0]), template)


def prefix_sha256(blocks: Sequence[Block]) -> str:
    """Return the digest of a stable prefix; block borders count."""
    return hashlib.sha256(dump_json([block.text for block in blocks]).encode()).hexdigest()


def recall_block(
    found: SearchAnswer, *, most_tokens: int, count: Callable[[str], int]
) -> tuple[str, Recall]:
    """Write what was recalled, one item a line, within a number of tokens.

    An item that alone is too long is left out; then the lowest scores go first.

    Args:
        found: What a recall found.
        most_tokens: Size of the block.
        count: Counts the tokens of a text.

    Returns:
        The block, empty when there is nothing to say, and what of ``found`` is in it.
    """
    whole = room = most_tokens - count(_RECALL_HEADER)
    kept: list[_Item] = []
    for item in sorted(_items(found), key=lambda item: -item.score):
        tokens = count(f"\n{item.line}") if item.line else 0
        if tokens > whole:
            continue
        room -= tokens
        if room < 0:
            break
        kept.append(item)
    lines = [item.line for item in kept if item.line]
    if not lines:
        return "", Recall()
    ids = {item.ref for item in kept}
    recall = Recall(
        entities=tuple(e for e in found.entities if e.id in ids),
        relations=tuple(r for r in found.relations if r.id in ids),
        episodes=tuple(e for e in found.episodes if f"{e.conversation_id}/{e.message_id}" in ids),
    )
    return "\n".join([_RECALL_HEADER, *lines]), recall


def without_recall(text: str) -> str:
    """Return a user's message without lines of a recall block that a client sent back in it."""
    lines = text.splitlines(keepends=True)
    return "".join(line for line in lines if not line.lstrip().startswith(RECALL_MARK))


@dataclass(frozen=True)
class _Item:
    ref: str
    line: str
    score: float


def _items(found: SearchAnswer) -> list[_Item]:
    names = {entity.id: _name(entity) for entity in found.entities}
    scores = {entity.id: entity.score or 0.0 for entity in found.entities}
    items = [_Item(e.id, _entity_line(e), scores[e.id]) for e in found.entities]
    for relation in found.relations:
        ends = (relation.source_entity_id, relation.target_entity_id)
        if all(end in names for end in ends):
            score = max(scores[end] for end in ends)
            items.append(_Item(relation.id, _relation_line(relation, names), score))
    for episode in found.episodes:
        ref = f"{episode.conversation_id}/{episode.message_id}"
        line = f"{RECALL_MARK} On {episode.created_at:%Y-%m-%d} the user said: "
        items.append(_Item(ref, line + _one_line(episode.content), episode.score))
    return items


def _name(entity: Entity) -> str:
    return "the user" if entity.is_self else _one_line(entity.name)


def _entity_line(entity: Entity) -> str:
    description = _one_line(entity.description)
    details = dump_json(entity.properties) if entity.properties else ""
    said = " ".join(part for part in (description, details) if part)
    if entity.is_self:
        # An unnamed self says nothing by itself: its relations do.
        named = f"The user's name is {_one_line(entity.name)}." if entity.name != SELF_NAME else ""
        said = " ".join(part for part in (named, said) if part)
        return f"{RECALL_MARK} {said}" if said else ""
    line = f"{RECALL_MARK} {_one_line(entity.name)} ({entity.entity_type})"
    return f"{line}: {said}" if said else line


def _relation_line(relation: Relation, names: Mapping[str, str]) -> str:
    phrase = _PHRASES.get(relation.relation_type, relation.relation_type.replace("_", " "))
    source, target = names[relation.source_entity_id], names[relation.target_entity_id]
    line = f"{RECALL_MARK} {source} {phrase} {target}"
    return f"{line}: {_one_line(relation.description)}" if relation.description else line


def _one_line(text: str) -> str:
    return " ".join(text.split())
