"""The port of conversations and their messages."""

from collections.abc import Sequence
from datetime import datetime
from typing import Protocol

from threadkeep.domain.conversations import Conversation, Lease, Message
from threadkeep.ports.common import Page, PageRequest


class ConversationStore(Protocol):
    """Conversations and their messages."""

    def get(self, user_id: str, conversation_id: str) -> Conversation | None:
        """Read a conversation's head strongly."""
        ...

    def list(self, user_id: str, page: PageRequest) -> Page[Conversation]:
        """List conversations, newest activity first.

        Raises:
            ValidationError: The position is of no page of this listing (``invalid_cursor``).
        """
        ...

    def acquire(
        self, user_id: str, conversation: Conversation, *, now: datetime, until: datetime
    ) -> Lease | None:
        """Take the right to write, creating the conversation from ``conversation`` if it is not
        there.

        Returns:
            The lease with a new fencing token, or None while another holder's lease runs.
        """
        ...

    def append(
        self,
        user_id: str,
        lease: Lease,
        messages: Sequence[Message],
        *,
        at: datetime,
        index: bool = False,
    ) -> None:
        """Store messages in order, conditioned on the lease; ``seq`` must continue the transcript.

        Args:
            user_id: Owner.
            lease: The writer's lease.
            messages: Messages with consecutive ``seq`` and ``parent_id`` set.
            at: Time of the activity.
            index: Whether the user's messages among them become searchable (marks them pending).

        Raises:
            ConflictError: The lease was lost or ``seq`` is taken (``lease_lost``).
            ValidationError: A message has more tool results than can be stored at once
                (``too_many_tool_calls``).
        """
        ...

    def release(self, user_id: str, lease: Lease) -> None:
        """Give the right back; does nothing if it was lost."""
        ...

    def rename(
        self, user_id: str, conversation_id: str, title: str, *, expected_version: int
    ) -> Conversation | None:
        """Set the title, which makes a new version; None if there is no such conversation.

        Raises:
            ConflictError: The stored version is not ``expected_version``.
        """
        ...

    def messages(
        self, user_id: str, conversation_id: str, page: PageRequest, *, after_seq: int = 0
    ) -> Page[Message]:
        """Read messages in order of ``seq``, strongly; a page ends early at 4 MB.

        ``page.skip`` and ``page.with_total`` are the caller's: messages are numbered from 1 without
        gaps, and the head counts them.

        Raises:
            ValidationError: The position is of no transcript (``invalid_cursor``).
        """
        ...

    def get_messages(
        self, user_id: str, refs: Sequence[tuple[str, str]]
    ) -> dict[tuple[str, str], Message]:
        """Read messages by ``(conversation_id, message_id)``, in one batch request per 100 of them
        and their conversations; ids that are of no message are left out."""
        ...

    def indexed(self, user_id: str, conversation_id: str) -> Sequence[str]:
        """Return the ids of the messages of a conversation that are searchable, in order."""
        ...

    def advance_extracted(
        self, user_id: str, conversation_id: str, life: str, *, from_seq: int, to_seq: int
    ) -> bool:
        """Move the extraction watermark; False if it is not at ``from_seq`` or the life ended."""
        ...

    def delete(
        self,
        user_id: str,
        conversation_id: str,
        *,
        at: datetime,
        expected_version: int | None = None,
    ) -> bool:
        """Delete a conversation with all that belongs to it, its episodes marked for removal.

        The first step makes it invisible and fences its writers off; the rest may take further
        steps. Raising after the first step is safe: ``finish_deletion`` completes it. The id can be
        used again at once: it starts a new life.

        Returns:
            False if there is none.

        Raises:
            ConflictError: It has another version than ``expected_version``.
        """
        ...

    def finish_deletion(self, user_id: str, conversation_id: str) -> None:
        """Complete a deletion that was begun; does nothing when there is none."""
        ...

    def unfinished_deletions(self, *, before: datetime, limit: int) -> Sequence[tuple[str, str]]:
        """Return ``(user_id, conversation_id)`` of deletions begun before a time, of all users."""
        ...
