"""A turn of a chat: what a caller sends, what goes to the model, and what comes back."""

from collections.abc import Sequence
from typing import Annotated

from pydantic import Field, StringConstraints

from threadkeep.domain.conversations import Message, Role, Usage
from threadkeep.domain.relations import Relation
from threadkeep.domain.retrieval import EntityHit, Episode
from threadkeep.domain.types import Description, Id, MessageText, Model

TURN_SECONDS = 270
"""Time that a turn may take, answer included."""

DEADLINE_EXCEEDED = "turn_deadline_exceeded"

VariableName = Annotated[str, StringConstraints(pattern=r"^[A-Za-z_][A-Za-z0-9_]{0,63}$")]


class TurnRequest(Model):
    """The body of a chat request."""

    message: MessageText
    conversation_id: Id | None = Field(
        default=None, description="Without one, or with an unused one, a conversation begins."
    )
    parent_message_id: Id | None = Field(
        default=None, description="The message that this one follows: the newest."
    )
    variables: dict[VariableName, Description] | None = Field(
        default=None,
        max_length=64,
        description="Values for the `{{variables}}` of the agent's prompt.",
    )


class Recall(Model):
    """The memory that the model was given with a message."""

    entities: tuple[EntityHit, ...] = ()
    relations: tuple[Relation, ...] = ()
    episodes: tuple[Episode, ...] = ()


class TurnAnswer(Model):
    """The answer of a turn; ``message_id`` is the stored answer's, ``cost`` in US dollars."""

    conversation_id: str
    message_id: str
    content: str
    recall: Recall
    usage: Usage
    cost: float | None = Field(default=None, description="Absent where no price is configured.")
    stable_prefix_sha256: str
    cacheable_tokens: int
    stop_reason: str


def for_model(messages: Sequence[Message]) -> tuple[Message, ...]:
    """Return a transcript as models take it: user and assistant in turns, nothing empty.

    After a failed model call the user's message stands without an answer, and the next one follows
    it. Providers differ in what they do with two user messages in a row (Bedrock refuses them), so
    they are sent as one, apart by an empty line; the transcript keeps both.
    """
    merged: list[Message] = []
    for message in messages:
        if not message.content.strip() and not message.tool_calls:
            continue
        if merged and merged[-1].role is message.role is Role.USER:
            content = f"{merged[-1].content}\n\n{message.content}"
            merged[-1] = message.model_copy(update={"content": content})
        else:
            merged.append(message)
    return tuple(merged)
