"""Due rows, jobs and plans in DynamoDB."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

from threadkeep.domain.extraction import Job, Plan
from threadkeep.errors import ConflictError
from threadkeep.ports import Page
from threadkeep.storage import keys
from threadkeep.storage.blobs import Stored, ThreadBodies
from threadkeep.storage.conversation_items import ConversationItem, JobPointerItem
from threadkeep.storage.extraction_items import EXTRACTION, JOB, DueItem, JobItem, PlanItem
from threadkeep.storage.items import Item
from threadkeep.storage.paging import cut, start_of
from threadkeep.storage.transactions import Transaction

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence
    from datetime import datetime

    from threadkeep.domain.extraction import DueExtraction
    from threadkeep.ports import Blobs, PageRequest
    from threadkeep.storage.table import Table

_BUSY = "Others keep changing this extraction."


class DynamoExtractionStore:
    """Due rows beside the conversations' list rows, jobs in a partition of their own.

    All of it belongs to a life of a conversation: what comes after its end writes nothing, and is
    not seen even before the deletion has swept it away.

    Args:
        table: The table.
        blobs: Bodies that are too large for a row.
    """

    def __init__(self, table: Table, blobs: Blobs) -> None:
        self._table = table
        self._blobs = blobs

    def get_due(self, user_id: str, conversation_id: str) -> DueExtraction | None:
        """Read the due row of a conversation strongly."""
        row = self._due(user_id, conversation_id)
        return row.to_domain() if row else None

    def put_due(self, due: DueExtraction, *, replaces: int | None) -> bool:
        """Store a due row in place of generation ``replaces`` (None: none); False if too late.

        Raises:
            ConflictError: Others keep changing the row or the conversation.
        """
        transaction = Transaction()
        expected = Item.pk.does_not_exist() if replaces is None else DueItem.generation == replaces
        transaction.put(DueItem.of(due), expected)
        ConversationItem.require_life(transaction, due.user_id, due.conversation_id, due.life)
        for _ in self._table.attempts():
            if self._table.try_transact(transaction.writes):
                return True
            row = self._due(due.user_id, due.conversation_id)
            if (int(row.generation) if row else None) != replaces:
                return False
            if not self._living(due.user_id, [(due.conversation_id, due.life)]):
                return False
        raise ConflictError(_BUSY, retry_after=1)

    def clear_due(self, due: DueExtraction) -> bool:
        """Remove a due row of exactly this generation; False if there is a newer one or none.

        Raises:
            ConflictError: Others keep changing the row.
        """
        transaction = Transaction()
        transaction.delete(
            keys.user(due.user_id),
            keys.due_extraction(due.conversation_id),
            (DueItem.life == due.life) & (DueItem.generation == due.generation),
        )
        for _ in self._table.attempts():
            if self._table.try_transact(transaction.writes):
                return True
            row = self._due(due.user_id, due.conversation_id)
            if row is None or (row.life, int(row.generation)) != (due.life, due.generation):
                return False
        raise ConflictError(_BUSY, retry_after=1)

    def overdue(self, *, before: datetime, limit: int) -> Sequence[DueExtraction]:
        """Return rows due before a time, of all users, the longest overdue first.

        The index is read for keys only, since it lags; the rows are read strongly.
        """
        limited = keys.timestamp(before)
        places = [
            place
            for bucket in keys.due_buckets(EXTRACTION)
            for place in self._table.query_due(bucket, before=limited, limit=limit)
        ]
        rows = [row for row in self._table.batch_get(places) if isinstance(row, DueItem)]
        found = sorted((row.to_domain() for row in rows), key=lambda due: due.due_at)
        return [due for due in found if due.due_at < before][:limit]

    def get_job(self, user_id: str, job_id: str) -> Job | None:
        """Read a job of a conversation that is there."""
        row = self._table.get(JobItem, keys.jobs(user_id), keys.job(job_id))
        return next(iter(self._jobs(user_id, [row] if row else [])), None)

    def list_jobs(self, user_id: str, page: PageRequest) -> Page[Job]:
        """List jobs, newest first, in three requests; a total reads all rows.

        Raises:
            ValidationError: The position is of no page of this listing (``invalid_cursor``).
        """
        pk, prefix = keys.jobs(user_id), f"{JOB}#"
        listed = JobItem.l1.startswith(prefix)
        rows = self._table.query(
            pk,
            listed,
            index=keys.BY_TOUCHED,
            page_size=page.skip + page.limit + 1,
            after=start_of(page, {keys.SORT_KEY: keys.job(""), "L1": prefix}),
            descending=True,
        )
        found = (row for row in rows if isinstance(row, JobItem))
        taken, position = cut(found, page, lambda row: {keys.SORT_KEY: row.sk, "L1": row.l1})
        read = {row.sk: row for row in self._table.batch_get((pk, row.sk) for row in taken)}
        full = [row for one in taken if isinstance(row := read.get(one.sk), JobItem)]
        total = None
        if page.with_total:
            everything = self._table.query(
                pk, listed, index=keys.BY_TOUCHED, attributes=[keys.SORT_KEY, "kind"]
            )
            total = sum(1 for _ in everything)
        return Page(self._jobs(user_id, full), position, total)

    def put_job(self, user_id: str, job: Job) -> None:
        """Store a job's state, and in its conversation a pointer by which it goes with it.

        Raises:
            ConflictError: The conversation's life has ended (``life_ended``), or others keep
                changing it.
        """
        bodies = ThreadBodies(self._blobs, user_id)
        stored = bodies.put_text(
            job.conversation_id, job.life, f"job-{job.id}", job.model_dump_json()
        )
        transaction = Transaction()
        transaction.put(JobItem.of(user_id, job, stored))
        transaction.put(JobPointerItem.of(user_id, job.conversation_id, job.id))
        ConversationItem.require_life(transaction, user_id, job.conversation_id, job.life)
        for _ in self._table.attempts():
            if self._table.try_transact(transaction.writes):
                return
            if not self._living(user_id, [(job.conversation_id, job.life)]):
                bodies.discard(stored.key)
                raise _life_ended()
        raise ConflictError(_BUSY, retry_after=1)

    def save_plan(self, user_id: str, job_id: str, plan: Plan) -> Plan:
        """Store a job's validated plan once; whoever comes later gets that one.

        Raises:
            ConflictError: There is no such job, or its conversation's life has ended
                (``life_ended``), or others keep changing it.
        """
        pk = keys.jobs(user_id)
        job = self._table.get(JobItem, pk, keys.job(job_id))
        if job is None:
            raise _life_ended()
        bodies = ThreadBodies(self._blobs, user_id)
        text = plan.model_dump_json()
        stored = bodies.put_text(job.conversation_id, job.life, f"plan-{job_id}", text)
        transaction = Transaction()
        transaction.put(PlanItem.of(user_id, job_id, stored), Item.pk.does_not_exist())
        transaction.check(pk, keys.job(job_id), Item.pk.exists())
        ConversationItem.require_life(transaction, user_id, job.conversation_id, job.life)
        for _ in self._table.attempts():
            if self._table.try_transact(transaction.writes):
                return plan
            first = self.get_plan(user_id, job_id)
            if first is not None:
                bodies.discard(stored.key)
                return first
            if not self._living(user_id, [(job.conversation_id, job.life)]):
                bodies.discard(stored.key)
                raise _life_ended()
        raise ConflictError(_BUSY, retry_after=1)

    def get_plan(self, user_id: str, job_id: str) -> Plan | None:
        """Read the plan of a job, or None before it was stored."""
        row = self._table.get(PlanItem, keys.jobs(user_id), keys.plan(job_id))
        if row is None:
            return None
        stored = Stored(row.body, row.body_key)
        return Plan.model_validate_json(ThreadBodies(self._blobs, user_id).text(stored))

    def _jobs(self, user_id: str, rows: Sequence[JobItem]) -> list[Job]:
        """Read the records of those rows whose conversation's life goes on."""
        living = self._living(user_id, [(row.conversation_id, row.life) for row in rows])
        bodies = ThreadBodies(self._blobs, user_id)

        def read(row: JobItem) -> Job:
            text = bodies.text(Stored(row.body, row.body_key))
            return Job.model_validate({**json.loads(text), "life": row.life})

        kept = [row for row in rows if (row.conversation_id, row.life) in living]
        return self._table.parallel(read, kept)

    def _living(self, user_id: str, lives: Iterable[tuple[str, str]]) -> set[tuple[str, str]]:
        """Return those of the ``(conversation_id, life)`` that go on."""
        wanted = set(lives)
        places = {(keys.thread(user_id, conversation), keys.META) for conversation, _ in wanted}
        heads = self._table.batch_get(places)
        return wanted & {
            (head.item_id, head.life) for head in heads if isinstance(head, ConversationItem)
        }

    def _due(self, user_id: str, conversation_id: str) -> DueItem | None:
        return self._table.get(DueItem, keys.user(user_id), keys.due_extraction(conversation_id))


def _life_ended() -> ConflictError:
    return ConflictError("The conversation was deleted.", code="life_ended")
