"""The table of what a clause can state: one row a kind of statement, read from top to bottom.

A pattern is matched against a clause from its main verb on (after "to be", against what is said to
be). In patterns ``_`` stands for white space with adverbs in it, ``OBJ`` takes the object, ``ROLE``
a role, ``CAP`` a capital or digit, and a group ``old`` names what the object takes the place of.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any

from threadkeep.llm.offline.lexicon import ADVERBS, JOB_ENDINGS, JOBS

if TYPE_CHECKING:
    from threadkeep.domain.entities import EntityType as T
    from threadkeep.domain.relations import RelationType as R
    from threadkeep.llm.offline.objects import Shape


def any_of(words: frozenset[str]) -> str:
    """Return a pattern for any of the words, the longest first."""
    return "(?:" + "|".join(sorted(map(re.escape, words), key=len, reverse=True)) + ")"


_MACROS = {
    "CAP": "(?-i:[A-Z0-9])",
    "_": rf"\s+(?:(?:{'|'.join(sorted(ADVERBS))})\s+)*",
    "OBJ": r"(?P<obj>.+)",
    "ROLE": r"(?P<role>(?:an?\s+|the\s+|their\s+)?[\w/+. -]{2,40}?)",
    "JOB": r"(?:[\w/+-]+\s+){0,4}?(?:"
    + any_of(JOBS)
    + r"|[\w-]*(?:"
    + "|".join(JOB_ENDINGS)
    + r"))(?![\w-])",
}
_MACRO = re.compile("|".join(_MACROS))


@dataclass(frozen=True)
class Rule:
    """A kind of statement.

    Args:
        relation: The relation from the subject to what is named.
        target: Type of what is named.
        shape: How the name is taken.
        importance: How much it matters, 0–1.
        pattern: What the clause says.
        be: Whether it is said with "to be"; None if with or without.
        negative: Whether it is a denial ("do not eat meat").
        can: Whether it is said with "can"; None if with or without.
        ends: Whether it says that the relation is over.
        over: Whether it is about what is over ("quit smoking"), and states just that.
        replaces: Whether it takes the place of another of its kind that need not be named.
        event: Whether it happened once: its date is part of its name.
        name: Form of the name.
        says: The relation's description, such as ``is learning``.
    """

    relation: R
    target: T
    shape: Shape
    importance: float
    pattern: str = ""
    be: bool | None = False
    negative: bool = False
    can: bool | None = False
    ends: bool = False
    over: bool = False
    replaces: bool = False
    event: bool = False
    name: str = "{obj}"
    says: str = ""

    @cached_property
    def compiled(self) -> re.Pattern[str]:
        """The pattern as a regular expression."""
        pattern = _MACRO.sub(lambda match: _MACROS[match[0]], self.pattern)
        return re.compile(pattern, re.IGNORECASE | re.DOTALL)


def row(pattern: str, **changes: Any) -> tuple[str, dict[str, Any]]:
    """Return a row of a table: a pattern, and in what it differs from the table's base."""
    return pattern, changes


def rules(base: Rule, *rows: tuple[str, dict[str, Any]]) -> tuple[Rule, ...]:
    """Return the rules of a table, each the base with what its row changes."""
    return tuple(replace(base, pattern=pattern, **changes) for pattern, changes in rows)
