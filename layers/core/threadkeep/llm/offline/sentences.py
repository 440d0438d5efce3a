"""Cutting a turn into sentences and clauses, and leaving out what is not asserted.

What is left out: code, quoted text and text that was given to be worked on, questions, conditions,
and all that is said to be possible only.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING

from threadkeep.llm.offline.lexicon import HYPOTHETICAL, QUESTION_OPENERS, TEXT_ORDERS

if TYPE_CHECKING:
    from collections.abc import Iterator

MAX_SENTENCE_CHARS = 600

_CODE = re.compile(r"```[\s\S]*?(?:```|\Z)|~~~[\s\S]*?(?:~~~|\Z)|`[^`\n]{0,200}`")
_QUOTED_LINE = re.compile(r"^[ \t]*(?:>|\|).*$", re.MULTILINE)
_FORWARDED = re.compile(
    r"^(?:On .{4,80} wrote:|-+ ?(?:Original|Forwarded) message ?-+|From: .+)$[\s\S]*",
    re.IGNORECASE | re.MULTILINE,
)
# Quoted speech: names and titles are short, or have no verb; speech has a subject.
_SPEECH = re.compile(
    r"[\"“„«](?=[^\"“„«”»\n]*\b(?:I|I'm|we|you|he|she|they|it|is|are|am)\b)[^\"“„«”»\n]{4,}[\"”»]"
    r"|[\"“„«](?:[^\s\"“„«”»]+\s+){4,}[^\s\"“„«”»]+[\"”»]"
)

_NOT_SAID = (_CODE, _FORWARDED, _QUOTED_LINE, _SPEECH)
_SENTENCE_OPENER = re.compile(
    r"(?:^|[\n.!?:,][ \t]{0,8})(?:(?:please|now|can you|could you|help me|i want you to|let's)\s+)*"
    r"(?P<word>[A-Za-z-]+)",
    re.IGNORECASE,
)

_SENTENCE_END = re.compile(r"(?<=[.!?…])[\"')\]”’]*\s+|(?<=[。！？])|\n+")
_ABBREVIATION = re.compile(
    r"(?:\b(?:Dr|Mr|Mrs|Ms|Prof|St|Jr|Sr|vs|etc|e\.g|i\.e|approx|Inc|Ltd|Co|No)|\b[A-Z])\.$"
)

_SUBJECT = (
    r"(?:I|I'm|I've|I'd|I'll|i|i'm|i've|my|My|we|we're|we've|he|she|they|he's|she's|it|you|there)"
)
_FINITE = (
    r"(?:(?:also|still|now|currently|really|just|usually|mostly|recently|absolutely|never|always"
    r"|no longer)\s+)*(?:am|is|was|don't|do not|doesn't|can't|work|works|live|lives|love|loves"
    r"|like|likes|prefer|prefers|hate|hates|enjoy|enjoys|use|uses|have|has|know|knows|speak|speaks"
    r"|play|plays|moved|moves|drink|drinks|drive|drives|want to|wants to|quit|left|switched"
    r"|started|stopped|joined|bought|adopted|study|studies|met|dislike|own|went|got|used to)\b"
)
_ELLIPTICAL = (
    r"(?:(?:also|now|currently|severely|highly)\s+)*(?:allergic to|based in|married|vegetarian"
    r"|vegan|working (?:at|for|on)|living in|learning|studying|using|training|from\s+[A-Z]"
    r"|an? [\w -]+ (?:at|for|with) [A-Z])"
)
# Where a sentence falls into clauses. A comma or "and" alone does not tell: what follows has to be
# the beginning of another clause, or "tea, coffee and jazz" would be three.
_SPLIT = re.compile(
    "|".join(
        [
            r"\s*[;()]\s*|\s+[—–-]+\s+|\s*—\s*|\s*\.{3}\s*",
            r"\s*,?\s+(?P<conjunction>and|but|so|yet|plus|because|since|as|although|though|while"
            rf"|whereas|when|whenever|until|unless|if|or)\s+(?={_SUBJECT}(?:\s|'))",
            rf"\s*,\s*(?=(?:{_SUBJECT})\s|I'm\b)",
            # ", what should I read?" and ", the effects are so cool"
            r"\s*,\s*(?=(?:what|which|who|how|why|when|where|can|could|should|would|do|does|any)\b)",
            r"\s*,\s*(?=(?:the|that|this|these|those)\s+(?:[\w'-]+\s+){1,2}"
            r"(?:is|are|was|were|has|have)\b)",
            # "… and use Vim": the subject goes on
            rf"\s*,?\s+(?:and|but|&)\s+(?P<finite>(?={_FINITE}))",
            # "… and allergic to nuts", "…, a designer at Figma": subject and "to be" go on
            rf"\s*,?\s+(?:and|but)\s+(?P<elliptical>(?={_ELLIPTICAL}))",
            rf"\s*,\s+(?P<apposition>(?={_ELLIPTICAL}))",
            r"\s*,?\s+and\s+(?=[A-Z][\w'-]+\s+"
            r"(?:is|was|works|uses|lives|likes|loves|prefers|hates|knows)\b)",
            # "Lee who uses MySQL"
            r"\s*,?\s+(?P<relative>who)\s+",
        ]
    )
)
# A time or topic in front of a clause ("last week, I …") belongs to it.
_IN_FRONT = re.compile(
    r"\s*(?:for|as for|when it comes to|regarding|in|on|at|last|this|yesterday|today|since|from"
    r"|after|before|during|(?:a|an|one|two|three|four|five|\d+|a few)\s+\w+\s+ago)\b[^,;]{0,40}",
    re.IGNORECASE,
)
# "Dana, my boss, …" is about Dana.
_ASIDE = re.compile(r"\s*,\s*(?:my|our)\s+[\w -]{2,30},", re.IGNORECASE)
_CONDITIONAL = frozenset({"if", "unless", "when", "whenever", "until"})
_HYPOTHETICAL = re.compile(
    r"(?<![\w'])(?:" + "|".join(re.escape(word) for word in HYPOTHETICAL) + r")(?![\w'])",
    re.IGNORECASE,
)
_OPENS_CONDITION = re.compile(
    r"(?:if|unless|suppose|supposing|imagine|pretend|assuming|assume|what if|let's say|lets say|"
    r"say i|in case|hypothetically|i wish)\b",
    re.IGNORECASE,
)
_WORD = re.compile(r"[^\W\d_]{2}")
_FIRST_WORD = re.compile(r"[\w'’-]+")


@dataclass(frozen=True)
class Clause:
    """A stretch of a sentence with at most one verb group that the rules read.

    Args:
        text: The clause, verbatim.
        carries: How its subject is found: ``own``; ``subject``, the subject of the clause before;
            ``be``, that and its form of "to be"; ``object``, the name at the end of the one before.
    """

    text: str
    carries: str = "own"


@dataclass(frozen=True)
class Sentence:
    """A sentence and its asserted clauses.

    Args:
        quote: The sentence, verbatim.
        clauses: What asserts something, with plain apostrophes.
    """

    quote: str
    clauses: tuple[Clause, ...]


def sentences(text: str) -> Iterator[Sentence]:
    """Yield the sentences of a turn, each with the clauses that assert something."""
    plain = _said(text)
    for start, end in _spans(plain):
        if end - start <= MAX_SENTENCE_CHARS and _WORD.search(plain, start, end):
            yield Sentence(text[start:end], tuple(_asserted(plain[start:end])))


def _said(text: str) -> str:
    """Blank out code, quotes and forwarded text, and what a text order is to work on.

    The result is as long as the text, so that places in one are places in the other.
    """
    text = text.replace("’", "'")
    for pattern in _NOT_SAID:
        text = pattern.sub(lambda match: "\n" * len(match[0]), text)
    for match in _SENTENCE_OPENER.finditer(text):
        if match["word"].casefold() in TEXT_ORDERS:
            return text[: match.start("word")] + "\n" * (len(text) - match.start("word"))
    return text


def _spans(text: str) -> Iterator[tuple[int, int]]:
    """Yield start and end of each sentence, without the white space around it."""
    start = 0
    ends = [match.span() for match in _SENTENCE_END.finditer(text)] + [(len(text), len(text))]
    for end, after in ends:
        stretch = text[start:end]
        if not stretch.strip():
            start = after
            continue
        if _ABBREVIATION.search(stretch) and "\n" not in text[end:after] and end < len(text):
            continue
        indent = len(stretch) - len(stretch.lstrip())
        yield start + indent, start + len(stretch.rstrip())
        start = after


def _asserted(sentence: str) -> Iterator[Clause]:
    if _OPENS_CONDITION.match(sentence):
        return
    parts = list(_split(sentence))
    if sentence.rstrip("\"')”’ ").endswith(("?", "？")):
        parts = _before_question(parts)
    for clause, conjunction in parts:
        if conjunction in _CONDITIONAL or _HYPOTHETICAL.search(clause.text):
            continue
        yield clause


def _split(sentence: str) -> Iterator[tuple[Clause, str]]:
    start, carries, conjunction = 0, "own", ""
    for match in _SPLIT.finditer(sentence):
        in_front = _IN_FRONT.fullmatch(sentence, start, match.start())
        if in_front or _ASIDE.match(sentence, match.start()):
            continue
        yield Clause(sentence[start : match.start()], carries), conjunction
        start = match.end()
        conjunction = match["conjunction"] or ""
        if match["relative"]:
            carries = "object"
        elif match["elliptical"] is not None or match["apposition"] is not None:
            carries = "be"
        elif match["finite"] is not None:
            carries = "subject"
        else:
            carries = "own"
    yield Clause(sentence[start:], carries), conjunction


def _before_question(parts: list[tuple[Clause, str]]) -> list[tuple[Clause, str]]:
    """Of a sentence that ends as a question, keep the clauses before the one that opens it."""
    for index, (clause, _) in enumerate(parts):
        first = _FIRST_WORD.search(clause.text)
        if first and first[0].casefold() in QUESTION_OPENERS:
            return parts[:index]
    return []
