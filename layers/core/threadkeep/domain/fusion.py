"""Relevance of a document for a query: one formula over everything that is known of the pair."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING

from threadkeep.domain.lexical import STOP_WORDS, words

if TYPE_CHECKING:
    from collections.abc import Iterable

FIRST_PERSON = frozenset({"i", "me", "mine", "my", "myself"})
SECOND_PERSON = frozenset({"you", "your", "yours", "yourself"})
SPOKEN_ABOUT_AS = {"user": FIRST_PERSON, "assistant": SECOND_PERSON}
"""How a query speaks of those whose turns carry a role in place of a name."""


@dataclass(frozen=True)
class FusionWeights:
    """What each kind of evidence counts in ``relevance``; the defaults were chosen by
    ``bench/retrieval.py`` with the offline embedder.

    Only their ratios matter. A stronger embedder deserves a larger ``similarity``.

    Args:
        lexical: Words that query and document share (``lexical.LexicalIndex``).
        similarity: Cosine of the vectors, clamped to 0–1.
        speaker: Whether the query speaks of the one who said it (``speaks_of``).
        support: Relevance of the best entity that was learned from this turn.
    """

    lexical: float = 1.0
    similarity: float = 0.3
    speaker: float = 0.1
    support: float = 0.3

    def __post_init__(self) -> None:
        if not all(0 <= part < math.inf for part in self.parts) or self.total == 0:
            raise ValueError(f"weights must be finite, none negative and not all zero: {self}")

    @property
    def parts(self) -> tuple[float, float, float, float]:
        """The weights in the order of ``relevance``'s arguments."""
        return self.lexical, self.similarity, self.speaker, self.support

    @property
    def total(self) -> float:
        """The sum that relevance is divided by."""
        return sum(self.parts)


def relevance(
    weights: FusionWeights,
    *,
    lexical: float,
    similarity: float,
    speaker: float = 0.0,
    support: float = 0.0,
) -> float:
    """Return how relevant a document is, in 0–1.

    The weighted mean of its evidence::

        relevance = (w_l · lexical + w_v · similarity + w_s · speaker + w_e · support) / Σ w

    Every part lies in 0–1 and depends on query, document and corpus only, so that a document's
    relevance is the same whatever else was fetched, and parts can be shown as they are.

    Args:
        weights: What each part counts.
        lexical: BM25F score in 0–1; 0 without a common term.
        similarity: Cosine clamped to 0–1; 0 for a document without vector.
        speaker: 1 when the query speaks of the document's speaker, else 0.
        support: Relevance of the best entity learned from the document; 0 without one.
    """
    return (
        weights.lexical * lexical
        + weights.similarity * similarity
        + weights.speaker * speaker
        + weights.support * support
    ) / weights.total


def spoken_about(query: str) -> frozenset[str]:
    """Return the words by which a query can speak of someone."""
    return frozenset(words(query))


def speaks_of(mentioned: Iterable[str], speaker: str) -> bool:
    """Tell whether a query speaks of a speaker: "Where did Mia move?" of Mia, "my" of the user.

    Args:
        mentioned: ``spoken_about`` of the query.
        speaker: Name of the speaker, or the role ``user`` or ``assistant``; empty for none.
    """
    name = words(speaker)
    by = SPOKEN_ABOUT_AS.get(" ".join(name)) or {
        word for word in name if len(word) > 1 and word not in STOP_WORDS
    }
    return not by.isdisjoint(mentioned)
