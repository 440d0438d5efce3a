"""How a model's window is divided."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from threadkeep.domain.budget import ModelLimits, budget_of
from threadkeep.domain.conversations import Usage
from threadkeep.domain.models import Models

# The table of the context engine: window, max output, reserve, input budget, trigger.
TABLE = [
    (8_000, 1_024, 1_024, 5_976, 5_976),
    (8_000, 8_192, 2_666, 4_334, 4_334),
    (16_000, 1_024, 1_024, 13_976, 13_600),
    (16_000, 8_192, 4_000, 11_000, 11_000),
    (32_000, 8_192, 4_000, 27_000, 27_000),
    (128_000, 8_192, 4_000, 123_000, 108_800),
    (200_000, 1_024, 1_024, 197_976, 170_000),
    (200_000, 8_192, 4_000, 195_000, 170_000),
]


@pytest.mark.parametrize(("window", "most", "reserve", "budget", "trigger"), TABLE)
def test_window_is_divided_as_the_table_says(
    window: int, most: int, reserve: int, budget: int, trigger: int
) -> None:
    divided = budget_of(ModelLimits(window, most))
    assert (divided.output_reserve, divided.input_budget, divided.trigger) == (
        reserve,
        budget,
        trigger,
    )


def test_unknown_window_counts_as_32000() -> None:
    assert budget_of(ModelLimits()) == budget_of(ModelLimits(32_000, 8_192))


@given(st.integers(1, 2_000_000), st.none() | st.integers(1, 200_000))
def test_parts_never_exceed_the_window(window: int, most: int | None) -> None:
    divided = budget_of(ModelLimits(window, most))
    assert divided.trigger <= divided.input_budget
    assert divided.input_budget + divided.output_reserve + 1_000 == window
    assert divided.recall <= max(0, divided.input_budget) // 10 + 1


def test_cost_counts_tokens_by_the_million_and_is_unknown_without_prices() -> None:
    limits = {"openai:a": ModelLimits(input_price=2.0, output_price=8.0), "openai:b": ModelLimits()}
    models = Models("offline", limits)
    usage = Usage(input_tokens=1_000_000, output_tokens=500_000)
    assert models.cost("openai:a", usage) == pytest.approx(6.0)
    assert models.cost("openai:b", usage) is None
    assert models.cost("offline", usage) == 0.0


def test_first_known_model_is_taken_and_the_default_otherwise() -> None:
    models = Models("bedrock:default", {"openai:a": ModelLimits()})
    assert models.first_known("", "openai:gone", "openai:a") == "openai:a"
    assert models.first_known("", None) == "bedrock:default"
