"""Ports of the memory graph."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Literal, Protocol

from threadkeep.domain.changes import Commit, HistoryEntry, Support
from threadkeep.domain.entities import Entity, EntityType
from threadkeep.domain.relations import Direction, Relation, RelationType
from threadkeep.domain.retrieval import DocumentKind
from threadkeep.ports.common import Page, PageRequest


@dataclass(frozen=True)
class Pending:
    """A mark that something changed and the index may not know it yet.

    Args:
        kind: What it stands for.
        ref: Entity id, or ``conversation_id/message_id``.
        revision: Index version of the change; a later change of the same ref has a higher one.
        deleted: Whether the change is a deletion.
        marked_at: When the change was made.
    """

    kind: DocumentKind
    ref: str
    revision: int
    deleted: bool
    marked_at: datetime


@dataclass(frozen=True)
class Half:
    """A relation as seen from one of its ends: enough to traverse without reading its body.

    Args:
        relation_id: The relation.
        entity_id: The end it is seen from.
        other_id: The other end, which may be gone or expired: the reader checks.
        outgoing: Whether ``entity_id`` is the source.
        relation_type: What it says.
        current: Whether it was not closed when it was last written.
        valid_to: When it ended or ends; a current one may have lapsed since.
    """

    relation_id: str
    entity_id: str
    other_id: str
    outgoing: bool
    relation_type: RelationType
    current: bool
    valid_to: datetime | None = None

    def is_current(self, now: datetime) -> bool:
        """Tell whether the relation has not ended by ``now``."""
        return self.valid_to is None or self.valid_to > now


@dataclass(frozen=True)
class AuditEntry:
    """What an administrator did with a user's data.

    Args:
        id: Id of the entry; later entries have later ids.
        at: When.
        actor: Who, as ``admin:{sub}``.
        user_id: Whose data.
        action: What, as method and route, such as ``GET /admin/users/{user_id}/memories/graph``.
        request_id: The request that did it.
        resource: Id of the one item that it was about, if any.
    """

    id: str
    at: datetime
    actor: str
    user_id: str
    action: str
    request_id: str
    resource: str | None = None


class MemoryStore(Protocol):
    """Entities, relations, their history and sources, and the marks of what waits to be indexed."""

    @property
    def requests(self) -> int:
        """Requests made to storage so far in this context; callers take differences.

        What the store itself runs in parallel counts for the caller.
        """
        ...

    def find_by_name(self, user_id: str, entity_type: EntityType, name_key: str) -> str | None:
        """Return the id of the entity that holds a name key (strong read), or None."""
        ...

    def self_id(self, user_id: str) -> str | None:
        """Return the id of the user's self entity, or None before first use."""
        ...

    def get_entities(
        self, user_id: str, ids: Sequence[str], *, counts: bool = False
    ) -> dict[str, Entity]:
        """Read entities strongly, without evidence, in one batch request per 100.

        Missing, deleted and being-deleted ids are left out; expiry is the service's to judge.

        Args:
            user_id: Owner.
            ids: Entities to read.
            counts: Whether to read access counts too; then one batch request per 50.
        """
        ...

    def get_items(
        self, user_id: str, *, entity_ids: Sequence[str], relation_ids: Sequence[str]
    ) -> tuple[dict[str, Entity], dict[str, Relation]]:
        """Read entities and relation bodies together, in one batch request per 100 of both."""
        ...

    def get_entity(self, user_id: str, entity_id: str) -> Entity | None:
        """Read one entity with its newest evidence and its access counts, in one query per 1 MB."""
        ...

    def get_entity_with_halves(
        self, user_id: str, entity_id: str
    ) -> tuple[Entity, Sequence[Half]] | None:
        """Read what ``get_entity`` does and all current halves, in the same query."""
        ...

    def entity_sources(self, user_id: str, entity_id: str) -> frozenset[str]:
        """Return the ids of all sources that support an entity."""
        ...

    def list_entities(
        self,
        user_id: str,
        page: PageRequest,
        *,
        sort: Literal["updated", "name"],
        now: datetime,
        entity_type: EntityType | None = None,
        text: str | None = None,
    ) -> Page[Entity]:
        """List live entities, newest touched first or by name; ``text`` is matched folded in name
        and description.

        Entities expired at ``now`` are neither listed nor counted. They come without evidence.
        ``page.limit`` may be up to 1,000 here, for pages of a whole graph.

        Raises:
            ValidationError: The position is of no page of this listing (``invalid_cursor``).
        """
        ...

    def get_relations(self, user_id: str, ids: Sequence[str]) -> dict[str, Relation]:
        """Read relation bodies strongly, without sources, in one batch request per 100."""
        ...

    def get_relation(self, user_id: str, relation_id: str) -> Relation | None:
        """Read one relation with its sources (newest 20), in one query."""
        ...

    def relation_sources(self, user_id: str, relation_id: str) -> frozenset[str]:
        """Return the ids of all sources that support a relation."""
        ...

    def find_relation(
        self, user_id: str, source_id: str, relation_type: RelationType, target_id: str
    ) -> str | None:
        """Return the id of the unclosed relation of this triple (strong read), or None.

        Its end may have passed since it was written (``Relation.is_current``): then a commit that
        creates a new one must also close it (``domain.relations.settle``).
        """
        ...

    def halves(
        self,
        user_id: str,
        entity_id: str,
        *,
        direction: Direction = Direction.BOTH,
        relation_types: Sequence[RelationType] | None = None,
        closed: bool = False,
        limit: int | None = None,
    ) -> Sequence[Half]:
        """Read an entity's relations as lean halves, in one query per 1 MB; with ``closed`` also
        those that ended, which takes a second query.

        At most ``limit`` are returned, and reading stops there.
        """
        ...

    def halves_of(
        self,
        user_id: str,
        entity_ids: Sequence[str],
        *,
        direction: Direction = Direction.BOTH,
        relation_types: Sequence[RelationType] | None = None,
        closed: bool = False,
        limit: int | None = None,
    ) -> dict[str, Sequence[Half]]:
        """Read the halves of several entities in parallel, each as ``halves`` does."""
        ...

    def edges(self, user_id: str, *, closed: bool = False) -> Sequence[Half]:
        """Read all relations of a user, each once as its outgoing half, in one query per 1 MB."""
        ...

    def list_relations(
        self,
        user_id: str,
        page: PageRequest,
        *,
        now: datetime,
        entity_id: str | None = None,
        relation_type: RelationType | None = None,
    ) -> Page[Relation]:
        """List current relations between live entities, newest updated first, without sources.

        Raises:
            ValidationError: The position is of no page of this listing (``invalid_cursor``).
        """
        ...

    def history(self, user_id: str, item_id: str, page: PageRequest) -> Page[HistoryEntry]:
        """List the changes of an entity or relation, newest first.

        Callers read the item first: while it is being deleted, its history may still be here.

        Raises:
            ValidationError: The position is of no page of this listing (``invalid_cursor``).
        """
        ...

    def walk_entities(
        self, user_id: str, *, after: str = ""
    ) -> Iterator[tuple[Entity, Sequence[Support]]]:
        """Yield entities with all their sources, in an order that does not change, from the one
        that follows the id ``after``; in one query per 1 MB.

        They come without evidence; expiry is the caller's to judge.
        """
        ...

    def walk_relations(
        self, user_id: str, *, after: str = ""
    ) -> Iterator[tuple[Relation, Sequence[Support]]]:
        """Yield relations, current and closed, with all their sources, as ``walk_entities`` does.

        Their ends may be gone: the caller checks.
        """
        ...

    def commit(self, user_id: str, commit: Commit) -> None:
        """Apply all changes in one transaction, with history and index marks, or none.

        With a ``step``, the transaction also counts one step of an extraction job as applied: each
        step takes effect once, whoever delivers it and however often, and none does after the
        job's conversation was deleted. With an ``advance``, it also stores how far an import has
        come, unless another worker went on with it meanwhile. A commit may consist of either alone.

        Raises:
            ConflictError: A condition did not hold: another writer was first, an end is gone, a
                name is taken, the step was applied, the life has ended. The caller reads again and
                decides anew.
        """
        ...

    def steps(self, user_id: str, job_id: str) -> Sequence[str]:
        """Return the outcomes of the steps of a job that were applied, in order (strong read)."""
        ...

    def delete_entity(self, user_id: str, entity: Entity, *, at: datetime) -> None:
        """Delete an entity with relations, sources, evidence, history and counter.

        ``entity`` is as a read returned it; its index mark says ``deleted``, at the next revision.
        The first step makes it invisible on every surface and frees its name; the rest may take
        further steps. Raising after the first step is safe: ``finish_deletion`` completes it.

        Raises:
            ConflictError: The entity is no longer as given.
        """
        ...

    def finish_deletion(self, user_id: str, item_id: str) -> None:
        """Complete the deletion of an entity or relation; does nothing when none was begun.

        Several may do so at the same time.
        """
        ...

    def unfinished_deletions(self, user_id: str) -> frozenset[str]:
        """Return the ids of entities and relations whose deletion was begun and not completed."""
        ...

    def count_accesses(self, user_id: str, entity_ids: Sequence[str], at: datetime) -> None:
        """Count one chat recall for each entity, outside the versioned item."""
        ...

    def pending(self, user_id: str) -> Sequence[Pending]:
        """Return all marks of the user, in one query per 1 MB."""
        ...

    def clear_pending(self, user_id: str, marks: Sequence[Pending]) -> None:
        """Clear marks whose revision is still the given one; later marks of the same ref stay."""
        ...


class AuditLog(Protocol):
    """What administrators did with users' data; it does not go with the user."""

    def record(self, entry: AuditEntry) -> None:
        """Store an entry durably, before the data is handed out."""
        ...

    def entries(self, year: int, month: int, page: PageRequest) -> Page[AuditEntry]:
        """List the entries of a month (UTC), newest first."""
        ...
