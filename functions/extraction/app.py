"""Extraction: queue messages wake the worker up, and a schedule finds what the queue lost."""

from functools import lru_cache
from typing import Any

from aws_lambda_powertools.utilities.batch import (
    BatchProcessor,
    EventType,
    process_partial_response,
)
from aws_lambda_powertools.utilities.data_classes.sqs_event import SQSRecord

from threadkeep.bootstrap import Bootstrap
from threadkeep.domain.extraction import DueExtraction
from threadkeep.observability import describe, logger


@lru_cache
def bootstrap() -> Bootstrap:
    """Return the product; tests put another in its place."""
    return Bootstrap()


class LoggingProcessor(BatchProcessor):
    """Logs why a message comes again."""

    def failure_handler(self, record: Any, exception: Any) -> Any:
        """Log the error and keep the message's id for the answer."""
        logger().error("message_failed", extra=describe(exception[1]))
        return super().failure_handler(record, exception)


def run(record: SQSRecord) -> None:
    """Learn from one conversation."""
    due = DueExtraction.model_validate_json(record.body)
    bootstrap().extraction_worker.run(due)


def lambda_handler(event: dict[str, Any], context: Any) -> dict[str, Any]:
    """Run the messages of a batch, or sweep on a scheduled event.

    Returns:
        The messages to be delivered again; for a sweep, how many rows were queued again and how
        many deletions of conversations completed.
    """
    if "Records" not in event:
        swept = {
            "queued": bootstrap().extraction.sweep(),
            "deleted": bootstrap().conversations.finish_deletions(),
        }
        logger().info("sweep", extra=swept)
        return swept
    # With every message failed, Powertools would raise and hide which: the answer names them.
    processor = LoggingProcessor(EventType.SQS, raise_on_entire_batch_failure=False)
    return dict(process_partial_response(event, run, processor, context))
