"""A clock that stands still until it is told to move."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

START = datetime(2026, 1, 1, 12, 0, tzinfo=UTC)


class FakeClock:
    """A clock under the test's control; sleeping moves it on at once.

    Args:
        now: Where it starts.
        step: How far each reading moves it on, so that successive readings can differ.

    Attributes:
        slept: All waits in seconds, in order.
    """

    def __init__(self, now: datetime = START, *, step: timedelta = timedelta(0)) -> None:
        self._now = now
        self._step = step
        self.slept: list[float] = []

    def now(self) -> datetime:
        """Return the set time."""
        now = self._now
        self._now += self._step
        return now

    def sleep(self, seconds: float) -> None:
        """Move on without waiting."""
        self.slept.append(seconds)
        self._now += timedelta(seconds=seconds)

    def advance(self, **by: float) -> datetime:
        """Move on by a ``timedelta`` of the given parts and return the new time."""
        self._now += timedelta(**by)
        return self._now

    def set(self, moment: datetime) -> None:
        """Set the time."""
        self._now = moment
