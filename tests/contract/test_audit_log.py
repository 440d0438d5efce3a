"""What every audit log promises."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import TYPE_CHECKING

import pytest

from tests.fakes.audit import FakeAuditLog
from threadkeep.errors import ValidationError
from threadkeep.ports import AuditEntry, PageRequest
from threadkeep.storage.audit import DynamoAuditLog

if TYPE_CHECKING:
    from threadkeep.ports import AuditLog


@pytest.fixture(params=["fake", "dynamodb"])
def audit_log(request: pytest.FixtureRequest) -> AuditLog:
    """Every audit log in turn, empty."""
    if request.param == "fake":
        return FakeAuditLog()
    return DynamoAuditLog(request.getfixturevalue("table"))


def entry(number: int, *, month: int = 3, resource: str | None = None) -> AuditEntry:
    """Make an entry; later numbers are later."""
    return AuditEntry(
        id=f"id{number:03d}",
        at=datetime(2026, month, 1, 12, number // 60, number % 60, tzinfo=UTC),
        actor="admin:root",
        user_id="u1",
        action="GET /memories/entities/{entity_id}",
        request_id=f"request {number}",
        resource=resource,
    )


def test_what_was_recorded_is_found_in_its_month(audit_log: AuditLog) -> None:
    first, second, other = entry(1, resource="e1"), entry(2), entry(3, month=4)
    for one in (first, other, second, second):
        audit_log.record(one)
    assert list(audit_log.entries(2026, 3, PageRequest()).items) == [second, first]
    assert list(audit_log.entries(2026, 4, PageRequest()).items) == [other]
    assert list(audit_log.entries(2025, 3, PageRequest()).items) == []


def test_entries_come_in_pages(audit_log: AuditLog) -> None:
    every = [entry(number) for number in range(11)]
    for one in every:
        audit_log.record(one)
    found: list[AuditEntry] = []
    page = PageRequest(limit=4, with_total=True)
    while True:
        answer = audit_log.entries(2026, 3, page)
        assert answer.total == 11
        found += answer.items
        if answer.next_position is None:
            break
        page = PageRequest(limit=4, position=answer.next_position, with_total=True)
    assert found == every[::-1]


def test_a_position_of_no_page_is_refused(audit_log: AuditLog) -> None:
    audit_log.record(entry(1))
    for position in ({}, {"SK": "\ud800"}, {"elsewhere": "x"}):
        with pytest.raises(ValidationError) as refused:
            audit_log.entries(2026, 3, PageRequest(position=position))
        assert refused.value.code == "invalid_cursor"
