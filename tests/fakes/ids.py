"""Ids that count."""

from __future__ import annotations

from itertools import count


class SequentialIds:
    """Ids in order: ``id000001``, ``id000002``, …; safe for several threads.

    Args:
        prefix: Start of every id; letters and digits.
    """

    def __init__(self, prefix: str = "id") -> None:
        self._prefix = prefix
        self._numbers = count(1)

    def new(self) -> str:
        """Return the next id."""
        return f"{self._prefix}{next(self._numbers):06d}"
