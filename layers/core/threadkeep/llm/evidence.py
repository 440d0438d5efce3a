"""Keeping of a model's statements those that the user's turns bear out."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from pydantic import BaseModel, ValidationError

from threadkeep.domain.conversations import Role
from threadkeep.domain.entities import EntityType, ExtractionNote
from threadkeep.domain.extraction import (
    SELF_REF,
    ExtractedEntity,
    ExtractedRelation,
    Extraction,
    Rejection,
)
from threadkeep.domain.names import name_key
from threadkeep.domain.redaction import redact
from threadkeep.llm.dates import StatedDate, iso_date
from threadkeep.llm.language import guess_language
from threadkeep.llm.own_words import find_quote
from threadkeep.llm.prompts.extraction import StatedEntity, StatedRelation

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence
    from datetime import tzinfo

    from threadkeep.llm.prompts.extraction import Turn

_ASSERTED = "asserted"
_MALFORMED = "malformed"
# What carries a proper name: that has to be in the turns as it is written, not translated.
_NAMED = frozenset(
    {EntityType.PERSON, EntityType.ORGANIZATION, EntityType.LOCATION, EntityType.PROJECT}
)


class EvidencedReading:
    """Collects the statements of one or several answers over the same turns.

    Args:
        turns: All turns, assistant's included; the user's are evidence.
        zone: The user's time zone.
        known_names: Names that the memory holds already.
    """

    def __init__(self, turns: Sequence[Turn], zone: tzinfo, known_names: Iterable[str]) -> None:
        self._turns = turns
        self._evidence = {turn.ref: turn.text for turn in turns if turn.role == Role.USER}
        self._said_on = {turn.ref: turn.said_at.date() for turn in turns}
        self._zone = zone
        self._known_keys = {name_key(name) for name in known_names}
        self._self_name: str | None = None
        self._entities: dict[tuple[str, EntityType], ExtractedEntity] = {}
        self._relations: dict[tuple[str, str, str, bool], ExtractedRelation] = {}
        self._rejected: list[Rejection] = []

    def extraction(self) -> Extraction:
        """Return what was kept, and why the rest was not."""
        return Extraction(
            self_name=self._self_name,
            entities=tuple(self._entities.values()),
            relations=tuple(self._relations.values()),
            rejected=tuple(self._rejected),
        )

    def add(self, answer: dict[str, Any]) -> bool:
        """Take an answer's statements; returns False if there are some and none has the right form.

        Each is kept, or rejected with the reason.
        """
        self._take_self_name(answer.get("self_name"))
        refs = {SELF_REF: SELF_REF}
        rejected_before = len(self._rejected)
        raw_entities, raw_relations = (answer.get(key) or [] for key in ("entities", "relations"))
        for raw in raw_entities:
            entity = self._valid(StatedEntity, raw)
            if entity is not None:
                self._take_entity(entity, refs)
        for raw in raw_relations:
            relation = self._valid(StatedRelation, raw)
            if relation is not None:
                self._take_relation(relation, refs)
        reasons = [rejection.reason for rejection in self._rejected[rejected_before:]]
        total = len(raw_entities) + len(raw_relations)
        return total == 0 or reasons.count(_MALFORMED) < total

    def _valid[Item: BaseModel](self, form: type[Item], raw: object) -> Item | None:
        try:
            return form.model_validate(raw)
        except ValidationError:
            members = raw if isinstance(raw, dict) else {}
            label = next((members[k] for k in ("name", "target", "quote") if k in members), "?")
            self._reject(str(label), _MALFORMED)
            return None

    def _take_self_name(self, name: object) -> None:
        if isinstance(name, str) and self._find(name) is not None:
            self._self_name = name.strip()

    def _take_entity(self, stated: StatedEntity, refs: dict[str, str]) -> None:
        found = self._supported(stated, stated.name)
        if found is None:
            return
        if stated.type in _NAMED and not self._is_written(stated.name):
            self._reject(stated.name, "the name is not in the turns", found[0])
            return
        message_id, quote = found
        date = _date_of(stated)
        entity = ExtractedEntity(
            ref=f"e{len(self._entities) + 1}",
            name=stated.name,
            entity_type=stated.type,
            description=redact(stated.description),
            properties={"date": date.text()} if date else {},
            importance=stated.importance,
            quote=quote,
            message_id=message_id,
            note=_note(self._evidence[message_id], date),
        )
        kept = self._entities.setdefault((name_key(stated.name), stated.type), entity)
        refs[stated.ref] = kept.ref

    def _take_relation(self, stated: StatedRelation, refs: dict[str, str]) -> None:
        label = f"{stated.source} {stated.type} {stated.target}"
        found = self._supported(stated, label)
        if found is None:
            return
        source, target = refs.get(stated.source), refs.get(stated.target)
        if source is None or target is None or source == target:
            self._reject(label, "an end of it was not stated", found[0])
            return
        message_id, quote = found
        date = _date_of(stated)
        self._relations.setdefault(
            (source, stated.type, target, stated.ends),
            ExtractedRelation(
                source_ref=source,
                target_ref=target,
                relation_type=stated.type,
                description=redact(stated.description),
                quote=quote,
                message_id=message_id,
                valid_from=date.begins(self._zone, self._said_on[message_id]) if date else None,
                ends=stated.ends,
                replaces=stated.replaces,
                note=_note(self._evidence[message_id], date),
            ),
        )

    def _supported(
        self, stated: StatedEntity | StatedRelation, label: str
    ) -> tuple[str, str] | None:
        """Return message id and verbatim quote of an asserted statement, or reject it."""
        if stated.modality != _ASSERTED:
            self._reject(label, f"{stated.modality}, not asserted", stated.turn)
            return None
        found = self._find(stated.quote, first=stated.turn)
        if found is None:
            self._reject(label, "the quote is not in the user's turns", stated.turn)
        return found

    def _find(self, quote: str, *, first: str = "") -> tuple[str, str] | None:
        """Find a quote in the user's turns, first in the one that is named."""
        for ref in sorted(self._evidence, key=lambda ref: ref != first):
            verbatim = find_quote(quote, self._evidence[ref])
            if verbatim is not None:
                return ref, verbatim
        return None

    def _is_written(self, name: str) -> bool:
        return name_key(name) in self._known_keys or any(
            find_quote(name, turn.text) for turn in self._turns
        )

    def _reject(self, label: str, reason: str, turn: str = "") -> None:
        self._rejected.append(
            Rejection(statement=redact(label)[:255], message_id=turn or None, reason=reason)
        )


def _date_of(stated: StatedEntity | StatedRelation) -> StatedDate | None:
    date = iso_date(stated.date) if stated.date else None
    if date is None:
        return None
    return StatedDate(date.day, date.precision, stated.date_phrase or "")


def _note(text: str, date: StatedDate | None) -> ExtractionNote:
    return ExtractionNote(
        language=guess_language(text),
        modality=_ASSERTED,
        time_precision=date.precision if date else None,
        original_phrase=(date.phrase or None) if date else None,
    )
