"""The stores around conversations, in memory and on the emulator, and what the suites put in."""

from __future__ import annotations

import uuid
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING, Any

import boto3

from tests.contract.emulated import REGION
from tests.contract.memories import commit, entity, relation, support
from tests.fakes.blobs import FakeBlobs
from tests.fakes.conversations import FakeConversationStore
from tests.fakes.extraction import FakeExtractionStore
from tests.fakes.memory import FakeMemoryStore
from threadkeep.domain.changes import CreateEntity, CreateRelation, Step
from threadkeep.domain.conversations import (
    Conversation,
    Lease,
    Message,
    Role,
    ToolCall,
    message_id,
)
from threadkeep.domain.extraction import DueExtraction, Extraction, Job, JobStatus, Plan
from threadkeep.ports import PageRequest
from threadkeep.storage.blobs import S3Blobs
from threadkeep.storage.conversations import DynamoConversationStore
from threadkeep.storage.extraction import DynamoExtractionStore
from threadkeep.storage.memory import DynamoMemoryStore

if TYPE_CHECKING:
    import pytest

    from threadkeep.domain.changes import Change
    from threadkeep.ports import Blobs, ConversationStore, ExtractionStore, MemoryStore
    from threadkeep.storage.table import Table

KINDS = ["fake", "dynamodb"]
NOW = datetime(2026, 3, 1, 12, tzinfo=UTC)
USER = "u1"


@dataclass(frozen=True)
class Stores:
    """Stores that share one user's data.

    Attributes:
        table: The table behind them, if there is one.
    """

    conversations: ConversationStore
    extraction: ExtractionStore
    memory: MemoryStore
    blobs: Blobs
    table: Table | None = None


def open_stores(request: pytest.FixtureRequest) -> Stores:
    """Return empty stores of the kind that a fixture's parameter names."""
    if request.param == "fake":
        return fake_stores()
    return real_stores(request.getfixturevalue("table"), request.getfixturevalue("emulator"))


def fake_stores() -> Stores:
    """Return empty stores in memory."""
    memory = FakeMemoryStore()
    conversations = FakeConversationStore(memory)
    memory.join(conversations)
    return Stores(conversations, FakeExtractionStore(conversations), memory, FakeBlobs())


def real_stores(table: Table, endpoint: str) -> Stores:
    """Return stores on a table, with a bucket of their own."""
    blobs = S3Blobs(new_bucket(endpoint), endpoint=endpoint)
    return Stores(
        DynamoConversationStore(table, blobs),
        DynamoExtractionStore(table, blobs),
        DynamoMemoryStore(table),
        blobs,
        table,
    )


def new_bucket(endpoint: str | None) -> str:
    """Make an empty bucket."""
    name = f"contract-{uuid.uuid4().hex}"
    boto3.client("s3", region_name=REGION, endpoint_url=endpoint).create_bucket(Bucket=name)
    return name


def later(**by: float) -> datetime:
    """Return a time after ``NOW``."""
    return NOW + timedelta(**by)


def conversation(conversation_id: str = "c1", **fields: Any) -> Conversation:
    """Make the head of a conversation that is about to begin."""
    values = {"created_at": NOW, "last_activity_at": NOW, "life": uuid.uuid4().hex} | fields
    return Conversation(id=conversation_id, **values)


def message(seq: int, content: str = "", role: Role = Role.USER, **fields: Any) -> Message:
    """Make a message of ``c1`` or another conversation, at a place."""
    values = {"conversation_id": "c1", "created_at": NOW} | fields
    values.setdefault("id", message_id(seq, uuid.uuid4().hex))
    return Message(seq=seq, role=role, content=content or f"text {seq}", **values)


def acquire(
    stores: Stores,
    conversation_id: str = "c1",
    *,
    user: str = USER,
    now: datetime = NOW,
    seconds: float = 60,
    **fields: Any,
) -> Lease:
    """Take a lease that must be free."""
    lease = stores.conversations.acquire(
        user,
        conversation(conversation_id, **fields),
        now=now,
        until=now + timedelta(seconds=seconds),
    )
    assert lease is not None
    return lease


def say(
    stores: Stores,
    *contents: str,
    conversation_id: str = "c1",
    user: str = USER,
    at: datetime = NOW,
    index: bool = False,
) -> list[Message]:
    """Store messages of the user in a turn of their own."""
    lease = acquire(stores, conversation_id, user=user, now=at, created_at=at)
    head = existing(stores, conversation_id, user)
    messages = [
        message(head.next_seq + place, content, conversation_id=conversation_id)
        for place, content in enumerate(contents)
    ]
    stores.conversations.append(user, lease, messages, at=at, index=index)
    stores.conversations.release(user, lease)
    return messages


def existing(stores: Stores, conversation_id: str = "c1", user: str = USER) -> Conversation:
    """Return the head of a conversation that must be there."""
    head = stores.conversations.get(user, conversation_id)
    assert head is not None
    return head


def transcript(
    stores: Stores, conversation_id: str = "c1", *, user: str = USER, limit: int = 100
) -> list[Message]:
    """Read all messages, page by page."""
    found: list[Message] = []
    page = stores.conversations.messages(user, conversation_id, PageRequest(limit=limit))
    found += page.items
    while page.next_position is not None:
        position = page.next_position
        page = stores.conversations.messages(
            user, conversation_id, PageRequest(limit=limit, position=position)
        )
        found += page.items
    return found


def services(stores: Stores) -> tuple[Table, S3Blobs]:
    """Return what real stores are made of, to let a worker die at it."""
    assert stores.table is not None
    assert isinstance(stores.blobs, S3Blobs)
    return stores.table, stores.blobs


def stored_bodies(stores: Stores) -> list[str]:
    """Return the keys of all bodies of real stores."""
    _, blobs = services(stores)
    page = blobs.client.list_objects_v2(Bucket=blobs.bucket)
    return [entry["Key"] for entry in page.get("Contents", ())]


def tool_round(seq: int, results: int, content: str = "") -> list[Message]:
    """Make an assistant message with tool calls, and their results."""
    calls = tuple(ToolCall(id=f"call{n}", name="look_up") for n in range(results))
    return [
        message(seq, "let me see", Role.ASSISTANT, tool_calls=calls),
        *(
            message(seq + 1 + n, content, Role.TOOL, tool_call_id=f"call{n}")
            for n in range(results)
        ),
    ]


def job_of(life: str, job_id: str = "j1", **fields: Any) -> Job:
    """Make a job over c1."""
    values = {"status": JobStatus.RUNNING, "created_at": NOW} | fields
    return Job(id=job_id, conversation_id="c1", life=life, **values)


def due_of(life: str, generation: int = 1) -> DueExtraction:
    """Make a due row of c1."""
    return DueExtraction(
        user_id=USER,
        conversation_id="c1",
        agent_id="a1",
        life=life,
        generation=generation,
        due_at=NOW,
    )


def learn(stores: Stores, source: Message, life: str) -> None:
    """Store two entities and what relates them as a job does, with the words of a message."""
    turn = f"c1/{source.id}"
    stores.extraction.put_due(due_of(life), replaces=None)
    stores.extraction.put_job(USER, job_of(life))
    stores.extraction.save_plan(USER, "j1", Plan(to_seq=1, extraction=Extraction()))
    changes: list[Change] = [
        CreateEntity(entity("me"), support(turn, "I like tea")),
        CreateEntity(entity("tea"), support(turn, "tea")),
        CreateRelation(relation("r1", "me", "tea"), support(turn, "like tea")),
    ]
    for number, change in enumerate(changes):
        commit(stores.memory, change, step=Step("j1", "c1", life, number, "stored"))
