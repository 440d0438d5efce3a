"""Rows of entities and relations, and how they become entities, relations and halves and back."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pynamodb.attributes import BooleanAttribute, NumberAttribute, UnicodeAttribute

from threadkeep.domain.entities import Entity, newest
from threadkeep.domain.relations import Relation, RelationType
from threadkeep.ports import Half
from threadkeep.storage import keys
from threadkeep.storage.items import Item, JsonAttribute, OptionalTimeAttribute, TimeAttribute

if TYPE_CHECKING:
    from collections.abc import Iterable

    from threadkeep.domain.entities import Evidence

ENTITY, RELATION, CLOSED_RELATION = "E", "R", "RX"
"""Kinds that the local indexes list by."""


class EntityItem(Item, discriminator="E"):
    """An entity, but for its evidence and access counts."""

    item_id = UnicodeAttribute()
    name = UnicodeAttribute()
    entity_type = UnicodeAttribute()
    description = UnicodeAttribute()
    properties = JsonAttribute()
    importance = JsonAttribute()
    provenance = UnicodeAttribute()
    sources_count = NumberAttribute()
    extraction = JsonAttribute(null=True)
    is_self = BooleanAttribute()
    created_at = TimeAttribute()
    updated_at = TimeAttribute()
    touched_at = TimeAttribute()
    expires_at = OptionalTimeAttribute()
    version = NumberAttribute()
    revision = NumberAttribute()
    l1 = UnicodeAttribute(attr_name="L1")
    l2 = UnicodeAttribute(attr_name="L2")

    @classmethod
    def of(cls, user_id: str, entity: Entity) -> EntityItem:
        """Make the row of an entity."""
        extraction = entity.extraction
        return cls(
            keys.user(user_id),
            keys.entity(entity.id),
            item_id=entity.id,
            name=entity.name,
            entity_type=entity.entity_type.value,
            description=entity.description,
            properties=entity.properties,
            importance=entity.importance,
            provenance=entity.provenance.value,
            sources_count=entity.sources_count,
            extraction=extraction.model_dump(exclude_none=True) if extraction else None,
            is_self=entity.is_self,
            created_at=entity.created_at,
            updated_at=entity.updated_at,
            touched_at=entity.touched_at,
            expires_at=entity.expires_at,
            version=entity.version,
            revision=entity.revision,
            l1=keys.touched(ENTITY, entity.touched_at, entity.id),
            l2=keys.named(ENTITY, entity.name_key, entity.id),
        )

    def to_domain(
        self, access: AccessItem | None = None, evidence: Iterable[Evidence] = ()
    ) -> Entity:
        """Return the entity with what was read of its access counter and evidence."""
        values = {name: getattr(self, name) for name in _ENTITY_FIELDS}
        return Entity(
            id=self.item_id,
            **values,
            evidence=newest(evidence),
            access_count=int(access.recalls) if access else 0,
            last_accessed_at=access.last_at if access else None,
        )


_ENTITY_FIELDS = Entity.model_fields.keys() & EntityItem.get_attributes().keys()


class AccessItem(Item, discriminator="A"):
    """How often an entity was recalled; made with the entity, so that it can not outlive it."""

    recalls = NumberAttribute()
    last_at = OptionalTimeAttribute()

    @classmethod
    def none_of(cls, user_id: str, entity_id: str) -> AccessItem:
        """Make the row of an entity that was never recalled."""
        return cls(keys.user(user_id), keys.access(entity_id), recalls=0)


class HalfItem(Item, discriminator="H"):
    """A relation as seen from one of its ends."""

    item_id = UnicodeAttribute()
    entity_id = UnicodeAttribute()
    other_id = UnicodeAttribute()
    relation_type = UnicodeAttribute()
    outgoing = BooleanAttribute()
    current = BooleanAttribute()
    valid_to = OptionalTimeAttribute()

    @classmethod
    def both(cls, user_id: str, relation: Relation) -> tuple[HalfItem, HalfItem]:
        """Make the rows of a relation at its source and at its target."""
        source, target = relation.source_entity_id, relation.target_entity_id
        closed = relation.is_closed

        def half(entity_id: str, other_id: str, outgoing: bool) -> HalfItem:
            kind = relation.relation_type.value
            if closed:
                sk = keys.closed_half(entity_id, "O" if outgoing else "I", relation.id)
            else:
                make = keys.outgoing if outgoing else keys.incoming
                sk = make(entity_id, kind, other_id)
            return cls(
                keys.user(user_id),
                sk,
                item_id=relation.id,
                entity_id=entity_id,
                other_id=other_id,
                relation_type=kind,
                outgoing=outgoing,
                current=not closed,
                valid_to=relation.valid_to,
            )

        return half(source, target, True), half(target, source, False)

    @property
    def twin_key(self) -> str:
        """Sort key of the same relation's half at the other end."""
        if not self.current:
            return keys.closed_half(self.other_id, "I" if self.outgoing else "O", self.item_id)
        make = keys.incoming if self.outgoing else keys.outgoing
        return make(self.other_id, self.relation_type, self.entity_id)

    def to_domain(self) -> Half:
        """Return the half."""
        return Half(
            relation_id=self.item_id,
            entity_id=self.entity_id,
            other_id=self.other_id,
            outgoing=self.outgoing,
            relation_type=RelationType(self.relation_type),
            current=self.current,
            valid_to=self.valid_to,
        )


class RelationItem(Item, discriminator="R"):
    """A relation's body.

    The local index projects its type as ``entity_type`` and its end as ``expires_at``: what has
    ended is filtered as what has expired.
    """

    item_id = UnicodeAttribute()
    source_entity_id = UnicodeAttribute()
    target_entity_id = UnicodeAttribute()
    relation_type = UnicodeAttribute(attr_name="entity_type")
    description = UnicodeAttribute()
    properties = JsonAttribute()
    valid_from = TimeAttribute()
    valid_to = OptionalTimeAttribute(attr_name="expires_at")
    recorded_from = TimeAttribute()
    recorded_to = OptionalTimeAttribute()
    sources_count = NumberAttribute()
    created_at = TimeAttribute()
    updated_at = TimeAttribute()
    version = NumberAttribute()
    revision = NumberAttribute()
    spans = JsonAttribute()
    l1 = UnicodeAttribute(attr_name="L1")

    @classmethod
    def of(cls, user_id: str, relation: Relation) -> RelationItem:
        """Make the row of a relation's body."""
        return cls(
            keys.user(user_id),
            keys.relation(relation.id),
            item_id=relation.id,
            source_entity_id=relation.source_entity_id,
            target_entity_id=relation.target_entity_id,
            relation_type=relation.relation_type.value,
            description=relation.description,
            properties=relation.properties,
            valid_from=relation.valid_from,
            valid_to=relation.valid_to,
            recorded_from=relation.recorded_from,
            recorded_to=relation.recorded_to,
            sources_count=relation.sources_count,
            created_at=relation.created_at,
            updated_at=relation.updated_at,
            version=relation.version,
            revision=relation.revision,
            spans=[span.model_dump(mode="json", exclude_none=True) for span in relation.spans],
            l1=keys.touched_edge(
                CLOSED_RELATION if relation.is_closed else RELATION,
                relation.updated_at,
                relation.id,
                relation.source_entity_id,
                relation.target_entity_id,
            ),
        )

    @property
    def ends(self) -> tuple[str, str]:
        """Source and target, also of a row that was read from the index."""
        return keys.ends_of_edge(self.l1)

    def to_domain(self, evidence: Iterable[Evidence] = ()) -> Relation:
        """Return the relation with what was read of its evidence."""
        values = {name: getattr(self, name) for name in _RELATION_FIELDS}
        return Relation(id=self.item_id, **values, sources=newest(evidence))


_RELATION_FIELDS = Relation.model_fields.keys() & RelationItem.get_attributes().keys()
