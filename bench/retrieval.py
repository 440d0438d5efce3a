"""How well recall finds the turns that answer a question, beside what is usually built instead.

    .venv/bin/python bench/retrieval.py FILE [--json]

FILE is in the LoCoMo format. Turns go through the product's own indexing as episodes, facts of
`observation` as entities; questions through its own search, on the exact back end with recall's
defaults. Prints a table and writes a plot to bench/out (with matplotlib installed), or prints one
JSON object.
"""

from __future__ import annotations

import argparse
import json
import sys
from dataclasses import asdict
from functools import partial
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Any

ROOT = Path(__file__).resolve().parent.parent
sys.path[:0] = [str(ROOT / "layers/core"), str(ROOT)]

from bench import locomo, systems, tuning  # noqa: E402
from bench.measures import BUDGETS, HEADLINE, Results, measures  # noqa: E402
from threadkeep.domain.fusion import FusionWeights  # noqa: E402
from threadkeep.domain.lexical import Bm25f  # noqa: E402
from threadkeep.domain.retrieval import DEFAULT_HALF_LIFE_DAYS, Mode  # noqa: E402
from threadkeep.llm.offline.embedder import WordVectorEmbedder  # noqa: E402
from threadkeep.llm.tokens import TiktokenCounter  # noqa: E402
from threadkeep.services.retrieval import RECALL_MODE, RECALL_RECENCY_WEIGHT  # noqa: E402

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from bench.systems import Corpus, Rankings

O200K_MODEL = "openai:gpt-4o"
"""Budgets are in o200k tokens, the encoding of this model."""

RECENCY_WEIGHTS = (0.0, 0.02, 0.15)
OUT = ROOT / "bench" / "out"


def main() -> None:
    """Run the benchmark from the command line."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("file", type=Path, help="conversations in the LoCoMo format")
    parser.add_argument("--json", action="store_true", help="print one JSON object on stdout")
    arguments = parser.parse_args()
    try:
        samples = locomo.read(arguments.file)
    except (OSError, ValueError) as error:
        parser.error(str(error))
    report = run(samples)
    if arguments.json:
        print(json.dumps(report))
    else:
        print(table(report))
        plot(report)


def run(samples: Sequence[locomo.Sample]) -> dict[str, Any]:
    """Measure all systems on the conversations; see bench/README.md for what is in the report."""
    embedder, counter = WordVectorEmbedder(), TiktokenCounter()
    corpora = []
    for number, sample in enumerate(samples, 1):
        progress(f"indexing {sample.name}, {number} of {len(samples)}")
        corpora.append(systems.corpus(sample, embedder))
    tokens = [
        {ref: counter.count(text, O200K_MODEL) for ref, text in corpus.texts.items()}
        for corpus in corpora
    ]

    def measured(name: str, rank: Callable[[Corpus], Rankings]) -> Results:
        return _measured(name, rank, corpora, tokens)

    recall = partial(systems.product, mode=RECALL_MODE, recency_weight=RECALL_RECENCY_WEIGHT)
    product = measured("product", partial(recall, facts=True))
    turns_only = measured("product without facts", partial(recall, facts=False))
    baselines = {name: measured(name, rank) for name, rank in systems.BASELINES.items()}
    choices = {
        f"{mode} w={weight}": measured(
            f"{mode} w={weight}",
            partial(systems.product, mode=mode, recency_weight=weight, facts=True),
        ).headline()
        for mode in Mode
        for weight in RECENCY_WEIGHTS
    }
    report = {
        "product": product.headline(),
        "product_without_facts": turns_only.headline(),
        "baselines": {name: results.headline() for name, results in baselines.items()},
        "leave_one_conversation_out": tuning.leave_one_out(corpora, tokens, progress),
        "intervals_95": {name: product.interval(name) for name in HEADLINE},
        "difference_to_bm25_95": {
            name: product.interval(name, baselines["bm25"]) for name in HEADLINE
        },
        "by_category": product.by_category(),
        "gold_in_tokens": {
            "product": product.budgets(),
            "product_without_facts": turns_only.budgets(),
            **{name: results.budgets() for name, results in baselines.items()},
        },
        "modes": choices,
        "settings": {
            "mode": RECALL_MODE,
            "recency_weight": RECALL_RECENCY_WEIGHT,
            "half_life_days": DEFAULT_HALF_LIFE_DAYS,
            "lexical": asdict(Bm25f()),
            "weights": asdict(FusionWeights()),
            "embedder": embedder.model_id,
        },
        "data": {
            "conversations": len(samples),
            "turns": sum(len(corpus.turns) for corpus in corpora),
            "facts": sum(len(corpus.facts) for corpus in corpora),
            "questions": sum(len(sample.questions) for sample in samples),
            "dropped": [
                f"{sample.name}: {dropped}" for sample in samples for dropped in sample.dropped
            ],
        },
    }
    progress("")
    return report


def _measured(
    name: str,
    rank: Callable[[Corpus], Rankings],
    corpora: Sequence[Corpus],
    tokens: Sequence[Mapping[str, int]],
) -> Results:
    rows, samples, questions = [], [], []
    for number, corpus in enumerate(corpora):
        progress(f"{name}: conversation {number + 1} of {len(corpora)}")
        for question, ranking in zip(corpus.sample.questions, rank(corpus), strict=True):
            rows.append(measures(ranking, question.gold, tokens[number]))
            samples.append(number)
            questions.append(question)
    return Results(questions, samples, rows)


def table(report: Mapping[str, Any]) -> str:
    """Return the report as text."""
    systems_shown = {
        "product": report["product"],
        "product, turns only": report["product_without_facts"],
        "product, held out": report["leave_one_conversation_out"]["held_out"],
        **report["baselines"],
    }
    heads = ("R@5", "R@10", "R@20", "MRR", "nDCG@10", "multi-hop", "adversarial", "1,000 tok")
    lines = [_line("", heads)]
    lines += [_line(name, figures.values()) for name, figures in systems_shown.items()]
    lines.append(_line("95 % of product", map(_interval, report["intervals_95"].values())))
    lines.append(_line("  minus bm25", map(_interval, report["difference_to_bm25_95"].values())))
    lines += ["", _line("gold in tokens", BUDGETS)]
    lines += [_line(name, row.values()) for name, row in report["gold_in_tokens"].items()]
    lines += ["", _line("by category", ("questions", "R@5", "R@10", "R@20", "MRR"))]
    lines += [_line(name, row.values()) for name, row in report["by_category"].items()]
    lines += ["", _line("mode, recency", heads)]
    lines += [_line(name, figures.values()) for name, figures in report["modes"].items()]
    data = report["data"]
    lines += [
        "",
        f"{data['questions']} questions on {data['turns']} turns and {data['facts']} facts of "
        f"{data['conversations']} conversations; {len(data['dropped'])} dropped:",
        *(f"  {dropped}" for dropped in data["dropped"]),
        f"settings: {json.dumps(report['settings'])}",
    ]
    return "\n".join(lines)


def _line(name: str, cells: Any) -> str:
    return f"{name:22}" + "".join(f"{'–' if cell is None else cell:>13}" for cell in cells)


def _interval(bounds: tuple[float, float] | None) -> str | None:
    return bounds and f"{bounds[0]}…{bounds[1]}"


def plot(report: Mapping[str, Any]) -> None:
    """Draw the share of gold turns over tokens into bench/out, if matplotlib is installed."""
    try:
        pyplot = import_module("matplotlib.pyplot")
    except ImportError:
        progress("no plot: matplotlib is not installed\n")
        return
    figure, axes = pyplot.subplots(figsize=(7, 4.5), layout="constrained")
    for name, row in report["gold_in_tokens"].items():
        axes.plot(BUDGETS, list(row.values()), marker="o", label=name)
    axes.set(
        xscale="log",
        xticks=BUDGETS,
        xticklabels=[f"{budget:,}" for budget in BUDGETS],
        xlabel="tokens of recalled turns",
        ylabel="gold turns among them, %",
        ylim=(0, 100),
    )
    axes.minorticks_off()
    axes.grid(alpha=0.3)
    axes.legend()
    OUT.mkdir(parents=True, exist_ok=True)
    figure.savefig(OUT / "retrieval.png", dpi=150)
    progress(f"plot: {(OUT / 'retrieval.png').relative_to(ROOT)}\n")


def progress(text: str) -> None:
    """Show a line of progress on stderr, in place of the last one."""
    print(f"\r\033[K{text}", end="", file=sys.stderr, flush=True)


if __name__ == "__main__":
    main()
