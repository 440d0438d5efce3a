"""A turn of a chat: from the user's message to the stored answer."""

from __future__ import annotations

from contextlib import suppress
from datetime import timedelta
from typing import TYPE_CHECKING

from threadkeep.domain.conversations import Conversation, Message, Role, message_id
from threadkeep.domain.prompting import prefix_sha256, system_blocks
from threadkeep.domain.turns import DEADLINE_EXCEEDED, TURN_SECONDS, TurnAnswer
from threadkeep.errors import ConflictError, ModelError, UnavailableError, ValidationError
from threadkeep.ports import PageRequest
from threadkeep.services.agents import require_model
from threadkeep.services.assembly import Turn

if TYPE_CHECKING:
    from collections.abc import Sequence

    from threadkeep.domain.conversations import Lease, Usage
    from threadkeep.domain.models import Models
    from threadkeep.domain.turns import TurnRequest
    from threadkeep.ports import ChatAnswer, ChatModel, Clock, ConversationStore, Ids
    from threadkeep.services.agents import Agents
    from threadkeep.services.assembly import Assembly
    from threadkeep.services.extraction import Extraction
    from threadkeep.services.site_settings import SiteSettings

LEASE_SECONDS = TURN_SECONDS + 30
"""A turn past its deadline still has to store how it ended."""

BUSY_RETRY_SECONDS = 5


class Chat:
    """Answers a user's message: with what was said before, and with what is remembered."""

    def __init__(
        self,
        agents: Agents,
        conversations: ConversationStore,
        assembly: Assembly,
        model: ChatModel,
        extraction: Extraction,
        site_settings: SiteSettings,
        models: Models,
        clock: Clock,
        ids: Ids,
    ) -> None:
        self._agents = agents
        self._conversations = conversations
        self._assembly = assembly
        self._model = model
        self._extraction = extraction
        self._site_settings = site_settings
        self._models = models
        self._clock = clock
        self._ids = ids

    def turn(self, user_id: str, agent_id: str, request: TurnRequest) -> TurnAnswer:
        """Run one turn of a conversation.

        Whatever refuses a turn refuses it before its message is stored. From then on the message
        stays, also when the model fails, and every write is conditioned on the lease.

        Args:
            user_id: Who chats; memory and conversation are this user's, whoever owns the agent.
            agent_id: Agent that answers.
            request: The message and where it belongs.

        Raises:
            NotFoundError: There is no such agent for this user.
            ConflictError: The agent is not published, or another turn of the conversation runs
                (``conversation_busy``).
            ValidationError: The request does not fit the model (``context_length_exceeded``), does
                not follow the newest message (``not_active_leaf``), or the agent's model is not
                known any more (``unknown_model``).
            ModelError: The model does not answer (``model_unavailable``).
            UnavailableError: It did not answer in time (``turn_deadline_exceeded``).
        """
        turn = self._accept(user_id, agent_id, request)
        conversation_id = request.conversation_id or self._ids.new()
        if request.parent_message_id is not None:
            _require_leaf(self._conversations.get(user_id, conversation_id), request)
        lease = self._acquire(turn, conversation_id)
        try:
            return self._run(turn, lease)
        finally:
            # What the turn came to matters more than a lease that runs out by itself.
            with suppress(UnavailableError):
                self._conversations.release(user_id, lease)

    def _accept(self, user_id: str, agent_id: str, request: TurnRequest) -> Turn:
        agent = self._agents.live(user_id, agent_id)
        site = self._site_settings.current()
        model_id = require_model(self._models, agent)
        turn = Turn(
            user_id=user_id,
            agent_id=agent_id,
            agent=agent,
            request=request,
            model_id=model_id,
            budget=self._models.budget(model_id),
            blocks=system_blocks(site.base_instructions, model_id, agent, request.variables or {}),
            site=site,
            started=self._clock.now(),
        )
        self._assembly.require_room(turn, (), reason="newest_turn_over_budget")
        return turn

    def _acquire(self, turn: Turn, conversation_id: str) -> Lease:
        now = turn.started
        lease = self._conversations.acquire(
            turn.user_id,
            Conversation(
                id=conversation_id,
                agent_id=turn.agent_id,
                created_at=now,
                last_activity_at=now,
                life=self._ids.new(),
            ),
            now=now,
            until=now + timedelta(seconds=LEASE_SECONDS),
        )
        if lease is None:
            raise ConflictError(
                "Another turn of this conversation is running.",
                code="conversation_busy",
                retry_after=BUSY_RETRY_SECONDS,
            )
        return lease

    def _run(self, turn: Turn, lease: Lease) -> TurnAnswer:
        user_id, conversation_id = turn.user_id, lease.conversation_id
        head = self._conversations.get(user_id, conversation_id)
        if head is None or head.life != lease.life:
            raise ConflictError("The conversation was deleted.", retry_after=1)
        if turn.request.parent_message_id is not None:
            _require_leaf(head, turn.request)
        history = self._history(user_id, conversation_id)
        used = self._assembly.require_room(turn, history, reason="compression_disabled")

        learnable = self._extraction.learns(turn.agent, turn.site)
        asked = self._question(turn, head, learnable=learnable)
        self._append(turn, lease, asked)
        # The due row is stored before the model is asked, so that no answered turn goes unlearned.
        due = self._extraction.note(user_id, head, asked, turn.site) if learnable else None

        room = turn.budget.input_budget - used
        context, recall = self._assembly.recall(turn, conversation_id, room=room)
        answer = self._ask(turn, lease, asked, history, context)
        answered = self._reply(
            turn,
            asked,
            answer.content,
            answer.stop_reason,
            model_id=answer.model_id,
            usage=answer.usage,
        )
        self._append(turn, lease, answered)
        if due is not None:
            self._extraction.enqueue(due)
        return TurnAnswer(
            conversation_id=conversation_id,
            message_id=answered.id,
            content=answer.content,
            recall=recall,
            usage=answer.usage,
            cost=self._models.cost(turn.model_id, answer.usage),
            stable_prefix_sha256=prefix_sha256(turn.blocks),
            cacheable_tokens=self._assembly.prefix_tokens(turn),
            stop_reason=answer.stop_reason,
        )

    def _ask(
        self,
        turn: Turn,
        lease: Lease,
        asked: Message,
        history: Sequence[Message],
        context: str,
    ) -> ChatAnswer:
        left = (turn.deadline - self._clock.now()).total_seconds()
        try:
            if left <= 0:
                raise ModelError("No time was left to ask the model.")
            return self._model.answer(
                self._assembly.request(turn, [*history, asked], context, timeout_seconds=left)
            )
        except ModelError as error:
            if self._clock.now() < turn.deadline:
                raise
            self._append(turn, lease, self._reply(turn, asked, "", DEADLINE_EXCEEDED))
            raise UnavailableError(
                "The model did not answer in time.", code=DEADLINE_EXCEEDED
            ) from error

    def _history(self, user_id: str, conversation_id: str) -> list[Message]:
        history: list[Message] = []
        page = self._conversations.messages(user_id, conversation_id, PageRequest(limit=100))
        history += page.items
        while page.next_position is not None:
            request = PageRequest(limit=100, position=page.next_position)
            page = self._conversations.messages(user_id, conversation_id, request)
            history += page.items
        return history

    def _append(self, turn: Turn, lease: Lease, message: Message) -> None:
        self._conversations.append(
            turn.user_id,
            lease,
            [message],
            at=message.created_at,
            index=turn.agent.indexes_turns and message.role is Role.USER,
        )

    def _question(self, turn: Turn, head: Conversation, *, learnable: bool) -> Message:
        return Message(
            id=message_id(head.next_seq, self._ids.new()),
            conversation_id=head.id,
            seq=head.next_seq,
            parent_id=head.active_leaf_id,
            role=Role.USER,
            content=turn.request.message,
            agent_id=turn.agent_id,
            created_at=self._clock.now(),
            learnable=learnable,
        )

    def _reply(
        self,
        turn: Turn,
        asked: Message,
        content: str,
        stop_reason: str,
        *,
        model_id: str | None = None,
        usage: Usage | None = None,
    ) -> Message:
        return Message(
            id=message_id(asked.seq + 1, self._ids.new()),
            conversation_id=asked.conversation_id,
            seq=asked.seq + 1,
            parent_id=asked.id,
            role=Role.ASSISTANT,
            content=content,
            agent_id=turn.agent_id,
            model_id=model_id or turn.model_id,
            usage=usage,
            stop_reason=stop_reason,
            created_at=self._clock.now(),
        )


def _require_leaf(head: Conversation | None, request: TurnRequest) -> None:
    if head is None or head.active_leaf_id != request.parent_message_id:
        detail = "is not the newest message of the conversation"
        raise ValidationError(
            f"parent_message_id {detail}.",
            code="not_active_leaf",
            fields=[{"field": "parent_message_id", "code": "not_active_leaf", "detail": detail}],
        )
