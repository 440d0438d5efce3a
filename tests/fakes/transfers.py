"""In-memory exports and imports: their records, their queue and their files."""

from __future__ import annotations

import hashlib
from threading import RLock
from typing import TYPE_CHECKING

from tests.fakes.blobs import FakeBlobs
from tests.fakes.paging import newest_first
from threadkeep.errors import ConflictError
from threadkeep.ports import StoredFile

if TYPE_CHECKING:
    from collections.abc import Sequence

    from tests.fakes.memory import FakeMemoryStore
    from threadkeep.domain.changes import Advance
    from threadkeep.domain.transfers import Transfer
    from threadkeep.ports import Page, PageRequest


class FakeTransferStore:
    """Jobs in a dictionary, one lock around every call.

    Args:
        memory: The graph whose commits store how far an import has come.
    """

    def __init__(self, memory: FakeMemoryStore | None = None) -> None:
        self._jobs: dict[tuple[str, str], Transfer] = {}
        self._mapped: dict[tuple[str, str], dict[str, str]] = {}
        self._lock = RLock()
        if memory is not None:
            memory.join_transfers(self)

    def create(self, user_id: str, transfer: Transfer) -> None:
        """Store a new job."""
        with self._lock:
            self._jobs[user_id, transfer.id] = transfer

    def get(self, user_id: str, transfer_id: str) -> Transfer | None:
        """Read a job."""
        with self._lock:
            return self._jobs.get((user_id, transfer_id))

    def list(self, user_id: str, page: PageRequest) -> Page[Transfer]:
        """List jobs, newest first."""
        with self._lock:
            jobs = [job for (owner, _), job in self._jobs.items() if owner == user_id]
        return newest_first(jobs, page, lambda job: (job.created_at, job.id))

    def save(self, user_id: str, transfer: Transfer) -> Transfer:
        """Store a job that is still of its revision."""
        with self._lock:
            stored = self._jobs.get((user_id, transfer.id))
            if stored is None or stored.revision != transfer.revision:
                raise ConflictError("Another worker went on with it.", code="superseded")
            following = transfer.model_copy(update={"revision": transfer.revision + 1})
            self._jobs[user_id, transfer.id] = following
            return following

    def advance(self, user_id: str, advance: Advance) -> None:
        """Store how far an import has come, as part of a commit."""
        with self._lock:
            try:
                self.save(user_id, advance.transfer)
            except ConflictError as error:
                raise ConflictError("The import has moved on.") from error
            if advance.mapped is not None:
                ref, item_id = advance.mapped
                self._mapped.setdefault((user_id, advance.transfer.id), {})[ref] = item_id

    def mapped(self, user_id: str, transfer_id: str, refs: Sequence[str]) -> dict[str, str]:
        """Return mapped ids."""
        with self._lock:
            known = self._mapped.get((user_id, transfer_id), {})
            return {ref: known[ref] for ref in refs if ref in known}

    def forget_mapping(self, user_id: str, transfer_id: str) -> None:
        """Forget mapped ids."""
        with self._lock:
            self._mapped.pop((user_id, transfer_id), None)


class FakeTransferQueue:
    """Remembers what was sent.

    Attributes:
        sent: ``(user, job, delay in seconds)``, in the order of sending.
    """

    def __init__(self) -> None:
        self.sent: list[tuple[str, str, int]] = []

    def send(self, user_id: str, transfer_id: str, *, delay_seconds: int) -> None:
        """Queue a job."""
        self.sent.append((user_id, transfer_id, delay_seconds))


class FakeTransferFiles(FakeBlobs):
    """Files in a dictionary; their addresses only name them."""

    def stat(self, user_id: str, key: str) -> StoredFile | None:
        """Return a file's size and digest."""
        body = self.bodies.get((user_id, key))
        return None if body is None else StoredFile(len(body), _etag(body))

    def read(self, user_id: str, key: str, *, start: int, length: int, etag: str) -> bytes:
        """Read a stretch of the file that was meant."""
        body = self.get(user_id, key)
        if _etag(body) != etag:
            raise ConflictError("The file was replaced.", code="upload_changed")
        return body[start : start + length]

    def join(self, user_id: str, key: str, parts: Sequence[str]) -> None:
        """Make one file of parts."""
        self.put(user_id, key, b"".join(self.get(user_id, part) for part in parts))

    def download_url(self, user_id: str, key: str, *, seconds: int, name: str) -> str:
        """Return the name of a file as an address."""
        return f"memory:///{user_id}/{key}?seconds={seconds}&name={name}"

    def upload_form(
        self, user_id: str, key: str, *, seconds: int, max_bytes: int
    ) -> tuple[str, dict[str, str]]:
        """Return the name of a file as a form."""
        return "memory:///", {"key": f"{user_id}/{key}", "max": f"{max_bytes}/{seconds}"}


def _etag(body: bytes) -> str:
    return hashlib.sha256(body).hexdigest()
