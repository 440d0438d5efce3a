"""Names taken from what follows a verb: without articles, asides and what comes after them."""

from __future__ import annotations

import re
from enum import StrEnum

from threadkeep.domain.redaction import MARK
from threadkeep.llm.offline.lexicon import DETERMINERS, NOT_NAMES, PRONOUNS, TRAILING

_MAX_CHARS = 120
_MAX_WORDS = 12
_MAX_LIST_ITEM_WORDS = 4


class Shape(StrEnum):
    """What a rule takes as its object.

    ``proper``: a proper name, which is capitalised or has a digit; in a turn without capitals, any
    short noun without an article. ``name``: a short noun phrase. ``phrase``: words up to the end of
    the thought, such as an activity. ``action``: the same, and never a list of several.
    """

    PROPER = "proper"
    NAME = "name"
    PHRASE = "phrase"
    ACTION = "action"


_PUNCTUATION = r"[:;()!?]|(?<!(?-i:[ .][A-Z]))\.(?:\s|$)|[–—-]\s|…"
_END_OF_NAME = re.compile(
    r"(?:^|\s+)(?:because|since|so|but|when|while|where|which|who|whom|that|after|before|until"
    r"|though|although|if|as|with|for|from|to|at|in|on|by|near|about|during|every|each|via|over"
    r"|instead|than|is|are|was|were|has|have|almost|back|full|part|along|together|right|under)\s"
    rf"|{_PUNCTUATION}",
    re.IGNORECASE,
)
_END_OF_PHRASE = re.compile(
    r"\s+(?:because|since|so that|but|although|though|unless|which|if|instead of|rather than|so|as"
    r"|more than|over|when|while|whenever|thanks to|due to"
    r"|and (?:i|my|it|we|they|she|he|then|got|had|made|went|took|\w+ed)"
    r"|the other day|a few (?:days|weeks|months|years) ago|a while (?:ago|back))\s"
    r"|,\s*(?:too|though|which|so|it|as|or|i|you|we|especially|for example|like|such as"
    r"|including)\b"
    rf"|{_PUNCTUATION}",
    re.IGNORECASE,
)
_END_OF_ACTION = re.compile(rf"{_END_OF_PHRASE.pattern}|,\s*\w+ing\b", re.IGNORECASE)
_ENDS = {
    Shape.PROPER: _END_OF_NAME,
    Shape.NAME: _END_OF_NAME,
    Shape.PHRASE: _END_OF_PHRASE,
    Shape.ACTION: _END_OF_ACTION,
}
_LIST = re.compile(r"\s*,\s*(?:and\s+|or\s+)?|\s+(?:and|&)\s+", re.IGNORECASE)
_LEADING = re.compile(
    r"(?:(?:a bit of|a little(?: bit of)?|lots of|a lot of|some of|all kinds of|all sorts of"
    rf"|{'|'.join(sorted(DETERMINERS))}|really|just|very|both|mostly|mainly|drinking|eating)\s+)+",
    re.IGNORECASE,
)
_DANGLING = re.compile(
    r"\s+(?:for|with|of|to|in|on|at|and|or|from|about|as|by|the|an?|my|like)$", re.IGNORECASE
)
_POINTS_ELSEWHERE = re.compile(
    r"(?:^|.*\s)(?:it|this|that|these|those|them|him|her|here|there|one|ones|one another)$",
    re.IGNORECASE,
)
_TRAILING = re.compile(
    r"[\s,]+(?:" + "|".join(re.escape(word) for word in TRAILING) + r")$", re.IGNORECASE
)
_EMOJI = re.compile(r"[\U0001f000-\U0001faff\u2600-\u27bf\ufe0f\u200d]+")
_QUOTES = str.maketrans(dict.fromkeys('"“”„«»`*', ""))
_EDGES = " \t\n,.!?;:'‘_-–—"
_NOT_AN_OBJECT = PRONOUNS | frozenset(
    [
        *["your", "you're", "to", "not", "no", "how", "doing", "being", "going", "it's", "that's"],
        *["hearing", "seeing", "knowing", "if", "whether", "like", "lot", "lots", "ton", "tons"],
        *["bunch", "stuff", "thing", "things", "fetch", "role", "part", "along", "hard", "well"],
    ]
)


def objects(text: str, shape: Shape, *, casual: bool = False) -> list[str]:
    """Return the names in what follows a verb; a list of short ones gives several.

    Args:
        text: What follows the verb.
        shape: What the rule takes.
        casual: Whether the turn is written without capitals, so that they tell nothing.
    """
    end = _ENDS[shape].search(f"{text} ")
    whole = text[: end.start()] if end else text
    items = [whole] if shape is Shape.ACTION else [i for i in _LIST.split(whole) if i.strip()]
    if any(len(item.split()) > _MAX_LIST_ITEM_WORDS for item in items):
        items = items[:1]
    names = [clean(item) for item in items]
    if not names or not _fits(names[0], shape, casual=casual):
        return []
    return [name for name in names if _fits(name, shape, casual=casual)]


def clean(text: str) -> str:
    """Strip a name of articles, adverbs and punctuation at its ends, and of quotes."""
    text = " ".join(_EMOJI.sub("", text).translate(_QUOTES).split()).strip(_EDGES)
    text = _LEADING.sub("", text, count=1) if _LEADING.match(text) else text
    while True:
        shorter = _DANGLING.sub("", _TRAILING.sub("", text)).strip(_EDGES)
        if shorter == text:
            return text
        text = shorter


def _fits(name: str, shape: Shape, *, casual: bool) -> bool:
    words = name.split()
    if not words or len(words) > _MAX_WORDS or len(name) > _MAX_CHARS or MARK in name:
        return False
    if words[0].casefold() in _NOT_AN_OBJECT or _POINTS_ELSEWHERE.match(name):
        return False
    if len(name) == 1 and not name.isalpha():
        return False
    if shape is Shape.PROPER:
        return is_proper(name) or (casual and len(words) <= 3)
    return True


def is_proper(name: str) -> bool:
    """Tell whether a name is a proper one: some word of it has a capital or a digit."""
    words = name.split()
    if len(words) == 1 and words[0].casefold() in NOT_NAMES:
        return False
    return any(
        any(c.isupper() or c.isdigit() for c in word) or not word.isascii() for word in words
    )
