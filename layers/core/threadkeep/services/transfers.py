"""Exports and imports as a user asks for them; the work itself is the worker's."""

from __future__ import annotations

from datetime import timedelta
from typing import TYPE_CHECKING

from threadkeep.domain.transfers import (
    KEPT,
    LINK_SECONDS,
    MAX_UPLOAD_BYTES,
    Link,
    Transfer,
    TransferKind,
    TransferStatus,
    TransferView,
    UploadForm,
)
from threadkeep.errors import ConflictError, NotFoundError, PayloadTooLargeError

if TYPE_CHECKING:
    from threadkeep.domain.changes import Origin
    from threadkeep.ports import (
        Clock,
        Ids,
        Page,
        PageRequest,
        TransferFiles,
        TransferQueue,
        TransferStore,
    )


class Transfers:
    """Jobs of a user, and the addresses at which files come and go."""

    def __init__(
        self,
        store: TransferStore,
        files: TransferFiles,
        queue: TransferQueue,
        clock: Clock,
        ids: Ids,
    ) -> None:
        self._store = store
        self._files = files
        self._queue = queue
        self._clock = clock
        self._ids = ids

    def start_export(self, user_id: str, origin: Origin) -> TransferView:
        """Queue an export of everything that a user's memory holds.

        Raises:
            UnavailableError: The queue does not answer; ``start`` queues the job again.
        """
        transfer = self._create(user_id, origin, TransferKind.EXPORT, TransferStatus.QUEUED)
        self._queue.send(user_id, transfer.id, delay_seconds=0)
        return self._view(user_id, transfer)

    def prepare_import(self, user_id: str, origin: Origin) -> TransferView:
        """Return a job with the form by which its file is uploaded; ``start`` makes it run."""
        status = TransferStatus.AWAITING_UPLOAD
        return self._view(user_id, self._create(user_id, origin, TransferKind.IMPORT, status))

    def start(self, user_id: str, transfer_id: str) -> TransferView:
        """Queue an import whose file is there; one that is queued already, once more.

        Raises:
            NotFoundError: The user has no such import.
            ConflictError: Nothing was uploaded (``not_uploaded``), or it has finished
                (``transfer_finished``).
            PayloadTooLargeError: The file is too large.
            UnavailableError: The queue does not answer; try again.
        """
        transfer = self._read(user_id, transfer_id)
        if transfer.kind is not TransferKind.IMPORT:
            raise NotFoundError("There is no such import.")
        if transfer.status is TransferStatus.AWAITING_UPLOAD:
            transfer = self._taken(user_id, transfer)
        elif not transfer.is_waiting:
            raise ConflictError("The import has finished.", code="transfer_finished")
        self._queue.send(user_id, transfer.id, delay_seconds=0)
        return self._view(user_id, transfer)

    def get(self, user_id: str, transfer_id: str) -> TransferView:
        """Return a job with the address of its file, if that is of use.

        Raises:
            NotFoundError: The user has no such job.
        """
        return self._view(user_id, self._read(user_id, transfer_id))

    def list(self, user_id: str, page: PageRequest) -> Page[Transfer]:
        """List jobs, newest first, without addresses."""
        return self._store.list(user_id, page)

    def _create(
        self, user_id: str, origin: Origin, kind: TransferKind, status: TransferStatus
    ) -> Transfer:
        now = self._clock.now()
        transfer = Transfer(
            id=self._ids.new(),
            kind=kind,
            status=status,
            created_at=now,
            updated_at=now,
            actor=origin.actor,
        )
        self._store.create(user_id, transfer)
        return transfer

    def _taken(self, user_id: str, transfer: Transfer) -> Transfer:
        """Note which file it is that was uploaded: another one in its place is not read."""
        found = self._files.stat(user_id, upload_key(transfer.id))
        if found is None:
            raise ConflictError("Nothing was uploaded yet.", code="not_uploaded")
        if found.size > MAX_UPLOAD_BYTES:
            raise PayloadTooLargeError(f"The file is larger than {MAX_UPLOAD_BYTES} bytes.")
        place = transfer.place.model_copy(update={"size": found.size, "etag": found.etag})
        queued = {"status": TransferStatus.QUEUED, "place": place, "updated_at": self._clock.now()}
        return self._store.save(user_id, transfer.model_copy(update=queued))

    def _read(self, user_id: str, transfer_id: str) -> Transfer:
        transfer = self._store.get(user_id, transfer_id)
        if transfer is None:
            raise NotFoundError("There is no such export or import.")
        return transfer

    def _view(self, user_id: str, transfer: Transfer) -> TransferView:
        now = self._clock.now()
        expires_at = now + timedelta(seconds=LINK_SECONDS)
        download, upload = None, None
        if transfer.status is TransferStatus.AWAITING_UPLOAD:
            url, fields = self._files.upload_form(
                user_id,
                upload_key(transfer.id),
                seconds=LINK_SECONDS,
                max_bytes=MAX_UPLOAD_BYTES,
            )
            upload = UploadForm(url=url, fields=fields, expires_at=expires_at)
        elif _is_downloadable(transfer) and transfer.updated_at + KEPT > now:
            url = self._files.download_url(
                user_id,
                export_key(transfer.id),
                seconds=LINK_SECONDS,
                name=f"threadkeep-{transfer.id}.jsonl",
            )
            download = Link(url=url, expires_at=expires_at)
        return TransferView(**dict(transfer), download=download, upload=upload)


def export_key(transfer_id: str) -> str:
    """Return the name of an export's file."""
    return f"{transfer_id}/export.jsonl"


def upload_key(transfer_id: str) -> str:
    """Return the name of an import's file."""
    return f"{transfer_id}/upload.jsonl"


def parts_folder(transfer_id: str) -> str:
    """Return the prefix of what an export has written so far."""
    return f"{transfer_id}/parts/"


def _is_downloadable(transfer: Transfer) -> bool:
    return transfer.kind is TransferKind.EXPORT and transfer.status is TransferStatus.DONE
