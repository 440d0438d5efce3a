"""Ports of large bodies, and of exports and imports."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

from threadkeep.domain.transfers import Transfer
from threadkeep.ports.common import Page, PageRequest


class Blobs(Protocol):
    """Bodies too large for a table row."""

    def put(self, user_id: str, key: str, body: bytes) -> None:
        """Store a body under the user's prefix."""
        ...

    def get(self, user_id: str, key: str) -> bytes:
        """Read a body.

        Raises:
            NotFoundError: There is none.
        """
        ...

    def delete(self, user_id: str, keys: Sequence[str]) -> None:
        """Remove bodies; missing ones are no error."""
        ...

    def delete_all(self, user_id: str, prefix: str) -> None:
        """Remove all of a user's bodies whose key starts with ``prefix``, which ends in ``/``."""
        ...


class TransferStore(Protocol):
    """Exports and imports of a user's memory, and the ids that an import maps."""

    def create(self, user_id: str, transfer: Transfer) -> None:
        """Store a new job."""
        ...

    def get(self, user_id: str, transfer_id: str) -> Transfer | None:
        """Read a job strongly."""
        ...

    def list(self, user_id: str, page: PageRequest) -> Page[Transfer]:
        """List jobs, newest first.

        Raises:
            ValidationError: The position is of no page of this listing (``invalid_cursor``).
        """
        ...

    def save(self, user_id: str, transfer: Transfer) -> Transfer:
        """Store a job's next state and return it with its new revision.

        Raises:
            ConflictError: It is no longer of this revision (``superseded``), or not there.
        """
        ...

    def mapped(self, user_id: str, transfer_id: str, refs: Sequence[str]) -> dict[str, str]:
        """Return the ids that stand for ids of the imported file, where they are others."""
        ...

    def forget_mapping(self, user_id: str, transfer_id: str) -> None:
        """Remove the mapped ids of a job."""
        ...


class TransferQueue(Protocol):
    """Producer of messages that wake the worker of exports and imports up."""

    def send(self, user_id: str, transfer_id: str, *, delay_seconds: int) -> None:
        """Queue a job, to be gone on with after a while, 15 minutes at most."""
        ...


@dataclass(frozen=True)
class StoredFile:
    """A file that is there: its size in bytes, and what tells it from another of its name."""

    size: int
    etag: str


class TransferFiles(Blobs, Protocol):
    """The files of exports and imports, apart from all other bodies; they are forgotten soon."""

    def stat(self, user_id: str, key: str) -> StoredFile | None:
        """Return a file's size and identity, or None if there is none."""
        ...

    def read(self, user_id: str, key: str, *, start: int, length: int, etag: str) -> bytes:
        """Read a stretch of a file, as far as it goes; ``start`` lies within it.

        Raises:
            NotFoundError: There is none.
            ConflictError: It is another file than ``etag`` names (``upload_changed``).
        """
        ...

    def join(self, user_id: str, key: str, parts: Sequence[str]) -> None:
        """Make one file of the bodies under ``parts``, in order; they may be of any size."""
        ...

    def download_url(self, user_id: str, key: str, *, seconds: int, name: str) -> str:
        """Return an address from which anyone who has it can read a file for a while."""
        ...

    def upload_form(
        self, user_id: str, key: str, *, seconds: int, max_bytes: int
    ) -> tuple[str, dict[str, str]]:
        """Return where a file can be posted to for a while, and the form fields to send with it.

        What is larger than ``max_bytes`` is refused.
        """
        ...
