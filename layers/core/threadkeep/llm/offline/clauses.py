"""Taking a clause apart: who it is about, what its verb group says, and the rest."""

from __future__ import annotations

import re
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from threadkeep.llm.offline.lexicon import ADVERBS
from threadkeep.llm.offline.openings import without_opening
from threadkeep.llm.offline.subjects import Subject, SubjectKind, find_subject, trailing_name

if TYPE_CHECKING:
    from threadkeep.llm.offline.sentences import Clause

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
_WISH = re.compile(r"\s+(?:always |really )?prefer\b", re.IGNORECASE)
_NOT_YET_TRUE = re.compile(
    r"\s*(?:going to|gonna|about to|supposed to|able to|(?:need|have|has|had|got) to)\b",
    re.IGNORECASE,
)
_USED_TO = re.compile(r"\s*used to\b", re.IGNORECASE)
_NO_LONGER = re.compile(r"\s*no longer\b", re.IGNORECASE)
_STOPPED = re.compile(
    r"\s*(?:stop|stopped|quit|gave up|given up|done|finished with)\s+(?=[a-z]+ing\b)",
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
        perfect: Whether it is in the perfect ("have lived").
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
    perfect: bool = False
    topic: str = ""


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
        name = trailing_name(before.rest)
        return _verb_group(Subject(SubjectKind.PERSON, name), text) if name else None
    found = find_subject(text, last_person)
    if found is None:
        return None
    subject, rest = found
    return replace(_verb_group(subject, rest), topic=topic)


def _verb_group(subject: Subject, text: str, *, be: bool = False) -> Parts:
    """Read auxiliaries, negations and adverbs up to the main verb."""
    text = text.lstrip(" ,")
    parts, at = Parts(subject, text, be=be), 0
    while True:
        special = _special(text, at, parts)
        if special is not None:
            at, parts = special
            continue
        match = _WORD.match(text, at)
        changed = _auxiliary(parts, match[1].casefold(), text, match.end()) if match else None
        if match is None or changed is None:
            return _finished(parts, text[at:].strip())
        parts, at = changed, match.end()


def _auxiliary(parts: Parts, word: str, text: str, end: int) -> Parts | None:
    """Return the parts with what a word before the main verb says; None if it is the main verb."""
    if word in _NEGATIVE_AUX or word in ("not", "never"):
        aux = _NEGATIVE_AUX.get(word)
        return replace(
            parts,
            negative=True,
            be=parts.be or aux == "be",
            perfect=parts.perfect or aux == "have",
        )
    if word in _BE:
        return replace(parts, be=True)
    if word in _HAVE and _PARTICIPLE.match(text, end):
        return replace(parts, perfect=True)
    is_filler = (
        word in ADVERBS
        or (word in ("'d", "would") and _WISH.match(text, end))
        or (word in ("do", "does") and _EMPHASIS.match(text, end))
    )
    if is_filler:
        return parts
    if word not in _MODAL:
        return None
    return replace(
        parts,
        modal=True,
        able=word in ("can", "can't", "cannot") and not parts.modal,
        negative=parts.negative or word.endswith("n't") or word == "cannot",
    )


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


def _finished(parts: Parts, rest: str) -> Parts:
    if parts.negative and _ANYMORE.search(rest):
        parts = replace(parts, negative=False, ended=True)
    rest = _ANYMORE.sub("", rest)
    verb, _, tail = rest.partition(" ")
    if parts.perfect and verb.casefold() in _PRESENT and _GOES_ON.search(tail):
        rest = f"{_PRESENT[verb.casefold()]} {tail}"
    return replace(parts, rest=rest)
