"""Recency, the combined score and the order of the best."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from threadkeep.domain.ranking import NEUTRAL_RECENCY, best, combined, recency
from threadkeep.domain.retrieval import DEFAULT_HALF_LIFE_DAYS, DEFAULT_RECENCY_WEIGHT

NOW = datetime(2026, 1, 1, tzinfo=UTC)


def after(days: float, *, half_life: float = DEFAULT_HALF_LIFE_DAYS) -> float:
    return recency(NOW - timedelta(days=days), NOW, half_life_days=half_life)


@pytest.mark.parametrize(
    ("days", "expected"),
    [(0, 1.0), (30, 0.5), (60, 0.25), (240, 1 / 256), (-1, 1.0), (-4000, 1.0), (36_500, 0.0)],
)
def test_recency_halves_every_half_life_and_the_future_counts_as_now(
    days: float, expected: float
) -> None:
    assert after(days) == pytest.approx(expected, abs=1e-12)


@given(st.floats(-1e4, 1e5), st.floats(0, 1e4), st.floats(1e-3, 1e5))
def test_recency_stays_in_its_range_and_never_rises_with_age(
    days: float, more: float, half_life: float
) -> None:
    younger, older = after(days, half_life=half_life), after(days + more, half_life=half_life)
    assert 0 <= older <= younger <= 1


def test_what_is_known_by_its_year_is_neither_fresh_nor_old() -> None:
    for touched in (NOW, NOW - timedelta(days=700)):
        found = recency(touched, NOW, half_life_days=30, time_precision="year")
        assert found == NEUTRAL_RECENCY
    assert recency(NOW, NOW, half_life_days=30, time_precision="day") == 1.0


def test_an_old_but_relevant_memory_stands_before_a_fresh_one_off_the_point() -> None:
    """T60: similarity .90 aged 240 days beats .55 aged 6 days at the default weight."""
    old = combined(0.90, after(240), DEFAULT_RECENCY_WEIGHT)
    fresh = combined(0.55, after(6), DEFAULT_RECENCY_WEIGHT)
    assert old == pytest.approx(0.766, abs=5e-4)
    assert fresh == pytest.approx(0.598, abs=5e-4)
    assert old > fresh


@given(st.floats(0, 1), st.floats(0, 1))
def test_the_weight_moves_the_score_from_relevance_to_recency(
    relevance: float, recency: float
) -> None:
    assert combined(relevance, recency, 0.0) == relevance
    assert combined(relevance, recency, 1.0) == recency
    assert combined(relevance, recency, 0.5) == pytest.approx((relevance + recency) / 2)


@given(
    st.dictionaries(st.text(min_size=1, max_size=3), st.sampled_from([0.0, 0.25, 0.5, 1.0])),
    st.integers(0, 8),
)
def test_the_best_are_the_first_of_all_in_order_with_ties_by_ref(
    scores: dict[str, float], count: int
) -> None:
    everything = sorted(scores.items(), key=lambda pair: (-pair[1], pair[0]))
    assert best(scores.items(), count) == everything[:count]
    assert best(reversed(scores.items()), count) == everything[:count]
