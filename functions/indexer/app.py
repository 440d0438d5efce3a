"""Indexing: the table's stream brings marks of what changed, a queue those that failed before."""

from functools import lru_cache
from typing import Any

from aws_lambda_powertools.utilities.batch import (
    BatchProcessor,
    EventType,
    process_partial_response,
)
from aws_lambda_powertools.utilities.data_classes.sqs_event import SQSRecord

from threadkeep.bootstrap import Bootstrap
from threadkeep.observability import logger


@lru_cache
def bootstrap() -> Bootstrap:
    """Return the product; tests put another in its place."""
    return Bootstrap()


def repair(record: SQSRecord) -> None:
    """Index what is left of an earlier failure."""
    body = record.json_body
    bootstrap().index_feed.repair(body["user_id"], body["refs"])


def lambda_handler(event: dict[str, Any], context: Any) -> dict[str, Any]:
    """Follow stream records, repair by queue messages, or sweep once a day.

    A stream batch fails as a whole only if what failed could not be queued for repair either.

    Returns:
        The records to be delivered again.
    """
    if "Records" not in event:
        logger().info("swept", extra={"tombstones": bootstrap().generations.sweep()})
        return {}
    records = event["Records"]
    if "dynamodb" in records[0]:
        read = bootstrap().read_mark
        marks = [mark for record in records if (mark := read(record["dynamodb"])) is not None]
        logger().info("marks", extra=bootstrap().index_feed.follow(marks))
        return {"batchItemFailures": []}
    processor = BatchProcessor(EventType.SQS, raise_on_entire_batch_failure=False)
    return dict(process_partial_response(event, repair, processor, context))
