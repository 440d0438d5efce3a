"""What every store, queue and file store of exports and imports does, and the walks they need."""

from __future__ import annotations

import base64
import json
from dataclasses import dataclass
from datetime import timedelta
from typing import TYPE_CHECKING, Any
from uuid import uuid4

import boto3
import httpx
import pytest

from tests.contract.emulated import REGION
from tests.contract.memories import NOW, USER, commit, create, entity, relation, stored, support
from tests.contract.stores import new_bucket
from tests.fakes.memory import FakeMemoryStore
from tests.fakes.transfers import FakeTransferFiles, FakeTransferQueue, FakeTransferStore
from threadkeep.domain.changes import (
    Advance,
    Change,
    Commit,
    CreateEntity,
    Origin,
    UpdateEntity,
    UpdateRelation,
)
from threadkeep.domain.transfers import (
    Counts,
    LineError,
    OpenConversation,
    Place,
    Transfer,
    TransferKind,
    TransferStatus,
)
from threadkeep.errors import ConflictError, NotFoundError, ValidationError
from threadkeep.messaging.transfer_queue import SqsTransferQueue
from threadkeep.ports import PageRequest
from threadkeep.storage.memory import DynamoMemoryStore
from threadkeep.storage.transfer_files import S3TransferFiles
from threadkeep.storage.transfers import DynamoTransferStore

if TYPE_CHECKING:
    from threadkeep.ports import MemoryStore, TransferFiles, TransferStore

MINUTE = timedelta(minutes=1)


@dataclass(frozen=True)
class Stores:
    """A graph and the jobs that its commits go on with."""

    memory: MemoryStore
    jobs: TransferStore


@pytest.fixture(params=["fake", "dynamodb"])
def stores(request: pytest.FixtureRequest) -> Stores:
    """Every pair of stores in turn, empty."""
    if request.param == "fake":
        memory = FakeMemoryStore()
        return Stores(memory, FakeTransferStore(memory))
    table = request.getfixturevalue("table")
    return Stores(DynamoMemoryStore(table), DynamoTransferStore(table))


@pytest.fixture(params=["fake", "s3"])
def files(request: pytest.FixtureRequest) -> TransferFiles:
    """Every store of files in turn, empty."""
    if request.param == "fake":
        return FakeTransferFiles()
    endpoint = request.getfixturevalue("emulator")
    return S3TransferFiles(new_bucket(endpoint), endpoint=endpoint)


def job(transfer_id: str = "t1", **fields: Any) -> Transfer:
    """Make a record with something in every field."""
    values: dict[str, Any] = {
        "kind": TransferKind.IMPORT,
        "status": TransferStatus.RUNNING,
        "lines": 3,
        "counts": Counts(entities=2),
        "rejected": 1,
        "errors": (LineError(line=3, code="enum", detail="name: ☕"),),
        "created_at": NOW,
        "updated_at": NOW,
        "actor": "admin:root",
        "place": Place(
            offset=7, size=9, etag='"e"', conversation=OpenConversation(name="c", created_at=NOW)
        ),
    }
    return Transfer(id=transfer_id, **(values | fields))


def test_job_reads_back_with_where_it_stands(stores: Stores) -> None:
    stores.jobs.create(USER, job())
    assert stores.jobs.get(USER, "t1") == job()
    assert stores.jobs.get("u10", "t1") is None
    assert stores.jobs.get(USER, "t") is None


def test_job_that_others_went_on_with_is_not_stored(stores: Stores) -> None:
    # given two workers that read the same state
    stores.jobs.create(USER, job())
    mine = stores.jobs.get(USER, "t1")
    assert mine is not None
    # when both go on
    saved = stores.jobs.save(USER, mine.model_copy(update={"lines": 4}))
    with pytest.raises(ConflictError) as late:
        stores.jobs.save(USER, mine.model_copy(update={"lines": 5}))
    # then the first one's stands
    assert late.value.code == "superseded"
    assert stores.jobs.get(USER, "t1") == saved == job(lines=4, revision=2)
    with pytest.raises(ConflictError):
        stores.jobs.save(USER, job("never"))


def test_jobs_are_listed_newest_first_page_by_page(stores: Stores) -> None:
    for number in range(5):
        stores.jobs.create(USER, job(f"t{number}", created_at=NOW + number * MINUTE))
    stores.jobs.create("u10", job("other"))
    first = stores.jobs.list(USER, PageRequest(limit=3, with_total=True))
    assert first.next_position is not None
    rest = stores.jobs.list(USER, PageRequest(limit=3, position=first.next_position))
    assert [one.id for one in (*first.items, *rest.items)] == ["t4", "t3", "t2", "t1", "t0"]
    assert (first.total, rest.next_position) == (5, None)
    with pytest.raises(ValidationError):
        stores.jobs.list(USER, PageRequest(position={"SK": "J#x", "L1": "J#x"}))


def test_commit_and_the_place_after_it_are_one(stores: Stores) -> None:
    # given a job, and another worker's view of it
    stores.jobs.create(USER, job())
    advance = Advance(job(lines=4), ("theirs", "a"))

    def commit_with(change: Change, *changes: Change) -> None:
        stores.memory.commit(USER, Commit(Origin("u"), NOW, (change, *changes), advance=advance))

    # when a line is taken, and taken again by whoever is late
    commit_with(CreateEntity(entity("a")))
    with pytest.raises(ConflictError):
        commit_with(CreateEntity(entity("b")))
    # then it was taken once
    assert stores.jobs.get(USER, "t1") == job(lines=4, revision=2)
    assert stores.jobs.mapped(USER, "t1", ["theirs", "a", "x"]) == {"theirs": "a"}
    assert stores.memory.get_entities(USER, ["a", "b"]).keys() == {"a"}


def test_commit_that_fails_leaves_the_place_as_it_was(stores: Stores) -> None:
    create(stores.memory, entity("a"))
    stores.jobs.create(USER, job())
    taken = Commit(
        Origin("u"),
        NOW,
        (CreateEntity(entity("b", "a")),),
        advance=Advance(job(lines=4), ("x", "b")),
    )
    with pytest.raises(ConflictError):
        stores.memory.commit(USER, taken)
    assert stores.jobs.get(USER, "t1") == job()
    assert stores.jobs.mapped(USER, "t1", ["x"]) == {}


def test_mapped_ids_are_those_of_one_job_and_can_be_forgotten(stores: Stores) -> None:
    for name in ("t1", "t10"):
        stores.jobs.create(USER, job(name))
        advance = Advance(job(name), (f"of {name}", "a"))
        stores.memory.commit(USER, Commit(Origin("u"), NOW, (), advance=advance))
    stores.jobs.forget_mapping(USER, "t1")
    stores.jobs.forget_mapping(USER, "t1")
    assert stores.jobs.mapped(USER, "t1", ["of t1", "of t10"]) == {}
    assert stores.jobs.mapped(USER, "t10", ["of t10"]) == {"of t10": "a"}


def test_walks_pass_everything_once_with_its_sources(stores: Stores) -> None:
    # given entities whose ids begin alike, with relations, sources, and one that is gone
    memory = stores.memory
    create(memory, *(entity(one) for one in ("a", "a.1", "a0", "b", "gone")))
    create(memory, relation("r", "a", "b"), relation("r.1", "a", "a0"), relation("s", "a", "gone"))
    create(memory, entity("a", "other's"), user="u10")
    for turn in ("c/1", "c/2"):
        found = memory.get_entities(USER, ["a"])["a"]
        commit(memory, UpdateEntity(found, found, support(turn, f"said {turn}")))
        known = memory.get_relations(USER, ["r"])["r"]
        commit(memory, UpdateRelation(known, known, support(turn)))
    memory.delete_entity(USER, stored(memory, "gone"), at=NOW)
    # when they are walked from the start and from the middle
    entities = {one.id: supports for one, supports in memory.walk_entities(USER)}
    relations = {one.id: supports for one, supports in memory.walk_relations(USER)}
    # then each comes once, with all that supports it
    assert list(entities) == ["a", "a.1", "a0", "b"]
    assert list(entities["a"]) == [support(turn, f"said {turn}") for turn in ("c/1", "c/2")]
    assert list(relations) == ["r", "r.1"]
    assert [one.source_id for one in relations["r"]] == ["c/1", "c/2"]
    assert [one.id for one, _ in memory.walk_entities(USER, after="a")] == ["a.1", "a0", "b"]
    assert [one.id for one, _ in memory.walk_relations(USER, after="r")] == ["r.1"]


def test_file_is_read_in_stretches_while_it_is_the_same(files: TransferFiles) -> None:
    # given
    assert files.stat(USER, "t/f") is None
    files.put(USER, "t/f", b"0123456789")
    found = files.stat(USER, "t/f")
    assert found is not None
    # when
    read = [files.read(USER, "t/f", start=at, length=4, etag=found.etag) for at in (0, 4, 8)]
    files.put(USER, "t/f", b"other")
    # then
    assert (found.size, read) == (10, [b"0123", b"4567", b"89"])
    with pytest.raises(ConflictError) as changed:
        files.read(USER, "t/f", start=0, length=4, etag=found.etag)
    assert changed.value.code == "upload_changed"
    with pytest.raises(NotFoundError):
        files.read(USER, "t/g", start=0, length=4, etag=found.etag)


def test_parts_of_any_size_become_one_file(files: TransferFiles) -> None:
    sizes = [1, 9 * 1024 * 1024, 0, 8 * 1024 * 1024, 5]
    for number, size in enumerate(sizes):
        files.put(USER, f"t/{number}", bytes([number]) * size)
    for names in (range(5), range(0), range(1)):
        files.join(USER, "t/whole", [f"t/{number}" for number in names])
        expected = b"".join(bytes([number]) * sizes[number] for number in names)
        assert files.get(USER, "t/whole") == expected


def test_queue_gets_whose_job_waits_and_how_long(emulator: str) -> None:
    # given
    sqs = boto3.client("sqs", region_name=REGION, endpoint_url=emulator)
    url = sqs.create_queue(QueueName=f"q{uuid4().hex}")["QueueUrl"]
    queue, fake = SqsTransferQueue(url, endpoint=emulator), FakeTransferQueue()
    # when
    for one in (queue, fake):
        one.send("u#1", "t1", delay_seconds=0)
        one.send("u#1", "t2", delay_seconds=900)
    # then
    received = sqs.receive_message(QueueUrl=url, MaxNumberOfMessages=10).get("Messages", [])
    bodies = [json.loads(message["Body"]) for message in received]
    assert bodies == [{"user_id": "u#1", "transfer_id": "t1"}]
    assert fake.sent == [("u#1", "t1", 0), ("u#1", "t2", 900)]


# What only a real store can get wrong


def test_addresses_work_without_credentials_and_for_their_file_only(emulator: str) -> None:
    # given addresses of one user's files
    files = S3TransferFiles(new_bucket(emulator), endpoint=emulator)
    url, fields = files.upload_form("u/1", "t/upload", seconds=60, max_bytes=10)
    # when a file is posted by the form
    sent = httpx.post(url, data=fields, files={"file": b"0123456789"})
    # then it is that user's file, and its address gives it back as an attachment
    assert sent.status_code in (200, 204), sent.text
    assert files.get("u/1", "t/upload") == b"0123456789"
    assert fields["key"] == "transfers/u-u%2F1/t/upload"
    address = files.download_url("u/1", "t/upload", seconds=60, name="x.jsonl")
    assert httpx.get(address).content == b"0123456789"


def test_form_names_its_file_and_its_limit(emulator: str) -> None:
    # given
    files = S3TransferFiles("bucket", endpoint=emulator)
    # when
    _, fields = files.upload_form(USER, "t/upload", seconds=900, max_bytes=10)
    # then S3 holds whoever has the form to it
    policy = json.loads(base64.b64decode(fields["policy"]))
    assert ["content-length-range", 1, 10] in policy["conditions"]
    assert {"bucket": "bucket"} in policy["conditions"]
    assert {"key": "transfers/u-u1/t/upload"} in policy["conditions"]
