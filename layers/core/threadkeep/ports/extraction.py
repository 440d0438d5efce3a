"""Ports of background extraction."""

from collections.abc import Sequence
from datetime import datetime
from typing import Protocol

from threadkeep.domain.conversations import Message, Usage
from threadkeep.domain.extraction import DueExtraction, Extraction, Job, Plan
from threadkeep.ports.common import Page, PageRequest


class ExtractionStore(Protocol):
    """Due rows, and jobs with their plans."""

    def get_due(self, user_id: str, conversation_id: str) -> DueExtraction | None:
        """Read the due row of a conversation strongly."""
        ...

    def put_due(self, due: DueExtraction, *, replaces: int | None) -> bool:
        """Store a due row in place of generation ``replaces`` (None: none).

        Returns:
            False if it is too late: another generation is there, or the life has ended.
        """
        ...

    def clear_due(self, due: DueExtraction) -> bool:
        """Remove a due row of exactly this generation; False if there is a newer one."""
        ...

    def overdue(self, *, before: datetime, limit: int) -> Sequence[DueExtraction]:
        """Return rows due before a time, of all users (the sweep)."""
        ...

    def get_job(self, user_id: str, job_id: str) -> Job | None:
        """Read a job."""
        ...

    def list_jobs(self, user_id: str, page: PageRequest) -> Page[Job]:
        """List jobs, newest first.

        Raises:
            ValidationError: The position is of no page of this listing (``invalid_cursor``).
        """
        ...

    def put_job(self, user_id: str, job: Job) -> None:
        """Store a job's state; it goes with its conversation.

        Raises:
            ConflictError: The conversation's life has ended.
        """
        ...

    def save_plan(self, user_id: str, job_id: str, plan: Plan) -> Plan:
        """Store a job's validated plan once; a redelivery gets the plan that was stored first.

        Raises:
            ConflictError: There is no such job: it was never stored, or its conversation was
                deleted.
        """
        ...

    def get_plan(self, user_id: str, job_id: str) -> Plan | None:
        """Read the plan of a job, or None before it was stored."""
        ...


class ExtractionQueue(Protocol):
    """Producer of extraction jobs."""

    def send(self, due: DueExtraction, *, delay_seconds: int) -> None:
        """Queue the job of a due row; longer delays than 15 minutes are re-sent on arrival."""
        ...

    def dead_letter(self, due: DueExtraction, reason: str) -> None:
        """Send a job to the dead-letter queue with the reason."""
        ...


class Extractor(Protocol):
    """Reads statements from turns."""

    @property
    def prompt_hash(self) -> str:
        """sha256 of the prompt, for the job record."""
        ...

    def extract(
        self,
        model_id: str,
        messages: Sequence[Message],
        *,
        instructions: str,
        zone: str,
        known_names: Sequence[str] = (),
    ) -> tuple[Extraction, Usage]:
        """Read the statements of the user's turns; assistant turns are context.

        Raises:
            ModelError: No usable answer.
        """
        ...
