"""Reading a request strictly: JSON, query and path parameters, and the headers that matter."""

import json
import re
from collections.abc import Mapping, Sequence
from functools import cache
from types import UnionType
from typing import Any, NoReturn, Union, get_args, get_origin

import pydantic
from pydantic import BaseModel, TypeAdapter

from threadkeep.domain.limits import MAX_BODY_BYTES
from threadkeep.domain.types import Id
from threadkeep.errors import BadRequestError, PayloadTooLargeError, ValidationError

MAX_JSON_DEPTH = 64
# An unclosed string matches too: otherwise each further quote would look for its end anew.
_STRINGS = re.compile(rb'"(?:[^"\\]|\\.)*+(?:"|\\?\Z)', re.DOTALL)
_ETAG = re.compile(r'(?:W/)?"([^"]*)"')
_VERSION = re.compile(r"v([0-9]{1,15})")
_IDEMPOTENCY_KEY = re.compile(r"[\x21-\x7e]{1,255}")
_ID: TypeAdapter[str] = TypeAdapter(Id)


def read_body[B: BaseModel](model: type[B], raw: bytes) -> B:
    """Parse a body strictly: no duplicate keys, no NaN, no deep nesting, no silent type change.

    Raises:
        PayloadTooLargeError: It is over 1 MB.
        BadRequestError: It is no JSON (``invalid_json``).
        ValidationError: It is not what the route takes.
    """
    if len(raw) > MAX_BODY_BYTES:
        raise PayloadTooLargeError(f"The body is over {MAX_BODY_BYTES} bytes.")
    _check_json(raw)
    try:
        return model.model_validate_json(raw, strict=True)
    except pydantic.ValidationError as error:
        if any(one["type"] == "json_invalid" for one in error.errors(include_url=False)):
            raise _invalid_json("holds text that is not valid Unicode") from error
        raise _invalid(error, "body") from error


def read_no_body(raw: bytes) -> None:
    """Check that a route without a body got none; an empty object counts as none.

    Raises:
        ValidationError: There is a body.
    """
    if raw.strip() not in (b"", b"{}"):
        raise ValidationError("This route takes no body.", code="unexpected_body")


def read_query[Q: BaseModel](model: type[Q], given: Mapping[str, Sequence[str]]) -> Q:
    """Parse query parameters: unknown ones and repeated single-valued ones are errors.

    Raises:
        ValidationError: The parameters are not what the route takes.
    """
    repeatable = _repeatable(model)
    values: dict[str, Any] = {}
    for name, texts in given.items():
        if name in repeatable:
            values[name] = tuple(texts)
        elif len(texts) == 1:
            values[name] = texts[0]
        else:
            raise _field_error(name, "repeated", "may be given once only")
    try:
        return model.model_validate(values)
    except pydantic.ValidationError as error:
        raise _invalid(error, "query") from error


def read_no_query(given: Mapping[str, Sequence[str]]) -> None:
    """Check that a route without query parameters got none.

    Raises:
        ValidationError: There is one.
    """
    for name in given:
        raise _field_error(name, "extra_forbidden", "is not known here")


def read_path(given: Mapping[str, str]) -> dict[str, str]:
    """Check path parameters, each of which is an id.

    Raises:
        ValidationError: One is not.
    """
    for name, value in given.items():
        try:
            _ID.validate_python(value)
        except pydantic.ValidationError:
            raise _field_error(name, "invalid_id", "is no valid id") from None
    return dict(given)


def read_if_match(header: str | None) -> tuple[int, ...] | None:
    """Return the versions that ``If-Match`` accepts (weak tags too); None for any.

    A tag that this service never made matches no version.
    """
    if header is None or header.strip() == "*":
        return None
    tags = (_VERSION.fullmatch(tag) for tag in _ETAG.findall(header))
    return tuple(int(match[1]) for match in tags if match)


def read_idempotency_key(header: str | None) -> str | None:
    """Return a valid ``Idempotency-Key``, or None without one.

    Raises:
        ValidationError: It is empty, too long, or not printable ASCII.
    """
    if header is None:
        return None
    if not _IDEMPOTENCY_KEY.fullmatch(header):
        raise ValidationError(
            "Idempotency-Key must be 1 to 255 printable ASCII characters without blanks.",
            code="invalid_idempotency_key",
        )
    return header


def _check_json(raw: bytes) -> None:
    brackets = raw.count(b"[") + raw.count(b"{")
    if brackets > MAX_JSON_DEPTH and _depth(raw) > MAX_JSON_DEPTH:
        raise _invalid_json(f"nests deeper than {MAX_JSON_DEPTH} levels")
    try:
        json.loads(raw.decode("utf-8"), object_pairs_hook=_unique_keys, parse_constant=_no_constant)
    except UnicodeDecodeError as error:
        raise _invalid_json("is not UTF-8") from error
    except ValueError as error:
        raise _invalid_json("is no JSON") from error


def _depth(raw: bytes) -> int:
    """Return how deeply brackets nest outside of strings, without parsing."""
    deepest = depth = 0
    for byte in _STRINGS.sub(b"", raw):
        if byte in b"[{":
            depth += 1
            deepest = max(deepest, depth)
        elif byte in b"]}":
            depth -= 1
    return deepest


def _unique_keys(pairs: list[tuple[str, Any]]) -> None:
    if len({key for key, _ in pairs}) != len(pairs):
        raise BadRequestError("The body repeats a key within one object.", code="duplicate_key")


def _no_constant(name: str) -> NoReturn:
    raise _invalid_json(f"holds {name}, which is no JSON")


def _invalid_json(complaint: str) -> BadRequestError:
    return BadRequestError(f"The body {complaint}.", code="invalid_json")


@cache
def _repeatable(model: type[BaseModel]) -> frozenset[str]:
    """Return the names of a query model's fields that take several values."""
    fields = model.model_fields.items()
    return frozenset(name for name, field in fields if _holds_many(field.annotation))


def _holds_many(annotation: Any) -> bool:
    if get_origin(annotation) in (Union, UnionType):
        return any(_holds_many(option) for option in get_args(annotation))
    return get_origin(annotation) is tuple


def _field_error(name: str, kind: str, detail: str) -> ValidationError:
    return ValidationError(
        f"{name} {detail}.", fields=[{"field": name, "code": kind, "detail": detail}]
    )


def _invalid(error: pydantic.ValidationError, whole: str) -> ValidationError:
    """Translate pydantic's findings; what was sent is not repeated."""
    fields = [
        {
            "field": ".".join(str(part) for part in one["loc"]) or whole,
            "code": one["type"],
            "detail": one["msg"],
        }
        for one in error.errors(include_url=False, include_input=False, include_context=False)
    ]
    names = ", ".join(dict.fromkeys(field["field"] for field in fields))
    return ValidationError(f"Invalid: {names}.", fields=fields)
