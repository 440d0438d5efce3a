"""The transfers function: its routes, by users and administrators, and its queue messages."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from functions.transfers import app
from tests.gateway import NO_ONE
from tests.transfer_world import ALICE, BOB, TransferWorld, essence
from threadkeep.domain.transfers import MAX_UPLOAD_BYTES, Transfer, TransferKind, TransferStatus
from threadkeep.errors import UnavailableError

if TYPE_CHECKING:
    from tests.gateway import Gateway

EVENTS = Path(__file__).parents[2] / "events"
EXPORT, IMPORT, TRANSFERS = "/memories/export", "/memories/import", "/memories/transfers"


@pytest.fixture
def world() -> TransferWorld:
    return TransferWorld()


@pytest.fixture
def api(world: TransferWorld, monkeypatch: pytest.MonkeyPatch) -> Gateway:
    return world.gateway(monkeypatch)


def event(user: str, transfer_id: str) -> dict[str, Any]:
    """Return the event of a queue message."""
    found: dict[str, Any] = json.loads((EVENTS / "transfers.json").read_text())
    found["Records"][0]["body"] = json.dumps({"user_id": user, "transfer_id": transfer_id})
    return found


def test_event_runs_the_job_that_it_names(world: TransferWorld, api: Gateway) -> None:
    # given the job of the event
    sent = json.loads((EVENTS / "transfers.json").read_text())
    named = json.loads(sent["Records"][0]["body"])
    now = world.clock.now()
    job = Transfer(
        id=named["transfer_id"],
        kind=TransferKind.EXPORT,
        status=TransferStatus.QUEUED,
        created_at=now,
        updated_at=now,
        actor="user",
    )
    world.jobs.create(named["user_id"], job)
    # when
    answer = app.lambda_handler(sent, None)
    # then
    assert answer == {"batchItemFailures": []}
    assert world.done(named["user_id"], job.id)
    assert api.get(f"{TRANSFERS}/{job.id}", user=named["user_id"]).body["status"] == "done"


def test_memory_moves_from_one_user_to_another(world: TransferWorld, api: Gateway) -> None:
    # given
    acme = world.entity("Acme", ALICE, entity_type="organization").id
    world.relation(world.entity("Ann", ALICE, entity_type="person").id, acme, user=ALICE)
    # when Alice exports
    asked = api.post(EXPORT, user=ALICE)
    app.lambda_handler(event(ALICE, asked.body["id"]), None)
    exported = api.get(f"{TRANSFERS}/{asked.body['id']}", user=ALICE).body
    # and Bob uploads and starts the import
    prepared = api.post(IMPORT, user=BOB)
    key = prepared.body["upload"]["fields"]["key"].removeprefix(f"{BOB}/")
    world.files.put(BOB, key, world.files.get(ALICE, f"{asked.body['id']}/export.jsonl"))
    started = api.post(f"{IMPORT}/{prepared.body['id']}/start", user=BOB)
    app.lambda_handler(event(BOB, started.body["id"]), None)
    # then
    assert (asked.status, asked.body["status"]) == (202, "queued")
    assert exported["download"]["url"].startswith(f"memory:///{ALICE}/")
    assert (prepared.status, prepared.body["status"]) == (201, "awaiting_upload")
    assert prepared.body["upload"]["max_bytes"] == MAX_UPLOAD_BYTES
    assert (started.status, started.body["status"]) == (202, "queued")
    done = api.get(f"{TRANSFERS}/{started.body['id']}", user=BOB).body
    assert (done["status"], done["created"], done["rejected"]) == ("done", 3, 0)
    assert "upload" not in done
    assert "download" not in done
    assert essence(world.export(BOB)) == essence(world.export(ALICE))
    assert not {"place", "actor", "revision", "user_id"} & done.keys()


def test_export_can_be_downloaded_for_a_day(world: TransferWorld, api: Gateway) -> None:
    # given
    job = api.post(EXPORT, user=ALICE).body["id"]
    app.lambda_handler(event(ALICE, job), None)
    # then
    assert "download" in api.get(f"{TRANSFERS}/{job}", user=ALICE).body
    world.clock.advance(hours=24)
    assert "download" not in api.get(f"{TRANSFERS}/{job}", user=ALICE).body


def test_jobs_are_listed_newest_first_without_addresses(api: Gateway) -> None:
    first, second = (api.post(path, user=ALICE).body["id"] for path in (EXPORT, IMPORT))
    api.post(EXPORT, user=BOB)
    listed = api.get(TRANSFERS, user=ALICE, query={"page": "1"}).body
    assert [one["id"] for one in listed["items"]] == [second, first]
    assert listed["total"] == 2
    assert not any("upload" in one or "download" in one for one in listed["items"])


def test_nobody_else_finds_a_job(api: Gateway) -> None:
    # given
    job = api.post(IMPORT, user=ALICE).body["id"]
    # then
    for user, status in ((BOB, 404), (NO_ONE, 401)):
        assert api.get(f"{TRANSFERS}/{job}", user=user).status == status
        assert api.post(f"{IMPORT}/{job}/start", user=user).status == status
    assert api.get(f"/admin/users/{ALICE}{TRANSFERS}", user=BOB).status == 403


def test_import_that_is_not_ready_or_over_says_so(api: Gateway) -> None:
    job = api.post(IMPORT, user=ALICE).body["id"]
    early = api.post(f"{IMPORT}/{job}/start", user=ALICE)
    assert (early.status, early.code) == (409, "not_uploaded")
    export = api.post(EXPORT, user=ALICE).body["id"]
    other = api.post(f"{IMPORT}/{export}/start", user=ALICE)
    assert (other.status, other.code) == (404, "not_found")


def test_body_is_refused(api: Gateway) -> None:
    for path in (EXPORT, IMPORT):
        answer = api.post(path, {"user_id": BOB}, user=ALICE)
        assert (answer.status, answer.code) == (422, "unexpected_body")


def test_administrator_acts_for_a_user_and_is_audited(world: TransferWorld, api: Gateway) -> None:
    # given
    world.entity("Acme", ALICE)
    base = f"/admin/users/{ALICE}"
    # when an administrator exports and imports for Alice
    export = api.post(base + EXPORT, user="root", groups="[admin]").body["id"]
    app.lambda_handler(event(ALICE, export), None)
    shown = api.get(f"{base}{TRANSFERS}/{export}", user="root", groups="[admin]").body
    prepared = api.post(base + IMPORT, user="root", groups="[admin]").body["id"]
    line = b'{"type":"entity","name":"Ann","entity_type":"person","id":"ann"}'
    world.files.put(ALICE, f"{prepared}/upload.jsonl", line)
    api.post(f"{base}{IMPORT}/{prepared}/start", user="root", groups="[admin]")
    app.lambda_handler(event(ALICE, prepared), None)
    # then it is Alice's, and both the acts and the history say who it was
    assert shown["status"] == "done"
    assert [one.action for one in world.audit.kept] == [
        "POST /admin/users/{user_id}/memories/export",
        "GET /admin/users/{user_id}/memories/transfers/{transfer_id}",
        "POST /admin/users/{user_id}/memories/import",
        "POST /admin/users/{user_id}/memories/import/{transfer_id}/start",
    ]
    assert {(one.actor, one.user_id) for one in world.audit.kept} == {("admin:root", ALICE)}
    (change,) = [line for line in world.export(ALICE) if line.get("item_id") == "ann"]
    assert (change["actor"], change["source"]) == ("admin:root", f"import/{prepared}")


def test_message_comes_again_when_a_store_is_out(
    world: TransferWorld, api: Gateway, monkeypatch: pytest.MonkeyPatch
) -> None:
    # given
    job = api.post(EXPORT, user=ALICE).body["id"]

    def fail(*_: object, **__: object) -> None:
        raise UnavailableError

    monkeypatch.setattr(world.files, "put", fail)
    # when
    answer = app.lambda_handler(event(ALICE, job), None)
    # then
    sent = event(ALICE, job)["Records"][0]
    assert answer == {"batchItemFailures": [{"itemIdentifier": sent["messageId"]}]}
    assert world.job(ALICE, job).status is TransferStatus.RUNNING
