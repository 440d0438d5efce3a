"""Ids of an imported file, and what stands for them here."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable
    from datetime import datetime

    from threadkeep.services.import_session import ImportSession


class ImportedIds:
    """Which ids here stand for those of the file.

    Args:
        session: The import.
        conversation_here: Tells the id here of a conversation of the file.
    """

    def __init__(self, session: ImportSession, conversation_here: Callable[[str], str]) -> None:
        self._session = session
        self._conversation_here = conversation_here

    def here(self, *refs: str) -> tuple[str, ...]:
        """Return the ids here of entities or relations of the file."""
        session = self._session
        mapped = session.store.mapped(session.user_id, session.transfer.id, refs)
        return tuple(mapped.get(ref, ref) for ref in refs)

    def mapping(self, ref: str | None, item_id: str) -> tuple[str, str] | None:
        """Return what to note of an id; one that was noted otherwise before is noted anew."""
        if ref is None:
            return None
        return (ref, item_id) if self.here(ref) != (item_id,) else None

    def turn(self, turn: str) -> str:
        """Return a source, with a conversation of the file under its id here."""
        conversation, slash, message = turn.partition("/")
        if not slash or not conversation:
            return turn
        return f"{self._conversation_here(conversation)}/{message}"


def past_time(moment: datetime | None, now: datetime) -> datetime:
    """Return a time of the file, or now if there is none or it lies ahead."""
    return now if moment is None else min(moment, now)


def first_revision(now: datetime) -> int:
    """Return an index version above all that an item of the same id can have had.

    An index refuses what is older than what it holds, and it may hold a deletion of this id. No
    item is written once a millisecond from the beginning of the epoch on.
    """
    return int(now.timestamp() * 1000)
