"""Value types that the domain's models are built from: bounded text, ids, times, properties."""

import json
import re
from datetime import UTC, datetime
from typing import Annotated, Any

from pydantic import (
    AfterValidator,
    BaseModel,
    BeforeValidator,
    ConfigDict,
    Field,
    GetCoreSchemaHandler,
    JsonValue,
    StringConstraints,
)
from pydantic_core import PydanticUseDefault, core_schema

from threadkeep.domain import limits


class Model(BaseModel):
    """Base of all domain models: unknown fields and silent type changes are errors."""

    model_config = ConfigDict(extra="forbid", frozen=True, ser_json_inf_nan="constants")


def _within_bytes(most: int) -> AfterValidator:
    def check(text: str) -> str:
        if len(text.encode()) > most:
            raise ValueError(f"longer than {most} bytes of UTF-8")
        return text

    return AfterValidator(check)


def _not_blank(text: str) -> str:
    if not text.strip():
        raise ValueError("is blank")
    return text


_DATE_OR_TIME = re.compile(r"[0-9]{4}-[0-9]{2}-[0-9]{2}([Tt ][0-9]{2}:[0-9]{2}.*)?")


def _read_time(value: Any) -> Any:
    """Read a date or RFC 3339 time; pydantic alone would also take a text of digits as seconds."""
    if not isinstance(value, str):
        return value
    if not _DATE_OR_TIME.fullmatch(value):
        raise ValueError("is neither a date nor an RFC 3339 time")
    return datetime.fromisoformat(value.upper())


def _as_utc(moment: datetime) -> datetime:
    """Take a time without offset as UTC; bring any other to UTC."""
    if moment.tzinfo is None:
        return moment.replace(tzinfo=UTC)
    try:
        return moment.astimezone(UTC)
    except OverflowError as error:
        raise ValueError("lies outside the years 1 to 9999 in UTC") from error


def json_depth(value: JsonValue) -> int:
    """Return how deeply objects and arrays nest (a scalar is 0), without recursion."""
    deepest, stack = 0, [(value, 0)]
    while stack:
        node, depth = stack.pop()
        deepest = max(deepest, depth)
        children = (
            node.values() if isinstance(node, dict) else node if isinstance(node, list) else ()
        )
        stack.extend((child, depth + 1) for child in children)
        if isinstance(node, dict | list):
            deepest = max(deepest, depth + 1)
    return deepest


def dump_json(value: Any) -> str:
    """Serialise to compact, deterministic JSON; NaN and infinities raise ``ValueError``."""
    return json.dumps(
        value, ensure_ascii=False, allow_nan=False, separators=(",", ":"), sort_keys=True
    )


def same_json(one: Any, other: Any) -> bool:
    """Tell whether two values are the same JSON: ``1`` is ``1.0``, but not ``True``."""
    if isinstance(one, dict) and isinstance(other, dict):
        return one.keys() == other.keys() and all(same_json(one[key], other[key]) for key in one)
    if isinstance(one, list) and isinstance(other, list):
        return len(one) == len(other) and all(map(same_json, one, other))
    return bool(one == other) and isinstance(one, bool) is isinstance(other, bool)


class NullIsAbsent:
    """Marks a field of a body that has a default and no null: null then counts as not given."""

    def __get_pydantic_core_schema__(
        self, source: Any, handler: GetCoreSchemaHandler
    ) -> core_schema.CoreSchema:
        """Take null, and answer it with the field's default."""
        inner = core_schema.nullable_schema(handler(source))
        return core_schema.no_info_after_validator_function(_default_for_null, inner)


def _default_for_null(value: Any) -> Any:
    if value is None:
        raise PydanticUseDefault
    return value


def _valid_properties(properties: dict[str, JsonValue]) -> dict[str, JsonValue]:
    if json_depth(properties) > limits.MAX_PROPERTIES_DEPTH:
        raise ValueError(f"nests deeper than {limits.MAX_PROPERTIES_DEPTH} levels")
    try:
        size = len(dump_json(properties).encode())
    except UnicodeEncodeError as error:
        raise ValueError("holds a lone surrogate, which is not valid Unicode") from error
    if size > limits.MAX_PROPERTIES_BYTES:
        raise ValueError(f"longer than {limits.MAX_PROPERTIES_BYTES} bytes of JSON")
    return properties


Id = Annotated[str, StringConstraints(pattern=limits.ID_PATTERN)]
Name = Annotated[
    str,
    StringConstraints(min_length=1, max_length=limits.MAX_NAME_CHARS),
    AfterValidator(_not_blank),
]
Description = Annotated[str, _within_bytes(limits.MAX_DESCRIPTION_BYTES)]
MessageText = Annotated[
    str,
    StringConstraints(min_length=1),
    AfterValidator(_not_blank),
    _within_bytes(limits.MAX_MESSAGE_BYTES),
]
Properties = Annotated[dict[str, JsonValue], AfterValidator(_valid_properties)]
UtcTime = Annotated[datetime, BeforeValidator(_read_time), AfterValidator(_as_utc)]
Share = Annotated[float, Field(ge=0, le=1, allow_inf_nan=False)]
