"""Reading the statements of English turns by the rules' table."""

from __future__ import annotations

import re
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from threadkeep.domain.entities import EntityType
from threadkeep.domain.extraction import SELF_REF
from threadkeep.domain.relations import RelationType
from threadkeep.llm.offline.clauses import take_apart
from threadkeep.llm.offline.lexicon import NOT_NAMES, ROLES, TECHNOLOGIES
from threadkeep.llm.offline.objects import Shape, clean, is_proper, objects
from threadkeep.llm.offline.openings import without_opening
from threadkeep.llm.offline.rules import RULES
from threadkeep.llm.offline.sentences import sentences
from threadkeep.llm.offline.subjects import WE, SubjectKind, is_no_name, singular
from threadkeep.llm.offline.times import find_date
from threadkeep.llm.offline.whole_clauses import (
    GENERIC_PLACES,
    INTRODUCTION,
    PART_OF,
    SELF_NAMES,
    WHOLE_RULES,
    complete_name,
)

if TYPE_CHECKING:
    from threadkeep.llm.dates import StatedDate
    from threadkeep.llm.offline.clauses import Parts
    from threadkeep.llm.offline.grammar import Rule
    from threadkeep.llm.offline.notebook import Notebook
    from threadkeep.llm.offline.sentences import Clause
    from threadkeep.llm.offline.subjects import Subject

_PROJECT_PREFIX = re.compile(r"project\s+(?=\S)", re.IGNORECASE)
_NO_PROJECT = re.compile(
    r"(?:(?:new|next|same|first|other|big|small|side|different) )?projects?|things?|something"
    r"|[a-z]+ing\b.*",
    re.IGNORECASE,
)
_POINTS_AT = re.compile(r"\s*(?:the|your|his|her|their|its)\s", re.IGNORECASE)
_MY_ROLE = re.compile(
    r"(?:my|our)\s+(?P<role>[\w -]{2,30}?)(?=\s*(?:[,.!]|$|and\s|at\s|from\s))", re.IGNORECASE
)
_PREPOSITION = re.compile(r"[\s,]*\b(?:since|from|until|on|in|by|over|back)\s*$", re.IGNORECASE)
_MAX_DESCRIPTION_CHARS = 200
_THIRD_PERSON_VERB = re.compile(
    r"\w+s\b|\w+ed\b|(?:met|got|quit|left|went|bought|won|lost|ran|grew|had|wrote|made)\b",
    re.IGNORECASE,
)


class TurnReader:
    """Reads turns of the user into a notebook, each turn by itself.

    Args:
        notebook: Where statements go.
    """

    def __init__(self, notebook: Notebook) -> None:
        self._notes = notebook
        self._people: list[Subject] = []
        self._casual = False

    def read(self, text: str) -> None:
        """Read the statements of a turn.

        Args:
            text: The user's own words, without secrets.
        """
        self._people = []
        self._casual = not re.search(r"[A-Z]", re.sub(r"\bI\b", "i", text))
        for sentence in sentences(text):
            self._notes.quote = sentence.quote
            before: Parts | None = None
            for clause in sentence.clauses:
                before = self._clause(clause, before)

    def _clause(self, clause: Clause, before: Parts | None) -> Parts | None:
        if self._whole(clause.text):
            return before
        only = self._people[0] if len(self._people) == 1 else None
        parts = take_apart(clause, before, only)
        if parts is None:
            return None
        if parts.subject.kind is SubjectKind.THING or self._introduces(parts):
            return parts
        reading = self._reading(parts, clause.text)
        if reading is None:
            if parts.subject.name and parts.subject.role:
                tells = parts.rest and parts.subject.name in clause.text
                self._subject_ref(parts.subject, describes=clause.text if tells else "")
            return parts
        self._write(self._subject_ref(parts.subject), reading, ended=parts.ended)
        return parts

    def _whole(self, text: str) -> bool:
        """Read a clause as a whole; returns whether it was one of that kind."""
        text, _ = without_opening(text)
        for pattern in SELF_NAMES:
            if match := pattern.match(text):
                self._notes.self_name = clean(match["name"])
                return True
        part = PART_OF.fullmatch(text)
        if part and self._part_of(part):
            return True
        for whole in WHOLE_RULES:
            match = whole.pattern.fullmatch(text)
            if match is None:
                continue
            rule = whole.rule
            named = _named(match, "noun")
            label = _label(text)
            names = [
                complete_name(name, named)
                for name in objects(match["obj"], rule.shape, casual=self._casual)
            ]
            if not names:
                return False
            names = [rule.name.format(obj=name, label=label) for name in names]
            says = " ".join(word for word in (rule.says, named) if word)
            self._write(SELF_REF, _Reading(rule, names, says, None, None), ended=False)
            return True
        return False

    def _part_of(self, match: re.Match[str]) -> bool:
        names = (clean(match["part"]), (objects(match["whole"], Shape.NAME) or [""])[0])
        if not all(names) or any(name.casefold() in NOT_NAMES for name in names):
            return False
        if not any(is_proper(name) for name in names):
            return False
        refs = [
            self._notes.entity(_PROJECT_PREFIX.sub("", name), _kind_of(name), 0.5) for name in names
        ]
        self._notes.relation(refs[0], RelationType.PART_OF, refs[1])
        return True

    def _introduces(self, parts: Parts) -> bool:
        """Read "I am Priya" and "Dana is my boss"."""
        if not parts.be or parts.negative or parts.modal or parts.ended:
            return False
        if parts.subject.kind is SubjectKind.SELF:
            match = INTRODUCTION.match(parts.rest)
            if match is None or is_no_name(match["name"]):
                return False
            self._notes.self_name = match["name"]
            return True
        named = INTRODUCTION.match(parts.rest)
        if parts.subject.role and not parts.subject.name and named:
            if is_no_name(named["name"]):
                return False
            self._subject_ref(replace(parts.subject, name=named["name"]))
            return True
        match = _MY_ROLE.match(parts.rest)
        if match is None or match["role"].split()[-1].casefold() not in ROLES:
            return False
        self._subject_ref(replace(parts.subject, role=match["role"]))
        return True

    def _subject_ref(self, subject: Subject, *, describes: str = "") -> str:
        """Return the ref of whom a clause is about, written down if it is not the user."""
        if subject.kind is SubjectKind.SELF:
            return SELF_REF
        description = describes.strip() if len(describes) <= _MAX_DESCRIPTION_CHARS else ""
        if subject.kind is SubjectKind.PET:
            ref = self._notes.entity(
                subject.name or subject.role,
                EntityType.CUSTOM,
                0.6,
                description=description,
                properties={"kind": subject.role},
            )
            self._notes.relation(SELF_REF, RelationType.RELATED_TO, ref, description=subject.role)
            return ref
        ref = self._notes.entity(
            subject.name or subject.role,
            EntityType.PERSON,
            0.7 if subject.role else 0.55,
            description=description,
            properties={"relationship": subject.role} if subject.role else None,
        )
        if subject.role:
            self._notes.relation(SELF_REF, RelationType.KNOWS, ref, description=subject.role)
        if all(person.name != subject.name for person in self._people):
            self._people.append(subject)
        return ref

    def _reading(self, parts: Parts, clause: str) -> _Reading | None:
        """Find the first rule that a clause fits and that finds a name in it."""
        if parts.subject.kind is not SubjectKind.SELF and not (
            parts.be or parts.negative or parts.ended or _THIRD_PERSON_VERB.match(parts.rest)
        ):
            return None  # no third person singular: "Dogs love walks" is about no one person
        found = find_date(parts.rest, self._notes.said_on, durations=True)
        rest = parts.rest
        if found is not None:
            before = _PREPOSITION.sub("", rest[: found.start])
            rest = f"{before} {rest[found.end :].lstrip()}".strip(" ,")
        date = found or find_date(clause, self._notes.said_on)
        for rule in RULES:
            if not _applies(rule, parts):
                continue
            match = rule.compiled.match(rest)
            if match is None:
                continue
            stated = date.date if date else None
            names = self._names(rule, match, parts.topic, stated)
            if names:
                says = rule.says or singular(clean(_named(match, "role")))
                old = objects(_named(match, "old"), rule.shape, casual=self._casual)
                return _Reading(rule, names, says, stated, old[0] if old else None)
        return None

    def _names(
        self, rule: Rule, match: re.Match[str], topic: str, date: StatedDate | None
    ) -> list[str]:
        names = objects(match["obj"], rule.shape, casual=self._casual)
        if rule.target is EntityType.PREFERENCE:
            if _POINTS_AT.match(match["obj"]) and not _is_general(names):
                return []
            names = [complete_name(name, topic) for name in names]
        if rule.target is EntityType.PROJECT:
            names = [_PROJECT_PREFIX.sub("", name) for name in names]
            names = [name for name in names if not _NO_PROJECT.fullmatch(name)]
        if rule.target is EntityType.PERSON:
            known = TECHNOLOGIES | NOT_NAMES
            names = [n for n in names if n[0].isupper() and n.casefold() not in known]
        if rule.event:
            names = [name for name in names if " " in name or name == "graduated"]
        if rule.event and date is not None:
            names = [f"{name} ({date.label()})" for name in names]
        return [rule.name.format(obj=name, noun=_named(match, "noun")) for name in names]

    def _write(self, source: str, reading: _Reading, *, ended: bool) -> None:
        rule = reading.rule
        ends = rule.ends or (ended and not rule.over)
        if rule.event and ends:
            return
        if reading.old is not None:
            old = _PROJECT_PREFIX.sub("", reading.old)
            ref = self._notes.entity(old, rule.target, rule.importance)
            self._notes.relation(source, rule.relation, ref, date=reading.date, ends=True)
        for name in reading.names:
            ref = self._notes.entity(
                name, rule.target, rule.importance, date=reading.date if rule.event else None
            )
            self._notes.relation(
                source,
                rule.relation,
                ref,
                description=reading.says,
                date=reading.date,
                ends=ends,
                replaces=rule.replaces and reading.old is None,
            )


@dataclass(frozen=True)
class _Reading:
    """A rule that a clause fits, with what it names."""

    rule: Rule
    names: list[str]
    says: str
    date: StatedDate | None
    old: str | None


def _applies(rule: Rule, parts: Parts) -> bool:
    return (
        (rule.be is None or rule.be == parts.be)
        and rule.negative == parts.negative
        and (parts.ended or not rule.over)
        and (not parts.modal or (parts.able and parts.subject is not WE))
        and (rule.can is None or rule.can == parts.modal)
    )


def _is_general(names: list[str]) -> bool:
    """Tell whether "the …" names something for all times: the beach, The Witcher."""
    return all(is_proper(name) or name.casefold() in GENERIC_PLACES for name in names)


def _named(match: re.Match[str], group: str) -> str:
    return (match.groupdict().get(group) or "").strip()


def _label(text: str) -> str:
    """Return what "my … is" names: ``blood type`` of "my blood type is 0"."""
    return re.sub(r"^my\s+|(?:\s+is|\s+are|'s)\s.*$", "", text, flags=re.IGNORECASE | re.DOTALL)


def _kind_of(name: str) -> EntityType:
    return EntityType.PROJECT if "project" in name.casefold() else EntityType.CONCEPT
