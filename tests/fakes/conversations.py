"""In-memory conversation store."""

from __future__ import annotations

from dataclasses import dataclass, field
from threading import RLock
from typing import TYPE_CHECKING, Protocol

from tests.fakes.paging import newest_first
from threadkeep.domain.conversations import (
    Conversation,
    Lease,
    Role,
    require_appendable,
    seq_of,
    size_of,
    title_of,
)
from threadkeep.domain.limits import MAX_PAGE_BYTES
from threadkeep.domain.retrieval import DocumentKind
from threadkeep.errors import ConflictError, ValidationError
from threadkeep.ports import Page, PageRequest, Pending

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from datetime import datetime

    from threadkeep.domain.conversations import Message


class Graph(Protocol):
    """What a conversation store changes in the memory graph, written in the same transactions."""

    def mark(self, user_id: str, pending: Pending) -> None:
        """Mark a change that the index may not know yet."""
        ...

    def drop_evidence(self, user_id: str, conversation_id: str) -> None:
        """Drop the text of all evidence that was taken from a conversation."""
        ...


class NoGraph:
    """A graph that nobody looks at."""

    def mark(self, user_id: str, pending: Pending) -> None:
        """Ignore the mark."""

    def drop_evidence(self, user_id: str, conversation_id: str) -> None:
        """Ignore the deletion."""


@dataclass
class _Thread:
    head: Conversation
    token: int = 0
    until: datetime | None = None
    messages: list[Message] = field(default_factory=list)
    indexed: list[Message] = field(default_factory=list)

    def held_by(self, lease: Lease) -> bool:
        return self.until is not None and self.token == lease.token and self.head.life == lease.life


class FakeConversationStore:
    """Conversations in dictionaries, one lock around every call.

    Args:
        graph: The memory graph that shares the user's index marks and evidence.

    Attributes:
        lock: Held by every call; stores that take part in the same changes share it.
    """

    def __init__(self, graph: Graph | None = None) -> None:
        self._graph: Graph = graph or NoGraph()
        self._threads: dict[tuple[str, str], _Thread] = {}
        self._followers: list[Callable[[str, str], None]] = []
        self.lock = RLock()

    def on_delete(self, follow: Callable[[str, str], None]) -> None:
        """Have ``follow(user_id, conversation_id)`` called with every deletion."""
        self._followers.append(follow)

    def get(self, user_id: str, conversation_id: str) -> Conversation | None:
        """Read a head."""
        with self.lock:
            thread = self._threads.get((user_id, conversation_id))
            return thread.head if thread else None

    def list(self, user_id: str, page: PageRequest) -> Page[Conversation]:
        """List heads, newest activity first."""
        with self.lock:
            heads = [t.head for (owner, _), t in self._threads.items() if owner == user_id]
        return newest_first(heads, page, lambda head: (head.last_activity_at, head.id))

    def acquire(
        self, user_id: str, conversation: Conversation, *, now: datetime, until: datetime
    ) -> Lease | None:
        """Take or refuse the lease."""
        with self.lock:
            thread = self._threads.setdefault((user_id, conversation.id), _Thread(conversation))
            if thread.until is not None and thread.until > now:
                return None
            thread.token += 1
            thread.until = until
            return Lease(
                conversation_id=conversation.id,
                life=thread.head.life,
                token=thread.token,
                expires_at=until,
            )

    def append(
        self,
        user_id: str,
        lease: Lease,
        messages: Sequence[Message],
        *,
        at: datetime,
        index: bool = False,
    ) -> None:
        """Store messages if the lease holds and they continue the transcript."""
        require_appendable(lease, messages)
        if not messages:
            return
        with self.lock:
            thread = self._threads.get((user_id, lease.conversation_id))
            if thread is None or not thread.held_by(lease):
                raise ConflictError("The conversation was taken over.", code="lease_lost")
            head = thread.head
            if messages[0].seq != head.next_seq:
                raise ConflictError("The transcript has moved on.", code="lease_lost")
            kept = [
                m.model_copy(update={"searchable": index and m.role is Role.USER}) for m in messages
            ]
            thread.messages.extend(kept)
            spoken = [m for m in kept if m.role is Role.USER]
            thread.head = head.model_copy(
                update={
                    "title": head.title or (title_of(spoken[0].content) if spoken else ""),
                    "last_activity_at": at,
                    "message_count": head.message_count + len(messages),
                    "version": head.version + 1,
                    "next_seq": messages[-1].seq + 1,
                    "active_leaf_id": messages[-1].id,
                }
            )
            if index:
                thread.indexed.extend(spoken)
                for message in spoken:
                    self._mark(user_id, message, revision=message.seq, deleted=False, at=at)

    def release(self, user_id: str, lease: Lease) -> None:
        """Give the lease back."""
        with self.lock:
            thread = self._threads.get((user_id, lease.conversation_id))
            if thread is not None and thread.held_by(lease):
                thread.until = None

    def rename(
        self, user_id: str, conversation_id: str, title: str, *, expected_version: int
    ) -> Conversation | None:
        """Set the title if the version is the expected one."""
        with self.lock:
            thread = self._threads.get((user_id, conversation_id))
            if thread is None:
                return None
            if thread.head.version != expected_version:
                raise ConflictError("The conversation has changed.")
            thread.head = thread.head.model_copy(
                update={"title": title, "version": expected_version + 1}
            )
            return thread.head

    def messages(
        self, user_id: str, conversation_id: str, page: PageRequest, *, after_seq: int = 0
    ) -> Page[Message]:
        """Read messages in order."""
        after = max(after_seq, _place_of(page))
        with self.lock:
            thread = self._threads.get((user_id, conversation_id))
            rest = [m for m in thread.messages if m.seq > after] if thread else []
        items: list[Message] = []
        size = 0
        for message in rest[: page.limit]:
            size += size_of(message)
            if items and size > MAX_PAGE_BYTES:
                break
            items.append(message)
        more = len(items) < len(rest)
        return Page(items, {"after": str(items[-1].seq)} if more else None)

    def get_messages(
        self, user_id: str, refs: Sequence[tuple[str, str]]
    ) -> dict[tuple[str, str], Message]:
        """Read messages by conversation and id."""
        found = {}
        with self.lock:
            for conversation_id, message_id in refs:
                thread = self._threads.get((user_id, conversation_id))
                seq = seq_of(message_id)
                for message in thread.messages if thread and seq else ():
                    if message.id == message_id:
                        found[conversation_id, message_id] = message
        return found

    def indexed(self, user_id: str, conversation_id: str) -> Sequence[str]:
        """Return what was appended to be searchable."""
        with self.lock:
            thread = self._threads.get((user_id, conversation_id))
            return [message.id for message in thread.indexed] if thread else []

    def advance_extracted(
        self, user_id: str, conversation_id: str, life: str, *, from_seq: int, to_seq: int
    ) -> bool:
        """Move the extraction watermark by compare-and-set."""
        with self.lock:
            thread = self._threads.get((user_id, conversation_id))
            if (
                thread is None
                or thread.head.life != life
                or thread.head.extracted_seq != from_seq
                or to_seq < from_seq
            ):
                return False
            thread.head = thread.head.model_copy(update={"extracted_seq": to_seq})
            return True

    def delete(
        self,
        user_id: str,
        conversation_id: str,
        *,
        at: datetime,
        expected_version: int | None = None,
    ) -> bool:
        """Delete a conversation at once."""
        with self.lock:
            thread = self._threads.get((user_id, conversation_id))
            if thread is None:
                return False
            if expected_version not in (None, thread.head.version):
                raise ConflictError("It has changed.")
            del self._threads[user_id, conversation_id]
            for message in thread.indexed:
                self._mark(user_id, message, revision=thread.head.next_seq, deleted=True, at=at)
            self._graph.drop_evidence(user_id, conversation_id)
            for follow in self._followers:
                follow(user_id, conversation_id)
            return True

    def finish_deletion(self, user_id: str, conversation_id: str) -> None:
        """Do nothing: deletions here have no second step."""

    def unfinished_deletions(self, *, before: datetime, limit: int) -> Sequence[tuple[str, str]]:
        """Return nothing: deletions here have no second step."""
        return ()

    def _mark(
        self, user_id: str, message: Message, *, revision: int, deleted: bool, at: datetime
    ) -> None:
        ref = f"{message.conversation_id}/{message.id}"
        self._graph.mark(user_id, Pending(DocumentKind.EPISODE, ref, revision, deleted, at))


def _place_of(page: PageRequest) -> int:
    if page.position is None:
        return 0
    after = page.position.get("after", "")
    if not after.isdecimal():
        raise ValidationError("The cursor is not one of this listing.", code="invalid_cursor")
    return int(after)
