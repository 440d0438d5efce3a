"""Holding the index against the table: what differs, and making it right while serving."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import UTC, datetime
from itertools import batched
from typing import TYPE_CHECKING, Literal

from threadkeep.domain.conversations import seq_of
from threadkeep.domain.documents import WINDOW
from threadkeep.domain.retrieval import DocumentKind
from threadkeep.ports import PageRequest, Pending

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from threadkeep.ports import ConversationStore, MemoryStore, VectorIndex
    from threadkeep.services.indexing import Indexing

_BATCH = 100
_ENTITIES_A_PAGE = 1_000
_CONVERSATIONS_A_PAGE = 100
# Expired entities are not found, and stay in table and index until they are purged.
_NOTHING_EXPIRED = datetime(1970, 1, 1, tzinfo=UTC)


@dataclass(frozen=True, order=True)
class Difference:
    """What an index holds otherwise than the table.

    Args:
        index: Name of the index.
        ref: The document.
        what: ``missing`` from the index, ``stale`` there, or a ``ghost`` that the table has not.
    """

    index: str
    ref: str
    what: Literal["missing", "stale", "ghost"]


@dataclass(frozen=True)
class Rebuilt:
    """What a rebuild of a user did.

    Args:
        indexed: Documents that were written.
        removed: Ghosts that were removed.
        left: Documents that an index or embedder refused; their marks stay if they had any.
    """

    indexed: int
    removed: int
    left: int


class IndexCare:
    """Rebuilds and verifies the index of a user.

    Args:
        memories: Entities.
        conversations: Turns.
        indexing: Writes documents to every generation.
        indexes: All places that hold documents, by name.
    """

    def __init__(
        self,
        memories: MemoryStore,
        conversations: ConversationStore,
        indexing: Indexing,
        indexes: Mapping[str, VectorIndex],
    ) -> None:
        self._memories = memories
        self._conversations = conversations
        self._indexing = indexing
        self._indexes = indexes

    def rebuild(self, user_id: str) -> Rebuilt:
        """Write all documents of a user anew, and remove what should not be there.

        Writers and searches go on meanwhile; it may be repeated and broken off at any point.

        Raises:
            UnavailableError: An index does not answer.
        """
        indexed = left = 0
        for marks in batched(self._expected(user_id), _BATCH, strict=False):
            refused = len(self._indexing.index(user_id, marks, without_vectors=False))
            left += refused
            indexed += len(marks) - refused
        ghosts = [each for each in self._stable(user_id) if each.what == "ghost"]
        for name, index in self._indexes.items():
            refs = {each.ref for each in ghosts if each.index == name}
            if refs:
                held = [(ref, revision) for ref, revision in index.refs(user_id) if ref in refs]
                index.remove(user_id, held)
        return Rebuilt(indexed, len(ghosts), left)

    def verify(self, user_id: str) -> Sequence[Difference]:
        """Return what the indexes hold otherwise than the table, but for what is pending.

        Raises:
            UnavailableError: An index does not answer.
        """
        return sorted(self._stable(user_id))

    def _stable(self, user_id: str) -> set[Difference]:
        """Compare until two comparisons agree: what changed in between is no difference."""
        found = self._compare(user_id)
        return found & self._compare(user_id) if found else found

    def _compare(self, user_id: str) -> set[Difference]:
        pending = {mark.ref for mark in self._memories.pending(user_id)}
        expected = {mark.ref: mark.revision for mark in self._expected(user_id)}
        found: set[Difference] = set()
        for name, index in self._indexes.items():
            held = dict(index.refs(user_id))
            found |= {Difference(name, ref, "missing") for ref in expected.keys() - held.keys()}
            found |= {Difference(name, ref, "ghost") for ref in held.keys() - expected.keys()}
            found |= {
                Difference(name, ref, "stale")
                for ref in expected.keys() & held.keys()
                if held[ref] < expected[ref]
            }
        return {difference for difference in found if difference.ref not in pending}

    def _expected(self, user_id: str) -> Iterator[Pending]:
        """Yield a mark for each document that the table calls for, at the least revision."""
        yield from self._entities(user_id)
        request = PageRequest(limit=_CONVERSATIONS_A_PAGE)
        while True:
            page = self._conversations.list(user_id, request)
            for conversation in page.items:
                yield from self._episodes(user_id, conversation.id)
            if page.next_position is None:
                return
            request = PageRequest(limit=_CONVERSATIONS_A_PAGE, position=page.next_position)

    def _entities(self, user_id: str) -> Iterator[Pending]:
        request = PageRequest(limit=_ENTITIES_A_PAGE)
        while True:
            page = self._memories.list_entities(user_id, request, sort="name", now=_NOTHING_EXPIRED)
            for entity in page.items:
                yield _mark(DocumentKind.ENTITY, entity.id, entity.revision)
            if page.next_position is None:
                return
            request = PageRequest(limit=_ENTITIES_A_PAGE, position=page.next_position)

    def _episodes(self, user_id: str, conversation_id: str) -> Iterator[Pending]:
        """Yield turns at the place of the last neighbour whose mark indexed them again."""
        ids = self._conversations.indexed(user_id, conversation_id)
        places = [seq_of(message_id) or 0 for message_id in ids]
        for number, (message_id, place) in enumerate(zip(ids, places, strict=True)):
            near = places[number : number + WINDOW + 1]
            last = max(seq for seq in near if seq <= place + WINDOW)
            yield _mark(DocumentKind.EPISODE, f"{conversation_id}/{message_id}", last)


def _mark(kind: DocumentKind, ref: str, revision: int) -> Pending:
    return Pending(kind, ref, revision, deleted=False, marked_at=_NOTHING_EXPIRED)
