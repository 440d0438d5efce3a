"""One formula of relevance, and of whom a query speaks."""

from __future__ import annotations

import math
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from threadkeep.domain.fusion import FusionWeights, relevance, speaks_of, spoken_about

PARTS = ("lexical", "similarity", "speaker", "support")
shares = st.floats(0, 1)
evidence = st.fixed_dictionaries(dict.fromkeys(PARTS, shares))
weights = st.builds(FusionWeights, st.floats(0.01, 5), *[st.floats(0, 5)] * 3)


@given(weights, evidence)
def test_relevance_is_the_weighted_mean_of_its_parts(
    weights: FusionWeights, evidence: dict[str, float]
) -> None:
    weighed = [(getattr(weights, part), evidence[part]) for part in PARTS]
    expected = math.fsum(w * x for w, x in weighed) / math.fsum(w for w, _ in weighed)
    found = relevance(weights, **evidence)
    assert found == pytest.approx(expected)
    assert min(evidence.values()) - 1e-12 <= found <= max(evidence.values()) + 1e-12


@given(evidence, st.sampled_from(PARTS), shares)
def test_more_evidence_of_any_kind_never_lowers_relevance(
    evidence: dict[str, float], part: str, share: float
) -> None:
    more = evidence | {part: max(evidence[part], share)}
    assert relevance(FusionWeights(), **more) >= relevance(FusionWeights(), **evidence)


def test_only_the_ratios_of_weights_matter() -> None:
    double = FusionWeights(*(2 * part for part in FusionWeights().parts))
    evidence = {"lexical": 0.7, "similarity": 0.4, "speaker": 1.0, "support": 0.2}
    assert relevance(double, **evidence) == pytest.approx(relevance(FusionWeights(), **evidence))


@pytest.mark.parametrize("wrong", [-0.1, math.nan, math.inf])
@pytest.mark.parametrize("part", PARTS)
def test_weights_that_are_no_weights_are_refused(part: str, wrong: float) -> None:
    with pytest.raises(ValueError, match="weights must be finite"):
        replace(FusionWeights(), **{part: wrong})


def test_weights_that_count_nothing_are_refused() -> None:
    with pytest.raises(ValueError, match="not all zero"):
        FusionWeights(0, 0, 0, 0)


@pytest.mark.parametrize(
    ("query", "speaker", "expected"),
    [
        ("Where did Mia move to?", "Mia", True),
        ("Where did Mia move to?", "Noor", False),
        ("What is Mia's job?", "mia", True),
        ("What did Ann say?", "Anna", False),
        ("What did Smith say?", "Ada Smith", True),
        ("What did she say to José?", "Jose", True),
        ("Where did I put my keys?", "user", True),
        ("Where did I put my keys?", "assistant", False),
        ("What did you suggest?", "assistant", True),
        ("What did you suggest?", "User", False),
        ("Is the user happy?", "user", False),
        ("小明在哪里工作", "小明", True),
        ("What will they do?", "Will", False),
        ("anything", "", False),
        ("", "Mia", False),
    ],
)
def test_a_query_speaks_of_those_it_names(query: str, speaker: str, expected: bool) -> None:
    assert speaks_of(spoken_about(query), speaker) is expected
