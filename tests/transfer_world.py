"""Exports and imports on in-memory stores: filling a memory, delivering messages, comparing."""

from __future__ import annotations

import json
from collections import Counter
from datetime import timedelta
from typing import TYPE_CHECKING, Any

from functions.transfers import app as transfers_app
from tests.fakes.ids import SequentialIds
from tests.fakes.transfers import FakeTransferFiles, FakeTransferQueue, FakeTransferStore
from tests.gateway import Gateway
from tests.memory_world import MemoryWorld
from threadkeep.domain.changes import Commit, Origin, Support, UpdateEntity, UpdateRelation
from threadkeep.domain.conversations import Conversation, Message, Role, message_id
from threadkeep.domain.entities import Evidence
from threadkeep.domain.relations import RelationType
from threadkeep.domain.transfers import TransferStatus
from threadkeep.ports import PageRequest
from threadkeep.services.transfers import export_key, upload_key

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    import pytest

    from tests.crashes import Crashes
    from tests.fakes.conversations import FakeConversationStore
    from threadkeep.domain.transfers import Transfer

ALICE, BOB = "alice", "bob"
A_WHILE = timedelta(hours=1)


class TransferWorld(MemoryWorld):
    """The memory part of the product with exports and imports.

    Args:
        crashes: Where workers die; by default nowhere.
    """

    def __init__(self, crashes: Crashes | None = None) -> None:
        self.files = FakeTransferFiles()
        self.queue = FakeTransferQueue()
        super().__init__(
            transfer_files=self.files, transfer_queue=self.queue, ids=SequentialIds("new")
        )
        self.conversations: FakeConversationStore = self.product.conversation_store  # type: ignore[assignment]
        self.jobs = FakeTransferStore(self.store)
        self.product.__dict__["transfer_store"] = self.jobs
        if crashes is not None:
            self.crashing(crashes)

    def crashing(self, crashes: Crashes) -> None:
        """Let the worker's calls to all stores pass through the fault injector."""
        parts = {
            name: crashes.wrap(self.product.__dict__[name])
            for name in ("memory_store", "conversation_store", "transfer_store", "transfer_files")
        }
        built = ("transfer_worker", "entity_statements", "relation_statements")
        kept = {name: self.product.__dict__[name] for name in parts}
        self.product.__dict__.update(parts)
        self.worker = self.product.transfer_worker
        self.product.__dict__.update(kept)
        for name in built:
            self.product.__dict__.pop(name, None)

    def say(self, user: str, conversation: str, *said: tuple[Role, str], title: str = "") -> None:
        """Store messages with a minute between them."""
        now = self.clock.now()
        head = Conversation(
            id=conversation,
            title=title,
            created_at=now,
            last_activity_at=now,
            life=f"life-{conversation}",
        )
        lease = self.conversations.acquire(user, head, now=now, until=now + A_WHILE)
        assert lease is not None
        there = self.conversations.get(user, conversation)
        assert there is not None
        messages = [
            Message(
                id=message_id(seq, f"{conversation}{seq}".replace("-", "")),
                conversation_id=conversation,
                seq=seq,
                role=role,
                content=text,
                created_at=self.clock.now(),
            )
            for seq, (role, text) in enumerate(said, there.next_seq)
        ]
        self.conversations.append(user, lease, messages, at=now)
        self.conversations.release(user, lease)

    def support(self, user: str, item_id: str, turn: str, quote: str = "so it is") -> None:
        """Count a source for an entity or relation."""
        now = self.clock.now()
        evidence = Evidence(turn=turn, speaker="user", date=now, quote=quote)
        entity = self.store.get_entities(user, [item_id]).get(item_id)
        relation = self.store.get_relations(user, [item_id]).get(item_id)
        support = Support(turn, evidence)
        change = UpdateEntity(entity, entity, support) if entity else None
        if relation:
            change = UpdateRelation(relation, relation, support)  # type: ignore[assignment]
        assert change is not None
        self.store.commit(user, Commit(Origin("extraction", turn), now, (change,)))

    def deliver(self, user: str, transfer_id: str, *, slice_seconds: float = 1e6) -> None:
        """Have the worker take one message of a job."""
        until = self.clock.now() + timedelta(seconds=slice_seconds)
        worker = getattr(self, "worker", None) or self.product.transfer_worker
        worker.run(user, transfer_id, until=until)

    def finish(self, user: str, transfer_id: str, *, slice_seconds: float = 1e6) -> None:
        """Deliver messages of a job until it is through."""
        for _ in range(1000):
            if not self.job(user, transfer_id).is_waiting:
                return
            self.deliver(user, transfer_id, slice_seconds=slice_seconds)
        raise AssertionError("the job never ends")

    def export(self, user: str) -> list[dict[str, Any]]:
        """Export a user's memory and return the lines."""
        job = self.product.transfers.start_export(user, Origin(f"user:{user}"))
        self.finish(user, job.id)
        return self.exported(user, job.id)

    def exported(self, user: str, transfer_id: str) -> list[dict[str, Any]]:
        """Return the lines of a finished export."""
        body = self.files.get(user, export_key(transfer_id))
        return [json.loads(line) for line in body.splitlines()]

    def upload(self, user: str, lines: Iterable[Mapping[str, Any] | bytes]) -> str:
        """Upload a file and queue its import; return the job's id."""
        job = self.product.transfers.prepare_import(user, Origin(f"user:{user}"))
        body = b"\n".join(
            line if isinstance(line, bytes) else json.dumps(line).encode() for line in lines
        )
        self.files.put(user, upload_key(job.id), body)
        self.product.transfers.start(user, job.id)
        return job.id

    def take(self, user: str, lines: Iterable[Mapping[str, Any] | bytes]) -> Transfer:
        """Import lines and return the finished job."""
        job_id = self.upload(user, lines)
        self.finish(user, job_id)
        return self.job(user, job_id)

    def job(self, user: str, transfer_id: str) -> Transfer:
        """Return a job that must be there."""
        job = self.jobs.get(user, transfer_id)
        assert job is not None
        return job

    def done(self, user: str, transfer_id: str) -> bool:
        """Tell whether a job is through."""
        return self.job(user, transfer_id).status is TransferStatus.DONE

    def talk(self, user: str, conversation: str) -> list[Message]:
        """Return a conversation's messages."""
        page = self.conversations.messages(user, conversation, PageRequest(limit=100))
        return list(page.items)

    def gateway(self, monkeypatch: pytest.MonkeyPatch) -> Gateway:
        """Return the function behind the gateway."""
        monkeypatch.setattr(transfers_app, "bootstrap", lambda: self.product)
        return Gateway((transfers_app.api, transfers_app.lambda_handler))


VOLATILE = {"provenance", "exported_at"}


def essence(lines: Iterable[Mapping[str, Any]]) -> Counter[str]:
    """Return what an export says, whatever the ids are under which it says so.

    Entities stand for themselves by type and name; history is each memory's own.
    """
    found = [dict(line) for line in lines if line["type"] != "history"]
    names = {
        line["id"]: f"{line['entity_type']}/{line['name']}"
        for line in found
        if line["type"] == "entity"
    }
    relations = {
        line["id"]: "/".join(
            (
                names[line["source_entity_id"]],
                line["relation_type"],
                names[line["target_entity_id"]],
                line["valid_from"],
            )
        )
        for line in found
        if line["type"] == "relation"
    }
    known = names | relations
    for line in found:
        for field in ("source_entity_id", "target_entity_id", "item_id"):
            if field in line:
                line[field] = known[line[field]]
        if line["type"] in ("entity", "relation"):
            del line["id"]
        for field in VOLATILE & line.keys():
            del line[field]
    return Counter(json.dumps(line, sort_keys=True) for line in found)


USER, ASSISTANT = Role.USER, Role.ASSISTANT
TALK = [(USER, "I work at Acme"), (ASSISTANT, "Noted."), (USER, "and I prefer dark roast")]


def filled(world: TransferWorld, user: str = ALICE) -> TransferWorld:
    """Give a user's memory one of everything."""
    world.say(user, "talk-1", *TALK, title="Work and coffee")
    own = world.entity("You", user, entity_type="person", description="Likes coffee.")
    acme = world.entity("Acme", user, entity_type="organization", properties={"size": 7, "x": None})
    globex = world.entity("Globex", user, entity_type="organization", importance=0.9)
    roast = world.entity("dark roast", user, entity_type="preference")
    world.entity("dark  ROAST", user, entity_type="preference", description="No sugar.")
    world.relation(own.id, globex.id, RelationType.WORKS_AT, user)
    works = world.relation(own.id, acme.id, RelationType.WORKS_AT, user, properties={"a": [1]})
    prefers = world.relation(own.id, roast.id, RelationType.PREFERS, user)
    turn = f"talk-1/{world.talk(user, 'talk-1')[0].id}"
    other = f"talk-1/{world.talk(user, 'talk-1')[2].id}"
    for item_id in (acme.id, works.id, roast.id, prefers.id):
        world.support(user, item_id, turn, "I work")
    world.support(user, roast.id, other, "dark roast")
    return world


def entity(name: str, **fields: Any) -> dict[str, Any]:
    """Make a line of an entity."""
    return {"type": "entity", "name": name, "entity_type": "concept", **fields}


def said(text: str, conversation: str = "c1", **fields: Any) -> dict[str, Any]:
    """Make a line of a transcript."""
    times = {"created_at": "2024-05-01T10:00:00Z"}
    return {
        "type": "message",
        "conversation": conversation,
        "speaker": "Ann",
        "content": text,
        **times,
        **fields,
    }
