"""One worker's turn at an import: what it took, and how far that is stored."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal

from threadkeep.domain.changes import Advance, Commit, Origin
from threadkeep.domain.transfers import SUPERSEDED, Counts, LineError
from threadkeep.errors import ConflictError
from threadkeep.services.retry import on_conflict

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence
    from datetime import datetime

    from threadkeep.domain.changes import Change
    from threadkeep.domain.transfers import Transfer
    from threadkeep.ports import Clock, MemoryStore, TransferStore

MOST_UNSAVED = 200

type Outcome = Literal["created", "merged", "unchanged"]


@dataclass(frozen=True)
class Spot:
    """A line's number, and the byte after it."""

    number: int
    end: int


@dataclass(frozen=True)
class Taken:
    """What a line leads to.

    Args:
        changes: What to commit.
        outcome: What that means.
        mapped: The id of the file and the id here, where they differ.
    """

    changes: tuple[Change, ...]
    outcome: Outcome
    mapped: tuple[str, str] | None = None


class ImportSession:
    """Keeps the record of an import with what was taken.

    Attributes:
        transfer: The record with everything that was taken; up to 200 of the last lines, which
            changed nothing, are not stored yet.
    """

    def __init__(
        self,
        user_id: str,
        transfer: Transfer,
        memory: MemoryStore,
        store: TransferStore,
        clock: Clock,
    ) -> None:
        self.user_id = user_id
        self.transfer = transfer
        self.store = store
        self._memory = memory
        self._clock = clock
        self._unsaved = 0

    def commit(self, spot: Spot, counts: Counts, decide: Callable[[datetime], Taken]) -> None:
        """Decide what a line changes, and commit it together with the place after that line.

        Raises:
            ConflictError: Another worker went on with the import (``superseded``), or others kept
                writing.
        """

        def attempt() -> None:
            now = self._clock.now()
            taken = decide(now)
            after = self._after(spot, counts, {taken.outcome: 1})
            if not taken.changes and taken.mapped is None:
                self._keep(after)
                return
            origin = Origin(self.transfer.actor, f"import/{self.transfer.id}")
            advance = Advance(after, taken.mapped)
            try:
                self._memory.commit(
                    self.user_id, Commit(origin, now, taken.changes, advance=advance)
                )
            except ConflictError:
                self._require_ours()
                raise
            self.transfer = after.model_copy(update={"revision": after.revision + 1})
            self._unsaved = 0

        on_conflict(self._clock, attempt)

    def take(
        self,
        spot: Spot,
        counts: Counts | None = None,
        errors: Sequence[LineError] = (),
        place: dict[str, Any] | None = None,
        **outcomes: int,
    ) -> None:
        """Note lines up to a place that need no commit of their own."""
        after = self._after(spot, counts or Counts(), outcomes, place)
        self._keep(after.rejecting(errors))

    def note(self, **place: Any) -> None:
        """Store where the import is, before it does what it could not find again otherwise."""
        noted = self.transfer.place.model_copy(update=place)
        self.transfer = self.transfer.model_copy(update={"place": noted})
        self._unsaved += 1
        self.save()

    def save(self, **update: Any) -> None:
        """Store what was taken.

        Raises:
            ConflictError: Another worker went on with the import (``superseded``).
        """
        if self._unsaved or update:
            stamped = {"updated_at": self._clock.now(), **update}
            self.transfer = self.store.save(self.user_id, self.transfer.model_copy(update=stamped))
            self._unsaved = 0

    def _keep(self, transfer: Transfer) -> None:
        self.transfer = transfer
        self._unsaved += 1
        if self._unsaved >= MOST_UNSAVED:
            self.save()

    def _after(
        self,
        spot: Spot,
        counts: Counts,
        outcomes: Mapping[str, int],
        place: dict[str, Any] | None = None,
    ) -> Transfer:
        now = self.transfer
        update: dict[str, Any] = {
            "lines": spot.number,
            "counts": now.counts.plus(counts),
            "place": now.place.model_copy(update={"offset": spot.end, **(place or {})}),
            "updated_at": self._clock.now(),
        }
        update |= {name: getattr(now, name) + number for name, number in outcomes.items()}
        return now.model_copy(update=update)

    def _require_ours(self) -> None:
        stored = self.store.get(self.user_id, self.transfer.id)
        if stored is None or stored.revision != self.transfer.revision:
            raise ConflictError("Another worker went on with it.", code=SUPERSEDED)
