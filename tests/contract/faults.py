"""Faults between the table and DynamoDB: workers that die, and answers that are refusals."""

from __future__ import annotations

import json
import threading
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from botocore.awsrequest import AWSResponse
from botocore.compat import HTTPHeaders

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

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


@contextmanager
def hooked(table: Table, event: str, hook: Callable[..., Any]) -> Iterator[None]:
    """Run a hook on an event of the table's client."""
    events = table.client.meta.events
    events.register_first(event, hook)
    try:
        yield
    finally:
        events.unregister(event, hook)


@contextmanager
def refused(table: Table, code: str, **more: Any) -> Iterator[list[str]]:
    """Answer every request with an error of the service; yield what was asked."""
    asked: list[str] = []

    def answer(request: Any, event_name: str, **_: Any) -> AWSResponse:
        asked.append(event_name.rpartition(".")[2])
        body = json.dumps({"__type": f"com.amazonaws.dynamodb#{code}", "message": "no", **more})
        return AWSResponse(request.url, 400, HTTPHeaders(), _Raw(body.encode()))

    with hooked(table, "before-send.dynamodb", answer):
        yield asked


class _Raw:
    """The body of an answer, as a socket would give it."""

    def __init__(self, body: bytes) -> None:
        self._body = body

    def stream(self, **_: Any) -> Iterator[bytes]:
        """Yield the body."""
        yield self._body
