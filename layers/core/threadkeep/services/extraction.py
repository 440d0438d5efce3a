"""Scheduling extraction: which turns are learned from, and when."""

from __future__ import annotations

from datetime import timedelta
from typing import TYPE_CHECKING

from threadkeep.domain.extraction import DueExtraction
from threadkeep.errors import ConflictError, NotFoundError, UnavailableError
from threadkeep.services.retry import on_conflict

if TYPE_CHECKING:
    from datetime import datetime

    from threadkeep.domain.agents import AgentConfig
    from threadkeep.domain.conversations import Conversation, Message
    from threadkeep.domain.extraction import Job
    from threadkeep.domain.site_settings import SiteSettings
    from threadkeep.ports import Clock, ExtractionQueue, ExtractionStore, Page, PageRequest

LONGEST_DELAY_SECONDS = 900
"""SQS delays a message by 15 minutes at most; for longer waits it is sent again on arrival."""

LOST_AFTER = timedelta(minutes=2)
"""A row that is overdue for so long has lost its message, or its worker."""

SWEEP_LIMIT = 100


class Extraction:
    """Due rows are the truth of what waits; queue messages only wake the worker up."""

    def __init__(self, store: ExtractionStore, queue: ExtractionQueue, clock: Clock) -> None:
        self._store = store
        self._queue = queue
        self._clock = clock

    def learns(self, agent: AgentConfig, site: SiteSettings) -> bool:
        """Tell whether turns with an agent are learned from: all three switches must be on."""
        return (
            site.memory_async_extraction_enabled
            and agent.enable_memory
            and agent.memory_config.auto_extract
        )

    def note(
        self, user_id: str, conversation: Conversation, asked: Message, site: SiteSettings
    ) -> DueExtraction:
        """Make a conversation due, because of a user's message that was just stored.

        It is due after the cooldown, counted anew from this message, or at once when so many turns
        wait. The generation is the message's place: a later message of the same life has a higher.

        Args:
            user_id: Owner.
            conversation: Its head.
            asked: The user's message.
            site: Site settings.

        Returns:
            The row as stored, to be passed to ``enqueue`` at the end of the turn.
        """

        def attempt() -> DueExtraction:
            current = self._store.get_due(user_id, conversation.id)
            waiting = current.pending_turns if current and current.life == conversation.life else 0
            full = waiting + 1 >= site.memory_extraction_max_pending_turns
            cooldown = 0 if full else site.memory_extraction_cooldown_seconds
            due = DueExtraction(
                user_id=user_id,
                conversation_id=conversation.id,
                agent_id=asked.agent_id or "",
                life=conversation.life,
                generation=asked.seq,
                due_at=asked.created_at + timedelta(seconds=cooldown),
                pending_turns=waiting + 1,
            )
            replaces = current.generation if current else None
            if not self._store.put_due(due, replaces=replaces):
                raise ConflictError
            return due

        return on_conflict(self._clock, attempt)

    def enqueue(self, due: DueExtraction) -> None:
        """Wake the worker up when a row is due; if the queue is out, the sweep does it later."""
        try:
            self._queue.send(due, delay_seconds=self.delay_of(due))
        except UnavailableError:
            return

    def delay_of(self, due: DueExtraction) -> int:
        """Return the seconds until a row is due, as far as the queue can wait."""
        left = (due.due_at - self._clock.now()).total_seconds()
        return min(LONGEST_DELAY_SECONDS, max(0, -int(-left // 1)))

    def sweep(self) -> int:
        """Queue again what is overdue: its message was lost, or its worker died.

        A row is put off before it is sent, so that it is not sent again a minute later.

        Returns:
            How many rows were queued.
        """
        now = self._clock.now()
        swept = 0
        for row in self._store.overdue(before=now - LOST_AFTER, limit=SWEEP_LIMIT):
            if self.put_off(row, now):
                self._queue.send(row, delay_seconds=0)
                swept += 1
        return swept

    def put_off(self, row: DueExtraction, due_at: datetime) -> bool:
        """Let a row be due at another time; False if a later turn has replaced it."""
        later = row.model_copy(update={"due_at": due_at})
        return self._store.put_due(later, replaces=row.generation)

    def jobs(self, user_id: str, page: PageRequest) -> Page[Job]:
        """List extraction jobs, newest first."""
        return self._store.list_jobs(user_id, page)

    def job(self, user_id: str, job_id: str) -> Job:
        """Return a job's record.

        Raises:
            NotFoundError: The user has no such job.
        """
        job = self._store.get_job(user_id, job_id)
        if job is None:
            raise NotFoundError("There is no such job.")
        return job
