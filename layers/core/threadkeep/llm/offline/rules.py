"""All rules, in the order in which they are tried: the first that fits a clause is taken."""

from __future__ import annotations

from typing import TYPE_CHECKING

from threadkeep.llm.offline.rules_of_life import EVENTS, FACTS, GOALS, TASTES
from threadkeep.llm.offline.rules_of_work import PLACES_AND_PEOPLE, TOOLS_AND_SKILLS, WORK

if TYPE_CHECKING:
    from threadkeep.llm.offline.grammar import Rule

RULES: tuple[Rule, ...] = (
    *WORK,
    *TASTES,
    *GOALS,
    *TOOLS_AND_SKILLS,
    *PLACES_AND_PEOPLE,
    *FACTS,
    *EVENTS,
)
