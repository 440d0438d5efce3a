"""Exports and imports of a user's memory: the records of the jobs, and where they stand."""

from __future__ import annotations

from datetime import timedelta
from enum import StrEnum
from typing import TYPE_CHECKING

from pydantic import Field

from threadkeep.domain.types import Id, Model, UtcTime

if TYPE_CHECKING:
    from collections.abc import Iterable

MAX_UPLOAD_BYTES = 100 * 1024 * 1024
MAX_LINES = 1_000_000
MAX_LINE_BYTES = 2 * 1024 * 1024
"""A message of 256 KB, escaped in the longest way that JSON knows, and what stands around it."""

LINK_SECONDS = 900
KEPT = timedelta(hours=24)
"""How long a finished export can be downloaded; the bucket forgets it the day after."""

SUPERSEDED = "superseded"
"""Code of the conflict that stops a worker when another one goes on with its job."""

BUSY = "conversation_busy"
"""Code of the conflict that has an import wait until someone else has finished writing."""

SHOWN_ERRORS = 100
MAX_DETAIL_CHARS = 200


class TransferKind(StrEnum):
    """Which way memory goes."""

    EXPORT = "export"
    IMPORT = "import"


class TransferStatus(StrEnum):
    """Where a job stands."""

    AWAITING_UPLOAD = "awaiting_upload"
    QUEUED = "queued"
    RUNNING = "running"
    DONE = "done"
    FAILED = "failed"


class LineError(Model):
    """Why a line of a file was not taken."""

    line: int = Field(description="Number of the line, from 1.")
    code: str
    detail: str


class Counts(Model):
    """Lines of each kind that were written or taken."""

    entities: int = 0
    relations: int = 0
    sources: int = 0
    messages: int = 0
    history: int = 0

    def plus(self, other: Counts) -> Counts:
        """Return the sum."""
        return Counts(**{name: getattr(self, name) + n for name, n in other})


class OpenConversation(Model):
    """The conversation whose messages an import is reading.

    Args:
        name: Its id in the file.
        title: Its title in the file; None if the file does not tell it.
        agent_id: Its agent in the file.
        created_at: When it began, by the file.
        target: Its id here; None until its first message is stored.
        life: Its life here.
        next_seq: Place of the next message here.
    """

    name: str
    title: str | None = None
    agent_id: str | None = None
    created_at: UtcTime | None = None
    target: str | None = None
    life: str = ""
    next_seq: int = 1


class Place(Model):
    """Where a job goes on after what is stored: not shown.

    Args:
        stage: What an export is at.
        after: The last item that an export wrote; of messages, the place of the conversation.
        after_seq: The last message that an export wrote of its conversation.
        parts: What an export has written, in order.
        offset: Bytes of the upload that an import has read.
        size: Bytes of the upload.
        etag: Which upload it is.
        conversation: The conversation that an import is at.
    """

    stage: str = ""
    after: str = ""
    after_seq: int = 0
    parts: tuple[str, ...] = ()
    offset: int = 0
    size: int = 0
    etag: str = ""
    conversation: OpenConversation | None = None


class Transfer(Model):
    """A job that exports or imports a user's memory."""

    id: Id
    kind: TransferKind
    status: TransferStatus
    lines: int = Field(default=0, description="Lines written or read so far.")
    counts: Counts = Counts()
    created: int = Field(default=0, description="Lines that became something new.")
    merged: int = Field(default=0, description="Lines that were merged into what was there.")
    unchanged: int = Field(default=0, description="Lines that said what was known already.")
    rejected: int = Field(default=0, description="Lines that an import could not take.")
    errors: tuple[LineError, ...] = Field(default=(), description="The first 100 rejected lines.")
    reason: str | None = Field(default=None, description="Code of why it failed.")
    created_at: UtcTime
    updated_at: UtcTime
    finished_at: UtcTime | None = None
    actor: str = Field(exclude=True)
    place: Place = Field(default=Place(), exclude=True)
    revision: int = Field(default=1, exclude=True)

    @property
    def is_waiting(self) -> bool:
        """Whether a worker has to go on with it."""
        return self.status in (TransferStatus.QUEUED, TransferStatus.RUNNING)

    def rejecting(self, errors: Iterable[LineError]) -> Transfer:
        """Return the record with further lines that were not taken."""
        found = list(errors)
        shown = (*self.errors, *found)[:SHOWN_ERRORS]
        return self.model_copy(update={"rejected": self.rejected + len(found), "errors": shown})


class Link(Model):
    """An address that works for a quarter of an hour, for whoever has it."""

    url: str
    expires_at: UtcTime


class UploadForm(Link):
    """Where a browser form of these fields and the file, last, is posted to."""

    fields: dict[str, str]
    max_bytes: int = MAX_UPLOAD_BYTES


class TransferView(Transfer):
    """A job as it is shown, with the address that is of use now."""

    download: Link | None = None
    upload: UploadForm | None = None
