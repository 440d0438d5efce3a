"""Bringing the index up to the table: what is marked pending is read, embedded and stored."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from threadkeep.domain.conversations import seq_of
from threadkeep.domain.documents import WINDOW, entity_draft, episode_draft
from threadkeep.domain.retrieval import DocumentKind
from threadkeep.errors import ModelError, NotIndexedError
from threadkeep.ports import PageRequest

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from threadkeep.domain.conversations import Message
    from threadkeep.domain.documents import Draft
    from threadkeep.domain.retrieval import Document
    from threadkeep.ports import (
        ConversationStore,
        Embedder,
        Generation,
        Generations,
        MemoryStore,
        Pending,
    )


@dataclass(frozen=True)
class Batch:
    """What a set of marks asks of the index.

    Args:
        documents: Documents to store; without vector where the embedder is out.
        gone: ``(ref, revision)`` of what is to be removed.
        embedded: Whether every document has its vector.
    """

    documents: Sequence[Document]
    gone: Sequence[tuple[str, int]]
    embedded: bool


class Indexing:
    """Turns pending marks into index changes; every step may be repeated."""

    def __init__(
        self,
        memories: MemoryStore,
        conversations: ConversationStore,
        generations: Generations,
    ) -> None:
        self._memories = memories
        self._conversations = conversations
        self._generations = generations

    def index(
        self, user_id: str, marks: Sequence[Pending], *, without_vectors: bool = True
    ) -> Sequence[Pending]:
        """Bring the index up to the table for the given marks, in every generation.

        A mark is cleared only when its change is in all of them with a vector; deletions that were
        begun are completed first.

        Args:
            user_id: Owner.
            marks: What changed.
            without_vectors: Whether documents are stored without vectors, to be found by their
                words, while an embedder is out.

        Returns:
            The marks left because an embedder is out or an index refused what they stand for.

        Raises:
            UnavailableError: An index does not answer; all marks are left.
        """
        for mark in marks:
            if mark.deleted and mark.kind is DocumentKind.ENTITY:
                self._memories.finish_deletion(user_id, mark.ref)
        drafts, gone = self._drafts(user_id, marks)
        refused = {
            ref
            for generation in self._generations.written()
            for ref in _write(generation, user_id, drafts, gone, without_vectors)
        }
        left = [mark for mark in marks if mark.ref in refused]
        self._memories.clear_pending(user_id, [mark for mark in marks if mark not in left])
        return left

    def read(self, user_id: str, marks: Sequence[Pending], embedder: Embedder) -> Batch:
        """Read what the marks stand for, as the table has it now, with vectors of an embedder.

        What is marked and not there any more counts as gone, at the mark's revision.
        """
        drafts, gone = self._drafts(user_id, marks)
        documents, embedded = _embed(drafts, embedder)
        return Batch(documents, gone, embedded)

    def _drafts(
        self, user_id: str, marks: Sequence[Pending]
    ) -> tuple[list[Draft], list[tuple[str, int]]]:
        """Return the documents that marks stand for, and ``(ref, revision)`` of what is gone."""
        entities = [mark for mark in marks if mark.kind is DocumentKind.ENTITY]
        episodes = [mark for mark in marks if mark.kind is DocumentKind.EPISODE]
        drafts = [
            *self._entities(user_id, [m.ref for m in entities if not m.deleted]),
            *self._episodes(user_id, [m.ref for m in episodes if not m.deleted]),
        ]
        found = {draft.document.ref for draft in drafts}
        return drafts, [(mark.ref, mark.revision) for mark in marks if mark.ref not in found]

    def _entities(self, user_id: str, ids: Sequence[str]) -> list[Draft]:
        drafts = []
        for entity_id in ids:
            entity = self._memories.get_entity(user_id, entity_id)
            if entity is not None:
                turns = self._turns(user_id, (item.turn for item in entity.evidence))
                drafts.append(entity_draft(entity, turns))
        return drafts

    def _turns(self, user_id: str, refs: Iterable[str]) -> dict[str, Message]:
        """Read the turns that evidence was taken from; a deleted one is simply missing."""
        wanted = [
            (conversation, message) for conversation, _, message in (r.partition("/") for r in refs)
        ]
        if not wanted:
            return {}
        found = self._conversations.get_messages(user_id, wanted)
        return {
            f"{conversation}/{message}": text for (conversation, message), text in found.items()
        }

    def _episodes(self, user_id: str, refs: Sequence[str]) -> list[Draft]:
        """Build the marked turns and the searchable ones shortly before: their context grew."""
        drafts: dict[str, Draft] = {}
        for ref in refs:
            conversation_id, _, message_id = ref.partition("/")
            seq = seq_of(message_id)
            if seq is None:
                continue
            page = self._conversations.messages(
                user_id,
                conversation_id,
                PageRequest(limit=3 * WINDOW + 1),
                after_seq=max(0, seq - 2 * WINDOW - 1),
            )
            for place, message in enumerate(page.items):
                if message.searchable and seq - WINDOW <= message.seq <= seq:
                    draft = episode_draft(page.items, place)
                    known = drafts.get(draft.document.ref)
                    if known is None or known.document.revision < draft.document.revision:
                        drafts[draft.document.ref] = draft
        return list(drafts.values())


def _write(
    generation: Generation,
    user_id: str,
    drafts: Sequence[Draft],
    gone: Sequence[tuple[str, int]],
    without_vectors: bool,
) -> set[str]:
    """Bring a generation up to date; return the refs that it must be told again."""
    documents, embedded = _embed(drafts, generation.embedder)
    left = set() if embedded else {document.ref for document in documents}
    try:
        if documents and (embedded or without_vectors):
            generation.index.upsert(user_id, documents)
    except NotIndexedError as error:
        left |= set(error.refs)
    try:
        if gone:
            generation.index.remove(user_id, gone)
    except NotIndexedError as error:
        left |= set(error.refs)
    return left


def _embed(drafts: Sequence[Draft], embedder: Embedder) -> tuple[list[Document], bool]:
    documents = [draft.document for draft in drafts]
    if not drafts:
        return documents, True
    try:
        vectors = embedder.embed([d.embedded for d in drafts], purpose="document")
    except ModelError:
        return documents, False
    return [
        document.model_copy(update={"vector": tuple(vector)})
        for document, vector in zip(documents, vectors, strict=True)
    ], True
