"""Which model answers: chat models, extractors and embedders chosen by their id in the settings."""

from __future__ import annotations

import hashlib
from datetime import UTC, datetime
from functools import cached_property
from typing import TYPE_CHECKING

from threadkeep.domain.models import OFFLINE_MODEL
from threadkeep.errors import MisconfiguredError, ModelError, UnavailableError

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from threadkeep.domain.conversations import Message, Usage
    from threadkeep.domain.extraction import Extraction
    from threadkeep.llm.openai_endpoint import OpenAiEndpoint
    from threadkeep.ports import ChatAnswer, ChatModel, ChatRequest, Embedder, Extractor
    from threadkeep.settings import Settings

_PROBE_TOKENS = 2_000  # reasoning counts as output
_PROBE_SECONDS = 30.0


class RoutingChatModel:
    """All chat models behind one port; each provider is built when it is first asked.

    Args:
        settings: Where the providers are.
    """

    def __init__(self, settings: Settings) -> None:
        self._settings = settings

    def answer(self, request: ChatRequest) -> ChatAnswer:
        """Answer once, by the provider that the model id names.

        Raises:
            ModelError: No such provider is configured, or it does not answer.
        """
        return self._provider(request.model_id).answer(request)

    def _provider(self, model_id: str) -> ChatModel:
        provider, _, name = model_id.partition(":")
        if provider == OFFLINE_MODEL:
            return self._offline
        if provider == "bedrock" and name:
            return self._bedrock
        if provider == "openai" and name and self._settings.openai_base_url:
            return self._openai
        raise ModelError(
            f"no model {model_id!r} is configured",
            code="unknown_model",
            extra={"retryable": False},
        )

    @cached_property
    def _offline(self) -> ChatModel:
        from threadkeep.llm.offline.chat import OfflineChat

        return OfflineChat()

    @cached_property
    def _bedrock(self) -> ChatModel:
        from threadkeep.llm.bedrock import BedrockChat

        return BedrockChat()

    @cached_property
    def _openai(self) -> ChatModel:
        from threadkeep.llm.openai_compatible import OpenAiChat

        return OpenAiChat(_endpoint(self._settings))


class RoutingExtractor:
    """Reads by rules for the offline model, and by a prompt for every other.

    Args:
        chat_model: Asked with the prompt.
    """

    def __init__(self, chat_model: ChatModel) -> None:
        self._chat_model = chat_model

    @property
    def prompt_hash(self) -> str:
        """sha256 over the prompt and the rules, so that a change of either shows in job records."""
        parts = (self._by_prompt.prompt_hash, self._by_rules.prompt_hash)
        return hashlib.sha256("\n".join(parts).encode()).hexdigest()

    def extract(
        self,
        model_id: str,
        messages: Sequence[Message],
        *,
        instructions: str,
        zone: str,
        known_names: Sequence[str] = (),
    ) -> tuple[Extraction, Usage]:
        """Read the statements of the user's turns.

        Raises:
            ModelError: No usable answer.
        """
        offline = model_id.partition(":")[0] == OFFLINE_MODEL
        reader = self._by_rules if offline else self._by_prompt
        return reader.extract(
            model_id, messages, instructions=instructions, zone=zone, known_names=known_names
        )

    @cached_property
    def _by_rules(self) -> Extractor:
        from threadkeep.llm.offline.extractor import RuleExtractor

        return RuleExtractor()

    @cached_property
    def _by_prompt(self) -> Extractor:
        from threadkeep.llm.extraction import PromptExtractor

        return PromptExtractor(self._chat_model)


def chat_model(settings: Settings) -> ChatModel:
    """Return all chat models behind one port."""
    return RoutingChatModel(settings)


def extractor(settings: Settings, chat_model: ChatModel) -> Extractor:
    """Return the extractor for any model that ``chat_model`` answers for."""
    return RoutingExtractor(chat_model)


def embedder(settings: Settings) -> Embedder:
    """Return the configured embedder.

    Raises:
        MisconfiguredError: EMBEDDER or EMBEDDING_DIMENSION is wrong.
    """
    return _embedder(settings, "EMBEDDER", settings.embedder, settings.embedding_dimension)


def next_embedder(settings: Settings) -> Embedder | None:
    """Return the embedder that is to take over, or None.

    Raises:
        MisconfiguredError: NEXT_EMBEDDER or NEXT_EMBEDDING_DIMENSION is wrong.
    """
    if not settings.next_embedder:
        return None
    dimension = settings.next_embedding_dimension
    return _embedder(settings, "NEXT_EMBEDDER", settings.next_embedder, dimension)


def _embedder(settings: Settings, setting: str, model_id: str, dimension: int) -> Embedder:
    provider, _, name = model_id.partition(":")
    if provider == OFFLINE_MODEL:
        from threadkeep.llm.offline.embedder import WordVectorEmbedder

        return WordVectorEmbedder(model_id, dimension)
    if provider == "bedrock" and name:
        from threadkeep.llm.bedrock_embeddings import BedrockEmbedder

        return BedrockEmbedder(model_id, dimension)
    if provider == "openai" and name and settings.openai_base_url:
        from threadkeep.llm.openai_compatible import OpenAiEmbedder

        return OpenAiEmbedder(_endpoint(settings), model_id, dimension)
    raise MisconfiguredError(f"{setting} {model_id!r} is not available", extra={"setting": setting})


def validate(settings: Settings) -> None:
    """Check the settings by asking the default model and the embedder once.

    Raises:
        MisconfiguredError: The detail and the member ``setting`` name the setting that is wrong or
            missing; a wrong EMBEDDING_DIMENSION is named with both numbers.
    """
    settings.check()
    _probe("EMBEDDER", settings.embedder, lambda: _probe_embedder(embedder(settings)))
    upcoming = next_embedder(settings)
    if upcoming is not None:
        _probe("NEXT_EMBEDDER", settings.next_embedder, lambda: _probe_embedder(upcoming))
    _probe("DEFAULT_MODEL", settings.default_model, lambda: _probe_chat(settings))


def _probe(setting: str, value: str, ask: Callable[[], None]) -> None:
    try:
        ask()
    except MisconfiguredError:
        raise
    except UnavailableError as error:
        raise MisconfiguredError(
            f"{setting} {value!r} does not answer: {error.detail}", extra={"setting": setting}
        ) from error


def _probe_embedder(asked: Embedder) -> None:
    asked.embed(["dimension"], purpose="query")


def _probe_chat(settings: Settings) -> None:
    from threadkeep.domain.conversations import Message, Role
    from threadkeep.ports import ChatRequest

    chat_model(settings).answer(
        ChatRequest(
            model_id=settings.default_model,
            system=(),
            messages=(
                Message(
                    id="probe",
                    conversation_id="probe",
                    seq=1,
                    role=Role.USER,
                    content="Answer with one word.",
                    created_at=datetime.now(UTC),
                ),
            ),
            max_output_tokens=_PROBE_TOKENS,
            timeout_seconds=_PROBE_SECONDS,
        )
    )


def _endpoint(settings: Settings) -> OpenAiEndpoint:
    from threadkeep.llm.openai_endpoint import OpenAiEndpoint

    return OpenAiEndpoint(settings.openai_base_url, settings.openai_api_key_secret)
