"""In-memory extraction store."""

from __future__ import annotations

from threading import RLock
from typing import TYPE_CHECKING

from tests.fakes.paging import newest_first
from threadkeep.errors import ConflictError

if TYPE_CHECKING:
    from collections.abc import Sequence
    from datetime import datetime

    from tests.fakes.conversations import FakeConversationStore
    from threadkeep.domain.extraction import DueExtraction, Job, Plan
    from threadkeep.ports import Page, PageRequest


class FakeExtractionStore:
    """Due rows, jobs and plans in dictionaries, one lock around every call.

    Args:
        conversations: Conversations that the rows belong to and go with; without them, rows stand
            alone and every life counts as running.
    """

    def __init__(self, conversations: FakeConversationStore | None = None) -> None:
        self._conversations = conversations
        self._due: dict[tuple[str, str], DueExtraction] = {}
        self._jobs: dict[tuple[str, str], Job] = {}
        self._plans: dict[tuple[str, str], Plan] = {}
        self._lock = conversations.lock if conversations is not None else RLock()
        if conversations is not None:
            conversations.on_delete(self._forget)

    def get_due(self, user_id: str, conversation_id: str) -> DueExtraction | None:
        """Read a due row."""
        with self._lock:
            return self._due.get((user_id, conversation_id))

    def put_due(self, due: DueExtraction, *, replaces: int | None) -> bool:
        """Replace exactly the named generation while the conversation lives."""
        key = (due.user_id, due.conversation_id)
        with self._lock:
            if not self._lives(due.user_id, due.conversation_id, due.life):
                return False
            stored = self._due.get(key)
            if (stored.generation if stored else None) != replaces:
                return False
            self._due[key] = due
            return True

    def clear_due(self, due: DueExtraction) -> bool:
        """Remove exactly this generation."""
        key = (due.user_id, due.conversation_id)
        with self._lock:
            stored = self._due.get(key)
            if stored is None or (stored.life, stored.generation) != (due.life, due.generation):
                return False
            del self._due[key]
            return True

    def overdue(self, *, before: datetime, limit: int) -> Sequence[DueExtraction]:
        """Return the longest overdue rows of all users."""
        with self._lock:
            rows = [due for due in self._due.values() if due.due_at < before]
        return sorted(rows, key=lambda due: due.due_at)[:limit]

    def get_job(self, user_id: str, job_id: str) -> Job | None:
        """Read a job."""
        with self._lock:
            return self._jobs.get((user_id, job_id))

    def list_jobs(self, user_id: str, page: PageRequest) -> Page[Job]:
        """List jobs, newest first."""
        with self._lock:
            jobs = [job for (owner, _), job in self._jobs.items() if owner == user_id]
        return newest_first(jobs, page, lambda job: (job.created_at, job.id))

    def put_job(self, user_id: str, job: Job) -> None:
        """Store a job while its conversation lives."""
        with self._lock:
            if not self._lives(user_id, job.conversation_id, job.life):
                raise ConflictError("The conversation was deleted.", code="life_ended")
            self._jobs[user_id, job.id] = job

    def save_plan(self, user_id: str, job_id: str, plan: Plan) -> Plan:
        """Store the first plan of a job."""
        with self._lock:
            if (user_id, job_id) not in self._jobs:
                raise ConflictError("There is no such job.", code="life_ended")
            return self._plans.setdefault((user_id, job_id), plan)

    def get_plan(self, user_id: str, job_id: str) -> Plan | None:
        """Read a plan."""
        with self._lock:
            return self._plans.get((user_id, job_id))

    def _lives(self, user_id: str, conversation_id: str, life: str) -> bool:
        if self._conversations is None:
            return True
        head = self._conversations.get(user_id, conversation_id)
        return head is not None and head.life == life

    def _forget(self, user_id: str, conversation_id: str) -> None:
        with self._lock:
            self._due.pop((user_id, conversation_id), None)
            for key, job in list(self._jobs.items()):
                if key[0] == user_id and job.conversation_id == conversation_id:
                    del self._jobs[key]
                    self._plans.pop(key, None)
