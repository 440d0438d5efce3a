"""A bounded stretch of the memory graph."""

from pydantic import Field

from threadkeep.domain.entities import Entity
from threadkeep.domain.relations import Direction, Relation, RelationType
from threadkeep.domain.types import Id, Model, UtcTime


class GraphQuery(Model):
    """Where a traversal starts and how far it goes."""

    entity_ids: tuple[Id, ...] = Field(default=(), max_length=50)
    max_depth: int = Field(default=1, ge=1, le=3)
    direction: Direction = Direction.BOTH
    relation_types: tuple[RelationType, ...] | None = None
    max_nodes: int = Field(default=30, ge=1, le=100)
    max_relations: int = Field(default=100, ge=1, le=500)
    as_of: UtcTime | None = None
    known_at: UtcTime | None = None


class Subgraph(Model):
    """Entities joined by relations to the seeds of a traversal.

    ``truncated`` tells that a bound cut it off; ``frontier`` names the entities whose relations
    were not all followed.
    """

    entities: tuple[Entity, ...] = ()
    relations: tuple[Relation, ...] = ()
    truncated: bool = False
    frontier: tuple[str, ...] = ()
