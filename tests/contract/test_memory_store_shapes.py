"""The requests of every operation are ones that DynamoDB takes.

Twice checked: against botocore's model of the service, which pynamodb leaves out, and by moto,
which reads the expressions. What they mean is the emulator's to check: moto loses updates.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest
from botocore.validate import ParamValidator
from moto import mock_aws

from tests.contract.emulated import REGION, ROOT_USER, description
from tests.contract.memories import (
    NOW,
    USER,
    commit,
    create,
    entity,
    relation,
    renamed,
    stored,
    stored_relation,
    support,
)
from threadkeep.domain.changes import (
    CreateEntity,
    CreateRelation,
    DeleteRelation,
    Step,
    UpdateEntity,
    UpdateRelation,
)
from threadkeep.domain.entities import EntityType
from threadkeep.domain.relations import Direction, RelationType, close
from threadkeep.errors import ConflictError
from threadkeep.ports import AuditEntry, PageRequest
from threadkeep.storage import keys
from threadkeep.storage.audit import DynamoAuditLog
from threadkeep.storage.memory import DynamoMemoryStore
from threadkeep.storage.memory_evidence import drop_evidence
from threadkeep.storage.table import Table

if TYPE_CHECKING:
    from collections.abc import Iterator

    from threadkeep.domain.changes import Change

WORKS_AT = RelationType.WORKS_AT


@pytest.fixture
def mocked_table(monkeypatch: pytest.MonkeyPatch) -> Iterator[Table]:
    """A table in moto."""
    for name, value in ROOT_USER.items():
        monkeypatch.setenv(name, value)
    monkeypatch.delenv("AWS_ENDPOINT_URL", raising=False)
    with mock_aws():
        table = Table("shapes", region=REGION)
        table.client.create_table(TableName="shapes", **description())
        yield table


@pytest.fixture
def sent(mocked_table: Table) -> set[str]:
    """The operations that were sent, each request checked against the service's model."""
    operations: set[str] = set()

    def check(params: dict[str, Any], model: Any, **_: Any) -> None:
        report = ParamValidator().validate(params, model.input_shape)
        assert not report.has_errors(), report.generate_report()
        operations.add(model.name)

    mocked_table.client.meta.events.register("provide-client-params.dynamodb", check)
    return operations


def test_every_operation_is_one_that_dynamodb_takes(mocked_table: Table, sent: set[str]) -> None:
    store = DynamoMemoryStore(mocked_table)
    page = PageRequest(limit=1)
    # When each write of the store is made, with every part that it can have
    commit(store, CreateEntity(entity("a", expires_at=NOW.replace(year=2030)), support("c/1", "q")))
    create(store, entity("b"), entity("me", "You", entity_type=EntityType.PERSON, is_self=True))
    commit(store, renamed(stored(store, "a"), "x"))
    before = stored(store, "a")
    commit(store, UpdateEntity(before, before, support("c/2", "q")))
    before = stored(store, "a")
    commit(store, UpdateEntity(before, before, dropped="c/2"))
    commit(store, CreateRelation(relation("r", "a", "b", WORKS_AT), support("c/3", "q")))
    first = stored_relation(store, "r")
    ended = close(first, valid_to=NOW, now=NOW)
    second = CreateRelation(relation("s", "a", "me", WORKS_AT))
    commit(store, UpdateRelation(first, ended, support("c/4", "q")), second)
    thread = keys.thread(USER, "c")
    mocked_table.client.put_item(
        TableName=mocked_table.name,
        Item={"PK": {"S": thread}, "SK": {"S": keys.META}, "life": {"S": "life"}},
    )
    for number in range(2):
        commit(store, step=Step("j", "c", "life", number, "done"))
    store.count_accesses(USER, ["a", "b", "none"], NOW)
    drop_evidence(mocked_table, USER, "c", NOW, require=lambda _: None)
    # And each read, first and next page
    assert store.steps(USER, "j") == ["done", "done"]
    assert store.find_by_name(USER, EntityType.CONCEPT, "x") == "a"
    assert store.find_relation(USER, "a", WORKS_AT, "me") == "s"
    assert store.self_id(USER) == "me"
    assert store.get_entities(USER, ["a", "b"], counts=True)["b"].access_count == 1
    assert store.get_items(USER, entity_ids=["a"], relation_ids=["r"])[1].keys() == {"r"}
    assert store.get_entity_with_halves(USER, "a") is not None
    assert store.entity_sources(USER, "a") == {"c/1"}
    assert store.relation_sources(USER, "r") == {"c/3", "c/4"}
    assert len(store.edges(USER, closed=True)) == 2
    halves = store.halves_of(USER, ["a", "b"], direction=Direction.OUTGOING, closed=True, limit=3)
    assert len(halves["a"]) == 2
    assert (
        len(store.halves(USER, "a", direction=Direction.OUTGOING, relation_types=[WORKS_AT])) == 1
    )
    for sort in ("updated", "name"):
        listed = store.list_entities(USER, page, sort=sort, now=NOW, text="x")
        assert len(listed.items) == 1
        listed = store.list_entities(USER, page, sort=sort, now=NOW, entity_type=EntityType.CONCEPT)
        rest = PageRequest(position=listed.next_position)
        assert len(store.list_entities(USER, rest, sort=sort, now=NOW).items) >= 1
    total = PageRequest(with_total=True)
    assert store.list_relations(USER, total, now=NOW, relation_type=WORKS_AT).total == 1
    assert store.list_relations(USER, page, now=NOW, entity_id="me").next_position is None
    assert store.history(USER, "a", total).total == 2
    # And what was made is deleted
    commit(store, DeleteRelation(stored_relation(store, "s")))
    store.delete_entity(USER, stored(store, "a"), at=NOW)
    store.finish_deletion(USER, "a")
    assert store.unfinished_deletions(USER) == frozenset()
    store.clear_pending(USER, store.pending(USER))
    assert store.pending(USER) == []
    # Then these are the operations that a role needs
    assert sent == {
        "BatchGetItem",
        "BatchWriteItem",
        "DeleteItem",
        "GetItem",
        "PutItem",
        "Query",
        "TransactWriteItems",
    }


def test_conditions_are_understood(mocked_table: Table, sent: set[str]) -> None:
    store = DynamoMemoryStore(mocked_table)
    create(store, entity("a"), entity("b"))
    before = stored(store, "a")
    commit(store, renamed(before, "x"))
    refused: list[Change] = [
        CreateEntity(entity("a", "other")),
        CreateEntity(entity("c", "b")),
        renamed(before, "y"),
        renamed(stored(store, "a"), "b"),
        CreateRelation(relation("r", "a", "gone")),
    ]
    for change in refused:
        with pytest.raises(ConflictError):
            commit(store, change)
    assert "TransactWriteItems" in sent


def test_the_audit_log_is_one_put_and_one_query(mocked_table: Table, sent: set[str]) -> None:
    log = DynamoAuditLog(mocked_table)
    entry = AuditEntry("id1", NOW, "admin:x", USER, "GET /x", "request", None)
    log.record(entry)
    assert log.entries(NOW.year, NOW.month, PageRequest()).items == [entry]
    assert sent == {"PutItem", "Query"}
