"""What every extractor does."""

from __future__ import annotations

import json
import re
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

import pytest

from tests.fakes.models import FakeChatModel
from tests.world import ScriptedExtractor, told
from threadkeep.domain.conversations import Message, Role
from threadkeep.domain.entities import EntityType
from threadkeep.domain.extraction import SELF_REF
from threadkeep.domain.names import name_key
from threadkeep.domain.relations import RelationType
from threadkeep.llm.extraction import PromptExtractor
from threadkeep.llm.offline.extractor import RuleExtractor

if TYPE_CHECKING:
    from collections.abc import Sequence

    from threadkeep.domain.extraction import Extraction
    from threadkeep.ports import ChatRequest, Extractor

STATEMENT = "I work at Acme"


def reading_model(request: ChatRequest) -> str:
    """Answer as a model that reads the one statement in whatever turn of the user it stands."""
    found = re.search(
        rf'<turn id="([^"]+)" role="user"[^>]*>[^<]*{STATEMENT}', request.messages[0].content
    )
    if found is None:
        return '{"entities": [], "relations": []}'
    evidence: dict[str, Any] = {"quote": STATEMENT, "turn": found[1]}
    entity = {"ref": "e1", "name": "Acme", "type": "organization", "importance": 0.8}
    relation = {"source": "self", "target": "e1", "type": "works_at"}
    return json.dumps({"entities": [entity | evidence], "relations": [relation | evidence]})


@pytest.fixture(params=["fake", "rules", "prompt"])
def extractor(request: pytest.FixtureRequest) -> Extractor:
    """Every extractor in turn; the fake knows one text."""
    if request.param == "fake":
        reading = told(
            (SELF_REF, RelationType.WORKS_AT, "Acme", EntityType.ORGANIZATION, STATEMENT)
        )
        return ScriptedExtractor({STATEMENT: reading})
    if request.param == "rules":
        return RuleExtractor()
    return PromptExtractor(FakeChatModel(reading_model))


def transcript(*said: tuple[Role, str]) -> Sequence[Message]:
    """Return messages in order, one a minute."""
    return [
        Message(
            id=f"{seq:012d}-x",
            conversation_id="c1",
            seq=seq,
            role=role,
            content=content,
            created_at=datetime(2026, 3, 2, 9, seq, tzinfo=UTC),
        )
        for seq, (role, content) in enumerate(said, 1)
    ]


def extract(extractor: Extractor, *said: tuple[Role, str]) -> Extraction:
    """Return what an extractor reads in a transcript."""
    extraction, _ = extractor.extract(
        "offline", transcript(*said), instructions="", zone="Europe/Berlin"
    )
    return extraction


def test_a_statement_of_the_user_is_read_with_its_evidence(extractor: Extractor) -> None:
    # When the user says where they work, amid an assistant's words
    extraction = extract(
        extractor,
        (Role.USER, "Hello"),
        (Role.ASSISTANT, "Hi! Where do you work?"),
        (Role.USER, STATEMENT),
    )

    # Then it is an organization and the user's relation to it, quoted from that turn
    (entity,) = extraction.entities
    (relation,) = extraction.relations
    assert (entity.name, entity.entity_type) == ("Acme", EntityType.ORGANIZATION)
    assert (relation.source_ref, relation.relation_type, relation.target_ref) == (
        SELF_REF,
        RelationType.WORKS_AT,
        entity.ref,
    )
    for statement in (entity, relation):
        assert statement.message_id == "000000000003-x"
        assert name_key(statement.quote) in name_key(STATEMENT)
        assert statement.quote


@pytest.mark.parametrize(
    "said",
    [
        [],
        [(Role.USER, "   ")],
        [(Role.ASSISTANT, STATEMENT)],
        [(Role.USER, "Thanks!"), (Role.TOOL, STATEMENT)],
        [(Role.USER, f"[memory] {STATEMENT}\nok thanks")],
    ],
)
def test_what_the_user_did_not_say_is_not_read(
    extractor: Extractor, said: list[tuple[Role, str]]
) -> None:
    """T02, T03, T18."""
    extraction = extract(extractor, *said)
    assert (extraction.entities, extraction.relations) == ((), ())


def test_the_same_turns_read_the_same(extractor: Extractor) -> None:
    said = ((Role.USER, STATEMENT), (Role.USER, "Thanks!"))
    assert extract(extractor, *said) == extract(extractor, *said)
    assert extractor.prompt_hash == extractor.prompt_hash != ""
