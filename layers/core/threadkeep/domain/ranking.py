"""The score that search ranks by: relevance and recency, and the order of what scores best."""

from __future__ import annotations

import heapq
import math
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable
    from datetime import datetime

SECONDS_PER_DAY = 86_400
NEUTRAL_RECENCY = 0.5
"""Recency of what is known only by its year: neither fresh nor old, as after one half-life."""


def recency(
    touched_at: datetime,
    now: datetime,
    *,
    half_life_days: float,
    time_precision: str | None = None,
) -> float:
    """Return how recently something was touched, in 0–1.

    ``exp(−ln 2 / half_life_days · days since touched_at)``; a time in the future counts as now.

    Args:
        touched_at: When it was last stated or changed.
        now: The time to count from.
        half_life_days: Days after which recency is 0.5, > 0.
        time_precision: Precision of the date as told; ``year`` makes recency neutral, since
            the year's first day would make it look old.
    """
    if time_precision == "year":
        return NEUTRAL_RECENCY
    days = max((now - touched_at).total_seconds() / SECONDS_PER_DAY, 0.0)
    return math.exp(-math.log(2) / half_life_days * days)


def combined(relevance: float, recency: float, recency_weight: float) -> float:
    """Return the score ``(1 − w) · relevance + w · recency``, all of them in 0–1."""
    return (1 - recency_weight) * relevance + recency_weight * recency


def best(scores: Iterable[tuple[str, float]], count: int) -> list[tuple[str, float]]:
    """Return the ``count`` highest ``(ref, score)``, best first, ties by ref."""
    return heapq.nsmallest(count, scores, key=lambda scored: (-scored[1], scored[0]))
