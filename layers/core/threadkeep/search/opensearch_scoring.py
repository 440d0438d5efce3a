"""The score of search as OpenSearch computes it, and again in this process for what it proposes.

The engine computes in float64 and answers in float32. So it decides which documents can be best,
and their final scores come from here. Both follow ``domain.ranking``, ``domain.fusion`` and
``domain.lexical``; the contract suite compares them with the exact back end.
"""

from __future__ import annotations

import math
from collections import Counter
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np

from threadkeep.domain.fusion import relevance, speaks_of, spoken_about
from threadkeep.domain.lexical import Bm25f
from threadkeep.domain.ranking import NEUTRAL_RECENCY, SECONDS_PER_DAY, combined
from threadkeep.domain.retrieval import Mode
from threadkeep.ports import Candidate
from threadkeep.search.opensearch_documents import terms_of
from threadkeep.search.scoring import QUERY_GRID

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from threadkeep.domain.fusion import FusionWeights
    from threadkeep.domain.retrieval import SearchQuery
    from threadkeep.search.opensearch_documents import Scorable

MAX_TERMS = 64
"""Most terms of a query that are scored, the rarest of them; with more it is not exact."""

MAX_COUNTED_TERMS = 512
"""Most terms of a query whose documents are counted."""

# The plugin's own cosineSimilarity would divide by lengths that float16 has made inexact, and sums
# in float32. The products here are exact in float64 (``scoring.exact_similarities``).
SCRIPT = """
    double similarity = 0;
    if (params.vector.length > 0 && doc['vector'].size() > 0) {
        float[] vector = doc['vector'].value;
        for (int i = 0; i < vector.length; i++) { similarity += params.vector[i] * vector[i]; }
        similarity = Math.max(0.0, Math.min(1.0, similarity));
    }
    double lexical = 0;
    if (params.terms.length > 0) {
        double text = 1 - params.b
            + params.b * Math.max(1, doc['terms_count'].value) / params.mean_terms;
        double around = 1 - params.b
            + params.b * Math.max(1, doc['around_count'].value) / params.mean_around;
        for (int i = 0; i < params.terms.length; i++) {
            double often = termFreq('terms', params.terms[i]) / text
                + termFreq('around', params.terms[i]) * params.context_weight / around;
            lexical += params.shares[i] * often / (often + params.k1);
        }
    }
    double speaker = 0;
    if (params.speakers.length > 0) {
        String said = doc['speaker'].value;
        for (int i = 0; i < params.speakers.length; i++) {
            if (params.speakers[i] == said) { speaker = 1; }
        }
    }
    double support = 0;
    if (!params.support.isEmpty()) {
        support = params.support.getOrDefault(doc['ref'].value, 0.0);
    }
    double relevance = (params.weights[0] * lexical + params.weights[1] * similarity
        + params.weights[2] * speaker + params.weights[3] * support) / params.total;
    double recency = params.neutral;
    if (!doc['undated'].value) {
        double days = Math.max(params.now - doc['touched'].value, 0.0) / params.day;
        recency = Math.exp(-params.rate * days);
    }
    return (1 - params.recency_weight) * relevance + params.recency_weight * recency;
"""


@dataclass(frozen=True)
class Corpus:
    """What lexical scores depend on beside query and document: the user's documents of a kind.

    Args:
        documents: How many there are.
        terms: Total of their terms.
        around: Total of the terms of their contexts.
        holders: How many hold each counted term of the query.
        speakers: Who speaks in them.
    """

    documents: int = 0
    terms: int = 0
    around: int = 0
    holders: Mapping[str, int] = field(default_factory=dict)
    speakers: frozenset[str] = frozenset()

    @property
    def mean_terms(self) -> float:
        """Mean number of terms of a text, or 1 where there is nothing to compare with."""
        return self.terms / self.documents if self.terms else 1.0

    @property
    def mean_around(self) -> float:
        """The same of a context."""
        return self.around / self.documents if self.around else 1.0

    def with_pending(self, documents: Sequence[Scorable]) -> Corpus:
        """Return the corpus with documents that the index does not hold yet."""
        sets = [frozenset((*each.terms, *each.around)) for each in documents]
        return Corpus(
            self.documents + len(documents),
            self.terms + sum(len(each.terms) for each in documents),
            self.around + sum(len(each.around) for each in documents),
            {
                term: count + sum(term in held for held in sets)
                for term, count in self.holders.items()
            },
            self.speakers | {each.speaker for each in documents},
        )


def counted_terms(text: str) -> tuple[str, ...]:
    """Return the distinct terms of a query that documents are counted for."""
    return tuple(dict.fromkeys(terms_of(text)))[:MAX_COUNTED_TERMS]


class Question:
    """How documents of one kind are scored for one query.

    Args:
        query: The query with its weights.
        mode: What relevance is made of.
        vector: The query's vector; not used in lexical mode.
        weights: Weights of hybrid relevance.
        corpus: The user's documents of the kind; not used in semantic mode.
        support: In hybrid mode relevance by ref that other documents lend.
        now: Time that recency counts from, in seconds since 1970.
    """

    def __init__(
        self,
        query: SearchQuery,
        mode: Mode,
        vector: Sequence[float],
        weights: FusionWeights,
        *,
        now: float,
        corpus: Corpus | None = None,
        support: Mapping[str, float] | None = None,
    ) -> None:
        self._query = query
        self._mode = mode
        self._weights = weights
        self._now = now
        self._corpus = corpus or Corpus()
        self._support = support or {}
        self._bm25 = Bm25f()
        asked = [] if mode is Mode.LEXICAL else vector
        self._vector = np.round(np.asarray(asked, np.float64) / QUERY_GRID) * QUERY_GRID
        self._shares = {} if mode is Mode.SEMANTIC else self._term_shares()
        self._speakers = self._meant_speakers() if mode is Mode.HYBRID else frozenset()

    @property
    def terms(self) -> list[str]:
        """The terms that are scored."""
        return list(self._shares)

    @property
    def complete(self) -> bool:
        """Whether all terms of the query are scored."""
        return self._mode is Mode.SEMANTIC or len(set(terms_of(self._query.query))) <= MAX_TERMS

    def script(self) -> dict[str, Any]:
        """Return the engine's script; its source never changes, so that it is compiled once."""
        query, corpus = self._query, self._corpus
        parts = {
            Mode.SEMANTIC: (0.0, 1.0, 0.0, 0.0),
            Mode.LEXICAL: (1.0, 0.0, 0.0, 0.0),
            Mode.HYBRID: self._weights.parts,
        }[self._mode]
        return {
            "source": SCRIPT,
            "params": {
                "vector": self._vector.tolist(),
                "terms": list(self._shares),
                "shares": list(self._shares.values()),
                "k1": self._bm25.k1,
                "b": self._bm25.b,
                "context_weight": self._bm25.context_weight,
                "mean_terms": corpus.mean_terms,
                "mean_around": corpus.mean_around,
                "speakers": sorted(self._speakers),
                "support": dict(self._support),
                "weights": parts,
                "total": sum(parts),
                "now": self._now,
                "day": float(SECONDS_PER_DAY),
                "rate": math.log(2) / query.half_life_days,
                "neutral": NEUTRAL_RECENCY,
                "recency_weight": query.recency_weight,
            },
        }

    def candidate(self, document: Scorable) -> Candidate:
        """Score a document in this process."""
        similarity = self.relevance(document)
        recency = self._recency(document)
        return Candidate(
            kind=document.kind,
            ref=document.ref,
            revision=document.revision,
            score=combined(similarity, recency, self._query.recency_weight),
            similarity=similarity,
            recency=recency,
        )

    def relevance(self, document: Scorable) -> float:
        """Return a document's relevance in 0–1."""
        if self._mode is Mode.SEMANTIC:
            return self._similarity(document)
        if self._mode is Mode.LEXICAL:
            return self._lexical(document)
        return relevance(
            self._weights,
            lexical=self._lexical(document),
            similarity=self._similarity(document),
            speaker=float(document.speaker in self._speakers),
            support=self._support.get(document.ref, 0.0),
        )

    def _similarity(self, document: Scorable) -> float:
        if document.half is None or not len(self._vector):
            return 0.0
        return float(np.clip(document.half.astype(np.float64) @ self._vector, 0.0, 1.0))

    def _lexical(self, document: Scorable) -> float:
        if not self._shares:
            return 0.0
        bm25, corpus = self._bm25, self._corpus
        in_text, in_context = Counter(document.terms), Counter(document.around)
        text = 1 - bm25.b + bm25.b * max(len(document.terms), 1) / corpus.mean_terms
        around = 1 - bm25.b + bm25.b * max(len(document.around), 1) / corpus.mean_around
        score = 0.0
        for term, share in self._shares.items():
            often = in_text[term] / text + in_context[term] * bm25.context_weight / around
            score += share * often / (often + bm25.k1)
        return score

    def _recency(self, document: Scorable) -> float:
        if document.undated:
            return NEUTRAL_RECENCY
        days = max(self._now - document.touched, 0.0) / SECONDS_PER_DAY
        return math.exp(-math.log(2) / self._query.half_life_days * days)

    def _term_shares(self) -> dict[str, float]:
        """Return what each scored term counts: its share of what can be attained."""
        total, holders = self._corpus.documents, self._corpus.holders
        idf = {
            term: math.log(1 + (total - count + 0.5) / (count + 0.5))
            for term, count in holders.items()
        }
        attainable = sum(idf.values())
        rarest = frozenset(sorted(idf, key=lambda term: -idf[term])[:MAX_TERMS])
        return {term: weight / attainable for term, weight in idf.items() if term in rarest}

    def _meant_speakers(self) -> frozenset[str]:
        mentioned = spoken_about(self._query.query)
        return frozenset(name for name in self._corpus.speakers if speaks_of(mentioned, name))
