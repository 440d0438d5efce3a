"""Deciding again when another writer was first."""

from __future__ import annotations

import random
from datetime import timedelta
from typing import TYPE_CHECKING

from threadkeep.errors import ConflictError

if TYPE_CHECKING:
    from collections.abc import Callable

    from threadkeep.ports import Clock

PATIENCE = timedelta(seconds=10)
_FIRST_SECONDS = 0.02
_LONGEST_SECONDS = 1.0


def on_conflict[T](clock: Clock, attempt: Callable[[], T]) -> T:
    """Run ``attempt`` until no other writer gets in between, for at most 10 seconds.

    Waits between attempts with full jitter: uniformly between nothing and a bound that doubles
    (https://aws.amazon.com/blogs/architecture/exponential-backoff-and-jitter/). Only the plain
    ``conflict`` of a store is retried; a conflict with a code of its own is a decision.

    Args:
        clock: Time and waiting.
        attempt: Reads, decides and commits; it must read anew each time.

    Raises:
        ConflictError: Others kept winning; the caller may try again a second later.
    """
    give_up_at = clock.now() + PATIENCE
    bound = _FIRST_SECONDS
    while True:
        try:
            return attempt()
        except ConflictError as error:
            if error.code != ConflictError.code:
                raise
            if clock.now() >= give_up_at:
                raise ConflictError("Others keep changing this.", retry_after=1) from error
        clock.sleep(random.uniform(0, bound))
        bound = min(2 * bound, _LONGEST_SECONDS)
