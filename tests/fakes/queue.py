"""In-memory extraction queue."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from threadkeep.domain.extraction import DueExtraction


class FakeExtractionQueue:
    """Remembers what was sent; a test delivers it as it likes: late, twice, in any order.

    Attributes:
        sent: ``(due, delay in seconds)``, in the order of sending.
        dead: ``(due, reason)`` of what was given up.
    """

    def __init__(self) -> None:
        self.sent: list[tuple[DueExtraction, int]] = []
        self.dead: list[tuple[DueExtraction, str]] = []

    def send(self, due: DueExtraction, *, delay_seconds: int) -> None:
        """Queue a due extraction, for 15 minutes at most."""
        self.sent.append((due, max(0, min(delay_seconds, 900))))

    def dead_letter(self, due: DueExtraction, reason: str) -> None:
        """Give a due extraction up."""
        self.dead.append((due, reason))
