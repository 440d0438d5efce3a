"""Logging: one structured logger; ids, counts, sizes and durations, never what users said."""

import traceback
from functools import cache

from aws_lambda_powertools import Logger


@cache
def logger() -> Logger:
    """Return the logger of the function, made on first use; POWERTOOLS_SERVICE_NAME names it."""
    return Logger(utc=True)


def describe(error: BaseException) -> dict[str, object]:
    """Return what can be logged of an unexpected error: its type and where, not its message.

    Messages of libraries quote their input, which may be a user's text.
    """
    frames = traceback.extract_tb(error.__traceback__)
    described: dict[str, object] = {
        "error": f"{type(error).__module__}.{type(error).__qualname__}",
        "trace": [f"{frame.filename}:{frame.lineno} {frame.name}" for frame in frames],
    }
    if error.__cause__ is not None:
        described["cause"] = describe(error.__cause__)
    return described
