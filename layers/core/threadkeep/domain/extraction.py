"""What an extractor yields from turns, and what becomes of each statement."""

from enum import StrEnum

from pydantic import Field

from threadkeep.domain.conversations import Usage
from threadkeep.domain.entities import EntityType, ExtractionNote
from threadkeep.domain.relations import RelationType
from threadkeep.domain.types import Model, Properties, Share, UtcTime

SELF_REF = "self"
"""The reference by which extracted statements name the user's own entity."""


class ExtractedEntity(Model):
    """An entity that a turn states; ``ref`` names it inside this answer only."""

    ref: str
    name: str
    entity_type: EntityType
    description: str = ""
    properties: Properties = Field(default_factory=dict)
    importance: Share = 0.5
    quote: str = Field(description="The words of the turn that state it, verbatim.")
    message_id: str
    note: ExtractionNote = ExtractionNote()


class ExtractedRelation(Model):
    """A relation that a turn states, or whose end it states (``ends``: "no longer")."""

    source_ref: str
    target_ref: str
    relation_type: RelationType
    description: str = ""
    quote: str
    message_id: str
    valid_from: UtcTime | None = None
    ends: bool = Field(default=False, description="The turn says that it no longer holds.")
    replaces: bool = Field(
        default=False,
        description="The turn says that it takes the place of the source's earlier one of this "
        "type (`reassigned to`, `switched to`).",
    )
    note: ExtractionNote = ExtractionNote()


class Rejection(Model):
    """A statement that was not stored, and why."""

    statement: str
    message_id: str | None = None
    reason: str


class Extraction(Model):
    """All statements of one extractor call."""

    self_name: str | None = Field(
        default=None, description="The user's own name, if the turns tell it."
    )
    entities: tuple[ExtractedEntity, ...] = ()
    relations: tuple[ExtractedRelation, ...] = ()
    rejected: tuple[Rejection, ...] = ()


class Plan(Model):
    """What a job stores: decided once, then applied step by step by whoever has the job.

    ``to_seq`` is the last message it covers: the extraction watermark once all of it is applied.
    """

    to_seq: int
    extraction: Extraction
    model_id: str = ""
    prompt_hash: str = ""
    usage: Usage = Usage()


class JobStatus(StrEnum):
    """Where an extraction job stands."""

    DUE = "due"
    RUNNING = "running"
    DONE = "done"
    FAILED = "failed"


class Job(Model):
    """One extraction over a stretch of a conversation, and what came of every statement."""

    id: str
    conversation_id: str
    life: str = Field(exclude=True)
    status: JobStatus
    model_id: str = ""
    from_seq: int = 0
    to_seq: int = 0
    stored: int = 0
    merged: int = 0
    rejected: tuple[Rejection, ...] = ()
    prompt_hash: str = ""
    usage: Usage = Usage()
    attempts: int = 0
    reason: str | None = None
    created_at: UtcTime
    finished_at: UtcTime | None = None


class DueExtraction(Model):
    """What a conversation waits for; a newer generation replaces an older one."""

    user_id: str
    conversation_id: str
    agent_id: str
    life: str
    generation: int
    due_at: UtcTime
    pending_turns: int = 1
