"""Exports and imports: asked for over HTTP, run by queue messages."""

from datetime import timedelta
from functools import lru_cache
from typing import Any

from aws_lambda_powertools.utilities.batch import (
    BatchProcessor,
    EventType,
    process_partial_response,
)
from aws_lambda_powertools.utilities.data_classes.sqs_event import SQSRecord

from threadkeep.bootstrap import Bootstrap
from threadkeep.domain.transfers import Transfer, TransferView
from threadkeep.http import Answer, Api, Listing, ListQuery, Request, listed, rest_handler
from threadkeep.observability import describe, logger

RUN_SECONDS = 200
"""Of the function's 300: what was begun has time to end."""

api = Api("transfers")


@lru_cache
def bootstrap() -> Bootstrap:
    """Return the product; tests put another in its place."""
    return Bootstrap()


@api.post("/memories/export", response=TransferView, status=202, admin_twin=True)
def export_memories(request: Request) -> Answer:
    """Export everything that the user's memory holds, as JSON lines."""
    return Answer(bootstrap().transfers.start_export(request.user_id, request.origin))


@api.post("/memories/import", response=TransferView, status=201, admin_twin=True)
def import_memories(request: Request) -> Answer:
    """Prepare an import: the answer tells where to upload the file, before starting it."""
    return Answer(bootstrap().transfers.prepare_import(request.user_id, request.origin))


@api.post(
    "/memories/import/{transfer_id}/start", response=TransferView, status=202, admin_twin=True
)
def start_import(request: Request) -> Answer:
    """Start the import of a file that was uploaded."""
    return Answer(bootstrap().transfers.start(request.user_id, request.path["transfer_id"]))


@api.get("/memories/transfers", query=ListQuery, response=Listing[Transfer], admin_twin=True)
def list_transfers(request: Request[None, ListQuery]) -> Answer:
    """List exports and imports, newest first."""
    transfers = bootstrap().transfers
    return listed(request, lambda page: transfers.list(request.user_id, page))


@api.get("/memories/transfers/{transfer_id}", response=TransferView, admin_twin=True)
def get_transfer(request: Request) -> Answer:
    """Read how far an export or import has come, and where its file is."""
    return Answer(bootstrap().transfers.get(request.user_id, request.path["transfer_id"]))


_serve = rest_handler(api, lambda: bootstrap())  # noqa: PLW0108


class LoggingProcessor(BatchProcessor):
    """Logs why a message comes again."""

    def failure_handler(self, record: Any, exception: Any) -> Any:
        """Log the error and keep the message's id for the answer."""
        logger().error("message_failed", extra=describe(exception[1]))
        return super().failure_handler(record, exception)


def run(record: SQSRecord) -> None:
    """Go on with one export or import."""
    body, product = record.json_body, bootstrap()
    until = product.clock.now() + timedelta(seconds=RUN_SECONDS)
    product.transfer_worker.run(body["user_id"], body["transfer_id"], until=until)


def lambda_handler(event: dict[str, Any], context: Any) -> dict[str, Any]:
    """Answer a request, or run the messages of a batch.

    Returns:
        The answer, or the messages to be delivered again.
    """
    if "Records" not in event:
        return _serve(event, context)
    processor = LoggingProcessor(EventType.SQS, raise_on_entire_batch_failure=False)
    return dict(process_partial_response(event, run, processor, context))
