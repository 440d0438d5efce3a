"""Site settings: what administrators change at run time, with ranges and defaults.

Deployment settings, which come from the environment, are in ``settings.py``.
"""

from typing import Annotated, Any, Literal

from pydantic import Field, JsonValue

from threadkeep.domain.types import Description, Id, Model

DEFAULT_INSTRUCTIONS = "You are a helpful assistant. Answer in the language of the user."

Category = Literal["memory", "chat"]
ModelId = Annotated[str, Field(max_length=200)]
CooldownSeconds = Annotated[int, Field(ge=10, le=3600)]
PendingTurns = Annotated[int, Field(ge=1, le=50)]
AgentId = Id | Literal[""]


class SiteSettings(Model):
    """All settings with the values that hold now; one that was never set has its default."""

    memory_async_extraction_enabled: bool = Field(
        default=False,
        description="Whether memories are extracted from chats in the background.",
        json_schema_extra={"category": "memory"},
    )
    memory_extraction_model_id: ModelId = Field(
        default="",
        description="Model that extracts; empty or unknown: the agent's, else the default model.",
        json_schema_extra={"category": "memory"},
    )
    memory_extraction_cooldown_seconds: CooldownSeconds = Field(
        default=180,
        description="Quiet time after a user turn before extraction starts.",
        json_schema_extra={"category": "memory"},
    )
    memory_extraction_max_pending_turns: PendingTurns = Field(
        default=6,
        description="So many waiting user turns start extraction at once.",
        json_schema_extra={"category": "memory"},
    )
    base_instructions: Description = Field(
        default=DEFAULT_INSTRUCTIONS,
        description="First block of every system prompt.",
        json_schema_extra={"category": "chat"},
    )
    default_agent_id: AgentId = Field(
        default="",
        description="Agent that answers a client that names none.",
        json_schema_extra={"category": "chat"},
    )


class SiteSettingsChanges(Model):
    """The body of a PUT: the settings it names are set; null brings one back to its default."""

    memory_async_extraction_enabled: bool | None = None
    memory_extraction_model_id: ModelId | None = None
    memory_extraction_cooldown_seconds: CooldownSeconds | None = None
    memory_extraction_max_pending_turns: PendingTurns | None = None
    base_instructions: Description | None = None
    default_agent_id: AgentId | None = None


class SettingValue(Model):
    """The body of a PUT of one setting."""

    value: JsonValue


class SettingsReset(Model):
    """The body of a reset: which settings go back to their defaults; all, if it names none."""

    category: Category | None = None
    keys: tuple[str, ...] | None = None


class SettingDetail(Model):
    """One setting as an administrator sees it."""

    key: str
    category: Category
    description: str
    value: JsonValue
    default: JsonValue
    minimum: int | None = None
    maximum: int | None = None


def keys_of(category: Category | None) -> tuple[str, ...]:
    """Return the keys of a category, or all keys."""
    return tuple(
        key for key in SiteSettings.model_fields if category in (None, _schema(key)["category"])
    )


def detail_of(settings: SiteSettings, key: str) -> SettingDetail:
    """Return what is known of one setting.

    Raises:
        KeyError: There is no such setting.
    """
    schema = _schema(key)
    return SettingDetail(
        key=key,
        category=schema["category"],
        description=schema["description"],
        value=getattr(settings, key),
        default=schema["default"],
        minimum=schema.get("minimum"),
        maximum=schema.get("maximum"),
    )


def _schema(key: str) -> dict[str, Any]:
    properties: dict[str, dict[str, Any]] = SiteSettings.model_json_schema()["properties"]
    return properties[key]
