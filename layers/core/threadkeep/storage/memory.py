"""The memory store on DynamoDB."""

from __future__ import annotations

from itertools import batched
from typing import TYPE_CHECKING

from threadkeep.domain.changes import DeleteRelation
from threadkeep.ports import Page
from threadkeep.storage import keys
from threadkeep.storage.failures import TransactionCancelledError
from threadkeep.storage.items import Item, PendingItem
from threadkeep.storage.memory_deletion import Deletions
from threadkeep.storage.memory_items import AccessItem
from threadkeep.storage.memory_relations import RelationReads
from threadkeep.storage.memory_rows import StepsItem, VersionItem
from threadkeep.storage.memory_walks import walked_entities, walked_relations
from threadkeep.storage.memory_writes import CommitWrites
from threadkeep.storage.paging import cut, start_of
from threadkeep.storage.transactions import MAX_ITEMS, Transaction

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from datetime import datetime

    from threadkeep.domain.changes import Commit, HistoryEntry, Support
    from threadkeep.domain.entities import Entity
    from threadkeep.domain.relations import Relation
    from threadkeep.ports import PageRequest, Pending
    from threadkeep.storage.table import Table


class DynamoMemoryStore(RelationReads):
    """Entities, relations, their sources and history, and index marks, in the one table.

    Every read is strong. A commit is one transaction under the condition that what it replaces is
    as it was read, and that the ends of its relations are there.

    Args:
        table: The table.
    """

    def __init__(self, table: Table) -> None:
        super().__init__(table)
        self._deletions = Deletions(table)

    @property
    def requests(self) -> int:
        """Requests sent so far in this context."""
        return self._table.requests

    def history(self, user_id: str, item_id: str, page: PageRequest) -> Page[HistoryEntry]:
        """List the versions of an item, newest first; a total reads them all."""
        prefix = keys.versions(item_id)
        start = start_of(page, {keys.SORT_KEY: prefix})
        rows = self._table.query(
            keys.history(user_id),
            Item.sk.startswith(prefix),
            page_size=page.skip + page.limit + 1,
            after=start,
            descending=True,
        )
        versions = (row for row in rows if isinstance(row, VersionItem))
        taken, next_position = cut(versions, page, lambda row: {keys.SORT_KEY: row.sk})
        total = None
        if page.with_total:
            everything = self._table.query(
                keys.history(user_id),
                Item.sk.startswith(prefix),
                attributes=[keys.SORT_KEY, "kind"],
            )
            total = sum(1 for _ in everything)
        return Page([row.to_domain() for row in taken], next_position, total)

    def commit(self, user_id: str, commit: Commit) -> None:
        """Apply all changes in one transaction, then sweep what did not fit it of what was deleted.

        Raises:
            ConflictError: A condition did not hold.
            PayloadTooLargeError: The changes take more than one transaction holds.
        """
        deleted = [c.relation for c in commit.changes if isinstance(c, DeleteRelation)]
        found = {item.id: self._deletions.belongings(user_id, item) for item in deleted}
        fitting = {item_id: rows for item_id, rows in found.items() if rows is not None}
        collected = CommitWrites(user_id, commit, fitting)
        self._table.transact(collected.transaction.writes)
        for tombstone in collected.tombstones:
            self._deletions.sweep(user_id, tombstone)

    def steps(self, user_id: str, job_id: str) -> Sequence[str]:
        """Return the outcomes of a job's applied steps, in one request."""
        row = self._table.get(StepsItem, keys.jobs(user_id), keys.job_steps(job_id))
        return [str(outcome) for outcome in row.outcomes] if row else []

    def walk_entities(
        self, user_id: str, *, after: str = ""
    ) -> Iterator[tuple[Entity, Sequence[Support]]]:
        """Yield entities with all their sources, in one query per 1 MB of what belongs to them."""
        return walked_entities(self._table, user_id, after)

    def walk_relations(
        self, user_id: str, *, after: str = ""
    ) -> Iterator[tuple[Relation, Sequence[Support]]]:
        """Yield relations with all their sources, in one query per 1 MB of them."""
        return walked_relations(self._table, user_id, after)

    def delete_entity(self, user_id: str, entity: Entity, *, at: datetime) -> None:
        """Delete an entity: at once for every reader, then row by row.

        Raises:
            ConflictError: The entity is no longer as given.
        """
        self._deletions.sweep(user_id, self._deletions.begin(user_id, entity, at))

    def finish_deletion(self, user_id: str, item_id: str) -> None:
        """Complete a deletion that was begun."""
        self._deletions.finish(user_id, item_id)

    def unfinished_deletions(self, user_id: str) -> frozenset[str]:
        """Return the ids of items whose deletion was begun and not completed."""
        return self._deletions.unfinished(user_id)

    def count_accesses(self, user_id: str, entity_ids: Sequence[str], at: datetime) -> None:
        """Count one recall for each entity, in one request per 100; approximately.

        Entities that are gone, or whose counter another recall writes just now, are left out.
        """
        pk = keys.user(user_id)
        counted = [AccessItem.recalls.add(1), AccessItem.last_at.set(at)]
        for chunk in batched(dict.fromkeys(entity_ids), MAX_ITEMS, strict=False):
            transaction = Transaction()
            for entity_id in chunk:
                there = Item.pk.exists()
                transaction.update(pk, keys.access(entity_id), counted, there)
            self._transact_what_holds(transaction)

    def pending(self, user_id: str) -> Sequence[Pending]:
        """Return all marks, in one query per 1 MB."""
        rows = self._table.query(keys.user(user_id), Item.sk.startswith(keys.PENDING))
        return [row.to_domain() for row in rows if isinstance(row, PendingItem)]

    def clear_pending(self, user_id: str, marks: Sequence[Pending]) -> None:
        """Clear marks that are still of their revision, in one request per 100 or few more."""
        pk = keys.user(user_id)
        newest = {mark.ref: mark for mark in sorted(marks, key=lambda mark: mark.revision)}
        for chunk in batched(newest.values(), MAX_ITEMS, strict=False):
            transaction = Transaction()
            for mark in chunk:
                as_given = PendingItem.revision == mark.revision
                transaction.delete(pk, keys.pending(mark.ref), as_given)
            self._transact_what_holds(transaction)

    def _transact_what_holds(self, transaction: Transaction) -> None:
        """Make writes that do not depend on each other; leave out those whose condition fails."""
        writes = list(transaction.writes)
        while writes:
            try:
                return self._table.transact(writes)
            except TransactionCancelledError as error:
                failed = frozenset(error.failed)
                writes = [write for i, write in enumerate(writes) if i not in failed]
