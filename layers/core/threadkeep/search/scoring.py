"""Scoring all documents of a user at once: fast for all of them, exact for those that matter."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np

from threadkeep.domain.ranking import SECONDS_PER_DAY

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from numpy.typing import NDArray

    from threadkeep.domain.retrieval import Document

    type Floats = NDArray[np.float64]
    type Vectors = NDArray[np.float32]
    type Rows = NDArray[np.intp]
    type Mask = NDArray[np.bool_]

QUERY_GRID = 2.0**-28
FLOAT32_ROUNDOFF = 2.0**-24


def similarities(vectors: Vectors, query: Sequence[float]) -> Floats:
    """Return the cosine of each row and the query, clamped to 0–1, off by less than ``slack``.

    Args:
        vectors: Unit or zero vectors, shape (rows, dimension), with values that float16 can hold.
        query: Unit or zero vector of that dimension.

    Returns:
        Array of shape (rows,).

    Raises:
        ValueError: The query has another dimension or a number in it is not finite.
    """
    asked = _checked(vectors, query).astype(np.float32)
    return np.clip((vectors @ asked).astype(np.float64), 0.0, 1.0)


def exact_similarities(vectors: Vectors, query: Sequence[float], rows: Rows) -> Floats:
    """Return the same for some rows without any error of summing.

    What float16 holds is a multiple of 2⁻²⁴, and the query is rounded to multiples of 2⁻²⁸.
    Products are then multiples of 2⁻⁵² and their sums, at most 1 in size for unit vectors, fit
    into the 53 bits of a float64: no order of adding rounds anything. Equal rows score equal
    wherever they stand, so that ties are true ties, and a plain loop finds the same numbers.
    """
    asked = np.round(_checked(vectors, query) / QUERY_GRID) * QUERY_GRID
    return np.clip(vectors[rows].astype(np.float64) @ asked, 0.0, 1.0)


def slack(dimension: int) -> float:
    """Return how far ``similarities`` can be from ``exact_similarities``.

    The bound γ of a float32 sum of ``dimension`` products in any order (Higham, "Accuracy and
    Stability of Numerical Algorithms", section 3.1), with the query's own rounding, for vectors
    whose length float16 has made up to 0.1 % too long.
    """
    terms = (dimension + 2) * FLOAT32_ROUNDOFF
    return 1.001 * terms / (1 - terms)


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


def combined_scores(relevance: Floats, recency: Floats, recency_weight: float) -> Floats:
    """Return ``ranking.combined`` for many rows."""
    return (1 - recency_weight) * relevance + recency_weight * recency


def best_rows(
    scores: Floats,
    error: float,
    rescore: Callable[[Rows], Floats],
    documents: Sequence[Document],
    count: int,
    allowed: Mask,
) -> tuple[Rows, Floats]:
    """Return the rows with the highest exact scores, best first, ties by the documents' refs.

    At least ``count`` rows have an exact score of the ``count``-th best fast score less ``error``;
    so a row whose fast score is more than twice ``error`` below can not be among the best, and all
    others are scored again.

    Args:
        scores: A fast score for each row, no NaN.
        error: How far a fast score can be from the exact one.
        rescore: Returns the exact scores of rows.
        documents: The documents of the rows.
        count: Most rows to return.
        allowed: Which rows may be returned.

    Returns:
        The rows and their exact scores.
    """
    rows = np.flatnonzero(allowed)
    if 0 < count < len(rows):
        fast = scores[rows]
        least = np.partition(fast, len(rows) - count)[len(rows) - count]
        rows = rows[fast >= least - 2 * error]
    exact = rescore(rows)
    refs = [documents[row].ref for row in rows.tolist()]
    order = sorted(range(len(rows)), key=lambda place: (-exact[place], refs[place]))[:count]
    return rows[order], exact[order]


def _checked(vectors: Vectors, query: Sequence[float]) -> Floats:
    asked = np.asarray(query, np.float64)
    if asked.shape != vectors.shape[1:] or not np.isfinite(asked).all():
        raise ValueError(f"the query must be {vectors.shape[1]} finite numbers")
    return asked
