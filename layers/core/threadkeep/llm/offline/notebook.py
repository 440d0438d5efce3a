"""Collecting what is read, with its evidence."""

from __future__ import annotations

from typing import TYPE_CHECKING

from threadkeep.domain.entities import EntityType, ExtractionNote
from threadkeep.domain.extraction import (
    ExtractedEntity,
    ExtractedRelation,
    Extraction,
)
from threadkeep.domain.names import name_key
from threadkeep.llm.language import guess_language
from threadkeep.llm.own_words import find_quote

if TYPE_CHECKING:
    from datetime import date, datetime, tzinfo

    from threadkeep.domain.relations import RelationType
    from threadkeep.llm.dates import StatedDate


class Notebook:
    """The statements of several turns; a thing that is named twice is one entity.

    Args:
        zone: The user's time zone.
    """

    def __init__(self, zone: tzinfo) -> None:
        self._zone = zone
        self._message_id = ""
        self._said_at: datetime | None = None
        self._language: str | None = None
        self._entities: dict[tuple[str, EntityType], ExtractedEntity] = {}
        self._relations: dict[tuple[str, str, RelationType, str, bool], ExtractedRelation] = {}
        self.self_name: str | None = None
        self.quote = ""
        """The words that state what is written down next, verbatim."""

    @property
    def said_on(self) -> date:
        """The day, in the user's zone, on which the turn was said."""
        assert self._said_at is not None, "begin() comes first"
        return self._said_at.date()

    def begin(self, message_id: str, said_at: datetime, text: str) -> None:
        """Begin a turn."""
        self._message_id = message_id
        self._said_at = said_at.astimezone(self._zone)
        self._language = guess_language(text)

    def entity(
        self,
        name: str,
        entity_type: EntityType,
        importance: float,
        *,
        description: str = "",
        properties: dict[str, str] | None = None,
        date: StatedDate | None = None,
    ) -> str:
        """Write down an entity; returns its ref."""
        key = (name_key(name), entity_type)
        known = self._entities.get(key)
        if known is None:
            known = ExtractedEntity(
                ref=f"e{len(self._entities) + 1}",
                name=find_quote(name, self.quote) or name,
                entity_type=entity_type,
                importance=importance,
                quote=self.quote,
                message_id=self._message_id,
                note=self._note(date),
            )
        details = dict(known.properties)
        details.update(properties or {})
        if date is not None:
            details["date"] = date.text()
        self._entities[key] = known.model_copy(
            update={
                "description": known.description or description,
                "properties": details,
                "importance": max(known.importance, importance),
            }
        )
        return known.ref

    def relation(
        self,
        source: str,
        relation_type: RelationType,
        target: str,
        *,
        description: str = "",
        date: StatedDate | None = None,
        ends: bool = False,
        replaces: bool = False,
    ) -> None:
        """Write down a relation between two refs, or its end."""
        if source == target:
            return
        key = (self._message_id, source, relation_type, target, ends)
        self._relations.setdefault(
            key,
            ExtractedRelation(
                source_ref=source,
                target_ref=target,
                relation_type=relation_type,
                description=description,
                quote=self.quote,
                message_id=self._message_id,
                valid_from=date.begins(self._zone, self.said_on) if date else None,
                ends=ends,
                replaces=replaces,
                note=self._note(date),
            ),
        )

    def extraction(self) -> Extraction:
        """Return all that was written down."""
        return Extraction(
            self_name=self.self_name,
            entities=tuple(self._entities.values()),
            relations=tuple(self._relations.values()),
        )

    def _note(self, date: StatedDate | None) -> ExtractionNote:
        return ExtractionNote(
            language=self._language,
            modality="asserted",
            time_precision=date.precision if date else None,
            original_phrase=date.phrase if date else None,
        )
