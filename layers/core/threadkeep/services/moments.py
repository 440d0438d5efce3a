"""The graph at a moment: what is current, or what was true then by what was known then."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING, Any

from threadkeep.domain.entities import Entity
from threadkeep.ports import PageRequest

if TYPE_CHECKING:
    from collections.abc import Sequence
    from datetime import datetime

    from threadkeep.domain.changes import HistoryEntry
    from threadkeep.domain.relations import Relation
    from threadkeep.ports import Half, MemoryStore

_READING_THREADS = 8


class Moment:
    """What of a user's graph is shown.

    Without ``as_of`` and ``known_at``: what is current. With one of them the other is now.
    Nothing deleted or expired is shown at any moment.

    Args:
        store: The graph.
        user_id: Owner.
        now: The current time.
        as_of: When it is to have been true.
        known_at: By what the service knew at this time.
    """

    def __init__(
        self,
        store: MemoryStore,
        user_id: str,
        *,
        now: datetime,
        as_of: datetime | None,
        known_at: datetime | None,
    ) -> None:
        self._store = store
        self._user_id = user_id
        self._now = now
        self._as_of = as_of or now
        self._known_at = known_at or now
        self.is_past = as_of is not None or known_at is not None

    def may_hold(self, half: Half) -> bool:
        """Tell whether a relation can be shown, by its half alone."""
        return self.is_past or half.is_current(self._now)

    def holds(self, relation: Relation) -> bool:
        """Tell whether a relation is shown, if its ends are."""
        if self.is_past:
            return relation.holds(as_of=self._as_of, known_at=self._known_at)
        return relation.is_current(self._now)

    def shows(self, entity: Entity) -> bool:
        """Tell whether an entity is shown."""
        return entity.is_live(self._now) and entity.created_at <= self._known_at

    def entities(self, shown: Sequence[Entity]) -> tuple[Entity, ...]:
        """Return shown entities with the content that was known."""
        changed = [entity.id for entity in shown if entity.updated_at > self._known_at]
        known = self._contents(changed)
        return tuple(
            _as_known(entity, known[entity.id], self._known_at) if entity.id in known else entity
            for entity in shown
        )

    def relations(self, holding: Sequence[Relation]) -> tuple[Relation, ...]:
        """Return relations that hold with the content and validity that were known."""
        if not self.is_past:
            return tuple(holding)
        changed = [r.id for r in holding if r.updated_at > self._known_at]
        known = self._contents(changed)
        return tuple(self._then(relation, known.get(relation.id)) for relation in holding)

    def _then(self, relation: Relation, last: HistoryEntry | None) -> Relation:
        span = next(
            span
            for span in relation.spans
            if span.holds(as_of=self._as_of, known_at=self._known_at)
        )
        update: dict[str, Any] = {
            "valid_from": span.valid_from,
            "valid_to": span.valid_to,
            "recorded_from": span.recorded_from,
            "recorded_to": span.recorded_to,
        }
        if last is not None and last.after is not None:
            update |= {field: last.after[field] for field in ("description", "properties")}
            update |= {"version": last.version, "updated_at": last.at}
        return relation.model_copy(update=update)

    def _contents(self, item_ids: Sequence[str]) -> dict[str, HistoryEntry]:
        """Return the change that each item was left by, as far as was known."""
        if not item_ids:
            return {}
        with ThreadPoolExecutor(_READING_THREADS) as pool:
            entries = zip(item_ids, pool.map(self._last_known, item_ids), strict=True)
            return {item_id: entry for item_id, entry in entries if entry is not None}

    def _last_known(self, item_id: str) -> HistoryEntry | None:
        """Return the last change until ``known_at``, or the first one of an item without any."""
        entry = None
        page = PageRequest(limit=100)
        while True:
            entries = self._store.history(self._user_id, item_id, page)
            for entry in entries.items:
                if entry.at <= self._known_at:
                    return entry
            if entries.next_position is None:
                return entry
            page = PageRequest(limit=100, position=entries.next_position)


def _as_known(entity: Entity, last: HistoryEntry, known_at: datetime) -> Entity:
    """Return an entity as it was; touches leave no trace, so the last one known is the change."""
    touched = entity.touched_at if entity.touched_at <= known_at else last.at
    stamps = {"version": last.version, "updated_at": last.at, "touched_at": touched}
    return Entity.model_validate({**dict(entity), **(last.after or {}), **stamps})
