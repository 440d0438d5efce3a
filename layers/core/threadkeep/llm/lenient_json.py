"""Reading the JSON that language models write: fenced, chatty, with broken strings, or cut off."""

from __future__ import annotations

import json
import re
from dataclasses import dataclass
from typing import Any

_MAX_DEPTH = 32
_LITERALS = {"true": True, "false": False, "null": None, "True": True, "False": False, "None": None}
_NUMBER = re.compile(r"-?\d+(?:\.\d+)?(?:[eE][+-]?\d+)?")
_ESCAPES = {"n": "\n", "t": "\t", "r": "\r", "b": "\b", "f": "\f"}
_LONE_SURROGATE = re.compile(r"[\ud800-\udfff]")
_AFTER_STRING_OF_OBJECT = re.compile(r"\s*(?::|,\s*\"|,?\s*\}|$)")
_AFTER_STRING_OF_ARRAY = re.compile(
    r"\s*(?:,\s*(?:[\"\[{\d-]|(?:true|false|null|True|False|None)\b)|,?\s*\]|$)"
)


@dataclass(frozen=True)
class Parsed:
    """What was read.

    Args:
        value: An object or array.
        complete: False if the text ended before the value did: what was not closed is left out.
    """

    value: dict[str, Any] | list[Any]
    complete: bool


def parse(text: str) -> Parsed | None:
    """Read the first JSON object or array of a text, or return None if there is none.

    Strict JSON is taken as it is. Otherwise quotes and line breaks inside strings, backslashes
    before any character, comments, trailing commas and Python's literals are forgiven. Lone
    surrogates become U+FFFD. In a text that was cut off, an array keeps the items that were closed;
    an item that was not closed is dropped as a whole.
    """
    start = _start(text)
    if start is None:
        return None
    try:
        value, _ = json.JSONDecoder(strict=False).raw_decode(text, start)
        return Parsed(_valid(value), complete=True)
    except (ValueError, RecursionError):
        reader = _Reader(text, start)
        try:
            value = reader.value(0, in_array=False)
        except _EndError:
            return None
        if not isinstance(value, dict | list):
            return None
        return Parsed(_valid(value), complete=not reader.cut_off)


def _start(text: str) -> int | None:
    fence = re.search(r"```[A-Za-z]*\s*(?=[{\[])", text)
    found = re.compile(r"[{\[]\s*(?=[\"{\[\]}]|$)").search(text, fence.end() if fence else 0)
    return found.start() if found else None


def _valid(value: Any) -> Any:
    if isinstance(value, str):
        return _LONE_SURROGATE.sub("�", value)
    if isinstance(value, dict):
        return {_valid(key): _valid(item) for key, item in value.items()}
    if isinstance(value, list):
        return [_valid(item) for item in value]
    return value


class _EndError(Exception):
    """The text ended inside a value, or holds something that is no value."""


class _Reader:
    """A forgiving reader of one value."""

    def __init__(self, text: str, position: int) -> None:
        self._text = text
        self._at = position
        self.cut_off = False

    def value(self, depth: int, *, in_array: bool) -> Any:
        self._skip()
        char = self._text[self._at : self._at + 1]
        if depth > _MAX_DEPTH:
            raise _EndError
        if char == "{":
            return self._object(depth, in_array=in_array)
        if char == "[":
            return self._array(depth)
        if char == '"':
            return self._string(_AFTER_STRING_OF_ARRAY if in_array else _AFTER_STRING_OF_OBJECT)
        return self._scalar()

    def _object(self, depth: int, *, in_array: bool) -> dict[str, Any]:
        members: dict[str, Any] = {}
        self._at += 1
        while True:
            try:
                if self._closes("}"):
                    return members
                self._skip()
                if self._text[self._at] != '"':
                    raise _EndError
                key = self._string(_AFTER_STRING_OF_OBJECT)
                self._skip()
                if self._text[self._at] != ":":
                    raise _EndError
                self._at += 1
                members[key] = self.value(depth + 1, in_array=False)
            except (_EndError, IndexError):
                self.cut_off = True
                if in_array:
                    raise _EndError from None
                self._at = len(self._text)
                return members
            if self.cut_off:
                return members

    def _array(self, depth: int) -> list[Any]:
        items: list[Any] = []
        self._at += 1
        while True:
            try:
                if self._closes("]"):
                    return items
                items.append(self.value(depth + 1, in_array=True))
            except (_EndError, IndexError):
                self.cut_off = True
                self._at = len(self._text)
                return items
            if self.cut_off:
                # What was cut off inside the last item makes that item a part only.
                return items[:-1]

    def _closes(self, bracket: str) -> bool:
        self._skip()
        if self._text[self._at] == ",":
            self._at += 1
            self._skip()
        if self._text[self._at] == bracket:
            self._at += 1
            return True
        return False

    def _string(self, after: re.Pattern[str]) -> str:
        """Read a string; a quote ends it only if what follows can follow a string."""
        self._at += 1
        parts: list[str] = []
        while True:
            char = self._text[self._at : self._at + 1]
            if not char:
                raise _EndError
            self._at += 1
            if char == "\\":
                parts.append(self._escape())
            elif char == '"' and after.match(self._text, self._at):
                return "".join(parts)
            else:
                parts.append(char)

    def _escape(self) -> str:
        char = self._text[self._at : self._at + 1]
        self._at += 1
        if char == "u":
            code = self._text[self._at : self._at + 4]
            if not re.fullmatch(r"[0-9A-Fa-f]{4}", code):
                return "\\u"
            self._at += 4
            return self._pair(chr(int(code, 16)))
        if char in _ESCAPES:
            return _ESCAPES[char]
        return char if char in '"\\/' else f"\\{char}"

    def _pair(self, char: str) -> str:
        low = re.compile(r"\\u([Dd][C-Fc-f][0-9A-Fa-f]{2})").match(self._text, self._at)
        if low is None or not "\ud800" <= char <= "\udbff":
            return char
        self._at = low.end()
        joined = char + chr(int(low[1], 16))
        return joined.encode("utf-16", "surrogatepass").decode("utf-16")

    def _scalar(self) -> Any:
        number = _NUMBER.match(self._text, self._at)
        if number:
            self._at = number.end()
            if self._at == len(self._text):
                raise _EndError  # more digits may have been cut off
            return json.loads(number[0])
        word = re.compile(r"[A-Za-z]+").match(self._text, self._at)
        if word is None or word[0] not in _LITERALS:
            raise _EndError
        self._at = word.end()
        return _LITERALS[word[0]]

    def _skip(self) -> None:
        blank = re.compile(r"(?:\s|//[^\n]*\n|/\*[\s\S]*?\*/)*").match(self._text, self._at)
        self._at = blank.end() if blank else self._at
