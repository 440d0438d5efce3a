"""Deployment settings, read from the environment once and checked; each message names the setting.

Site settings, which administrators change at run time, are in ``domain/site_settings.py``.
"""

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from threadkeep.domain.budget import ModelLimits
from threadkeep.domain.models import OFFLINE_MODEL, Models
from threadkeep.errors import MisconfiguredError

CHAT_PROVIDERS = frozenset({"offline", "bedrock", "openai"})
EMBEDDING_PROVIDERS = frozenset({"offline", "bedrock", "openai"})


@dataclass(frozen=True)
class Settings:
    """What a deployment was configured with.

    Args:
        table_name: The one DynamoDB table.
        bucket_name: Bucket of large bodies.
        extraction_queue_url: Queue of extraction jobs.
        extraction_dlq_url: Its dead-letter queue.
        repair_queue_url: Queue of what could not be indexed.
        transfer_queue_url: Queue of exports and imports.
        user_pool_client_id: Audience of the tokens.
        jwt_issuer: Issuer of the tokens.
        jwks_url: Where the issuer's public keys are.
        default_model: Model of an agent that names none: ``offline``, ``bedrock:{id}``,
            ``openai:{name}``.
        models: Published models and their limits, by id as above.
        embedder: ``offline:wordllama``, ``bedrock:{id}`` or ``openai:{name}``.
        embedding_dimension: Length of its vectors.
        openai_base_url: Base URL of the OpenAI-compatible endpoint, up to and with ``/v1``.
        openai_api_key_secret: Secrets Manager id of its key; empty for an endpoint without one.
        next_embedder: Embedder that is to take over, while its vectors are made; empty for none.
        next_embedding_dimension: Length of its vectors.
        search_backend: ``exact`` or ``opensearch``.
        opensearch_url: The domain's endpoint, when it is the back end.
        search_alias: Alias of the index that serves, unique for a stack on its server.
        stage: Name of the stage, such as ``local`` or ``prod``.
    """

    table_name: str
    bucket_name: str = ""
    extraction_queue_url: str = ""
    extraction_dlq_url: str = ""
    repair_queue_url: str = ""
    transfer_queue_url: str = ""
    user_pool_client_id: str = ""
    jwt_issuer: str = ""
    jwks_url: str = ""
    default_model: str = OFFLINE_MODEL
    models: Mapping[str, ModelLimits] = field(default_factory=dict)
    embedder: str = "offline:wordllama"
    embedding_dimension: int = 256
    openai_base_url: str = ""
    openai_api_key_secret: str = ""
    next_embedder: str = ""
    next_embedding_dimension: int = 256
    search_backend: str = "exact"
    opensearch_url: str = ""
    search_alias: str = "threadkeep"
    stage: str = "local"

    @classmethod
    def from_environment(cls, environment: Mapping[str, str]) -> "Settings":
        """Read and check the settings of a function.

        Raises:
            MisconfiguredError: A setting is missing or wrong; the detail names it.
        """

        def text(name: str, default: str = "") -> str:
            return environment.get(name, "").strip() or default

        settings = cls(
            table_name=text("TABLE_NAME"),
            bucket_name=text("BUCKET_NAME"),
            extraction_queue_url=text("EXTRACTION_QUEUE_URL"),
            extraction_dlq_url=text("EXTRACTION_DLQ_URL"),
            repair_queue_url=text("REPAIR_QUEUE_URL"),
            transfer_queue_url=text("TRANSFER_QUEUE_URL"),
            user_pool_client_id=text("USER_POOL_CLIENT_ID"),
            jwt_issuer=text("JWT_ISSUER"),
            jwks_url=text("JWKS_URL"),
            default_model=text("DEFAULT_MODEL", OFFLINE_MODEL),
            models=_models(text("MODELS", "{}")),
            embedder=text("EMBEDDER", "offline:wordllama"),
            embedding_dimension=_positive(
                "EMBEDDING_DIMENSION", text("EMBEDDING_DIMENSION", "256")
            ),
            openai_base_url=text("OPENAI_BASE_URL").rstrip("/"),
            openai_api_key_secret=text("OPENAI_API_KEY_SECRET"),
            next_embedder=text("NEXT_EMBEDDER"),
            next_embedding_dimension=_positive(
                "NEXT_EMBEDDING_DIMENSION", text("NEXT_EMBEDDING_DIMENSION", "256")
            ),
            search_backend=text("SEARCH_BACKEND", "exact"),
            opensearch_url=text("OPENSEARCH_URL"),
            search_alias=text("SEARCH_ALIAS", "threadkeep"),
            stage=text("STAGE", "local"),
        )
        settings.check()
        return settings

    def check(self) -> None:
        """Check what can be checked without asking a model.

        Raises:
            MisconfiguredError: The first setting that is wrong.
        """
        _require("TABLE_NAME", bool(self.table_name), "is missing")
        for name, value in [
            ("DEFAULT_MODEL", self.default_model),
            *(("MODELS", m) for m in self.models),
        ]:
            self._check_model(name, value, CHAT_PROVIDERS)
        self._check_model("EMBEDDER", self.embedder, EMBEDDING_PROVIDERS)
        if self.next_embedder:
            self._check_model("NEXT_EMBEDDER", self.next_embedder, EMBEDDING_PROVIDERS)
            _require(
                "NEXT_EMBEDDER",
                self.search_backend == "opensearch",
                "builds a second index, which only SEARCH_BACKEND opensearch has",
            )
        _require(
            "SEARCH_BACKEND",
            self.search_backend in ("exact", "opensearch"),
            f"must be exact or opensearch, not {self.search_backend!r}",
        )
        _require(
            "OPENSEARCH_URL",
            self.search_backend != "opensearch" or bool(self.opensearch_url),
            "is missing, and SEARCH_BACKEND is opensearch",
        )

    @property
    def chat_models(self) -> Models:
        """The models that agents can name."""
        return Models(self.default_model, self.models)

    def _check_model(self, setting: str, value: str, providers: frozenset[str]) -> None:
        provider, _, model = value.partition(":")
        _require(
            setting,
            provider in providers and (provider == OFFLINE_MODEL or bool(model)),
            f"{value!r} is not provider:model with provider one of {', '.join(sorted(providers))}",
        )
        _require(
            "OPENAI_BASE_URL",
            provider != "openai" or self.openai_base_url.startswith(("http://", "https://")),
            f"must be an http(s) URL, since {setting} names {value!r}",
        )


def _require(setting: str, holds: bool, complaint: str) -> None:
    if not holds:
        raise MisconfiguredError(f"{setting} {complaint}", extra={"setting": setting})


def _positive(setting: str, text: str) -> int:
    _require(setting, text.isascii() and text.isdigit() and int(text) > 0, f"is no count: {text!r}")
    return int(text)


def _models(text: str) -> dict[str, ModelLimits]:
    try:
        raw = json.loads(text)
        return {str(model): _limits(limits) for model, limits in raw.items()}
    except (ValueError, AttributeError) as error:
        raise MisconfiguredError(
            'MODELS must be JSON as {"provider:model": {"window": …, "max_output": …}} with'
            " positive numbers",
            extra={"setting": "MODELS"},
        ) from error


def _limits(raw: Mapping[str, Any]) -> ModelLimits:
    counts = {name: raw.get(name) for name in ("window", "max_output")}
    prices = {name: raw.get(name) for name in ("input_price", "output_price")}
    for name, value in counts.items():
        if value is not None and (type(value) is not int or value <= 0):
            raise ValueError(name)
    for name, value in prices.items():
        if value is not None and (type(value) not in (int, float) or value < 0):
            raise ValueError(name)
    return ModelLimits(**counts, **prices)
