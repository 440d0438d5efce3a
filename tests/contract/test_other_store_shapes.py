"""The requests of the stores around conversations are ones that DynamoDB and S3 take.

Twice checked, as for the memory store: against botocore's model of the services, and by moto.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest
from botocore.validate import ParamValidator
from moto import mock_aws

from tests.contract.emulated import REGION, ROOT_USER, description
from tests.contract.stores import (
    NOW,
    USER,
    Stores,
    acquire,
    existing,
    later,
    message,
    new_bucket,
    say,
    services,
    stored_bodies,
    transcript,
)
from threadkeep.domain.agents import Agent, AgentConfig, Visibility
from threadkeep.domain.conversations import Role
from threadkeep.domain.extraction import DueExtraction, Extraction, Job, JobStatus, Plan
from threadkeep.ports import Fresh, PageRequest, Replay, StoredAnswer
from threadkeep.storage.agents import DynamoAgentStore
from threadkeep.storage.blobs import S3Blobs
from threadkeep.storage.conversations import DynamoConversationStore
from threadkeep.storage.extraction import DynamoExtractionStore
from threadkeep.storage.idempotency import DynamoIdempotencyStore
from threadkeep.storage.memory import DynamoMemoryStore
from threadkeep.storage.site_settings import DynamoSettingsStore
from threadkeep.storage.table import Table

if TYPE_CHECKING:
    from collections.abc import Iterator


@pytest.fixture
def stores(monkeypatch: pytest.MonkeyPatch) -> Iterator[Stores]:
    """Stores in moto."""
    for name, value in ROOT_USER.items():
        monkeypatch.setenv(name, value)
    monkeypatch.delenv("AWS_ENDPOINT_URL", raising=False)
    with mock_aws():
        table = Table("shapes", region=REGION)
        table.client.create_table(TableName="shapes", **description())
        blobs = S3Blobs(new_bucket(None))
        yield Stores(
            DynamoConversationStore(table, blobs),
            DynamoExtractionStore(table, blobs),
            DynamoMemoryStore(table),
            blobs,
            table,
        )


@pytest.fixture
def sent(stores: Stores) -> set[str]:
    """The operations that were sent, each request checked against the service's model."""
    operations: set[str] = set()

    def check(params: dict[str, Any], model: Any, **_: Any) -> None:
        report = ParamValidator().validate(params, model.input_shape)
        assert not report.has_errors(), report.generate_report()
        operations.add(model.name)

    for service in services(stores):
        service.client.meta.events.register("provide-client-params", check)
    return operations


def test_requests_of_conversations_and_extraction(stores: Stores, sent: set[str]) -> None:
    conversations, extraction = stores.conversations, stores.extraction
    page = PageRequest(limit=1, with_total=True)
    # When a conversation is led, with every part that it can have
    lease = acquire(stores, agent_id="a1")
    large = message(2, "x" * 400_000, Role.ASSISTANT)
    conversations.append(USER, lease, [message(1), large], at=NOW, index=True)
    conversations.release(USER, lease)
    say(stores, "hello", conversation_id="c2", at=later(hours=1))
    assert conversations.rename(USER, "c1", "title", expected_version=2) is not None
    first = conversations.list(USER, page)
    assert first.total == 2
    rest = conversations.list(USER, PageRequest(position=first.next_position))
    assert [one.id for one in rest.items] == ["c1"]
    assert transcript(stores, limit=1)[1] == large
    assert conversations.get_messages(USER, [("c1", large.id)]) == {("c1", large.id): large}
    life = existing(stores).life
    assert conversations.advance_extracted(USER, "c1", life, from_seq=0, to_seq=2)
    # And it is learned from
    due = DueExtraction(
        user_id=USER, conversation_id="c1", agent_id="a1", life=life, generation=1, due_at=NOW
    )
    assert extraction.put_due(due, replaces=None)
    assert extraction.put_due(due.model_copy(update={"generation": 2}), replaces=1)
    assert len(extraction.overdue(before=later(hours=1), limit=5)) == 1
    assert extraction.clear_due(due.model_copy(update={"generation": 2}))
    job = Job(id="j1", conversation_id="c1", life=life, status=JobStatus.RUNNING, created_at=NOW)
    extraction.put_job(USER, job)
    plan = Plan(to_seq=2, extraction=Extraction(self_name="n" * 400_000))
    assert extraction.save_plan(USER, "j1", plan) == extraction.get_plan(USER, "j1")
    assert extraction.get_job(USER, "j1") == job
    assert extraction.list_jobs(USER, page).total == 1
    # And it is deleted
    assert conversations.delete(USER, "c1", at=NOW)
    conversations.finish_deletion(USER, "c1")
    assert conversations.unfinished_deletions(before=later(hours=1), limit=5) == []
    assert stored_bodies(stores) == []
    # Then these are the operations that a role needs
    assert sent == {
        "BatchGetItem",
        "DeleteObjects",
        "GetItem",
        "GetObject",
        "ListObjectsV2",
        "PutObject",
        "Query",
        "TransactWriteItems",
    }


def test_requests_of_agents_settings_and_idempotency(stores: Stores, sent: set[str]) -> None:
    table, _ = services(stores)
    # When agents are stored, shared, read and deleted
    agents = DynamoAgentStore(table)
    config = AgentConfig(name="a", visibility=Visibility.SHARED)
    draft = Agent(id="a1", owner_id="u1", draft=config, created_at=NOW, updated_at=NOW)
    agents.put(draft, expected_version=None)
    live = draft.model_copy(update={"live": config, "version": 2})
    agents.put(live, expected_version=1)
    assert agents.get("u2", "a1") == live
    assert agents.list("u2") == [live]
    agents.delete(live)
    assert agents.get("u1", "a1") is None
    # And settings are set and reset
    settings = DynamoSettingsStore(table)
    settings.put("flag", True)
    assert settings.all() == {"flag": True}
    settings.reset(["flag"])
    assert settings.all() == {}
    # And requests begin, end and are given back
    records = DynamoIdempotencyStore(table)
    answer = StoredAnswer(200, {"etag": "x"}, "body")
    for end in ("finish", "abandon"):
        fresh = records.begin(
            USER, "POST /x", end, body_hash="b", now=NOW, deadline=later(seconds=30)
        )
        assert isinstance(fresh, Fresh)
        if end == "finish":
            records.finish(USER, "POST /x", end, fresh, answer)
        else:
            records.abandon(USER, "POST /x", end, fresh)
    again = records.begin(
        USER, "POST /x", "finish", body_hash="b", now=NOW, deadline=later(seconds=30)
    )
    assert again == Replay(answer)
    # Then these are the operations that a role needs
    assert sent == {
        "BatchGetItem",
        "BatchWriteItem",
        "GetItem",
        "PutItem",
        "Query",
        "TransactWriteItems",
    }
