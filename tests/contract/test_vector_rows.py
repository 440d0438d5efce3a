"""What every store of vector rows does beyond what the exact back end shows of it."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from tests.contract.stores import NOW
from tests.fakes.vector_rows import FakeVectorRows
from threadkeep.domain.retrieval import Document, DocumentKind
from threadkeep.ports import VectorRow
from threadkeep.storage import keys
from threadkeep.storage.users import DynamoUsers
from threadkeep.storage.vectors import DynamoVectorRows, IndexLogItem

if TYPE_CHECKING:
    from threadkeep.ports import VectorRows
    from threadkeep.storage.items import Item
    from threadkeep.storage.table import Table


@pytest.fixture(params=["fake", "dynamodb"])
def rows(request: pytest.FixtureRequest) -> VectorRows:
    """Every kind of rows in turn, empty."""
    if request.param == "fake":
        return FakeVectorRows()
    return DynamoVectorRows(request.getfixturevalue("table"))


def row(ref: str, generation: str = "") -> VectorRow:
    """Make a row with a vector."""
    document = Document(
        kind=DocumentKind.ENTITY, ref=ref, revision=1, text="x", created_at=NOW, touched_at=NOW
    )
    return VectorRow(document, b"\x00\x3c" * 4, generation)


def test_row_says_what_its_vector_was_made_with(rows: VectorRows) -> None:
    rows.put("u1", [row("a", "old"), row("b", "new")], at=NOW)
    assert {each.document.ref: each.generation for each in rows.load("u1")} == {
        "a": "old",
        "b": "new",
    }
    assert rows.get("u1", ["a"])["a"] == row("a", "old")


def test_estimate_is_near_the_number_of_documents(rows: VectorRows) -> None:
    rows.put("u1", [row(f"e{number}") for number in range(400)], at=NOW)
    rows.put("u10", [row("other")], at=NOW)
    assert rows.estimate("u1") == pytest.approx(400, rel=0.3)
    assert rows.estimate("nobody") == 0


def test_users_are_listed_once_each_by_any_row_they_have(table: Table) -> None:
    # given users whose ids look like keys, one of them with several rows
    for user in ("u1", "u10", "a#b%c/d"):
        table.put(_any_row(user, "one"))
    table.put(_any_row("u1", "two"))
    DynamoVectorRows(table).put("u1", [row("a")], at=NOW)
    assert sorted(DynamoUsers(table).all()) == ["a#b%c/d", "u1", "u10"]


def _any_row(user: str, name: str) -> Item:
    return IndexLogItem(keys.user(user), keys.index_log(NOW, name), batch=name, refs=[], ttl=1)
