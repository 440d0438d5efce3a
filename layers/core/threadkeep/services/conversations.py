"""Reading, renaming and deleting conversations."""

from __future__ import annotations

from dataclasses import replace
from datetime import timedelta
from typing import TYPE_CHECKING

from threadkeep.domain.versions import require_version
from threadkeep.errors import NotFoundError
from threadkeep.services.retry import on_conflict

if TYPE_CHECKING:
    from collections.abc import Collection

    from threadkeep.domain.conversations import Conversation, Message
    from threadkeep.ports import Clock, ConversationStore, Page, PageRequest


ABANDONED_AFTER = timedelta(minutes=10)
"""A deletion that was begun so long ago has lost its worker: no function runs that long."""

SWEEP_LIMIT = 10


class Conversations:
    """Use cases of conversations outside of a turn."""

    def __init__(self, store: ConversationStore, clock: Clock) -> None:
        self._store = store
        self._clock = clock

    def list(self, user_id: str, page: PageRequest) -> Page[Conversation]:
        """List conversations, newest activity first."""
        return self._store.list(user_id, page)

    def get(self, user_id: str, conversation_id: str) -> Conversation:
        """Return a conversation's head.

        Raises:
            NotFoundError: The user has no such conversation.
        """
        conversation = self._store.get(user_id, conversation_id)
        if conversation is None:
            raise NotFoundError("There is no such conversation.")
        return conversation

    def messages(self, user_id: str, conversation_id: str, page: PageRequest) -> Page[Message]:
        """Return the transcript in order.

        Raises:
            NotFoundError: The user has no such conversation.
        """
        head = self.get(user_id, conversation_id)
        # Messages are numbered from 1 without gaps: passing some over needs no reading.
        found = self._store.messages(user_id, conversation_id, page, after_seq=page.skip)
        return replace(found, total=head.message_count) if page.with_total else found

    def rename(
        self, user_id: str, conversation_id: str, title: str, if_match: Collection[int] | None
    ) -> Conversation:
        """Set the title.

        Raises:
            NotFoundError: The user has no such conversation.
            PreconditionFailedError: It has another version than ``if_match`` names.
        """

        def attempt() -> Conversation:
            current = self.get(user_id, conversation_id)
            require_version(current.version, if_match)
            if current.title == title:
                return current
            renamed = self._store.rename(
                user_id, conversation_id, title, expected_version=current.version
            )
            if renamed is None:
                raise NotFoundError("There is no such conversation.")
            return renamed

        return on_conflict(self._clock, attempt)

    def delete(
        self, user_id: str, conversation_id: str, if_match: Collection[int] | None = None
    ) -> None:
        """Delete a conversation with its messages and episodes; what was learned from it stays.

        Raises:
            NotFoundError: The user has no such conversation.
            PreconditionFailedError: It has another version than ``if_match`` names.
            ConflictError: Others kept changing it.
        """

        def attempt() -> None:
            expected = None
            if if_match is not None:
                expected = self.get(user_id, conversation_id).version
                require_version(expected, if_match)
            now = self._clock.now()
            if not self._store.delete(user_id, conversation_id, at=now, expected_version=expected):
                raise NotFoundError("There is no such conversation.")

        on_conflict(self._clock, attempt)

    def finish_deletions(self) -> int:
        """Complete deletions of all users whose worker died; each is safe to begin anew.

        Returns:
            How many were completed.
        """
        before = self._clock.now() - ABANDONED_AFTER
        found = self._store.unfinished_deletions(before=before, limit=SWEEP_LIMIT)
        for user_id, conversation_id in found:
            self._store.finish_deletion(user_id, conversation_id)
        return len(found)
