"""What every producer of extraction jobs does."""

import uuid
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, Protocol

import boto3
import pytest
from botocore.exceptions import ClientError
from moto import mock_aws

from tests.contract.emulated import REGION, ROOT_USER
from tests.contract.stores import NOW
from tests.fakes.queue import FakeExtractionQueue
from threadkeep.domain.extraction import DueExtraction
from threadkeep.errors import UnavailableError
from threadkeep.messaging.extraction_queue import REASON, SqsExtractionQueue
from threadkeep.ports import ExtractionQueue

DUE = DueExtraction(
    user_id="u1",
    conversation_id="c:1",
    agent_id="a1",
    life="l1",
    generation=7,
    due_at=NOW,
    pending_turns=3,
)


class Receiver(Protocol):
    """The other end of the queues."""

    def arrived(self) -> list[DueExtraction]:
        """Return what can be received now."""
        ...

    def delayed(self) -> int:
        """Return how many messages wait."""
        ...

    def dead(self) -> list[tuple[DueExtraction, str]]:
        """Return what was given up, with the reasons."""
        ...


@dataclass
class FakeReceiver:
    """Looks into the fake."""

    queue: FakeExtractionQueue

    def arrived(self) -> list[DueExtraction]:
        """Return what was sent without delay."""
        return [due for due, delay in self.queue.sent if delay == 0]

    def delayed(self) -> int:
        """Return how much was sent with a delay."""
        return sum(1 for _, delay in self.queue.sent if delay > 0)

    def dead(self) -> list[tuple[DueExtraction, str]]:
        """Return what was given up."""
        return self.queue.dead


class SqsReceiver:
    """Receives from SQS, as the worker's event source does."""

    def __init__(self, endpoint: str | None) -> None:
        self._client = boto3.client("sqs", region_name=REGION, endpoint_url=endpoint)
        name = uuid.uuid4().hex
        self.url = self._client.create_queue(QueueName=name)["QueueUrl"]
        self.dead_url = self._client.create_queue(QueueName=f"{name}-dead")["QueueUrl"]

    def arrived(self) -> list[DueExtraction]:
        """Return what can be received."""
        return [DueExtraction.model_validate_json(m["Body"]) for m in self._receive(self.url)]

    def delayed(self) -> int:
        """Return how many messages wait."""
        answer = self._client.get_queue_attributes(QueueUrl=self.url, AttributeNames=["All"])
        return int(answer["Attributes"]["ApproximateNumberOfMessagesDelayed"])

    def dead(self) -> list[tuple[DueExtraction, str]]:
        """Return what is in the dead-letter queue."""
        return [
            (
                DueExtraction.model_validate_json(message["Body"]),
                message["MessageAttributes"][REASON]["StringValue"],
            )
            for message in self._receive(self.dead_url)
        ]

    def _receive(self, url: str) -> list[Any]:
        answer = self._client.receive_message(
            QueueUrl=url, MaxNumberOfMessages=10, MessageAttributeNames=["All"]
        )
        return list(answer.get("Messages", ()))


@pytest.fixture(params=["fake", "emulator", "moto"])
def ends(
    request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch
) -> Iterator[tuple[ExtractionQueue, Receiver]]:
    """Both ends of every queue in turn, empty; moto checks the shapes of the calls."""
    if request.param == "fake":
        queue = FakeExtractionQueue()
        yield queue, FakeReceiver(queue)
        return
    if request.param == "emulator":
        endpoint = request.getfixturevalue("emulator")
        receiver = SqsReceiver(endpoint)
        yield SqsExtractionQueue(receiver.url, receiver.dead_url, endpoint=endpoint), receiver
        return
    for name, value in ROOT_USER.items():
        monkeypatch.setenv(name, value)
    with mock_aws():
        receiver = SqsReceiver(None)
        yield SqsExtractionQueue(receiver.url, receiver.dead_url), receiver


type Ends = tuple[ExtractionQueue, Receiver]


def test_what_is_sent_at_once_arrives_as_it_was(ends: Ends) -> None:
    # Given a due row
    queue, receiver = ends

    # When it is sent without delay, also when it is overdue
    queue.send(DUE, delay_seconds=0)
    queue.send(DUE, delay_seconds=-5)

    # Then it arrives equal, and nothing is given up
    assert receiver.arrived() == [DUE, DUE]
    assert receiver.dead() == []


def test_what_is_sent_with_a_delay_waits(ends: Ends) -> None:
    # Given a due row
    queue, receiver = ends

    # When it is sent with a delay, and with a longer one than the service knows
    queue.send(DUE, delay_seconds=180)
    queue.send(DUE, delay_seconds=3600)

    # Then both wait
    assert receiver.arrived() == []
    assert receiver.delayed() == 2


def test_what_is_given_up_says_why(ends: Ends) -> None:
    # Given a due row
    queue, receiver = ends

    # When it is given up
    queue.dead_letter(DUE, "The model said “nothing” 3 times.")

    # Then it is in the dead-letter queue with the reason, and nowhere else
    assert receiver.dead() == [(DUE, "The model said “nothing” 3 times.")]
    assert receiver.arrived() == []


# What only a real queue can get wrong


@pytest.mark.parametrize("reason", ["", "x" * 300_000])
def test_any_reason_can_be_sent(emulator: str, reason: str) -> None:
    # Given a reason that is empty, or longer than a message can be
    receiver = SqsReceiver(emulator)
    queue = SqsExtractionQueue(receiver.url, receiver.dead_url, endpoint=emulator)

    # When a job is given up for it
    queue.dead_letter(DUE, reason)

    # Then it arrives, with as much of it as fits
    [(due, said)] = receiver.dead()
    assert due == DUE
    assert said == (reason[:1000] or "unknown")


def test_queue_that_does_not_answer_is_unavailable(emulator: str) -> None:
    # Given an address where nothing listens
    nowhere = "http://127.0.0.1:9"
    queue = SqsExtractionQueue(f"{nowhere}/q", f"{nowhere}/d", endpoint=nowhere)

    # When something is sent
    # Then the failure says that a retry may work
    with pytest.raises(UnavailableError):
        queue.send(DUE, delay_seconds=0)
    assert emulator


def test_queue_that_is_not_there_is_a_fault_of_the_deployment(emulator: str) -> None:
    # Given the address of a queue that was never made
    queue = SqsExtractionQueue(f"{emulator}/000000000000/none", "", endpoint=emulator)

    # When something is sent
    # Then the failure is not taken for a passing one
    with pytest.raises(ClientError):
        queue.send(DUE, delay_seconds=0)
