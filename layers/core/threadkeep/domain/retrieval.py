"""What can be searched for, and what a search answers."""

from datetime import datetime
from enum import StrEnum
from typing import Annotated, Any

from pydantic import Field, StringConstraints

from threadkeep.domain.entities import Entity, EntityType
from threadkeep.domain.limits import MAX_QUERY_CHARS
from threadkeep.domain.relations import Direction, Relation, RelationType
from threadkeep.domain.types import Model, NullIsAbsent, Share, UtcTime

DEFAULT_RECENCY_WEIGHT = 0.15
DEFAULT_HALF_LIFE_DAYS = 30.0


class Mode(StrEnum):
    """What stands for relevance in the score."""

    SEMANTIC = "semantic"
    LEXICAL = "lexical"
    HYBRID = "hybrid"


class DocumentKind(StrEnum):
    """What a document of the index stands for."""

    ENTITY = "entity"
    EPISODE = "episode"


class Document(Model):
    """One searchable text as the index holds it: proposes ``ref``, never answers for it.

    ``ref`` is the entity id, or ``conversation_id/message_id`` of an episode. ``vector`` is absent
    while the embedder is out. ``context`` is text around ``text`` (neighbouring turns) that counts
    less in lexical scoring. ``turns`` are the refs of the turns that an entity was learned from.
    """

    kind: DocumentKind
    ref: str
    revision: int
    text: str
    context: str = ""
    speaker: str = ""
    turns: tuple[str, ...] = ()
    vector: tuple[float, ...] | None = None
    entity_type: EntityType | None = None
    conversation_id: str | None = None
    created_at: UtcTime
    touched_at: UtcTime
    time_precision: str | None = None
    expires_at: UtcTime | None = None


class SearchQuery(Model):
    """The body of a search."""

    query: Annotated[str, StringConstraints(min_length=1, max_length=MAX_QUERY_CHARS)]
    top_k: Annotated[int, Field(ge=1, le=50), NullIsAbsent()] = 10
    mode: Annotated[Mode, NullIsAbsent()] = Mode.SEMANTIC
    entity_types: tuple[EntityType, ...] | None = None
    time_window_days: int | None = Field(default=None, ge=1, le=36_500)
    recency_weight: Annotated[Share, NullIsAbsent()] = DEFAULT_RECENCY_WEIGHT
    half_life_days: Annotated[float, Field(gt=0, allow_inf_nan=False), NullIsAbsent()] = (
        DEFAULT_HALF_LIFE_DAYS
    )
    max_depth: Annotated[int, Field(ge=0, le=3), NullIsAbsent()] = 0
    direction: Annotated[Direction, NullIsAbsent()] = Direction.BOTH
    relation_types: tuple[RelationType, ...] | None = None
    as_of: UtcTime | None = None
    known_at: UtcTime | None = None
    explain: Annotated[bool, NullIsAbsent()] = False


class EntityHit(Entity):
    """An entity with the score that it was found with; null for a neighbour found by expansion."""

    score: float | None = None


class Episode(Model):
    """One of the user's own past turns."""

    conversation_id: str
    message_id: str
    role: str
    content: str
    created_at: datetime
    score: float


class SearchAnswer(Model):
    """What a search found, and whether the back end is exact for it."""

    entities: tuple[EntityHit, ...] = ()
    relations: tuple[Relation, ...] = ()
    episodes: tuple[Episode, ...] = ()
    exact: bool = True
    backend: str = "exact"
    explain: dict[str, Any] | None = None
