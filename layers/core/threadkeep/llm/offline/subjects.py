"""Whom a clause is about: the user, a person or pet of theirs, someone named."""

from __future__ import annotations

import re
from dataclasses import dataclass
from enum import StrEnum

from threadkeep.llm.offline.lexicon import (
    ADVERBS,
    DEMONYMS,
    NOT_NAMES,
    PETS,
    PLURAL_KIN,
    ROLES,
    TECHNOLOGIES,
    TRAITS,
)

_SELF = re.compile(
    r"(?:I|i|We|we|(?:[Oo]ur|[Mm]y) (?:team|company|family|startup|office|household))(?=[\s'])\s*"
)
# Chat style: "Based in Tallinn", "Moved to Porto last year" are about who writes.
_DROPPED_BE = re.compile(
    r"(?:(?:currently|now|still|also)\s+(?:learning|studying|working|living|planning to|training)"
    r"|(?:(?:currently|now|still|originally)\s+)?(?:based in|born|working (?:at|for|as)"
    r"|allergic to|from|married to)(?=\s+(?!now\b)))\s",
    re.IGNORECASE,
)
_DROPPED_I = re.compile(
    r"(?:(?:just|recently|finally)\s+)?(?:moved to|started (?:a|my|learning|working|using)|adopted"
    r"|bought|got (?:a|an|my|married|promoted|engaged)|switched (?:to|from)|signed up for|visited"
    r"|went to|love|hate|prefer|finished|quit|joined)\b",
    re.IGNORECASE,
)
_MY = re.compile(
    r"(?:my|our)\s+(?P<adjectives>(?:(?:new|old|best|good|close|younger|older|little|big|former|late"
    r"|dear|current|first|eldest|youngest|oldest|twin|direct|line)\s+)*)(?P<role>[A-Za-z-]+)"
    r"(?:,|\s+is(?= called| named))?(?P<rest>.*)",
    re.IGNORECASE | re.DOTALL,
)
_CALLED = re.compile(r"(?:'s name is|\s*(?:is )?(?:called|named))\s+", re.IGNORECASE)
_NAME_WORD = re.compile(r"\s*([^\W\d_][\w-]*(?:'(?!(?:ll|ve|re|d|m|t)\b)[^\W\d_][\w-]+)?)")
_GERUND = re.compile(r"\w{3,}ing")
_APPOSITION = re.compile(r",\s*(?:my|our)\s+([^,]{2,30})(?:,|$)\s*", re.IGNORECASE)
_PRONOUN = re.compile(r"(?:he|she|they)(?=[\s'])\s*", re.IGNORECASE)


class SubjectKind(StrEnum):
    """Whom a clause is about."""

    SELF = "self"
    PERSON = "person"
    PET = "pet"
    THING = "thing"


@dataclass(frozen=True)
class Subject:
    """Whom a clause is about; ``role`` is what a person is to the user ("boss")."""

    kind: SubjectKind
    name: str = ""
    role: str = ""


SELF = Subject(SubjectKind.SELF)
WE = Subject(SubjectKind.SELF, "we")


def find_subject(text: str, last_person: Subject | None) -> tuple[Subject, str] | None:
    """Return whom a clause is about and the rest of it; None if that is nobody known."""
    own = _SELF.match(text)
    if own:
        return (WE if own[0][0] in "Ww" else SELF), text[own.end() :]
    if _DROPPED_BE.match(text):
        return SELF, f"am {text[0].lower()}{text[1:]}"
    if _DROPPED_I.match(text):
        return SELF, text[0].lower() + text[1:]
    pronoun = _PRONOUN.match(text)
    if pronoun:
        return (last_person, text[pronoun.end() :]) if last_person else None
    my = _MY.match(text)
    if my:
        return _my(my)
    name, end = leading_name(text)
    if not name:
        return None
    role = _APPOSITION.match(text, end)
    if role:
        return Subject(SubjectKind.PERSON, name, role[1].strip()), text[role.end() :]
    kind = SubjectKind.THING if name.casefold() in TECHNOLOGIES else SubjectKind.PERSON
    return Subject(kind, name), text[end:]


def _my(match: re.Match[str]) -> tuple[Subject, str] | None:
    role, rest = match["role"], match["rest"]
    kind = (
        SubjectKind.PERSON
        if role.casefold() in ROLES
        else SubjectKind.PET
        if role.casefold() in PETS and not role.endswith("s")
        else None
    )
    if kind is None:
        return None
    called = _CALLED.match(rest)
    name, end = leading_name(rest, called.end() if called else 0)
    adjectives = match["adjectives"].strip()
    role = f"{adjectives} {role}" if adjectives in ("best", "former", "twin") else role
    return Subject(kind, name, role), rest[end:] if name else rest


def leading_name(text: str, start: int = 0) -> tuple[str, int]:
    """Return the capitalised words at a place, at most three, and where they end."""
    words: list[str] = []
    end = start
    while len(words) < 3:
        match = _NAME_WORD.match(text, end)
        if match is None or not match[1][0].isupper():
            break
        word = match[1].casefold()
        if not words and (word in NOT_NAMES | ADVERBS or _GERUND.fullmatch(word)):
            break
        words.append(match[1])
        end = match.end()
    if text[end : end + 1] == "'" and not text.startswith("'s", end):
        return "", start  # "You'll", "James'": no subject of its own
    return " ".join(words), end


def trailing_name(text: str) -> str:
    """Return the capitalised words at the end of a text, or nothing."""
    match = re.search(r"((?:[^\W\d_][\w-]*\s+)?[^\W\d_][\w-]*)[\s,]*$", text)
    words = match[1].split() if match else []
    named = [word for word in words if word[0].isupper() and word.casefold() not in NOT_NAMES]
    return " ".join(named) if named and named[-1] == words[-1] else ""


def singular(role: str) -> str:
    """Return what one of several relatives is: ``sister`` of sisters."""
    if role == "children":
        return "child"
    return role.removesuffix("s") if role in PLURAL_KIN else role


def is_no_name(name: str) -> bool:
    """Tell whether a capitalised word after "I am" is something else than a name."""
    first = name.split(maxsplit=1)[0]
    ordinary = NOT_NAMES | DEMONYMS | TRAITS
    return first.casefold() in ordinary or (len(first) > 1 and first.isupper())
