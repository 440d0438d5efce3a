"""From a chat turn to its recall through every adapter, on emulated AWS services."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import boto3
import pytest
from moto import mock_aws

from functions.accounts import app as accounts_app
from functions.chat import app as chat_app
from functions.extraction import app as extraction_app
from functions.memories import app as memories_app
from tests.contract.emulated import REGION, description
from tests.fakes.clock import FakeClock
from tests.gateway import Gateway
from tests.world import ALICE, BOB, Http, NamedTokens
from threadkeep.bootstrap import Bootstrap
from threadkeep.settings import Settings

if TYPE_CHECKING:
    from collections.abc import Iterator


@pytest.fixture
def product(monkeypatch: pytest.MonkeyPatch) -> Iterator[Bootstrap]:
    """The product with all its own adapters; time and tokens alone are the test's."""
    monkeypatch.setenv("AWS_DEFAULT_REGION", REGION)
    with mock_aws():
        boto3.client("dynamodb").create_table(TableName="threadkeep", **description())
        boto3.client("s3").create_bucket(Bucket="threadkeep-bodies")
        queues = boto3.client("sqs")
        urls = [queues.create_queue(QueueName=name)["QueueUrl"] for name in ("jobs", "dead")]
        settings = Settings(
            table_name="threadkeep",
            bucket_name="threadkeep-bodies",
            extraction_queue_url=urls[0],
            extraction_dlq_url=urls[1],
        )
        product = Bootstrap(settings=settings, clock=FakeClock(), token_verifier=NamedTokens())
        for app in (accounts_app, chat_app, extraction_app, memories_app):
            monkeypatch.setattr(app, "bootstrap", lambda: product)
        yield product


def learn(product: Bootstrap) -> None:
    """Let the cooldown pass, and hand what the queue holds to the function as Lambda does."""
    clock: Any = product.clock
    clock.advance(seconds=11)
    queues = boto3.client("sqs")
    url = product.settings.extraction_queue_url
    received = queues.receive_message(QueueUrl=url, MaxNumberOfMessages=10)["Messages"]
    records = [
        {"messageId": m["MessageId"], "body": m["Body"], "eventSource": "aws:sqs"} for m in received
    ]
    answer = extraction_app.lambda_handler({"Records": records}, None)
    assert answer == {"batchItemFailures": []}


def test_what_is_said_once_is_recalled_in_another_conversation(product: Bootstrap) -> None:
    # given an agent with memory, and extraction switched on
    http = Http()
    memories = Gateway((memories_app.api, memories_app.lambda_handler))
    changes = {
        "memory_async_extraction_enabled": True,
        "memory_extraction_cooldown_seconds": 10,
        "memory_extraction_max_pending_turns": 1,
    }
    assert http.put("/admin/site-settings", changes, user="root", groups="[admin]").status == 200
    agent = {"name": "Helper", "enable_memory": True, "visibility": "shared"}
    agent_id = http.post("/agents", agent).body["id"]
    assert http.post(f"/agents/{agent_id}/publish").status == 200
    # when
    told = {"message": "I work at Acme and I prefer dark roast coffee", "conversation_id": "one"}
    first = http.post(f"/agents/{agent_id}/chat", told)
    learn(product)
    asked = {"message": "what coffee should I buy?", "conversation_id": "two"}
    mine = http.post(f"/agents/{agent_id}/chat", asked)
    theirs = http.post(f"/agents/{agent_id}/chat", asked, user=BOB)
    # then
    assert (first.status, mine.status, theirs.status) == (200, 200, 200)
    assert "dark roast coffee" in [e["name"] for e in mine.body["recall"]["entities"]]
    assert "dark roast" not in json.dumps(theirs.body)
    stored = memories.get("/memories/entities", user=ALICE).body["items"]
    assert {e["name"] for e in stored} == {"You", "Acme", "dark roast coffee"}
    relations = memories.get("/memories/relations", user=ALICE).body["items"]
    assert {r["relation_type"] for r in relations} == {"works_at", "prefers"}
    assert memories.get("/memories/entities", user=BOB).body == {"items": []}
    (job,) = memories.get("/memories/jobs", user=ALICE).body["items"]
    assert (job["status"], job["stored"], job["model_id"]) == ("done", 4, "offline")
    transcript = http.get("/conversations/one/messages").body["items"]
    assert [m["role"] for m in transcript] == ["user", "assistant"]
    assert transcript[0]["content"] == told["message"]
    assert http.delete("/conversations/one").status == 204
    assert http.get("/conversations/one/messages").status == 404
