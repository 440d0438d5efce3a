"""Matching by words: how text becomes terms, and how well a document's terms answer a query's."""

from __future__ import annotations

import math
import re
import unicodedata
from collections import Counter
from dataclasses import dataclass
from functools import lru_cache
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable

# English function words and what contractions leave behind. Other languages need no list to work:
# inverse document frequency weighs their frequent words down.
STOP_WORDS = frozenset(
    re.findall(
        r"\w+",
        """
        a about again all am an and any are aren as at be been being both but by can could couldn d
        did didn do does doesn don down each few for from further had hadn has hasn have haven
        having he her here him his how i if in into is isn it its just ll m me might more most must
        my no not now of off on once only or other our out over own re s same shall she should
        shouldn so some such t than that the their them then there these they this to too under up
        us ve very was wasn we were weren what when where which who whom whose why will with won
        would wouldn you your
        """,
    )
)

_ASCII_WORD = re.compile(r"[a-z0-9]+")
_SEPARATOR, _WORD, _BIGRAM, _SYMBOL = range(4)
# Scripts written without spaces between words: Thai to Myanmar, Khmer, kana, Han, Hangul.
_UNSPACED = (
    (0x0E00, 0x0EFF), (0x1000, 0x109F), (0x1780, 0x17FF), (0x3040, 0x30FF), (0x31F0, 0x31FF),
    (0x3400, 0x4DBF), (0x4E00, 0x9FFF), (0xAC00, 0xD7AF), (0xF900, 0xFAFF), (0x20000, 0x3FFFF),
)  # fmt: skip
_LATIN_END = 0x0250


def words(text: str) -> list[str]:
    """Split text of any script into comparable words, in order.

    NFKC and case folding; accents of Latin letters are dropped (queries are often typed without);
    runs of a script without spaces become overlapping pairs of characters (as in Lucene's
    CJKAnalyzer), a lone one itself; an emoji or other symbol is a word of its own.
    """
    folded = unicodedata.normalize("NFKC", text).casefold()
    if folded.isascii():
        return _ASCII_WORD.findall(folded)
    found: list[str] = []
    run, kind_of_run = "", _SEPARATOR
    for char in _without_latin_accents(folded):
        kind = _kind(char)
        if kind_of_run != kind or kind == _SYMBOL:
            _close(run, kind_of_run, found)
            run = ""
        if kind != _SEPARATOR:
            run += char
        kind_of_run = kind
    _close(run, kind_of_run, found)
    return found


def _close(run: str, kind: int, found: list[str]) -> None:
    if kind == _BIGRAM and len(run) > 1:
        found.extend(run[start : start + 2] for start in range(len(run) - 1))
    elif run:
        found.append(run)


@lru_cache(maxsize=1 << 16)
def _kind(char: str) -> int:
    category = unicodedata.category(char)
    # Marks belong to the letter they follow: Indic vowel signs would tear words apart.
    if category[0] in "LNM":
        code = ord(char)
        return _BIGRAM if any(low <= code <= high for low, high in _UNSPACED) else _WORD
    return _SYMBOL if category == "So" else _SEPARATOR


def _without_latin_accents(text: str) -> str:
    kept: list[str] = []
    latin = False
    for char in unicodedata.normalize("NFD", text):
        if not unicodedata.combining(char):
            latin = ord(char) < _LATIN_END
        elif latin:
            continue
        kept.append(char)
    return unicodedata.normalize("NFC", "".join(kept))


def unstemmed(word: str) -> str:
    """Return the word itself: the stemmer of an index without one."""
    return word


@dataclass(frozen=True)
class Bm25f:
    """Parameters of BM25F; the defaults were chosen by ``bench/retrieval.py``.

    Args:
        k1: How soon further occurrences of a term stop counting, > 0.
        b: How much a field's length counts, 0–1.
        context_weight: What an occurrence in the context counts beside one in the text, 0–1.
    """

    k1: float = 1.0
    b: float = 0.3
    context_weight: float = 0.5


class LexicalIndex:
    """The documents of one user and kind, scored by BM25F over their text and context.

    For a query with distinct terms t and a document of the user's corpus::

        score = Σ_t idf(t) · tf(t) / (tf(t) + k1)  /  Σ_t idf(t)                    in 0–1
        tf(t) = count in text / norm(text) + context_weight · count in context / norm(context)
        norm  = 1 − b + b · length / mean length of the field
        idf   = ln(1 + (N − n + 0.5) / (n + 0.5)),  n of N documents hold t

    It is BM25F (Robertson, Zaragoza and Taylor, "Simple BM25 extension to multiple weighted
    fields", CIKM 2004) divided by what a document that is full of every query term would reach, so
    that a score depends on the query, the document and the corpus, never on what else was found.

    Args:
        stem: Maps a word to its stem; the same for documents and queries.
        parameters: Parameters of the formula.
    """

    def __init__(
        self, stem: Callable[[str], str] = unstemmed, parameters: Bm25f | None = None
    ) -> None:
        self._stem = stem
        self._parameters = parameters or Bm25f()
        self._postings: dict[str, dict[str, tuple[int, int]]] = {}
        self._terms: dict[str, tuple[str, ...]] = {}
        self._lengths: dict[str, tuple[int, int]] = {}
        self._norms: dict[str, tuple[float, float]] | None = None

    def __len__(self) -> int:
        return len(self._lengths)

    def __contains__(self, ref: str) -> bool:
        return ref in self._lengths

    def put(self, ref: str, text: str, context: str = "") -> None:
        """Add a document, or replace the one of that ref."""
        self.remove(ref)
        in_text, in_context = Counter(self.terms(text)), Counter(self.terms(context))
        terms = tuple(in_text | in_context)
        for term in terms:
            self._postings.setdefault(term, {})[ref] = (in_text[term], in_context[term])
        self._terms[ref] = terms
        self._lengths[ref] = (in_text.total(), in_context.total())
        self._norms = None

    def remove(self, ref: str) -> None:
        """Take a document out; does nothing if it is not there."""
        if ref not in self._lengths:
            return
        for term in self._terms.pop(ref):
            holders = self._postings[term]
            del holders[ref]
            if not holders:
                del self._postings[term]
        del self._lengths[ref]
        self._norms = None

    def terms(self, text: str) -> list[str]:
        """Return the stems of the words that carry meaning, in order."""
        return [self._stem(word) for word in words(text) if word not in STOP_WORDS]

    def scores(self, query: str) -> dict[str, float]:
        """Score the documents that share a term with the query.

        Args:
            query: Any text. One without a term (stop words only, say) matches nothing.

        Returns:
            Score in 0–1 by ref; documents that are left out score 0.
        """
        idf = {term: self._idf(term) for term in dict.fromkeys(self.terms(query))}
        attainable = sum(idf.values())
        norms, k1 = self._field_norms(), self._parameters.k1
        scores: dict[str, float] = {}
        for term, weight in idf.items():
            share = weight / attainable
            for ref, (in_text, in_context) in self._postings.get(term, {}).items():
                per_text, per_context = norms[ref]
                frequency = in_text * per_text + in_context * per_context
                scores[ref] = scores.get(ref, 0.0) + share * frequency / (frequency + k1)
        return scores

    def _idf(self, term: str) -> float:
        holders = len(self._postings.get(term, ()))
        return math.log(1 + (len(self) - holders + 0.5) / (holders + 0.5))

    def _field_norms(self) -> dict[str, tuple[float, float]]:
        """Return by ref what one occurrence in the text and in the context counts."""
        if self._norms is None:
            b, weight = self._parameters.b, self._parameters.context_weight
            lengths = self._lengths.values()
            mean_text = _mean([text for text, _ in lengths])
            mean_context = _mean([context for _, context in lengths])
            self._norms = {
                ref: (
                    1 / (1 - b + b * max(text, 1) / mean_text),
                    weight / (1 - b + b * max(context, 1) / mean_context),
                )
                for ref, (text, context) in self._lengths.items()
            }
        return self._norms


def _mean(lengths: list[int]) -> float:
    """Return the mean of the lengths, or 1 where there is nothing to compare with."""
    return sum(lengths) / len(lengths) if any(lengths) else 1.0
