"""The systems that are compared: the product's own search, and what is usually built instead."""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from bench.locomo import ref_of
from tests.fakes.clock import FakeClock
from tests.fakes.vector_rows import FakeVectorRows
from threadkeep.domain.documents import entity_draft, episode_draft
from threadkeep.domain.lexical import Bm25f, LexicalIndex
from threadkeep.domain.ranking import best
from threadkeep.domain.retrieval import DocumentKind, Mode, SearchQuery
from threadkeep.search.exact import ExactIndex
from threadkeep.search.scoring import similarities
from threadkeep.search.stemming import english_stem

if TYPE_CHECKING:
    from collections.abc import Mapping

    from numpy.typing import NDArray

    from bench.locomo import Sample
    from threadkeep.domain.retrieval import Document
    from threadkeep.ports import Embedder

USER = "user"
LONGEST_RANKING = 200
"""Turns ranked for a question: more than fit into the largest budget of tokens."""

LUCENE = Bm25f(k1=1.2, b=0.75, context_weight=0.0)
"""Plain BM25 with Lucene's defaults, as OpenSearch has it."""

RRF_K = 60
"""Constant of reciprocal rank fusion (Cormack, Clarke and Büttcher 2009)."""

type Rankings = list[list[str]]


@dataclass(frozen=True)
class Corpus:
    """A conversation as the product indexes it, with the vectors of its questions.

    Args:
        sample: The conversation.
        turns: Documents of the turns, with vectors.
        facts: Documents of the facts, with vectors.
        texts: Each turn as the model reads it, by ref.
        queries: The vector of each question.
        plain: Vectors of the turns on their own, without neighbours, a row each.
    """

    sample: Sample
    turns: tuple[Document, ...]
    facts: tuple[Document, ...]
    texts: Mapping[str, str]
    queries: tuple[tuple[float, ...], ...]
    plain: NDArray[np.float32]


def corpus(sample: Sample, embedder: Embedder) -> Corpus:
    """Turn a conversation into documents by the product's own rules, and embed them."""
    messages = {ref_of(m): m for session in sample.sessions for m in session}
    turns = [episode_draft(s, place) for s in sample.sessions for place in range(len(s))]
    facts = [entity_draft(fact, messages) for fact in sample.facts]
    drafts = [*turns, *facts]
    vectors = embedder.embed([draft.embedded for draft in drafts], purpose="document")
    documents = [
        draft.document.model_copy(update={"vector": vector})
        for draft, vector in zip(drafts, vectors, strict=True)
    ]
    texts = {draft.document.ref: draft.document.text for draft in turns}
    return Corpus(
        sample,
        tuple(documents[: len(turns)]),
        tuple(documents[len(turns) :]),
        texts,
        tuple(embedder.embed([q.text for q in sample.questions], purpose="query")),
        np.asarray(embedder.embed(list(texts.values()), purpose="document"), np.float32),
    )


def product(corpus: Corpus, *, mode: Mode, recency_weight: float, facts: bool) -> Rankings:
    """Rank turns by the product's exact back end.

    Args:
        corpus: The conversation.
        mode: Search mode.
        recency_weight: Weight of recency, counted from the conversation's last turn.
        facts: Whether what was learned from the turns is in the index.
    """
    now = corpus.sample.last_activity
    dimension = len(corpus.queries[0])
    index = ExactIndex(FakeVectorRows(), dimension, FakeClock(now))
    index.upsert(USER, [*corpus.turns, *(corpus.facts if facts else ())])
    return [
        [
            candidate.ref
            for candidate in index.search(
                USER,
                SearchQuery(query=question.text, mode=mode, recency_weight=recency_weight),
                vector,
                kind=DocumentKind.EPISODE,
                count=LONGEST_RANKING,
                now=now,
            ).found
        ]
        for question, vector in zip(corpus.sample.questions, corpus.queries, strict=True)
    ]


def bm25(corpus: Corpus) -> Rankings:
    """Rank turns, with date and speaker, by BM25 with the product's terms."""
    index = LexicalIndex(english_stem, LUCENE)
    for ref, text in corpus.texts.items():
        index.put(ref, text)
    return [
        [ref for ref, _ in best(index.scores(question.text).items(), LONGEST_RANKING)]
        for question in corpus.sample.questions
    ]


def cosine(corpus: Corpus) -> Rankings:
    """Rank turns, with date and speaker, by the cosine of their own vectors."""
    refs = list(corpus.texts)
    return [
        [
            ref
            for ref, _ in best(
                zip(refs, similarities(corpus.plain, query).tolist(), strict=True), LONGEST_RANKING
            )
        ]
        for query in corpus.queries
    ]


def reciprocal_rank_fusion(corpus: Corpus) -> Rankings:
    """Fuse the rankings of BM25 and cosine by the sum of 1 / (60 + rank)."""
    fused = []
    for rankings in zip(bm25(corpus), cosine(corpus), strict=True):
        scores: defaultdict[str, float] = defaultdict(float)
        for ranking in rankings:
            for rank, ref in enumerate(ranking, 1):
                scores[ref] += 1 / (RRF_K + rank)
        fused.append([ref for ref, _ in best(scores.items(), LONGEST_RANKING)])
    return fused


BASELINES = {"bm25": bm25, "cosine": cosine, "rrf": reciprocal_rank_fusion}
