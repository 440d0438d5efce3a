"""What a user's documents are worth for one question: fast for all rows, exact for some."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from threadkeep.domain.fusion import speaks_of, spoken_about
from threadkeep.domain.retrieval import DocumentKind, Mode
from threadkeep.search.scoring import exact_similarities, similarities, slack

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from threadkeep.domain.fusion import FusionWeights
    from threadkeep.search.block import Block
    from threadkeep.search.scoring import Floats, Rows


class Relevance:
    """Relevance of documents for one question, by ``fusion.relevance`` for whole columns.

    Args:
        blocks: The user's documents.
        text: The question.
        mode: What relevance is made of.
        vector: The question's vector; not used in lexical mode.
        weights: Weights of hybrid relevance.
    """

    def __init__(
        self,
        blocks: Mapping[DocumentKind, Block],
        text: str,
        mode: Mode,
        vector: Sequence[float],
        weights: FusionWeights,
    ) -> None:
        self._blocks = blocks
        self._text = text
        self._mode = mode
        self._vector = vector
        self._weights = weights
        self._columns: dict[tuple[str, DocumentKind], Floats] = {}

    @property
    def error(self) -> float:
        """How far ``fast`` can be from ``exact``: no farther than similarity, of which relevance,
        support included, is a weighted mean."""
        return 0.0 if self._mode is Mode.LEXICAL else slack(len(self._vector))

    def fast(self, kind: DocumentKind) -> Floats:
        """Return the relevance of every row of a kind, in 0–1, off by less than ``error``."""
        return self._of(kind, None)

    def exact(self, kind: DocumentKind, rows: Rows) -> Floats:
        """Return the relevance of some rows without any error."""
        return self._of(kind, rows)

    def _of(self, kind: DocumentKind, rows: Rows | None) -> Floats:
        if self._mode is Mode.SEMANTIC:
            return self._similarity(kind, rows)
        lexical = _some(self._lexical(kind), rows)
        if self._mode is Mode.LEXICAL:
            return lexical
        weights = self._weights
        relevance: Floats = (
            weights.lexical * lexical
            + weights.similarity * self._similarity(kind, rows)
            + weights.speaker * _some(self._speaker(kind), rows)
            + weights.support * self._support(kind, rows)
        ) / weights.total
        return relevance

    def _lexical(self, kind: DocumentKind) -> Floats:
        if ("lexical", kind) not in self._columns:
            block = self._blocks[kind]
            self._columns["lexical", kind] = block.spread(block.lexical.scores(self._text))
        return self._columns["lexical", kind]

    def _speaker(self, kind: DocumentKind) -> Floats:
        if ("speaker", kind) not in self._columns:
            mentioned = spoken_about(self._text)
            meant = self._blocks[kind].spoken_by(lambda speaker: speaks_of(mentioned, speaker))
            self._columns["speaker", kind] = meant.astype(np.float64)
        return self._columns["speaker", kind]

    def _similarity(self, kind: DocumentKind, rows: Rows | None) -> Floats:
        vectors = self._blocks[kind].vectors
        if rows is None:
            return similarities(vectors, self._vector)
        return exact_similarities(vectors, self._vector, rows)

    def _support(self, kind: DocumentKind, rows: Rows | None) -> Floats:
        """Return for turns the relevance of the best entity that was learned from each."""
        block, entities = self._blocks[kind], self._blocks[DocumentKind.ENTITY]
        best: dict[str, float] = {}
        if kind is DocumentKind.EPISODE and len(entities):
            learned, known = entities.documents, None
            if rows is not None:
                turns = {block.documents[row].ref for row in rows.tolist()}
                places = [
                    place
                    for place, document in enumerate(entities.documents)
                    if not turns.isdisjoint(document.turns)
                ]
                learned = [entities.documents[place] for place in places]
                known = np.asarray(places, np.intp)
            relevance = self._of(DocumentKind.ENTITY, known)
            for document, score in zip(learned, relevance.tolist(), strict=True):
                for turn in document.turns:
                    best[turn] = max(score, best.get(turn, 0.0))
        return _some(block.spread(best), rows)


def _some(column: Floats, rows: Rows | None) -> Floats:
    return column if rows is None else column[rows]
