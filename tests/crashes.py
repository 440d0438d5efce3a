"""Killing a worker between any two calls it makes."""

from __future__ import annotations

from typing import Any, Literal


class Crash(BaseException):
    """The end of a process: nothing catches it, and nothing after it takes effect."""


class Crashes:
    """Counts the calls that pass through it, and crashes at a chosen one.

    From the crash on every further call crashes too, as cleaning up does not happen in a process
    that was killed, until ``restart``.

    Args:
        at: Number of the call, from 1; 0 for never.
        side: Whether the call takes effect before the crash.
    """

    def __init__(self, at: int = 0, side: Literal["before", "after"] = "before") -> None:
        self._at = at
        self._side = side
        self._dead = False
        self.calls = 0

    @property
    def happened(self) -> bool:
        """Whether the chosen call was reached."""
        return 0 < self._at <= self.calls

    def restart(self) -> None:
        """Let calls pass from now on."""
        self._dead = False
        self._at = min(self._at, self.calls)

    def wrap(self, part: Any) -> Any:
        """Return a part whose calls are counted."""
        return _Wrapped(part, self)

    def call(self, method: Any, args: Any, options: Any) -> Any:
        """Make a call, or crash."""
        if self._dead:
            raise Crash
        self.calls += 1
        chosen = self.calls == self._at
        self._dead = chosen
        if chosen and self._side == "before":
            raise Crash
        result = method(*args, **options)
        if chosen:
            raise Crash
        return result


class _Wrapped:
    def __init__(self, part: Any, crashes: Crashes) -> None:
        self._part = part
        self._crashes = crashes

    def __getattr__(self, name: str) -> Any:
        attribute = getattr(self._part, name)
        if not callable(attribute):
            return attribute
        return lambda *args, **options: self._crashes.call(attribute, args, options)
