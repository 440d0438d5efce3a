"""What the table makes of what can go wrong between it and DynamoDB."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import pytest
from botocore.exceptions import ReadTimeoutError
from botocore.httpsession import URLLib3Session

from tests.contract.emulated import new_table
from tests.contract.faults import hooked, refused
from tests.contract.memories import NOW
from threadkeep.domain.retrieval import DocumentKind
from threadkeep.errors import (
    ConflictError,
    PayloadTooLargeError,
    StorageFullError,
    ThreadkeepError,
    UnavailableError,
)
from threadkeep.ports import Pending
from threadkeep.storage import keys
from threadkeep.storage.failures import TransactionCancelledError
from threadkeep.storage.items import Item, PendingItem
from threadkeep.storage.memory_rows import GuardItem
from threadkeep.storage.table import Table
from threadkeep.storage.transactions import MAX_ITEM_BYTES, Transaction

if TYPE_CHECKING:
    from collections.abc import Callable

    from botocore.awsrequest import AWSResponse

USER = keys.user("u1")


def guard(number: int, item_id: str = "x") -> GuardItem:
    """Make a small row."""
    return GuardItem(USER, f"N#{number:04d}", item_id=item_id)


def rows(table: Table) -> list[str]:
    """Return the sort keys of all rows of the user."""
    return [row.sk for row in table.query(USER)]


@pytest.fixture
def no_waiting(monkeypatch: pytest.MonkeyPatch) -> list[float]:
    """Waits between botocore's own tries, which pass at once."""
    waits: list[float] = []
    monkeypatch.setattr("botocore.endpoint.time.sleep", waits.append)
    return waits


@pytest.fixture
def waiting_table(table: Table) -> tuple[Table, list[float]]:
    """A table whose waits pass at once and are kept."""
    waits: list[float] = []
    return Table(
        table.name, region="us-east-1", endpoint=_endpoint(table), sleep=waits.append
    ), waits


def _endpoint(table: Table) -> str:
    return str(table.client.meta.endpoint_url)


def test_keys_that_were_not_processed_are_asked_for_again(
    waiting_table: tuple[Table, list[float]],
) -> None:
    # Given a service that answers 30 of the keys it is asked for at a time
    table, waits = waiting_table
    table.batch_write(puts=[guard(n) for n in range(100)])

    def answer_some(parsed: dict[str, Any], **_: Any) -> None:
        found = parsed["Responses"][table.name]
        left = [{name: row[name] for name in ("PK", "SK")} for row in found[30:]]
        del found[30:]
        if left:
            parsed["UnprocessedKeys"] = {table.name: {"Keys": left}}

    before = table.requests
    # When 100 keys are read
    with hooked(table, "after-call.dynamodb.BatchGetItem", answer_some):
        found = table.batch_get((USER, f"N#{n:04d}") for n in range(100))
    # Then each row is there once, after waits that grow and are random within their bound
    assert sorted(row.sk for row in found) == rows(table)
    assert table.requests - before == 4 + 1
    assert len(waits) == 3
    assert all(0 <= wait <= 0.05 * 2**n for n, wait in enumerate(waits))


def test_writes_that_were_not_processed_are_sent_again(
    waiting_table: tuple[Table, list[float]],
) -> None:
    # Given a service that takes 10 of the writes of a batch
    table, waits = waiting_table
    left: list[Any] = []

    def take_some(params: dict[str, Any], **_: Any) -> None:
        left[:] = params["RequestItems"][table.name][10:]
        params["RequestItems"] = {table.name: params["RequestItems"][table.name][:10]}

    def give_back(parsed: dict[str, Any], **_: Any) -> None:
        parsed["UnprocessedItems"] = {table.name: list(left)} if left else {}

    with (
        hooked(table, "provide-client-params.dynamodb.BatchWriteItem", take_some),
        hooked(table, "after-call.dynamodb.BatchWriteItem", give_back),
    ):
        table.batch_write(puts=[guard(n) for n in range(25)])
        assert len(rows(table)) == 25
        table.batch_write(deletes=[(USER, sk) for sk in rows(table)])
    assert rows(table) == []
    assert len(waits) == 4


def test_a_batch_that_is_never_processed_is_given_up(
    waiting_table: tuple[Table, list[float]],
) -> None:
    table, waits = waiting_table
    table.batch_write(puts=[guard(1)])

    def answer_none(parsed: dict[str, Any], **_: Any) -> None:
        parsed["Responses"] = {}
        parsed["UnprocessedKeys"] = {
            table.name: {"Keys": [{"PK": {"S": USER}, "SK": {"S": "N#0001"}}]}
        }

    with (
        hooked(table, "after-call.dynamodb.BatchGetItem", answer_none),
        pytest.raises(UnavailableError) as given_up,
    ):
        table.batch_get([(USER, "N#0001")])
    assert given_up.value.retry_after == 1
    assert len(waits) == 8


@pytest.mark.parametrize(
    "code",
    ["ProvisionedThroughputExceededException", "ThrottlingException", "RequestLimitExceeded"],
)
def test_throttling_is_tried_again_and_then_told(
    table: Table, no_waiting: list[float], code: str
) -> None:
    calls: list[Callable[[], object]] = [
        lambda: table.get(GuardItem, USER, "N#1"),
        lambda: table.batch_get([(USER, "N#1")]),
        lambda: list(table.query(USER)),
        lambda: table.put(guard(1)),
        lambda: table.delete(USER, "N#1"),
        lambda: table.update(USER, "N#1", [GuardItem.item_id.set("y")]),
        lambda: table.batch_write(puts=[guard(1)]),
        lambda: table.transact(_put(guard(1)).writes),
    ]
    for call in calls:
        before = table.requests
        with refused(table, code) as asked, pytest.raises(UnavailableError) as told:
            call()
        assert (told.value.status, told.value.code, told.value.retry_after) == (
            503,
            "unavailable",
            1,
        )
        # The first try and botocore's three more, all counted
        assert len(asked) == table.requests - before == 4
    assert len(no_waiting) == 3 * len(calls)


def test_no_answer_is_told_as_unavailable(table: Table, no_waiting: list[float]) -> None:
    def time_out(**_: Any) -> None:
        raise ReadTimeoutError(endpoint_url="http://table")

    with (
        hooked(table, "before-send.dynamodb", time_out),
        pytest.raises(UnavailableError),
    ):
        table.get(GuardItem, USER, "N#1")
    assert len(no_waiting) == 3


@pytest.mark.parametrize(
    ("reasons", "error", "failed"),
    [
        (["None", "ConditionalCheckFailed"], TransactionCancelledError, (1,)),
        (["TransactionConflict", "None"], TransactionCancelledError, (0,)),
        (["TransactionConflict", "ConditionalCheckFailed"], TransactionCancelledError, (1,)),
        (["ThrottlingError", "ConditionalCheckFailed"], TransactionCancelledError, (1,)),
        (["ThrottlingError", "None"], UnavailableError, None),
        (["None", "ProvisionedThroughputExceeded"], UnavailableError, None),
        (["ItemCollectionSizeLimitExceeded", "None"], StorageFullError, None),
    ],
)
def test_the_reasons_of_a_cancelled_transaction_are_told_apart(
    table: Table, reasons: list[str], error: type[ThreadkeepError], failed: tuple[int, ...] | None
) -> None:
    details = [{"Code": reason, "Message": "no"} for reason in reasons]
    transaction = Transaction()
    transaction.put(guard(1))
    transaction.put(guard(2))
    with (
        refused(table, "TransactionCanceledException", CancellationReasons=details),
        pytest.raises(error) as told,
    ):
        table.transact(transaction.writes)
    assert getattr(told.value, "failed", None) == failed


def test_a_full_partition_is_told_as_such(table: Table) -> None:
    with (
        refused(table, "ItemCollectionSizeLimitExceededException"),
        pytest.raises(StorageFullError) as told,
    ):
        table.put(guard(1))
    assert (told.value.status, told.value.code) == (507, "storage_full")


def test_what_no_caller_can_mend_stays_what_it_is(table: Table) -> None:
    with (
        refused(table, "AccessDeniedException"),
        pytest.raises(Exception, match="AccessDenied") as told,
    ):
        table.put(guard(1))
    assert not isinstance(told.value, ThreadkeepError)


def test_a_transaction_whose_answer_was_lost_is_not_its_own_conflict(
    table: Table, no_waiting: list[float]
) -> None:
    # Given a transaction that takes effect, and whose answer never comes
    sent: list[Any] = []

    def lose_answer(request: Any, **_: Any) -> AWSResponse:
        answer = URLLib3Session().send(request)
        sent.append(json.loads(request.body)["ClientRequestToken"])
        if len(sent) == 1:
            raise ReadTimeoutError(endpoint_url=request.url)
        return answer

    transaction = _put(guard(1), Item.pk.does_not_exist())
    # When it is sent again by botocore
    with hooked(table, "before-send.dynamodb", lose_answer):
        table.transact(transaction.writes)
    # Then it has taken effect once, and that is no conflict
    assert rows(table) == ["N#0001"]
    assert len(sent) == 2
    assert len(set(sent)) == len(no_waiting) == 1
    # While another transaction of the same content is one
    with pytest.raises(ConflictError):
        table.transact(transaction.writes)


def test_what_is_too_large_is_refused_before_it_is_sent(table: Table) -> None:
    before = table.requests
    many = Transaction()
    for number in range(101):
        many.put(guard(number))
    heavy = Transaction()
    for number in range(12):
        heavy.put(guard(number, "x" * 390 * 1024))
    too_large = [
        (many, "transaction_too_large"),
        (heavy, "transaction_too_large"),
        (_put(guard(1, "é" * (MAX_ITEM_BYTES // 2))), "item_too_large"),
    ]
    for transaction, code in too_large:
        with pytest.raises(PayloadTooLargeError) as told:
            table.transact(transaction.writes)
        assert told.value.code == code
    assert table.requests == before


def test_a_query_follows_its_pages(table: Table) -> None:
    table.batch_write(puts=[guard(n, "x" * 60_000) for n in range(40)])
    before = table.requests
    assert rows(table) == [f"N#{n:04d}" for n in range(40)]
    assert table.requests - before >= 3
    # And reads no page that nobody asks for
    before = table.requests
    first = next(iter(table.query(USER, page_size=2, descending=True)))
    assert (first.sk, table.requests - before) == ("N#0039", 1)


def test_a_row_of_another_kind_is_not_taken_for_the_wanted_one(table: Table) -> None:
    mark = PendingItem.of("u1", Pending(DocumentKind.ENTITY, "a", 1, False, NOW))
    table.put(mark)
    assert table.get(GuardItem, mark.pk, mark.sk) is None
    read = table.get(PendingItem, mark.pk, mark.sk)
    assert read is not None
    assert read.to_domain() == mark.to_domain()
    assert int(read.schema) == 1


def test_parallel_calls_keep_their_order_count_for_the_caller_and_tell_the_first_failure(
    table: Table,
) -> None:
    table.batch_write(puts=[guard(n, str(n)) for n in range(20)])

    def read(number: int) -> str:
        found = table.get(GuardItem, USER, f"N#{number:04d}")
        if found is None:
            raise LookupError(number)
        return found.item_id

    before = table.requests
    assert table.parallel(read, range(20)) == [str(n) for n in range(20)]
    assert table.requests - before == 20
    with pytest.raises(LookupError, match="21"):
        table.parallel(read, [1, 21, 22])


def test_two_tables_live_in_one_process(table: Table, emulator: str) -> None:
    other = new_table(emulator)
    table.put(guard(1, "here"))
    other.put(guard(1, "there"))
    found = [one.get(GuardItem, USER, "N#0001") for one in (table, other)]
    assert [row.item_id if row else None for row in found] == ["here", "there"]


def _put(row: Item, condition: Any = None) -> Transaction:
    transaction = Transaction()
    transaction.put(row, condition)
    return transaction
