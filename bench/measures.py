"""How well a ranking of turns answers a question, and how sure a mean of that is."""

from __future__ import annotations

import math
from itertools import accumulate
from typing import TYPE_CHECKING

import numpy as np

from bench.locomo import ADVERSARIAL, CATEGORIES, MULTI_HOP

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from numpy.typing import NDArray

    from bench.locomo import Question

DEPTHS = (5, 10, 20)
BUDGETS = (250, 500, 1000, 2000, 4000)
HEADLINE = (
    *(f"recall_at_{depth}" for depth in DEPTHS),
    "mrr",
    "ndcg_at_10",
    "multi_hop_recall_at_10",
    "adversarial_recall_at_10",
    "gold_in_1000_tokens",
)
RESAMPLES = 2000


def measures(
    ranking: Sequence[str], gold: frozenset[str], tokens: Mapping[str, int]
) -> dict[str, float]:
    """Measure one ranking, in 0–1 each.

    Recall at a depth is the share of the gold turns among the first; MRR the reciprocal of the
    first gold turn's rank; nDCG has gains of 0 or 1 (Järvelin and Kekäläinen 2002); gold in a
    number of tokens is the share of gold turns that fit when turns are taken whole, in order.

    Args:
        ranking: Refs of turns, best first.
        gold: Refs of the turns with the answer.
        tokens: Tokens of every turn as the model reads it.
    """
    ranks = sorted(rank for rank, ref in enumerate(ranking, 1) if ref in gold)
    ends = dict(zip(ranking, accumulate(tokens[ref] for ref in ranking), strict=True))
    gain = sum(1 / math.log2(rank + 1) for rank in ranks if rank <= 10)
    ideal = sum(1 / math.log2(rank + 1) for rank in range(1, min(len(gold), 10) + 1))
    return {
        **{
            f"recall_at_{depth}": sum(rank <= depth for rank in ranks) / len(gold)
            for depth in DEPTHS
        },
        "mrr": 1 / ranks[0] if ranks else 0.0,
        "ndcg_at_10": gain / ideal,
        **{
            f"gold_in_{budget}_tokens": sum(ends.get(ref, math.inf) <= budget for ref in gold)
            / len(gold)
            for budget in BUDGETS
        },
    }


class Results:
    """The measures of one system for every question.

    Args:
        questions: The questions.
        samples: For each the number of its conversation.
        measured: For each the measures of the system's ranking.
    """

    def __init__(
        self,
        questions: Sequence[Question],
        samples: Sequence[int],
        measured: Sequence[Mapping[str, float]],
    ) -> None:
        self.samples = np.asarray(samples)
        self.categories = np.asarray([question.category for question in questions])
        self.values = {name: np.asarray([row[name] for row in measured]) for name in measured[0]}

    @property
    def answerable(self) -> NDArray[np.bool_]:
        """Which questions the overall figures are over: all but the adversarial ones."""
        answerable: NDArray[np.bool_] = self.categories != ADVERSARIAL
        return answerable

    def headline(self) -> dict[str, float | None]:
        """Return the figures that systems are compared by, in per cent.

        Over the answerable questions, but for those named after a category; None where the file
        has no such question.
        """
        figures = {name: self._percent(name, self.answerable) for name in self.values}
        figures["multi_hop_recall_at_10"] = self._percent(
            "recall_at_10", self.categories == MULTI_HOP
        )
        figures["adversarial_recall_at_10"] = self._percent(
            "recall_at_10", self.categories == ADVERSARIAL
        )
        return {name: figures[name] for name in HEADLINE}

    def budgets(self) -> dict[str, float | None]:
        """Return the share of gold turns inside each budget of tokens, in per cent."""
        return {
            str(budget): self._percent(f"gold_in_{budget}_tokens", self.answerable)
            for budget in BUDGETS
        }

    def by_category(self) -> dict[str, dict[str, float | None]]:
        """Return all figures for each category of questions, in per cent."""
        return {
            label: {
                "questions": int(np.sum(self.categories == category)),
                **{
                    name: self._percent(name, self.categories == category)
                    for name in ("recall_at_5", "recall_at_10", "recall_at_20", "mrr")
                },
            }
            for category, label in CATEGORIES.items()
        }

    def interval(self, name: str, baseline: Results | None = None) -> tuple[float, float] | None:
        """Return the 95 % bootstrap interval of a mean, or of its difference to a baseline's.

        Percentile bootstrap over questions, 2,000 resamples with a fixed seed (Efron and
        Tibshirani 1993, chapter 13); a difference is resampled in pairs.
        """
        which, measure = self._of(name)
        if not which.any():
            return None
        values = self.values[measure][which]
        if baseline is not None:
            values = values - baseline.values[measure][which]
        drawn = np.random.default_rng(0).integers(0, len(values), (RESAMPLES, len(values)))
        low, high = np.percentile(100 * values[drawn].mean(axis=1), [2.5, 97.5])
        return round(float(low), 1), round(float(high), 1)

    def _of(self, name: str) -> tuple[NDArray[np.bool_], str]:
        """Return which questions a headline figure is over, and the measure it is the mean of."""
        for category, label in ((MULTI_HOP, "multi_hop_"), (ADVERSARIAL, "adversarial_")):
            if name.startswith(label):
                return self.categories == category, name.removeprefix(label)
        return self.answerable, name

    def _percent(self, name: str, which: NDArray[np.bool_]) -> float | None:
        return round(100 * float(self.values[name][which].mean()), 1) if which.any() else None
