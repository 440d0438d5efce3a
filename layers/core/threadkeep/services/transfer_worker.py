"""Running exports and imports: as far as one invocation's time goes, then on in the next."""

from __future__ import annotations

from typing import TYPE_CHECKING

from threadkeep.domain.transfers import BUSY, SUPERSEDED, Transfer, TransferKind, TransferStatus
from threadkeep.errors import ConflictError, NotFoundError, StorageFullError

if TYPE_CHECKING:
    from datetime import datetime

    from threadkeep.ports import Clock, TransferQueue, TransferStore
    from threadkeep.services.exporting import Exporting
    from threadkeep.services.importing import Importing

BUSY_SECONDS = 60


class TransferWorker:
    """Does what queued jobs ask for; safe to be called too often, too late and half-way."""

    def __init__(
        self,
        store: TransferStore,
        queue: TransferQueue,
        exporting: Exporting,
        importing: Importing,
        clock: Clock,
    ) -> None:
        self._store = store
        self._queue = queue
        self._exporting = exporting
        self._importing = importing
        self._clock = clock

    def run(self, user_id: str, transfer_id: str, *, until: datetime) -> None:
        """Go on with a job; one that is not through by ``until`` is queued again.

        Every step stores how far it came under the condition that nobody else went on meanwhile:
        of two workers at one job, the slower stops.

        Args:
            user_id: Owner.
            transfer_id: The job.
            until: When no further step may begin.

        Raises:
            UnavailableError: A store does not answer; the message must come again.
        """
        transfer = self._store.get(user_id, transfer_id)
        if transfer is None or not transfer.is_waiting:
            return
        try:
            transfer = self._store.save(user_id, self._in(transfer, TransferStatus.RUNNING))
            finished = self._go_on(user_id, transfer, until)
        except ConflictError as error:
            if error.code == BUSY:
                self._queue.send(user_id, transfer_id, delay_seconds=BUSY_SECONDS)
            elif error.code != SUPERSEDED:
                raise
            return
        if not finished:
            self._queue.send(user_id, transfer_id, delay_seconds=0)

    def _go_on(self, user_id: str, transfer: Transfer, until: datetime) -> bool:
        if transfer.kind is TransferKind.EXPORT:
            return self._exporting.run(user_id, transfer, until)
        try:
            return self._importing.run(user_id, transfer, until)
        except (ConflictError, NotFoundError, StorageFullError) as error:
            if error.code in (SUPERSEDED, BUSY, ConflictError.code):
                raise
            self._fail(user_id, transfer.id, error.code)
            return True

    def _fail(self, user_id: str, transfer_id: str, reason: str) -> None:
        current = self._store.get(user_id, transfer_id)
        if current is not None:
            failed = self._in(current, TransferStatus.FAILED)
            update = {"reason": reason, "finished_at": failed.updated_at}
            self._store.save(user_id, failed.model_copy(update=update))

    def _in(self, transfer: Transfer, status: TransferStatus) -> Transfer:
        update = {"status": status, "updated_at": self._clock.now()}
        return transfer.model_copy(update=update)
