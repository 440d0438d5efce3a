"""Scoring with arrays gives what the domain's formulas give one by one."""

from __future__ import annotations

import math
import random
from datetime import UTC, datetime, timedelta

import numpy as np
import pytest

from threadkeep.domain.ranking import best, combined, recency
from threadkeep.domain.retrieval import Document, DocumentKind
from threadkeep.search.scoring import QUERY_GRID, best_rows, recencies, similarities

NOW = datetime(2026, 1, 1, tzinfo=UTC)


def unit_rows(rng: np.random.Generator, rows: int, dimension: int) -> np.ndarray:
    """Make unit vectors as they are stored: rounded to float16."""
    raw = rng.standard_normal((rows, dimension))
    raw /= np.linalg.norm(raw, axis=1, keepdims=True)
    return raw.astype(np.float16).astype(np.float64)


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
def test_cosines_are_exact_to_the_last_bit(dimension: int) -> None:
    rng = np.random.default_rng(dimension)
    rows = unit_rows(rng, 101, dimension)
    query = unit_rows(rng, 1, dimension)[0] / 1.0001
    found = similarities(rows, query.tolist())
    assert found.tolist() == [one_by_one(row, query.tolist()) for row in rows.tolist()]


def test_equal_vectors_score_equal_wherever_they_stand() -> None:
    rng = np.random.default_rng(5)
    rows = unit_rows(rng, 1003, 256)
    places = [0, 1, 2, 3, 500, 999, 1000, 1001, 1002]
    rows[places] = rows[77]
    found = similarities(rows, unit_rows(rng, 1, 256)[0].tolist())
    assert len(set(found[places].tolist())) == 1


def test_similarity_of_opposite_and_of_missing_vectors_is_zero() -> None:
    rows = np.array([[-1.0, 0.0], [0.0, 0.0], [1.0, 0.0]])
    assert similarities(rows, [1.0, 0.0]).tolist() == [0.0, 0.0, 1.0]


@pytest.mark.parametrize("query", [[1.0], [math.nan, 0.0], [math.inf, 0.0], []])
def test_a_query_that_is_no_vector_is_refused(query: list[float]) -> None:
    with pytest.raises(ValueError, match="2 finite numbers"):
        similarities(np.zeros((4, 2)), query)


@pytest.mark.parametrize("half_life", [0.001, 1, 30, 1e5])
def test_recencies_are_those_of_the_domain(half_life: float) -> None:
    ages = [0.0, 1e-6, 1, 29.9, 30, 400, 36_500, -1, -400]
    touched = [NOW - timedelta(days=age) for age in ages]
    found = recencies(np.array([at.timestamp() for at in touched]), NOW.timestamp(), half_life)
    expected = [recency(at, NOW, half_life_days=half_life) for at in touched]
    assert found.tolist() == pytest.approx(expected, abs=1e-9)


def test_no_rows_are_no_answer() -> None:
    assert best_rows(np.zeros(0), [], 5) == []
    refs = documents(["a", "b"], [NOW, NOW])
    assert best_rows(np.ones(2), refs, 0) == []
    assert best_rows(np.ones(2), refs, 5, np.zeros(2, np.bool_)) == []


def test_top_of_the_combined_score_is_that_of_brute_force() -> None:
    """On 1,000 random queries, with ties of vectors and times and with adversarial recencies."""
    rng, choose = np.random.default_rng(8), random.Random(8)
    for _ in range(100):
        # given stored vectors of which many are equal, and times of which most are
        count = choose.choice([1, 5, 60, 300])
        rows = unit_rows(rng, max(count // 3, 1), 16)[rng.integers(0, max(count // 3, 1), count)]
        ages = [choose.choice([0, 0, 0, 1e-9, 30, 30, 400, -5]) for _ in range(count)]
        touched = [NOW - timedelta(days=age) for age in ages]
        refs = [f"{choose.randrange(10**6):06d}-{place}" for place in range(count)]
        kept = documents(refs, touched)
        seconds = np.array([at.timestamp() for at in touched])
        for _ in range(10):
            query = unit_rows(rng, 1, 16)[0].tolist()
            weight = choose.choice([0.0, 1e-9, 0.02, 0.15, 0.5, 1.0])
            half_life = choose.choice([0.01, 30.0, 1e5])
            wanted = choose.randint(1, 50)
            allowed = rng.random(count) < choose.choice([0.3, 1.0])
            # when
            scores = (1 - weight) * similarities(rows, query) + weight * recencies(
                seconds, NOW.timestamp(), half_life
            )
            found = best_rows(scores, kept, wanted, allowed)
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
                    for document, row, may in zip(kept, rows.tolist(), allowed, strict=True)
                    if may
                ),
                wanted,
            )
            assert [kept[row].ref for row in found] == [ref for ref, _ in expected]
