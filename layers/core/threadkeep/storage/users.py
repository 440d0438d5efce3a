"""Who has data in the table."""

from __future__ import annotations

from typing import TYPE_CHECKING

from threadkeep.storage import keys

if TYPE_CHECKING:
    from collections.abc import Iterator

    from threadkeep.storage.table import Table


class DynamoUsers:
    """Users by the keys of their rows.

    Args:
        table: The table.
    """

    def __init__(self, table: Table) -> None:
        self._table = table

    def all(self) -> Iterator[str]:
        """Yield every user, each once; it reads the whole table, for maintenance only."""
        pages = self._table.client.get_paginator("scan").paginate(
            TableName=self._table.name,
            ProjectionExpression="#pk",
            ExpressionAttributeNames={"#pk": keys.PARTITION_KEY},
        )
        seen: set[str] = set()
        for page in pages:
            for partition in {row[keys.PARTITION_KEY]["S"] for row in page["Items"]}:
                user_id = _owner(partition)
                if user_id is not None and user_id not in seen:
                    seen.add(user_id)
                    yield user_id


def _owner(partition: str) -> str | None:
    """Return the user whose own partition this is, or None for any other partition."""
    try:
        return keys.owner(partition)
    except ValueError:
        return None
