"""A worker that dies between two requests to storage."""

from __future__ import annotations

import threading
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Iterator

    from threadkeep.storage.blobs import S3Blobs
    from threadkeep.storage.table import Table


class WorkerDiedError(Exception):
    """The worker that made a request is gone."""


@dataclass
class Faults:
    """When a worker dies: from then on it sends nothing more.

    Args:
        at: Number of the request, from 1, that it dies at.
        answer_lost: Whether that request took effect before.
        of: Operation whose requests are counted, such as ``BatchWriteItem``; all by default.
    """

    at: int
    answer_lost: bool = False
    of: str | None = None
    made: int = 0
    dead: bool = False
    _lock: threading.Lock = field(default_factory=threading.Lock)

    def before(self, model: Any, **_: Any) -> None:
        """Die before a request is sent."""
        with self._lock:
            if self.dead:
                raise WorkerDiedError
            if self.of in (None, model.name):
                self.made += 1
                if self.made == self.at and not self.answer_lost:
                    self.dead = True
                    raise WorkerDiedError

    def after(self, model: Any, **_: Any) -> None:
        """Die when a request was answered."""
        with self._lock:
            if self.answer_lost and self.of in (None, model.name) and self.made >= self.at:
                self.dead = True
                raise WorkerDiedError


@contextmanager
def dying(
    *stores: Table | S3Blobs, at: int, answer_lost: bool = False, of: str | None = None
) -> Iterator[Faults]:
    """Let the worker that uses a table, a bucket or both die at one of its requests."""
    faults = Faults(at, answer_lost, of)
    for store in stores:
        events = store.client.meta.events
        events.register_first("before-call", faults.before)
        events.register_last("after-call", faults.after)
    try:
        yield faults
    finally:
        for store in stores:
            events = store.client.meta.events
            events.unregister("before-call", faults.before)
            events.unregister("after-call", faults.after)
