"""Taking a clause apart: who it is about, what its verb group says, and the rest."""

from __future__ import annotations

import re
from dataclasses import dataclass, replace
from enum import StrEnum
from typing import TYPE_CHECKING

from threadkeep.llm.offline.lexicon import ADVERBS, NOT_NAMES, PETS, ROLES, TECHNOLOGIES
from threadkeep.llm.offline.openings import without_opening

if TYPE_CHECKING:
    from threadkeep.llm.offline.sentences import Clause

_SELF = re.compile(
    r"(?:I|i|We|we|(?:[Oo]ur|[Mm]y) (?:team|company|family|startup|office|household))(?=[\s'])\s*"
)
_MY = re.compile(
    r"(?:my|our)\s+(?P<adjectives>(?:(?:new|old|best|good|close|younger|older|little|big|former|late"
    r"|dear|current|first|eldest|youngest|oldest|twin|direct|line)\s+)*)(?P<role>[A-Za-z-]+)"
    r"(?:,|\s+is(?= called| named))?(?P<rest>.*)",
    re.IGNORECASE | re.DOTALL,
)
_CALLED = re.compile(r"\s*(?:is )?(?:called|named)\s+", re.IGNORECASE)
_NAME_WORD = re.compile(r"\s*([^\W\d_][\w-]*(?:'(?!(?:ll|ve|re|d|m|t)\b)[^\W\d_][\w-]+)?)")
_GERUND = re.compile(r"\w{3,}ing")
_APPOSITION = re.compile(r",\s*(?:my|our)\s+([^,]{2,30})(?:,|$)\s*", re.IGNORECASE)
_PRONOUN = re.compile(r"(?:he|she|they)(?=[\s'])\s*", re.IGNORECASE)

_BE = frozenset(["am", "is", "are", "was", "were", "be", "been", "being", "'m", "'re", "'s"])
_HAVE = frozenset(["have", "has", "had", "'ve"])
_MODAL = frozenset(
    [
        *["can", "could", "would", "should", "might", "may", "must", "will", "shall", "ought"],
        *["'d", "'ll", "cannot", "can't", "couldn't", "wouldn't", "shouldn't", "won't", "mustn't"],
    ]
)
_NEGATIVE_AUX = {
    "don't": "do",
    "doesn't": "do",
    "didn't": "did",
    "isn't": "be",
    "aren't": "be",
    "wasn't": "be",
    "weren't": "be",
    "haven't": "have",
    "hasn't": "have",
    "hadn't": "have",
}
_WORD = re.compile(r"\s*('(?:m|re|s|ve|d|ll)\b|[A-Za-z]+(?:'t)?)(?=\s|$|,)", re.IGNORECASE)
_PARTICIPLE = re.compile(
    r"\s*(?:(?:" + "|".join(sorted(ADVERBS)) + r"|never|not|just)\s+)*"
    r"(?:been|got|[a-z]+ed|known|met|bought|made|taken|begun|gone|had|left|lost|won|quit|run|read"
    r"|written|spoken|driven|become)\b",
    re.IGNORECASE,
)
_EMPHASIS = re.compile(
    r"\s+(?:(?:really|still|also)\s+)?(?:like|love|prefer|enjoy|have|use|work|live|want|know|speak|play)"
    r"\b",
    re.IGNORECASE,
)
_NOT_YET_TRUE = re.compile(
    r"\s*(?:going to|gonna|about to|supposed to|able to|(?:need|have|has|had|got) to)\b",
    re.IGNORECASE,
)
_USED_TO = re.compile(r"\s*used to\b", re.IGNORECASE)
_NO_LONGER = re.compile(r"\s*no longer\b", re.IGNORECASE)
_STOPPED = re.compile(
    r"\s*(?:stop|stopped|quit|gave up|given up|done|finished with|finished)\s+(?=[a-z]+ing\b)",
    re.IGNORECASE,
)
_STARTED = re.compile(
    r"\s*(?:start|started|began|begun|resumed)\s+(?=(?!something)[a-z]+ing\b)", re.IGNORECASE
)
_ANYMORE = re.compile(r"[\s,]*\b(?:any ?more|any longer)\b", re.IGNORECASE)
# Of a perfect that goes on ("have lived in Rome since 2015"): the form of the present.
_PRESENT = {
    "worked": "work",
    "lived": "live",
    "used": "use",
    "loved": "love",
    "liked": "like",
    "known": "know",
    "had": "have",
    "played": "play",
    "studied": "study",
    "spoken": "speak",
    "driven": "drive",
}
_GOES_ON = re.compile(r"\b(?:since|for|always)\b", re.IGNORECASE)


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


@dataclass(frozen=True)
class Parts:
    """A clause taken apart.

    Args:
        subject: Whom it is about.
        rest: What follows the verb group's auxiliaries, from the main verb on; after a form of "to
            be", what is said to be.
        be: Whether "to be" is the auxiliary or the verb.
        negative: Whether it is denied.
        ended: Whether it is said to be over ("no longer", "used to", "stopped").
        modal: Whether it is said to be possible, wanted or to come only.
        able: Whether the only modal verb is "can".
        topic: What a phrase in front limits it to ("for coffee").
    """

    subject: Subject
    rest: str
    be: bool = False
    negative: bool = False
    ended: bool = False
    modal: bool = False
    able: bool = False
    topic: str = ""


SELF = Subject(SubjectKind.SELF)


def take_apart(clause: Clause, before: Parts | None, last_person: Subject | None) -> Parts | None:
    """Take a clause apart, or return None if it is about nobody the rules know.

    Args:
        clause: The clause.
        before: The parts of the clause before it in the sentence, if it was understood.
        last_person: The only person that the turn has spoken of so far, whom "she" means.
    """
    text, topic = without_opening(clause.text)
    if clause.carries in ("subject", "be") and before is not None:
        be = clause.carries == "be"
        return replace(_verb_group(before.subject, text, be=be), topic=topic or before.topic)
    if clause.carries == "object" and before is not None:
        name = _trailing_name(before.rest)
        return _verb_group(Subject(SubjectKind.PERSON, name), text) if name else None
    found = _subject(text, last_person)
    if found is None:
        return None
    subject, rest = found
    return replace(_verb_group(subject, rest), topic=topic)


def _subject(text: str, last_person: Subject | None) -> tuple[Subject, str] | None:
    own = _SELF.match(text)
    if own:
        return SELF, text[own.end() :]
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
        if not words and (match[1].casefold() in NOT_NAMES or _GERUND.fullmatch(match[1])):
            break
        words.append(match[1])
        end = match.end()
    if text[end : end + 1] == "'" and not text.startswith("'s", end):
        return "", start  # "You'll", "James'": no subject of its own
    return " ".join(words), end


def _trailing_name(text: str) -> str:
    match = re.search(r"((?:[^\W\d_][\w-]*\s+)?[^\W\d_][\w-]*)[\s,]*$", text)
    words = match[1].split() if match else []
    named = [word for word in words if word[0].isupper() and word.casefold() not in NOT_NAMES]
    return " ".join(named) if named and named[-1] == words[-1] else ""


def _verb_group(subject: Subject, text: str, *, be: bool = False) -> Parts:
    """Read auxiliaries, negations and adverbs up to the main verb."""
    text = text.lstrip(" ,")
    parts = Parts(subject, text, be=be)
    at, perfect = 0, False
    while True:
        special = _special(text, at, parts)
        if special is not None:
            at, parts = special
            continue
        match = _WORD.match(text, at)
        word = match[1].casefold() if match else ""
        aux = _NEGATIVE_AUX.get(word, word)
        if aux in _BE or aux == "be":
            parts = replace(parts, be=True)
        elif aux in _HAVE and _PARTICIPLE.match(text, match.end() if match else at):
            perfect = True
        elif aux in _MODAL:
            parts = replace(
                parts,
                modal=True,
                able=word in ("can", "can't", "cannot") and not parts.modal,
                negative=parts.negative or word.endswith("n't") or word == "cannot",
            )
        elif word in ("do", "does") and _EMPHASIS.match(text, match.end() if match else at):
            pass
        elif word in ("not", "never"):
            parts = replace(parts, negative=True)
        elif word not in ADVERBS and word not in _NEGATIVE_AUX:
            break
        if word in _NEGATIVE_AUX:
            parts = replace(parts, negative=True)
        at = match.end() if match else at
    return _finished(parts, text[at:].strip(), perfect=perfect)


def _special(text: str, at: int, parts: Parts) -> tuple[int, Parts] | None:
    """Read a group of words that says that something is over, begins, or is not so yet."""
    for pattern in (_NO_LONGER, _STOPPED, *(() if parts.be else (_USED_TO,))):
        if match := pattern.match(text, at):
            return match.end(), replace(parts, ended=True)
    if match := _STARTED.match(text, at):
        return match.end(), parts
    if match := _NOT_YET_TRUE.match(text, at):
        return match.end(), replace(parts, modal=True)
    return None


def _finished(parts: Parts, rest: str, *, perfect: bool) -> Parts:
    if parts.negative and _ANYMORE.search(rest):
        parts = replace(parts, negative=False, ended=True)
    rest = _ANYMORE.sub("", rest)
    verb, _, tail = rest.partition(" ")
    if perfect and verb.casefold() in _PRESENT and _GOES_ON.search(tail):
        rest = f"{_PRESENT[verb.casefold()]} {tail}"
    return replace(parts, rest=rest)
