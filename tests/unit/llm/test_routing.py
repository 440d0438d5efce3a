"""Models are chosen by their id, and wrong settings are named."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

import pytest

from tests.fakes.models import FakeChatModel
from threadkeep.domain.conversations import Message, Role
from threadkeep.errors import MisconfiguredError, ModelError
from threadkeep.llm import routing
from threadkeep.llm.bedrock_embeddings import BedrockEmbedder
from threadkeep.llm.offline.embedder import WordVectorEmbedder
from threadkeep.llm.openai_compatible import OpenAiEmbedder
from threadkeep.ports import ChatRequest
from threadkeep.settings import Settings

if TYPE_CHECKING:
    from collections.abc import Sequence

OFFLINE = Settings(table_name="t")
NOWHERE = "http://127.0.0.1:9/v1"


def message(content: str) -> Message:
    """Return a message of the user."""
    return Message(
        id="m1",
        conversation_id="c1",
        seq=1,
        role=Role.USER,
        content=content,
        created_at=datetime(2026, 3, 2, tzinfo=UTC),
    )


def ask(model_id: str, settings: Settings = OFFLINE) -> str:
    """Return which model answers."""
    request = ChatRequest(model_id, (), (message("Hello"),), max_output_tokens=50)
    return routing.chat_model(settings).answer(request).model_id


def test_the_offline_model_answers_without_any_setting() -> None:
    assert ask("offline") == "offline"


@pytest.mark.parametrize("model_id", ["", "gpt-4o", "bedrock", "bedrock:", "openai:x", "acme:x"])
def test_a_model_of_no_configured_provider_is_refused_by_name(model_id: str) -> None:
    with pytest.raises(ModelError) as refused:
        ask(model_id)
    assert refused.value.code == "unknown_model"
    assert repr(model_id) in refused.value.detail
    assert refused.value.extra["retryable"] is False


def test_rules_read_for_the_offline_model_and_a_prompt_for_every_other() -> None:
    # Given a model that states nothing
    model = FakeChatModel(lambda _: '{"entities": [], "relations": []}')
    extractor = routing.extractor(OFFLINE, model)

    def names(model_id: str) -> list[str]:
        extraction, _ = extractor.extract(
            model_id, [message("I work at Acme")], instructions="", zone="UTC"
        )
        return [entity.name for entity in extraction.entities]

    # Then the rules read without it
    assert names("offline") == ["Acme"]
    assert model.requests == []
    assert names("bedrock:x") == []
    assert [request.model_id for request in model.requests] == ["bedrock:x"]
    assert len(extractor.prompt_hash) == 64


@pytest.mark.parametrize(
    ("changes", "kind"),
    [
        ({}, WordVectorEmbedder),
        ({"embedder": "offline"}, WordVectorEmbedder),
        ({"embedder": "bedrock:amazon.titan-embed-text-v2:0"}, BedrockEmbedder),
        ({"embedder": "openai:nomic", "openai_base_url": NOWHERE}, OpenAiEmbedder),
    ],
)
def test_the_embedder_is_the_one_that_the_settings_name(
    changes: dict[str, Any], kind: type[object]
) -> None:
    settings = replace(OFFLINE, **changes)
    embedder = routing.embedder(settings)
    assert isinstance(embedder, kind)
    assert (embedder.model_id, embedder.dimension) == (settings.embedder, 256)


def test_good_settings_are_valid() -> None:
    routing.validate(OFFLINE)


@pytest.mark.parametrize(
    ("changes", "setting", "told"),
    [
        ({"table_name": ""}, "TABLE_NAME", []),
        ({"embedding_dimension": 384}, "EMBEDDING_DIMENSION", ["384", "256"]),
        (
            {"embedder": "bedrock:amazon.titan-embed-text-v2:0", "embedding_dimension": 384},
            "EMBEDDING_DIMENSION",
            ["384", "1024"],
        ),
        ({"embedder": "bedrock:acme.words-v1"}, "EMBEDDER", ["acme.words-v1"]),
        ({"embedder": "acme:x"}, "EMBEDDER", ["acme:x"]),
        ({"embedder": "openai:nomic"}, "OPENAI_BASE_URL", []),
        ({"default_model": "gpt-4o"}, "DEFAULT_MODEL", ["gpt-4o"]),
    ],
)
def test_a_wrong_setting_is_named(
    changes: dict[str, Any], setting: str, told: Sequence[str]
) -> None:
    """T13: a wrong dimension with both numbers."""
    with pytest.raises(MisconfiguredError) as refused:
        routing.validate(replace(OFFLINE, **changes))
    assert refused.value.extra["setting"] == setting
    assert setting in refused.value.detail
    assert all(words in refused.value.detail for words in told)
