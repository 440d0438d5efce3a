"""The one DynamoDB table: reads, writes and transactions of typed rows, and the meaning of errors.

pynamodb binds a table to a class when the class is made. Here its models only turn rows into
objects and back, and its connection carries the requests, so that a process can use several tables
and nothing is read from the environment at import.
"""

from __future__ import annotations

import random
import threading
import time
import uuid
from functools import cached_property
from itertools import batched
from typing import TYPE_CHECKING, Any

from pynamodb.exceptions import PynamoDBException
from pynamodb.expressions.operand import Path

from threadkeep.errors import ConflictError
from threadkeep.storage import keys
from threadkeep.storage.connection import connect
from threadkeep.storage.failures import is_rejected, overloaded, translated
from threadkeep.storage.items import Item
from threadkeep.storage.paging import invalid_cursor
from threadkeep.storage.transactions import check_sizes
from threadkeep.storage.workers import Workers

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence

    from pynamodb.connection.base import Connection
    from pynamodb.expressions.condition import Condition
    from pynamodb.expressions.update import Action

    from threadkeep.storage.transactions import Write


type Key = tuple[str, str]

_MAX_BATCH_GET = 100
_MAX_BATCH_WRITE = 25
_MAX_TRIES = 8
_FIRST_WAIT_SECONDS = 0.05
_LONGEST_WAIT_SECONDS = 2.0
_WORKERS = 16


class Table:
    """The table and its connection.

    Args:
        name: Name of the table.
        region: Region; by default the environment's, when the first request is made.
        endpoint: Address of the service; by default the environment's.
        sleep: Waits between the tries of what others got in the way of.
    """

    def __init__(
        self,
        name: str,
        *,
        region: str | None = None,
        endpoint: str | None = None,
        sleep: Callable[[float], None] = time.sleep,
    ) -> None:
        self.name = name
        self._region = region
        self._endpoint = endpoint
        self._sleep = sleep
        self._lock = threading.Lock()
        self._workers = Workers(_WORKERS)

    @property
    def requests(self) -> int:
        """Requests sent so far in this context, tries again included; take differences."""
        return self._workers.count.value

    @property
    def client(self) -> Any:
        """The botocore client, for its events."""
        return self._connection.client

    # Reads, all strong

    def get[I: Item](self, kind: type[I], pk: str, sk: str) -> I | None:
        """Read one row; None if there is none or it is of another kind."""
        with translated():
            answer = self._connection.get_item(self.name, pk, sk, consistent_read=True)
        row = answer.get("Item")
        item = Item.from_raw_data(row) if row else None
        return item if isinstance(item, kind) else None

    def batch_get(
        self, wanted: Iterable[Key], *, attributes: Sequence[str] | None = None
    ) -> list[Item]:
        """Read rows, in no order and without the missing ones, in parallel requests of 100."""
        chunks = [
            list(chunk) for chunk in batched(dict.fromkeys(wanted), _MAX_BATCH_GET, strict=False)
        ]
        names = list(attributes) if attributes else None
        found = self.parallel(lambda chunk: self._get_chunk(chunk, names), chunks)
        return [item for items in found for item in items]

    def query(
        self,
        pk: str,
        condition: Condition | None = None,
        *,
        index: str | None = None,
        matching: Condition | None = None,
        attributes: Sequence[str] | None = None,
        page_size: int | None = None,
        after: Mapping[str, str] | None = None,
        descending: bool = False,
    ) -> Iterator[Item]:
        """Yield the rows of a partition in order, reading the next page when it is needed.

        Args:
            pk: Partition.
            condition: Condition on the sort key.
            index: Local index to read.
            matching: Filter on the other attributes; what it drops was read all the same.
            attributes: Attributes to return; by default all that the table or index holds.
            page_size: Rows that the first request reads, each further one twice as many; by default
                and at most 1 MB of them.
            after: Sort keys of the row that the first one follows.
            descending: Whether to read backwards.

        Raises:
            ValidationError: ``after`` lies outside of what is read (``invalid_cursor``).
        """
        start = {keys.PARTITION_KEY: pk, **after} if after else None
        last = {name: {"S": value} for name, value in start.items()} if start else None
        while True:
            try:
                with translated():
                    page = self._connection.query(
                        self.name,
                        pk,
                        condition,
                        filter_condition=matching,
                        attributes_to_get=list(attributes) if attributes else None,
                        consistent_read=True,
                        exclusive_start_key=last,
                        index_name=index,
                        limit=page_size,
                        scan_index_forward=not descending,
                    )
            except PynamoDBException as error:
                if after and is_rejected(error):
                    raise invalid_cursor() from error
                raise
            yield from map(Item.from_raw_data, page.get("Items", ()))
            last = page.get("LastEvaluatedKey")
            if not last:
                return
            page_size = 2 * page_size if page_size else None

    def query_due(self, bucket: str, *, before: str, limit: int) -> list[Key]:
        """Read keys of the global index up to a time; what they lead to must be read again."""
        with translated():
            page = self._connection.query(
                self.name, bucket, Path("due_at") < before, index_name=keys.DUE, limit=limit
            )
        return [
            (row[keys.PARTITION_KEY]["S"], row[keys.SORT_KEY]["S"]) for row in page.get("Items", ())
        ]

    # Writes

    def put(self, item: Item, *, condition: Condition | None = None) -> None:
        """Store one row.

        A conditional write that is sent again after a lost answer can fail on its own effect: use
        ``transact`` where that matters.
        """
        row = item.serialize()
        with translated():
            self._connection.put_item(
                self.name, item.pk, item.sk, attributes=row, condition=condition
            )

    def update(
        self, pk: str, sk: str, actions: Sequence[Action], *, condition: Condition | None = None
    ) -> None:
        """Change attributes of one row."""
        with translated():
            self._connection.update_item(self.name, pk, sk, actions=actions, condition=condition)

    def delete(self, pk: str, sk: str, *, condition: Condition | None = None) -> None:
        """Remove one row; without a condition a missing one is no error."""
        with translated():
            self._connection.delete_item(self.name, pk, sk, condition=condition)

    def batch_write(self, *, puts: Iterable[Item] = (), deletes: Iterable[Key] = ()) -> None:
        """Store and remove rows, each on its own: all were when this returns, some when it raises.

        Requests of 25 run in parallel.
        """
        requests: list[dict[str, Any]] = [
            *({"PutRequest": {"Item": item.serialize()}} for item in puts),
            *({"DeleteRequest": {"Key": _key(*key)}} for key in dict.fromkeys(deletes)),
        ]
        chunks = [list(chunk) for chunk in batched(requests, _MAX_BATCH_WRITE, strict=False)]
        self.parallel(self._write_chunk, chunks)

    def transact(self, writes: Sequence[Write]) -> None:
        """Make all writes or none.

        The request carries a token: sent again after a lost answer, it does not act twice and does
        not fail on its own effect.

        Raises:
            TransactionCancelledError: A condition did not hold or another writer was at it.
            PayloadTooLargeError: An item or the whole is larger than DynamoDB takes.
        """
        requests = [write.request(self.name, self._connection) for write in writes]
        check_sizes(requests)
        with translated():
            self._connection.dispatch(
                "TransactWriteItems",
                {"TransactItems": requests, "ClientRequestToken": uuid.uuid4().hex},
            )

    def try_transact(self, writes: Sequence[Write]) -> bool:
        """Make all writes or none; False if another writer was first or at one of the rows.

        Which of the two it was, the caller learns by reading again.
        """
        try:
            self.transact(writes)
        except ConflictError:
            return False
        return True

    def attempts(self) -> Iterator[None]:
        """Yield once for each try of a write that others got in the way of, waiting in between."""
        for bound in _waits():
            yield
            self._sleep(random.uniform(0, bound))

    def parallel[A, B](self, call: Callable[[A], B], arguments: Sequence[A]) -> list[B]:
        """Call with each argument, in threads if there are several; the order is kept.

        Requests count for the caller. The first failure is raised when all calls have ended.
        """
        return self._workers.parallel(call, arguments)

    def _get_chunk(self, wanted: list[Key], attributes: list[str] | None) -> list[Item]:
        found: list[Item] = []
        remaining: list[Any] = [_key(*key) for key in wanted]
        for bound in _waits():
            with translated():
                answer = self._connection.batch_get_item(
                    self.name, remaining, consistent_read=True, attributes_to_get=attributes
                )
            found += map(Item.from_raw_data, answer.get("Responses", {}).get(self.name, ()))
            remaining = answer.get("UnprocessedKeys", {}).get(self.name, {}).get("Keys", [])
            if not remaining:
                return found
            self._sleep(random.uniform(0, bound))
        raise overloaded()

    def _write_chunk(self, requests: list[dict[str, Any]]) -> None:
        remaining = requests
        for bound in _waits():
            with translated():
                answer = self._connection.dispatch(
                    "BatchWriteItem", {"RequestItems": {self.name: remaining}}
                )
            remaining = answer.get("UnprocessedItems", {}).get(self.name, [])
            if not remaining:
                return
            self._sleep(random.uniform(0, bound))
        raise overloaded()

    @property
    def _connection(self) -> Connection:
        with self._lock:
            return self._connected

    @cached_property
    def _connected(self) -> Connection:
        connection = connect(
            self.name, region=self._region, endpoint=self._endpoint, pool=2 * _WORKERS
        )
        connection.client.meta.events.register("request-created.dynamodb", self._add_request)
        return connection

    def _add_request(self, **_: Any) -> None:
        self._workers.count.add()


def _waits() -> Iterator[float]:
    """Yield the bounds of full-jitter waits between tries, doubling."""
    for attempt in range(_MAX_TRIES):
        yield min(_FIRST_WAIT_SECONDS * 2**attempt, _LONGEST_WAIT_SECONDS)


def _key(pk: str, sk: str) -> dict[str, dict[str, str]]:
    return {keys.PARTITION_KEY: {"S": pk}, keys.SORT_KEY: {"S": sk}}
