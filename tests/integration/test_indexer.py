"""The indexer function: marks from the stream, repairs from the queue."""

from __future__ import annotations

import copy
import json
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from functions.indexer import app
from tests.fakes.repairs import FakeRepairQueue
from tests.search_world import Memory
from tests.world import ALICE, BOB
from threadkeep.storage.items import PendingItem

if TYPE_CHECKING:
    from collections.abc import Sequence

    from threadkeep.domain.retrieval import Document

EVENTS = Path(__file__).parents[2] / "events"
STREAMED = json.loads((EVENTS / "indexer.json").read_text())
REPAIR = json.loads((EVENTS / "indexer_repair.json").read_text())


@pytest.fixture
def repairs() -> FakeRepairQueue:
    return FakeRepairQueue()


@pytest.fixture
def memory(monkeypatch: pytest.MonkeyPatch, repairs: FakeRepairQueue) -> Memory:
    made = Memory(repair_queue=repairs)
    monkeypatch.setattr(app, "bootstrap", lambda: made.product)
    return made


def streamed(memory: Memory, *users: str) -> dict[str, Any]:
    """Return the stream event of all marks of users."""
    records = []
    for user in users:
        for mark in memory.memory.pending(user):
            record = copy.deepcopy(STREAMED["Records"][0])
            record["dynamodb"]["NewImage"] = PendingItem.of(user, mark).serialize()
            records.append(record)
    return {"Records": records}


def repair(user: str, *refs: str) -> dict[str, Any]:
    """Return the event of a repair message."""
    record = copy.deepcopy(REPAIR["Records"][0])
    record["body"] = json.dumps({"user_id": user, "refs": refs})
    return {"Records": [record]}


def test_event_of_something_that_is_gone_is_done_with(
    memory: Memory, repairs: FakeRepairQueue
) -> None:
    assert app.lambda_handler(STREAMED, None) == {"batchItemFailures": []}
    assert app.lambda_handler(REPAIR, None) == {"batchItemFailures": []}
    assert repairs.sent == []


def test_marks_of_several_users_are_indexed_each_for_its_own(memory: Memory) -> None:
    mine, theirs = memory.learn("tea"), memory.learn("tea", BOB)
    app.lambda_handler(streamed(memory, ALICE, BOB), None)
    assert [ref for ref, _ in memory.index.refs(ALICE)] == [mine.id]
    assert [ref for ref, _ in memory.index.refs(BOB)] == [theirs.id]
    assert memory.memory.pending(ALICE) == memory.memory.pending(BOB) == []


def test_rows_of_other_kinds_and_removed_marks_are_passed_over(memory: Memory) -> None:
    memory.learn("tea")
    event = streamed(memory, ALICE)
    other = copy.deepcopy(event["Records"][0])
    other["dynamodb"]["NewImage"]["SK"]["S"] = "E#01KBN4D2V0M1S9Q6R7T8W2X3Y4"
    removed = copy.deepcopy(event["Records"][0])
    del removed["dynamodb"]["NewImage"]
    assert app.lambda_handler({"Records": [other, removed]}, None) == {"batchItemFailures": []}
    assert list(memory.index.refs(ALICE)) == []


def test_one_bad_document_is_queued_and_holds_up_nothing(
    memory: Memory, repairs: FakeRepairQueue, monkeypatch: pytest.MonkeyPatch
) -> None:
    # GIVEN ten entities, one of which the index can not take
    entities = [memory.learn(f"tea {number}") for number in range(10)]
    bad = entities[3].id
    upsert = memory.index.upsert

    def choke(user_id: str, documents: Sequence[Document]) -> None:
        if any(document.ref == bad for document in documents):
            raise RuntimeError("this document is poison")
        upsert(user_id, documents)

    # WHEN the stream brings them all
    with monkeypatch.context() as patch:
        patch.setattr(memory.index, "upsert", choke)
        answer = app.lambda_handler(streamed(memory, ALICE), None)
        again = app.lambda_handler(repair(ALICE, bad), None)
    # THEN the others are indexed, the batch succeeded, and the bad one waits in the queue
    assert answer == {"batchItemFailures": []}
    assert len(list(memory.index.refs(ALICE))) == 9
    assert repairs.sent == [(ALICE, (bad,))]
    assert again == {"batchItemFailures": [{"itemIdentifier": REPAIR["Records"][0]["messageId"]}]}
    # AND it is found all the same, and indexed once that is possible
    assert "tea 3" in memory.names("tea", top_k=50)
    assert app.lambda_handler(repair(ALICE, bad), None) == {"batchItemFailures": []}
    assert len(list(memory.index.refs(ALICE))) == 10


def test_embedder_that_is_out_leaves_marks_to_the_repair_queue(
    memory: Memory, repairs: FakeRepairQueue
) -> None:
    entity = memory.learn("tea")
    memory.embedder.is_out = True
    app.lambda_handler(streamed(memory, ALICE), None)
    assert repairs.sent == [(ALICE, (entity.id,))]
    memory.embedder.is_out = False
    assert app.lambda_handler(repair(ALICE, entity.id), None) == {"batchItemFailures": []}
    assert memory.memory.pending(ALICE) == []


def test_daily_event_sweeps_what_removed_documents_left(
    memory: Memory, monkeypatch: pytest.MonkeyPatch
) -> None:
    swept: list[int] = []

    def sweep(_: object) -> int:
        swept.append(3)
        return 3

    monkeypatch.setattr(type(memory.product.generations), "sweep", sweep)
    event = {"source": "aws.events", "detail-type": "Scheduled Event", "detail": {}}
    assert app.lambda_handler(event, None) == {}
    assert swept == [3]
