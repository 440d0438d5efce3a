"""In-memory repair queue."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Sequence


class FakeRepairQueue:
    """Remembers what was sent.

    Attributes:
        sent: ``(user_id, refs)`` in the order of sending.
    """

    def __init__(self) -> None:
        self.sent: list[tuple[str, tuple[str, ...]]] = []

    def send(self, user_id: str, refs: Sequence[str], *, delay_seconds: int) -> None:
        """Queue refs."""
        self.sent.append((user_id, tuple(refs)))
