"""What the tuned weights are worth on conversations that they were not tuned on."""

from __future__ import annotations

from dataclasses import asdict, dataclass, replace
from itertools import product as combinations
from typing import TYPE_CHECKING, Any

import numpy as np

from bench.measures import Results, measures
from bench.systems import LONGEST_RANKING
from threadkeep.domain.fusion import FusionWeights, speaks_of, spoken_about
from threadkeep.domain.lexical import Bm25f, LexicalIndex
from threadkeep.search.scoring import similarities
from threadkeep.search.stemming import english_stem

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from numpy.typing import NDArray

    from bench.locomo import Question
    from bench.systems import Corpus, Rankings
    from threadkeep.domain.retrieval import Document

    type Matrix = NDArray[np.float64]

LEXICAL = [
    Bm25f(k1=k1, b=b, context_weight=context)
    for (k1, b), context in combinations(((1.0, 0.3), (1.5, 0.3), (1.0, 0.6)), (0.3, 0.5, 0.7))
]
WEIGHTS = [
    FusionWeights(similarity=similarity, speaker=speaker, support=support)
    for similarity, speaker, support in combinations(
        (0.2, 0.3, 0.4), (0.05, 0.1, 0.15), (0.2, 0.3, 0.4)
    )
]
OBJECTIVE = ("recall_at_10", "mrr", "gold_in_1000_tokens")


@dataclass(frozen=True)
class Evidence:
    """The parts of relevance for every question and document of one conversation.

    Args:
        turns: The turns in ascending order of their refs, so that a stable sort breaks ties by ref.
        lexical, similarity, speaker: Shape (questions, turns).
        fact_lexical, fact_similarity: Shape (questions, facts).
        learned: Pairs (fact, turn) of places: the fact was learned from the turn.
    """

    turns: Sequence[Document]
    lexical: Matrix
    similarity: Matrix
    speaker: Matrix
    fact_lexical: Matrix
    fact_similarity: Matrix
    learned: tuple[list[int], list[int]]

    def rankings(self, weights: FusionWeights) -> Rankings:
        """Rank the turns for every question by ``fusion.relevance``."""
        facts = weights.lexical * self.fact_lexical + weights.similarity * self.fact_similarity
        support = np.zeros_like(self.lexical)
        fact_places, turn_places = self.learned
        np.maximum.at(support.T, turn_places, facts.T[fact_places] / weights.total)
        relevance = (
            weights.lexical * self.lexical
            + weights.similarity * self.similarity
            + weights.speaker * self.speaker
            + weights.support * support
        )
        best = np.argsort(-relevance, axis=1, kind="stable")[:, :LONGEST_RANKING]
        return [[self.turns[place].ref for place in row] for row in best.tolist()]

    def of_words(self, corpus: Corpus, parameters: Bm25f) -> Evidence:
        """Return the same with other parameters of the lexical parts."""
        return replace(
            self,
            lexical=_lexical(self.turns, corpus, parameters),
            fact_lexical=_lexical(corpus.facts, corpus, parameters),
        )


def evidence(corpus: Corpus) -> Evidence:
    """Compute the parts of relevance by the product's own functions and defaults."""
    turns = sorted(corpus.turns, key=lambda document: document.ref)
    place_of = {document.ref: place for place, document in enumerate(turns)}
    mentioned = [spoken_about(question.text) for question in corpus.sample.questions]
    learned = [
        (fact, place_of[turn])
        for fact, document in enumerate(corpus.facts)
        for turn in document.turns
    ]
    return Evidence(
        turns=turns,
        lexical=_lexical(turns, corpus, Bm25f()),
        similarity=_similarity(turns, corpus),
        speaker=np.array([[float(speaks_of(m, d.speaker)) for d in turns] for m in mentioned]),
        fact_lexical=_lexical(corpus.facts, corpus, Bm25f()),
        fact_similarity=_similarity(corpus.facts, corpus),
        learned=([fact for fact, _ in learned], [turn for _, turn in learned]),
    )


def leave_one_out(
    corpora: Sequence[Corpus],
    tokens: Sequence[Mapping[str, int]],
    progress: Callable[[str], None],
) -> dict[str, Any]:
    """Tune on all conversations but one and measure on that one, for each.

    Settings are chosen by the mean of Recall@10, MRR and gold in 1,000 tokens over the answerable
    questions of the other conversations, from a grid around the defaults.

    Returns:
        ``held_out`` with the headline figures of the held-out conversations together, ``chosen``
        with the settings of each fold, and ``grid`` with the number of settings tried.
    """
    questions = [q for corpus in corpora for q in corpus.sample.questions]
    samples = [n for n, corpus in enumerate(corpora) for _ in corpus.sample.questions]
    everything = [evidence(corpus) for corpus in corpora]
    tried: list[tuple[Bm25f, FusionWeights, Results]] = []
    for step, parameters in enumerate(LEXICAL, 1):
        progress(f"leave one out: lexical setting {step} of {len(LEXICAL)}")
        parts = [
            part.of_words(corpus, parameters)
            for corpus, part in zip(corpora, everything, strict=True)
        ]
        for weights in WEIGHTS:
            rankings = [ranking for part in parts for ranking in part.rankings(weights)]
            measured = _measured(questions, samples, rankings, tokens)
            tried.append((parameters, weights, Results(questions, samples, measured)))
    held_out: list[Mapping[str, float]] = []
    chosen = []
    for fold, corpus in enumerate(corpora):
        parameters, weights, results = max(tried, key=lambda t: _objective(t[2], without=fold))
        chosen.append({"held_out": corpus.sample.name, **asdict(parameters), **asdict(weights)})
        rows = np.flatnonzero(results.samples == fold)
        held_out += [
            {name: float(values[row]) for name, values in results.values.items()} for row in rows
        ]
    figures = Results(questions, samples, held_out).headline()
    return {"held_out": figures, "chosen": chosen, "grid": len(tried)}


def _measured(
    questions: Sequence[Question],
    samples: Sequence[int],
    rankings: Rankings,
    tokens: Sequence[Mapping[str, int]],
) -> list[dict[str, float]]:
    return [
        measures(ranking, question.gold, tokens[sample])
        for question, sample, ranking in zip(questions, samples, rankings, strict=True)
    ]


def _objective(results: Results, without: int) -> float:
    rows = results.answerable & (results.samples != without)
    return sum(float(results.values[name][rows].mean()) for name in OBJECTIVE)


def _lexical(documents: Sequence[Document], corpus: Corpus, parameters: Bm25f) -> Matrix:
    index = LexicalIndex(english_stem, parameters)
    for document in documents:
        index.put(document.ref, document.text, document.context)
    matrix = np.zeros((len(corpus.sample.questions), len(documents)))
    for row, question in zip(matrix, corpus.sample.questions, strict=True):
        scores = index.scores(question.text)
        row[:] = [scores.get(document.ref, 0.0) for document in documents]
    return matrix


def _similarity(documents: Sequence[Document], corpus: Corpus) -> Matrix:
    if not documents:
        return np.zeros((len(corpus.queries), 0))
    vectors = np.array([d.vector for d in documents], np.float16).astype(np.float32)
    return np.array([similarities(vectors, query) for query in corpus.queries])
