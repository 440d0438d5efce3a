"""A stretch of the memory graph: around one entity, around several, or all of it."""

from pydantic import Field

from threadkeep.domain.entities import Entity
from threadkeep.domain.relations import Direction, Relation, RelationType
from threadkeep.domain.types import Id, Model, UtcTime


class GraphQuery(Model):
    """Where a traversal starts and how far it goes; without ``entity_ids`` it is the whole graph.

    Of the two times, the one that is not given is now.
    """

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


class GraphPage(Subgraph):
    """A page of the whole graph: entities by name, and all relations at them.

    A relation may lead to an entity of another page.
    """

    next_cursor: str | None = None


class EntityDetail(Entity):
    """An entity with the current relations at it.

    ``relations_truncated`` is true when there are more; the listing of relations has them all.
    """

    outgoing_relations: tuple[Relation, ...] = ()
    incoming_relations: tuple[Relation, ...] = ()
    relations_truncated: bool | None = None


class EntityIds(Model):
    """The body of a batch delete."""

    ids: tuple[Id, ...] = Field(min_length=1, max_length=100)


class Deletion(Model):
    """What became of one id of a batch delete; ``code`` says why nothing was deleted."""

    id: Id
    deleted: bool
    code: str | None = None


class Deletions(Model):
    """What became of each id of a batch delete, in the order of the request."""

    results: tuple[Deletion, ...]
