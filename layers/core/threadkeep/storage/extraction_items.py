"""Rows of extraction: what is due, jobs and their plans."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pynamodb.attributes import NumberAttribute, UnicodeAttribute

from threadkeep.domain.extraction import DueExtraction
from threadkeep.storage import keys
from threadkeep.storage.items import Item, TimeAttribute

if TYPE_CHECKING:
    from threadkeep.domain.extraction import Job
    from threadkeep.storage.blobs import Stored

EXTRACTION = "extraction"
"""Kind of due rows: conversations that wait for extraction."""

JOB = "J"
"""Kind that the local index lists by."""


class DueItem(Item, discriminator="DUE"):
    """When a conversation is due, in its owner's partition; the global index finds it by time."""

    user_id = UnicodeAttribute()
    conversation_id = UnicodeAttribute()
    agent_id = UnicodeAttribute()
    life = UnicodeAttribute()
    generation = NumberAttribute()
    pending_turns = NumberAttribute()
    due_bucket = UnicodeAttribute()
    due_at = TimeAttribute()

    @classmethod
    def of(cls, due: DueExtraction) -> DueItem:
        """Make the row of what is due."""
        return cls(
            keys.user(due.user_id),
            keys.due_extraction(due.conversation_id),
            due_bucket=keys.due_bucket(EXTRACTION, due.user_id, due.conversation_id),
            **{name: getattr(due, name) for name in DueExtraction.model_fields},
        )

    def to_domain(self) -> DueExtraction:
        """Return what is due."""
        return DueExtraction(
            user_id=self.user_id,
            conversation_id=self.conversation_id,
            agent_id=self.agent_id,
            life=self.life,
            generation=int(self.generation),
            pending_turns=int(self.pending_turns),
            due_at=self.due_at,
        )


class JobItem(Item, discriminator="J"):
    """A job's state; the record is elsewhere if ``body_key`` says so."""

    item_id = UnicodeAttribute()
    conversation_id = UnicodeAttribute()
    life = UnicodeAttribute()
    body = UnicodeAttribute(null=True)
    body_key = UnicodeAttribute(null=True)
    l1 = UnicodeAttribute(attr_name="L1")

    @classmethod
    def of(cls, user_id: str, job: Job, stored: Stored) -> JobItem:
        """Make the row of a job whose record is stored."""
        return cls(
            keys.jobs(user_id),
            keys.job(job.id),
            item_id=job.id,
            conversation_id=job.conversation_id,
            life=job.life,
            body=stored.inline,
            body_key=stored.key,
            l1=keys.touched(JOB, job.created_at, job.id),
        )


class PlanItem(Item, discriminator="JP"):
    """A job's plan; the text is elsewhere if ``body_key`` says so."""

    body = UnicodeAttribute(null=True)
    body_key = UnicodeAttribute(null=True)

    @classmethod
    def of(cls, user_id: str, job_id: str, stored: Stored) -> PlanItem:
        """Make the row of a plan that is stored."""
        return cls(keys.jobs(user_id), keys.plan(job_id), body=stored.inline, body_key=stored.key)
