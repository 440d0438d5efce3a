"""The machine's own clock and id source."""

import time
from datetime import UTC, datetime


class SystemClock:
    """The wall clock, in UTC."""

    def now(self) -> datetime:
        """Return the current UTC time."""
        return datetime.now(UTC)

    def sleep(self, seconds: float) -> None:
        """Wait."""
        time.sleep(seconds)


class UlidIds:
    """Time-ordered ids: ULIDs, 26 characters of Crockford base 32 (https://github.com/ulid/spec)."""

    def new(self) -> str:
        """Return a new id."""
        from ulid import ULID

        return str(ULID())
