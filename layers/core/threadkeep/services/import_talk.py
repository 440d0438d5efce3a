"""Taking over messages from a file: as conversations of their own, their user turns as episodes."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from datetime import timedelta
from typing import TYPE_CHECKING

from threadkeep.domain.conversations import Conversation, Message, Role, message_id, seq_of
from threadkeep.domain.limits import MAX_TOOL_CALLS
from threadkeep.domain.transfer_lines import line_error
from threadkeep.domain.transfers import BUSY, Counts, OpenConversation
from threadkeep.errors import ConflictError
from threadkeep.ports import PageRequest

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from threadkeep.domain.transfer_lines import ConversationLine, MessageLine
    from threadkeep.domain.transfers import LineError
    from threadkeep.ports import Clock, ConversationStore
    from threadkeep.services.import_session import ImportSession, Spot

RUN_LINES = 25
RUN_BYTES = 1024 * 1024
LEASE_SECONDS = 60
PAGE = 100


@dataclass(frozen=True)
class Said:
    """A message of the file and where it stands."""

    spot: Spot
    line: MessageLine


class TalkImport:
    """Collects messages of one conversation that stand together, and stores them in runs.

    A conversation keeps its id if that is free, or else gets one that follows from the import and
    the id. Of a conversation that is there, messages of the same ids are not stored again.
    """

    def __init__(
        self, session: ImportSession, conversations: ConversationStore, clock: Clock
    ) -> None:
        self._session = session
        self._user_id = session.user_id
        self._conversations = conversations
        self._clock = clock
        self._run: list[Said] = []
        self._places: dict[str, str] = {}

    def open(self, spot: Spot, line: ConversationLine) -> None:
        """Note the conversation whose messages follow."""
        opened = OpenConversation(
            name=line.id, title=line.title, agent_id=line.agent_id, created_at=line.created_at
        )
        self._session.take(spot, place={"conversation": opened})

    def add(self, spot: Spot, line: MessageLine) -> None:
        """Take a message, and store those before it when they are enough for a run."""
        if self._run and not self._continues(line):
            self.flush()
        self._run.append(Said(spot, line))

    def flush(self) -> None:
        """Store what was collected, and that it was taken.

        Raises:
            ConflictError: Someone else writes to the conversation (``conversation_busy``), or
                another worker went on with the import (``superseded``).
        """
        run, self._run = self._run, []
        if not run:
            return
        opened = self._session.transfer.place.conversation
        name = run[0].line.conversation
        if opened is None or opened.name != name:
            opened = OpenConversation(name=name)
        sound, errors = whole_rounds(run)
        if sound and opened.target is None:
            opened = self._opened(opened, sound[0].spot.number)
            self._session.note(conversation=opened)
        fresh = self._unknown(opened, sound)
        stored = self._stored(opened, fresh) if fresh else opened.next_seq
        if stored is None:
            errors += [_error(one, "conversation_deleted") for one in fresh]
            fresh, stored = [], opened.next_seq
        self._session.take(
            run[-1].spot,
            Counts(messages=len(sound)),
            errors,
            {"conversation": opened.model_copy(update={"next_seq": stored})},
            created=len(fresh),
            unchanged=len(sound) - len(fresh),
        )
        self._session.save()

    def here(self, conversation_id: str) -> str:
        """Return the id here of a conversation of the file."""
        if conversation_id not in self._places:
            self._places[conversation_id] = self._place_of(conversation_id)
        return self._places[conversation_id]

    def _place_of(self, name: str) -> str:
        if self._is_ours(self._conversations.get(self._user_id, name)):
            return name
        other = self._elsewhere(name)
        return other if self._conversations.get(self._user_id, other) else name

    def _continues(self, line: MessageLine) -> bool:
        """Tell whether a message belongs to the run: calls and their results are not parted."""
        if line.conversation != self._run[0].line.conversation:
            return False
        if line.said_by is Role.TOOL and len(self._run) < RUN_LINES + MAX_TOOL_CALLS:
            return True
        size = sum(len(one.line.content) for one in self._run)
        return len(self._run) < RUN_LINES and size < RUN_BYTES

    def _opened(self, opened: OpenConversation, number: int) -> OpenConversation:
        """Choose where a conversation goes."""
        target = opened.name
        head = self._conversations.get(self._user_id, target)
        if head is not None and not self._is_ours(head):
            target = self._elsewhere(opened.name)
            head = self._conversations.get(self._user_id, target)
        life = head.life if head else f"{self._session.transfer.id}-{number}"
        next_seq = head.next_seq if head else 1
        return opened.model_copy(update={"target": target, "life": life, "next_seq": next_seq})

    def _unknown(self, opened: OpenConversation, run: Sequence[Said]) -> list[Said]:
        """Return the messages that the conversation of this id does not hold already."""
        if opened.target == opened.name:
            return list(run)
        refs = [(opened.name, one.line.id) for one in run if one.line.id]
        known = self._conversations.get_messages(self._user_id, refs) if refs else {}
        return [one for one in run if (opened.name, one.line.id) not in known]

    def _stored(self, opened: OpenConversation, run: Sequence[Said]) -> int | None:
        """Append what of a run is not there yet; return the next place, or None if it was deleted.

        What a worker stored before it broke off is found by the unique parts of the ids.
        """
        target = opened.target or opened.name
        head = self._conversations.get(self._user_id, target)
        if (head is None and opened.next_seq > 1) or (head and head.life != opened.life):
            return None
        now = self._clock.now()
        first = opened.created_at or run[0].line.created_at
        lease = self._conversations.acquire(
            self._user_id,
            Conversation(
                id=target,
                title=opened.title or "",
                agent_id=opened.agent_id,
                created_at=min(first, now),
                last_activity_at=now,
                life=opened.life,
            ),
            now=now,
            until=now + timedelta(seconds=LEASE_SECONDS),
        )
        if lease is None:
            raise ConflictError("Someone else writes to the conversation.", code=BUSY)
        head = self._conversations.get(self._user_id, target)
        if head is None or lease.life != opened.life:
            return None
        done = set(self._uniques(target, opened.next_seq - 1))
        missing = [one for one in run if self._unique(one) not in done]
        messages = self._messages(head, missing)
        try:
            self._conversations.append(self._user_id, lease, messages, at=now, index=True)
        except ConflictError as error:
            raise ConflictError("Someone else writes to the conversation.", code=BUSY) from error
        self._conversations.release(self._user_id, lease)
        return head.next_seq + len(messages)

    def _messages(self, head: Conversation, run: Sequence[Said]) -> list[Message]:
        parent, made = head.active_leaf_id, []
        for seq, one in enumerate(run, head.next_seq):
            line = one.line
            message = Message(
                id=message_id(seq, self._unique(one)),
                conversation_id=head.id,
                seq=seq,
                parent_id=parent,
                role=line.said_by,
                speaker=line.speaker,
                content=line.content,
                tool_calls=line.tool_calls,
                tool_call_id=line.tool_call_id,
                agent_id=line.agent_id,
                model_id=line.model_id,
                usage=line.usage,
                stop_reason=line.stop_reason,
                created_at=min(line.created_at, self._clock.now()),
            )
            made.append(message)
            parent = message.id
        return made

    def _uniques(self, conversation_id: str, after_seq: int) -> Iterable[str]:
        position = None
        while True:
            page = self._conversations.messages(
                self._user_id,
                conversation_id,
                PageRequest(limit=PAGE, position=position),
                after_seq=after_seq,
            )
            yield from (message.id.partition("-")[2] for message in page.items)
            position = page.next_position
            if position is None:
                return

    def _unique(self, one: Said) -> str:
        """Return the unique part of a message's id: that of the file, or one made from its place.

        Either way the same line has the same one, whoever imports it again.
        """
        if one.line.id is not None and seq_of(one.line.id):
            return one.line.id.partition("-")[2]
        return _digest(self._session.transfer.id, str(one.spot.number))

    def _is_ours(self, head: Conversation | None) -> bool:
        return head is not None and head.life.startswith(f"{self._session.transfer.id}-")

    def _elsewhere(self, name: str) -> str:
        return f"imported-{_digest(self._session.transfer.id, name)}"


def whole_rounds(run: Sequence[Said]) -> tuple[list[Said], list[LineError]]:
    """Tell the messages whose tool calls and results are all there from the others.

    Returns:
        Sound messages in order, and why the others can not be taken.
    """
    sound: list[Said] = []
    errors: list[LineError] = []
    for group in _rounds(run):
        calls = sorted(call.id for call in group[0].line.tool_calls)
        results = sorted(one.line.tool_call_id or "" for one in group[1:])
        if group[0].line.said_by is Role.TOOL:
            errors += [_error(one, "tool_result_without_call") for one in group]
        elif calls != results:
            errors += [_error(one, "tool_call_mismatch") for one in group]
        else:
            sound += group
    return sound, errors


def _rounds(run: Sequence[Said]) -> list[list[Said]]:
    grouped: list[list[Said]] = []
    for one in run:
        if grouped and one.line.said_by is Role.TOOL:
            grouped[-1].append(one)
        else:
            grouped.append([one])
    return grouped


_DETAILS = {
    "tool_result_without_call": "No message before it asks for this call.",
    "tool_call_mismatch": "The calls of the message and the results after it do not match.",
    "conversation_deleted": "The conversation was deleted while it was imported.",
}


def _error(one: Said, code: str) -> LineError:
    return line_error(one.spot.number, code, _DETAILS[code])


def _digest(*parts: str) -> str:
    return hashlib.sha256("/".join(parts).encode()).hexdigest()[:26]
