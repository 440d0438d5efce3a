"""Statements that are read from a clause as a whole: names, favourites, "my goal is", "part of"."""

from __future__ import annotations

import re
from dataclasses import dataclass

from threadkeep.domain.entities import EntityType as T
from threadkeep.domain.relations import RelationType as R
from threadkeep.llm.offline.grammar import Rule
from threadkeep.llm.offline.lexicon import COFFEE_ROASTS
from threadkeep.llm.offline.objects import Shape

_IS = r"(?:\s+is|\s+are|'s|\s+will be)\s+(?:now\s+|still\s+|definitely\s+|to\s+|called\s+)*"
_NAME = r"(?P<name>[^\W\d_][\w'-]*(?:\s+[A-Z][\w'-]*){0,3})"

SELF_NAMES = tuple(
    re.compile(pattern)
    for pattern in (
        rf"(?:[Mm]y|MY) (?:full |first |real |given )?name(?:\s+is|'s)\s+{_NAME}",
        r"(?:[Yy]ou can |[Pp]lease |[Jj]ust )*[Cc]all me "
        r"(?P<name>[A-Z][\w'-]*)(?=\s*(?:[,.!]|$|and\s))",
        rf"(?:I am|I'm|i'm|i am) called {_NAME}",
        r"I go by (?P<name>[A-Z][\w'-]*)",
    )
)
INTRODUCTION = re.compile(
    r"(?P<name>[A-Z][\w'-]+(?:\s+[A-Z][\w'-]+)?)(?=\s*(?:[,.!]|$|and\s|from\s))"
)


@dataclass(frozen=True)
class WholeRule:
    """A statement about the user that is not of the form subject, verb, object.

    Args:
        pattern: Matched against the clause; ``obj`` is what is named, ``noun`` its kind.
        rule: How it is stored.
    """

    pattern: re.Pattern[str]
    rule: Rule


def _whole(pattern: str, rule: Rule) -> WholeRule:
    return WholeRule(re.compile(pattern, re.IGNORECASE | re.DOTALL), rule)


_FAVOURITE = r"(?:all[- ]time )?favou?rite"
WHOLE_RULES = (
    _whole(
        rf"my {_FAVOURITE}(?:\s+(?P<noun>(?!is\b|are\b)[\w -]{{2,30}}?))?{_IS}(?P<obj>.+)",
        Rule(R.PREFERS, T.PREFERENCE, Shape.PHRASE, 0.75, says="favourite"),
    ),
    _whole(
        rf"(?P<obj>[\w' -]{{2,60}}?)\s+(?:is|are)\s+(?:still\s+)?my {_FAVOURITE}"
        r"(?:\s+(?P<noun>[\w -]{2,30}))?$",
        Rule(R.PREFERS, T.PREFERENCE, Shape.PHRASE, 0.75, says="favourite"),
    ),
    _whole(
        rf"my (?:\w+[ -]){{0,2}}(?:goal|aim|dream|resolution|ambition|objective)"
        rf"(?:\s+(?:for|this|in|at)\s+[\w ]{{2,20}}?)?{_IS}(?P<obj>.+)",
        Rule(R.HAS_GOAL, T.GOAL, Shape.ACTION, 0.75),
    ),
    _whole(
        rf"my (?:current )?(?:job|profession|occupation|(?:job )?title|role)"
        rf"(?:\s+at\s+[\w ]+?)?{_IS}(?P<obj>.+)",
        Rule(R.RELATED_TO, T.FACT, Shape.NAME, 0.75, says="works as"),
    ),
    _whole(
        rf"my (?:current )?(?:employer|company){_IS}(?P<obj>.+)",
        Rule(R.WORKS_AT, T.ORGANIZATION, Shape.PROPER, 0.85),
    ),
    _whole(
        rf"my (?:\w+ )?(?:project){_IS}(?P<obj>.+)",
        Rule(R.WORKS_ON, T.PROJECT, Shape.PROPER, 0.7),
    ),
    _whole(
        rf"my (?:native|first|mother) (?:language|tongue){_IS}(?P<obj>.+)",
        Rule(R.KNOWS, T.SKILL, Shape.NAME, 0.7, says="native language"),
    ),
    _whole(
        rf"my (?:new |current |main |old |work )*(?P<noun>phone|laptop|computer|car|bike|camera"
        rf"|editor|keyboard|browser|ide|guitar|operating system|os){_IS}(?:an? )?(?P<obj>.+)",
        Rule(R.USES, T.CONCEPT, Shape.PROPER, 0.6),
    ),
    _whole(
        rf"my go-to (?P<noun>[\w -]{{2,30}}?){_IS}(?P<obj>.+)",
        Rule(R.PREFERS, T.PREFERENCE, Shape.PHRASE, 0.7, says="go-to"),
    ),
    _whole(
        rf"my hometown{_IS}(?P<obj>.+)",
        Rule(R.RELATED_TO, T.FACT, Shape.NAME, 0.7, name="from {obj}"),
    ),
    _whole(
        rf"my (?:birthday|date of birth){_IS}(?:on )?(?P<obj>.+)",
        Rule(R.RELATED_TO, T.FACT, Shape.ACTION, 0.8, name="birthday: {obj}"),
    ),
    _whole(
        rf"my (?:time ?zone|pronouns|shoe size|blood type|height|weight|diet){_IS}(?P<obj>.+)",
        Rule(R.RELATED_TO, T.FACT, Shape.ACTION, 0.7, name="{label}: {obj}"),
    ),
)

PART_OF = re.compile(
    r"(?:the\s+|our\s+|my\s+)?(?P<part>[\w' ./-]{2,60}?)\s+"
    r"(?:(?:is|are|became)\s+(?:now\s+|also\s+|currently\s+)*(?:an?\s+|the\s+)?(?:\w+\s+)?"
    r"(?:part|component|module|subproject|subsidiary|division|member)\s+of|belongs\s+to)\s+"
    r"(?:the\s+|our\s+|my\s+)?(?P<whole>.+)",
    re.IGNORECASE,
)
# Of preferences: what "the" points at is mostly something in the conversation ("I love the color").
GENERIC_PLACES = frozenset(
    [
        *["beach", "mountains", "outdoors", "ocean", "sea", "countryside", "city", "cold", "heat"],
        *["rain", "snow", "theatre", "theater", "opera", "forest", "woods", "desert", "gym"],
    ]
)


def complete_name(name: str, kind: str) -> str:
    """Complete the name of a variety by what it is a variety of: "dark roast" of coffee.

    Args:
        name: What is preferred.
        kind: What the clause limits it to ("for tea", "my favourite tea"), or nothing.
    """
    words = name.casefold().split()
    if len(words) == 2 and words[1] == "roast" and words[0] in COFFEE_ROASTS:
        return f"{name} coffee"
    drinkable = kind.casefold() in ("coffee", "tea", "wine", "beer", "chocolate", "cheese", "music")
    if drinkable and kind.casefold() not in words and len(words) <= 3:
        return f"{name} {kind}"
    return name
