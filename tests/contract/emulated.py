"""The emulator and tables of it, for the contract suites of the adapters of DynamoDB."""

from __future__ import annotations

import os
import uuid
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

import boto3

from local import emulator
from local.config import Config
from threadkeep.storage import keys
from threadkeep.storage.table import Table

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

REGION = "us-east-1"
ROOT_USER = {
    "AWS_ACCESS_KEY_ID": "test",
    "AWS_SECRET_ACCESS_KEY": "test",
    "AWS_DEFAULT_REGION": REGION,
}


@contextmanager
def running_emulator(directory: Path) -> Iterator[str]:
    """Start an emulator with a state of its own, or use the one that is named.

    ``THREADKEEP_EMULATOR_URL`` names one that runs already, which saves its start in a series of
    runs by hand.
    """
    if url := os.environ.get("THREADKEEP_EMULATOR_URL"):
        yield url
        return
    config = Config.throwaway(directory)
    process = emulator.start(config)
    try:
        yield config.emulator_url
    finally:
        process.stop()


def new_table(endpoint: str | None) -> Table:
    """Make an empty table with the keys and indexes that the template declares."""
    name = f"contract-{uuid.uuid4().hex}"
    client = boto3.client("dynamodb", region_name=REGION, endpoint_url=endpoint)
    client.create_table(TableName=name, **description())
    return Table(name, region=REGION, endpoint=endpoint)


def description() -> dict[str, Any]:
    """Describe the table as ``keys.KEY_SCHEMA`` says."""
    declared: Any = keys.KEY_SCHEMA
    pairs = [declared["table"], *declared["local"].values(), *declared["global"].values()]
    return {
        "BillingMode": "PAY_PER_REQUEST",
        "KeySchema": _schema(declared["table"]),
        "AttributeDefinitions": [
            {"AttributeName": name, "AttributeType": "S"}
            for name in dict.fromkeys(name for pair in pairs for name in pair)
        ],
        "LocalSecondaryIndexes": [
            {
                "IndexName": index,
                "KeySchema": _schema(pair),
                "Projection": {
                    "ProjectionType": "INCLUDE",
                    "NonKeyAttributes": list(declared["local_projection"]),
                },
            }
            for index, pair in declared["local"].items()
        ],
        "GlobalSecondaryIndexes": [
            {
                "IndexName": index,
                "KeySchema": _schema(pair),
                "Projection": {"ProjectionType": "KEYS_ONLY"},
            }
            for index, pair in declared["global"].items()
        ],
    }


def all_keys(table: Table) -> set[tuple[str, str]]:
    """Return the keys of every row of a table."""
    client = table.client
    found: set[tuple[str, str]] = set()
    for page in client.get_paginator("scan").paginate(TableName=table.name, ConsistentRead=True):
        found |= {(row[keys.PARTITION_KEY]["S"], row[keys.SORT_KEY]["S"]) for row in page["Items"]}
    return found


def _schema(pair: tuple[str, str]) -> list[dict[str, str]]:
    return [
        {"AttributeName": name, "KeyType": kind}
        for name, kind in zip(pair, ("HASH", "RANGE"), strict=True)
    ]
