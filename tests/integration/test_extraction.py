"""The extraction function: queue messages and the schedule."""

from __future__ import annotations

import copy
import json
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from functions.extraction import app
from functions.memories import app as memories_app
from tests.gateway import Gateway
from tests.world import ALICE, BOB, World, told
from threadkeep.domain.entities import EntityType
from threadkeep.domain.relations import RelationType
from threadkeep.errors import UnavailableError

if TYPE_CHECKING:
    from threadkeep.domain.extraction import DueExtraction

EVENTS = Path(__file__).parents[2] / "events"
QUEUED = json.loads((EVENTS / "extraction.json").read_text())
SCHEDULED = json.loads((EVENTS / "extraction_sweep.json").read_text())


@pytest.fixture
def world(monkeypatch: pytest.MonkeyPatch) -> World:
    made = World()
    made.serve(monkeypatch)
    tea = ("self", RelationType.PREFERS, "tea", EntityType.PREFERENCE, "I like tea")
    made.extractor.readings["I like tea"] = told(tea)
    return made


def queued(*bodies: str) -> dict[str, Any]:
    """Return the event of several messages."""
    records = []
    for number, body in enumerate(bodies):
        record = copy.deepcopy(QUEUED["Records"][0])
        records.append({**record, "messageId": f"m{number}", "body": body})
    return {"Records": records}


def test_event_of_a_conversation_that_is_gone_is_done_with(world: World) -> None:
    assert app.lambda_handler(QUEUED, None) == {"batchItemFailures": []}
    assert world.extractor.calls == []


def test_queue_message_makes_the_worker_learn(world: World) -> None:
    world.say(world.agent(), "I like tea")
    ((due, _),) = world.queue.sent
    world.clock.advance(hours=1)
    answer = app.lambda_handler(queued(due.model_dump_json()), None)
    assert answer == {"batchItemFailures": []}
    assert world.relations() == [("You", "prefers", "tea")]


def test_failed_message_alone_comes_again(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    # given two conversations, the store being out for one of them
    agent = world.agent()
    world.say(agent, "I like tea", "good")
    world.say(agent, "I like tea", "bad")
    sent = [due for due, _ in world.queue.sent]
    world.clock.advance(hours=1)
    get_due = world.extractions.get_due

    def out(user_id: str, conversation_id: str) -> DueExtraction | None:
        if conversation_id == "bad":
            raise UnavailableError
        return get_due(user_id, conversation_id)

    # when
    with monkeypatch.context() as patch:
        patch.setattr(world.extractions, "get_due", out)
        answer = app.lambda_handler(
            queued("no message of ours", *(due.model_dump_json() for due in sent)), None
        )
    # then
    failed = [one["itemIdentifier"] for one in answer["batchItemFailures"]]
    assert failed == ["m0", "m2"]
    heads = {t: world.conversations.get(ALICE, t) for t in ("good", "bad")}
    assert {t: head.extracted_seq for t, head in heads.items() if head} == {"good": 2, "bad": 0}


def test_schedule_queues_what_was_lost(world: World) -> None:
    world.say(world.agent(), "I like tea")
    world.queue.sent.clear()
    assert app.lambda_handler(SCHEDULED, None) == {"queued": 0, "deleted": 0}
    world.clock.advance(hours=1)
    assert app.lambda_handler(SCHEDULED, None) == {"queued": 1, "deleted": 0}
    ((due, delay),) = world.queue.sent
    assert (due.conversation_id, delay) == ("thread-1", 0)


def test_jobs_are_listed_and_read_by_their_owner_only(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    # given
    monkeypatch.setattr(memories_app, "bootstrap", lambda: world.product)
    memories = Gateway((memories_app.api, memories_app.lambda_handler))
    world.say(world.agent(), "I like tea")
    world.settle()
    # when
    (job,) = memories.get("/memories/jobs", user=ALICE).body["items"]
    # then
    assert (job["status"], job["stored"], job["conversation_id"]) == ("done", 2, "thread-1")
    assert "life" not in job
    assert memories.get(f"/memories/jobs/{job['id']}", user=ALICE).body == job
    assert memories.get(f"/memories/jobs/{job['id']}", user=BOB).status == 404
    assert memories.get("/memories/jobs", user=BOB).body == {"items": []}
