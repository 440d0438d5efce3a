"""Scoring all documents of a user at once, exactly and the same way every time."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np

from threadkeep.domain.ranking import SECONDS_PER_DAY

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from threadkeep.domain.retrieval import Document

    type Floats = NDArray[np.float64]
    type Mask = NDArray[np.bool_]

QUERY_GRID = 2.0**-28


def similarities(
    vectors: NDArray[np.float64] | NDArray[np.float32], query: Sequence[float]
) -> Floats:
    """Return the cosine of each row and the query, clamped to 0–1.

    Rows hold what float16 keeps, that is multiples of 2⁻²⁴; the query is rounded to multiples of
    2⁻²⁸. Products are then multiples of 2⁻⁵² and their sums, at most 1 in size for unit vectors,
    fit into the 53 bits of a float64: no order of adding rounds anything. Equal rows score equal
    wherever they stand, so that ties are true ties, and a plain loop finds the same numbers.

    Args:
        vectors: Unit or zero vectors, shape (rows, dimension), with values that float16 can hold;
            fastest as float64.
        query: Unit or zero vector of that dimension.

    Returns:
        Array of shape (rows,).

    Raises:
        ValueError: The query has another dimension or a number in it is not finite.
    """
    exact = np.round(np.asarray(query, np.float64) / QUERY_GRID) * QUERY_GRID
    if exact.shape != vectors.shape[1:] or not np.isfinite(exact).all():
        raise ValueError(f"query must be {vectors.shape[1]} finite numbers")
    cosines: Floats = vectors @ exact
    return np.clip(cosines, 0.0, 1.0, out=cosines)


def recencies(touched: Floats, now: float, half_life_days: float) -> Floats:
    """Return ``ranking.recency`` for many rows.

    Args:
        touched: When each row was touched, in seconds since 1970, shape (rows,).
        now: The time to count from, in seconds since 1970.
        half_life_days: Days after which recency is 0.5, > 0.
    """
    days = np.maximum(now - touched, 0.0) / SECONDS_PER_DAY
    fresh: Floats = np.exp(-math.log(2) / half_life_days * days)
    return fresh


def best_rows(
    scores: Floats, documents: Sequence[Document], count: int, allowed: Mask | None = None
) -> list[int]:
    """Return the rows with the highest scores, best first, ties by the documents' refs.

    Args:
        scores: A score for each row, no NaN.
        documents: The documents of the rows.
        count: Most rows to return.
        allowed: Which rows may be returned; None for all.
    """
    rows = np.arange(len(scores)) if allowed is None else np.flatnonzero(allowed)
    if 0 < count < len(rows):
        reached = scores[rows]
        least = np.partition(reached, len(rows) - count)[len(rows) - count]
        rows = rows[reached >= least]
    best = [(-float(scores[row]), documents[row].ref, row) for row in rows.tolist()]
    return [row for _, _, row in sorted(best)[:count]]
