"""Scoring with arrays gives what the domain's formulas give one by one."""

from __future__ import annotations

import math
import random
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING

import numpy as np
import pytest

from threadkeep.domain.ranking import best, combined, recency
from threadkeep.domain.retrieval import Document, DocumentKind
from threadkeep.search.scoring import (
    QUERY_GRID,
    best_rows,
    combined_scores,
    exact_similarities,
    recencies,
    similarities,
    slack,
)

if TYPE_CHECKING:
    from numpy.typing import NDArray

NOW = datetime(2026, 1, 1, tzinfo=UTC)


def unit_rows(rng: np.random.Generator, rows: int, dimension: int) -> NDArray[np.float32]:
    """Make unit vectors as they are held: float32 of what float16 keeps."""
    raw = rng.standard_normal((rows, dimension))
    raw /= np.linalg.norm(raw, axis=1, keepdims=True)
    return raw.astype(np.float16).astype(np.float32)


def one_by_one(row: list[float], query: list[float]) -> float:
    """Return the clamped dot product without any rounding on the way."""
    exact = [round(value / QUERY_GRID) * QUERY_GRID for value in query]
    return min(max(math.fsum(a * b for a, b in zip(row, exact, strict=True)), 0.0), 1.0)


def documents(refs: list[str], touched: list[datetime]) -> list[Document]:
    return [
        Document(
            kind=DocumentKind.ENTITY,
            ref=ref,
            revision=1,
            text="",
            created_at=at,
            touched_at=at,
        )
        for ref, at in zip(refs, touched, strict=True)
    ]


@pytest.mark.parametrize("dimension", [1, 3, 64, 256, 1024])
def test_cosines_are_exact_where_asked_and_fast_ones_within_the_slack(dimension: int) -> None:
    rng = np.random.default_rng(dimension)
    rows = unit_rows(rng, 101, dimension)
    query = (unit_rows(rng, 1, dimension)[0] / 1.0001).tolist()
    expected = np.array([one_by_one(row, query) for row in rows.tolist()])
    some = np.array([100, 0, 7, 7])
    assert exact_similarities(rows, query, some).tolist() == expected[some].tolist()
    assert np.abs(similarities(rows, query) - expected).max() < slack(dimension)


def test_slack_covers_sums_that_lose_the_most() -> None:
    # given one product that swallows all the others, each less than half a unit of its last place
    dimension = 1024
    row = np.full((1, dimension), 2.0**-12, np.float32)
    row[0, 0] = 0.99
    query = [0.99, *([2.0**-13.5] * (dimension - 1))]
    exact = exact_similarities(row, query, np.array([0]))
    assert abs(similarities(row, query) - exact)[0] < slack(dimension)
    assert slack(dimension) < 1e-4


def test_equal_vectors_score_equal_wherever_they_stand() -> None:
    rng = np.random.default_rng(5)
    rows = unit_rows(rng, 1003, 256)
    places = np.array([0, 1, 2, 3, 500, 999, 1000, 1001, 1002])
    rows[places] = rows[77]
    query = unit_rows(rng, 1, 256)[0].tolist()
    assert len(set(exact_similarities(rows, query, places).tolist())) == 1


def test_similarity_of_opposite_and_of_missing_vectors_is_zero() -> None:
    rows = np.array([[-1.0, 0.0], [0.0, 0.0], [1.0, 0.0]], np.float32)
    assert similarities(rows, [1.0, 0.0]).tolist() == [0.0, 0.0, 1.0]
    assert exact_similarities(rows, [1.0, 0.0], np.arange(3)).tolist() == [0.0, 0.0, 1.0]


@pytest.mark.parametrize("query", [[1.0], [math.nan, 0.0], [math.inf, 0.0], []])
def test_a_query_that_is_no_vector_is_refused(query: list[float]) -> None:
    rows = np.zeros((4, 2), np.float32)
    with pytest.raises(ValueError, match="2 finite numbers"):
        similarities(rows, query)
    with pytest.raises(ValueError, match="2 finite numbers"):
        exact_similarities(rows, query, np.arange(2))


@pytest.mark.parametrize("half_life", [0.001, 1, 30, 1e5])
def test_recencies_are_those_of_the_domain(half_life: float) -> None:
    ages = [0.0, 1e-6, 1, 29.9, 30, 400, 36_500, -1, -400]
    touched = [NOW - timedelta(days=age) for age in ages]
    found = recencies(np.array([at.timestamp() for at in touched]), NOW.timestamp(), half_life)
    expected = [recency(at, NOW, half_life_days=half_life) for at in touched]
    assert found.tolist() == pytest.approx(expected, abs=1e-9)


@pytest.mark.parametrize(("rows", "count", "allowed"), [(0, 5, True), (2, 0, True), (2, 5, False)])
def test_no_rows_are_no_answer(rows: int, count: int, allowed: bool) -> None:
    scores = np.ones(rows)
    found, exact = best_rows(
        scores,
        0.0,
        lambda some: scores[some],
        documents(["a", "b"], [NOW, NOW]),
        count,
        np.full(rows, allowed),
    )
    assert found.tolist() == exact.tolist() == []


def test_fast_scores_at_the_edge_of_their_error_hide_no_better_row() -> None:
    # given fast scores that are off by just the error, in the worst directions
    error = 0.01
    exact = np.array([0.5, 0.505, 0.495, 0.2])
    fast = exact + np.array([error, -error, error, 0])
    # when
    found, scores = best_rows(
        fast,
        error,
        lambda rows: exact[rows],
        documents(["a", "b", "c", "d"], [NOW] * 4),
        1,
        np.full(4, True),
    )
    # then
    assert found.tolist() == [1]
    assert scores.tolist() == [0.505]


def top_rows(
    vectors: NDArray[np.float32],
    query: list[float],
    seconds: NDArray[np.float64],
    half_life: float,
    weight: float,
    kept: list[Document],
    count: int,
    allowed: NDArray[np.bool_],
) -> list[int]:
    """Search as the exact back end does in semantic mode."""
    age = recencies(seconds, NOW.timestamp(), half_life)

    def exact(rows: NDArray[np.intp]) -> NDArray[np.float64]:
        return combined_scores(exact_similarities(vectors, query, rows), age[rows], weight)

    fast = combined_scores(similarities(vectors, query), age, weight)
    rows, _ = best_rows(fast, slack(vectors.shape[1]), exact, kept, count, allowed)
    found: list[int] = rows.tolist()
    return found


def test_top_of_the_combined_score_is_that_of_brute_force() -> None:
    """On 1,000 random queries, with ties of vectors and times and with adversarial recencies."""
    rng, choose = np.random.default_rng(8), random.Random(8)
    for _ in range(100):
        # given stored vectors of which many are equal, and times of which most are
        count = choose.choice([1, 5, 60, 300])
        distinct = unit_rows(rng, max(count // 3, 1), 16)
        vectors = distinct[rng.integers(0, len(distinct), count)]
        ages = [choose.choice([0, 0, 0, 1e-9, 30, 30, 400, -5]) for _ in range(count)]
        touched = [NOW - timedelta(days=age) for age in ages]
        kept = documents([f"{choose.randrange(10**6):06d}-{n}" for n in range(count)], touched)
        seconds = np.array([at.timestamp() for at in touched])
        for _ in range(10):
            query = unit_rows(rng, 1, 16)[0].tolist()
            weight = choose.choice([0.0, 1e-9, 0.02, 0.15, 0.5, 1.0])
            half_life = choose.choice([0.01, 30.0, 1e5])
            wanted = choose.randint(1, 50)
            allowed = rng.random(count) < choose.choice([0.3, 1.0])
            # when
            found = top_rows(vectors, query, seconds, half_life, weight, kept, wanted, allowed)
            # then rows and order are what scoring one by one gives
            expected = best(
                (
                    (
                        document.ref,
                        combined(
                            one_by_one(row, query),
                            recency(document.touched_at, NOW, half_life_days=half_life),
                            weight,
                        ),
                    )
                    for document, row, may in zip(kept, vectors.tolist(), allowed, strict=True)
                    if may
                ),
                wanted,
            )
            assert [kept[row].ref for row in found] == [ref for ref, _ in expected]
