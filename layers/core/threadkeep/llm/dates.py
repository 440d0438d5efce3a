"""Dates as people state them, with the precision they have."""

from __future__ import annotations

import re
from dataclasses import dataclass
from datetime import UTC, date, datetime, time, timedelta, timezone, tzinfo
from zoneinfo import ZoneInfo

_ISO = re.compile(r"(\d{4})(?:-(\d{1,2})(?:-(\d{1,2}))?)?(?:[T ].*)?")
_OFFSET = re.compile(r"(?:UTC|GMT)?([+-])(\d{1,2}):?(\d{2})?")


@dataclass(frozen=True)
class StatedDate:
    """A date with its precision; what is more precise than stated is its first day.

    Args:
        day: The date, in the user's zone.
        precision: ``day``, ``week``, ``month`` or ``year``.
        phrase: The words that state it.
    """

    day: date
    precision: str
    phrase: str = ""

    def text(self) -> str:
        """Return it as ISO 8601 text of its precision, such as ``2026-03`` of a month."""
        length = {"year": 4, "month": 7}.get(self.precision, 10)
        return self.day.isoformat()[:length]

    def label(self) -> str:
        """Return it as text for a reader, with what its form does not tell."""
        return f"week of {self.text()}" if self.precision == "week" else self.text()

    def begins(self, zone: tzinfo, said_on: date) -> datetime | None:
        """Return the first instant of it, in UTC, as the time from which something holds.

        Args:
            zone: The user's zone.
            said_on: The day, in that zone, on which it was said.

        Returns:
            None if that day is within it: then the time of saying is the better one, for what was
            said earlier that day may have held until then.
        """
        if self.day <= said_on < self._next():
            return None
        return datetime.combine(self.day, time(), zone).astimezone(UTC)

    def _next(self) -> date:
        if self.precision == "year":
            return date(self.day.year + 1, 1, 1)
        if self.precision == "month":
            return date(self.day.year + self.day.month // 12, self.day.month % 12 + 1, 1)
        return self.day + timedelta(days=7 if self.precision == "week" else 1)


def zone_of(name: str) -> tzinfo:
    """Return a time zone by its IANA name or as an offset such as ``+09:00``; UTC if unknown."""
    offset = _OFFSET.fullmatch(name.strip())
    if offset:
        sign = -1 if offset[1] == "-" else 1
        minutes = int(offset[2]) * 60 + int(offset[3] or 0)
        return timezone(sign * timedelta(minutes=minutes)) if minutes < 24 * 60 else UTC
    try:
        return ZoneInfo(name)
    except (KeyError, ValueError, OSError):
        return UTC


def iso_date(text: str) -> StatedDate | None:
    """Read ``2026``, ``2026-03``, ``2026-03-01``, or a longer form of which the date counts."""
    match = _ISO.fullmatch(text.strip())
    if match is None:
        return None
    year, month, day = match.groups()
    try:
        first = date(int(year), int(month or 1), int(day or 1))
    except ValueError:
        return None
    return StatedDate(first, "day" if day else "month" if month else "year")
