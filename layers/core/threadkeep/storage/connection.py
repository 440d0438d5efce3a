"""How the table is connected to."""

from __future__ import annotations

from typing import Any

from pynamodb.connection.base import Connection, MetaTable

from threadkeep.storage import keys

_CONNECT_SECONDS = 1.0
_READ_SECONDS = 5.0
_RETRIES = 3


def connect(name: str, *, region: str | None, endpoint: str | None, pool: int) -> Connection:
    """Make a connection; the region and endpoint that are None are the environment's.

    Args:
        name: Name of the table.
        region: Region.
        endpoint: Address of the service.
        pool: Connections that are kept open.
    """
    connection = Connection(
        region=region,
        host=endpoint,
        connect_timeout_seconds=_CONNECT_SECONDS,
        read_timeout_seconds=_READ_SECONDS,
        max_retry_attempts=_RETRIES,
        max_pool_connections=pool,
    )
    connection.add_meta_table(MetaTable(_description(name)))
    return connection


def _description(name: str) -> dict[str, Any]:
    """Describe the table to pynamodb, which would otherwise ask for it."""
    declared: Any = keys.KEY_SCHEMA
    pairs = [declared["table"], *declared["local"].values(), *declared["global"].values()]

    def schema(pair: tuple[str, str]) -> list[dict[str, str]]:
        kinds = zip(pair, ("HASH", "RANGE"), strict=True)
        return [{"AttributeName": name, "KeyType": kind} for name, kind in kinds]

    def indexes(place: str) -> list[dict[str, Any]]:
        return [
            {"IndexName": index, "KeySchema": schema(pair)}
            for index, pair in declared[place].items()
        ]

    return {
        "TableName": name,
        "KeySchema": schema(declared["table"]),
        "LocalSecondaryIndexes": indexes("local"),
        "GlobalSecondaryIndexes": indexes("global"),
        "AttributeDefinitions": [
            {"AttributeName": attribute, "AttributeType": "S"}
            for attribute in dict.fromkeys(name for pair in pairs for name in pair)
        ],
    }
