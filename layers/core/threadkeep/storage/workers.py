"""Calls that run at the same time, and what they count for the one who asked."""

from __future__ import annotations

import threading
from concurrent.futures import ThreadPoolExecutor
from contextvars import ContextVar, copy_context
from functools import cached_property
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence


class Count:
    """A number that several threads raise."""

    def __init__(self) -> None:
        self.value = 0
        self._lock = threading.Lock()

    def add(self) -> None:
        """Raise it by one."""
        with self._lock:
            self.value += 1


class Workers:
    """Threads that share one count with whoever has them work, apart from everyone else's.

    Args:
        most: Threads at most.
    """

    def __init__(self, most: int) -> None:
        self._most = most
        self._counted: ContextVar[Count | None] = ContextVar("count", default=None)

    @property
    def count(self) -> Count:
        """The count of the context at hand, which the threads that it set to work share."""
        count = self._counted.get()
        if count is None:
            count = Count()
            self._counted.set(count)
        return count

    def parallel[A, B](self, call: Callable[[A], B], arguments: Sequence[A]) -> list[B]:
        """Call with each argument, in threads if there are several; the order is kept.

        A call must not itself have many more made: it would wait for threads that wait for it.
        The first failure is raised when all calls have ended.
        """
        if len(arguments) < 2:
            return [call(argument) for argument in arguments]
        _ = self.count  # made before the contexts are copied, so that they share it
        futures = [self._pool.submit(copy_context().run, call, argument) for argument in arguments]
        errors = [future.exception() for future in futures]
        for error in errors:
            if error is not None:
                raise error
        return [future.result() for future in futures]

    @cached_property
    def _pool(self) -> ThreadPoolExecutor:
        return ThreadPoolExecutor(self._most, thread_name_prefix="table")
