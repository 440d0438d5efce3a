"""Rows that stand beside entities and relations: guards, sources, history, tombstones, steps."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from pynamodb.attributes import BooleanAttribute, ListAttribute, NumberAttribute, UnicodeAttribute

from threadkeep.domain.changes import HistoryEntry
from threadkeep.domain.entities import Evidence
from threadkeep.domain.relations import Relation
from threadkeep.storage import keys
from threadkeep.storage.items import Item, JsonAttribute, OptionalTimeAttribute, TimeAttribute

if TYPE_CHECKING:
    from datetime import datetime

    from threadkeep.domain.changes import Support
    from threadkeep.domain.entities import Entity

TOMBSTONE = "D"
"""Kind that the local index lists tombstones by."""


class GuardItem(Item, discriminator="N"):
    """Says which item holds something that only one may hold, such as a name."""

    item_id = UnicodeAttribute()


class SourceItem(Item, discriminator="S"):
    """A source that supports an entity or relation, with the evidence while that is kept."""

    item_id = UnicodeAttribute()
    source_id = UnicodeAttribute()
    turn = UnicodeAttribute(null=True)
    speaker = UnicodeAttribute(null=True)
    date = OptionalTimeAttribute()
    quote = UnicodeAttribute(null=True)

    @classmethod
    def of(cls, user_id: str, sk: str, item_id: str, support: Support) -> SourceItem:
        """Make the row of a source."""
        evidence = support.evidence
        return cls(
            keys.user(user_id),
            sk,
            item_id=item_id,
            source_id=support.source_id,
            **({name: getattr(evidence, name) for name in EVIDENCE_FIELDS} if evidence else {}),
        )

    @property
    def evidence(self) -> Evidence | None:
        """The evidence, unless it was never given or went with its conversation."""
        if not self.attribute_values.keys() >= EVIDENCE_FIELDS:
            return None
        return Evidence(**{name: getattr(self, name) for name in EVIDENCE_FIELDS})


EVIDENCE_FIELDS = frozenset(Evidence.model_fields)


class PointerItem(Item, discriminator="EV"):
    """Row in a conversation that points at a source taken from it."""

    item_id = UnicodeAttribute()
    source_id = UnicodeAttribute()
    of_relation = BooleanAttribute()

    @property
    def source_key(self) -> str:
        """Sort key of the source in the user's partition."""
        make = keys.relation_source if self.of_relation else keys.entity_source
        return make(self.item_id, self.source_id)


class TombstoneItem(Item, discriminator="D"):
    """What stands in the place of a deleted entity or relation until all that was its own is gone.

    The id stays taken by it meanwhile, so that nothing new can be swept away with the old.
    """

    item_id = UnicodeAttribute()
    of_relation = BooleanAttribute()
    version = NumberAttribute()
    sources_count = NumberAttribute()
    l1 = UnicodeAttribute(attr_name="L1")

    @classmethod
    def of(cls, user_id: str, item: Entity | Relation, at: datetime) -> TombstoneItem:
        """Make the row that takes the place of an item."""
        of_relation = isinstance(item, Relation)
        return cls(
            keys.user(user_id),
            keys.relation(item.id) if of_relation else keys.entity(item.id),
            item_id=item.id,
            of_relation=of_relation,
            version=item.version,
            sources_count=item.sources_count,
            l1=keys.touched(TOMBSTONE, at, item.id),
        )


class VersionItem(Item, discriminator="HV"):
    """One version in the history of an entity or relation."""

    item_id = UnicodeAttribute()
    version = NumberAttribute()
    at = TimeAttribute()
    actor = UnicodeAttribute()
    action = UnicodeAttribute()
    before = JsonAttribute(null=True)
    after = JsonAttribute(null=True)
    source = UnicodeAttribute(null=True)

    @classmethod
    def of(cls, user_id: str, entry: HistoryEntry) -> VersionItem:
        """Make the row of a version."""
        values: dict[str, Any] = {name: getattr(entry, name) for name in HistoryEntry.model_fields}
        return cls(keys.history(user_id), keys.version(entry.item_id, entry.version), **values)

    def to_domain(self) -> HistoryEntry:
        """Return the entry."""
        return HistoryEntry(**{name: getattr(self, name) for name in HistoryEntry.model_fields})


class StepsItem(Item, discriminator="JS"):
    """Which steps of an extraction job were applied, by their outcomes in order."""

    job_id = UnicodeAttribute()
    applied = NumberAttribute()
    outcomes = ListAttribute(of=UnicodeAttribute)
