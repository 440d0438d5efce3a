"""Documents of one user and kind in memory: one row each, scored all at once."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from threadkeep.domain.lexical import LexicalIndex
from threadkeep.search.stemming import english_stem

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence
    from datetime import datetime

    import numpy.typing as npt

    from threadkeep.domain.retrieval import Document

    type Floats = npt.NDArray[np.float64]
    type Mask = npt.NDArray[np.bool_]

FIRST_ROWS = 64
BYTES_PER_TEXT_BYTE = 8
"""What a byte of text costs in the lexical index, roughly: postings and terms."""


class Block:
    """Rows of one kind; a removed row's place is taken by the last one.

    Vectors are held as float32 of what float16 kept, so that a document scores the same before and
    after it was stored.

    Args:
        dimension: Length of the vectors.
    """

    def __init__(self, dimension: int) -> None:
        self.documents: list[Document] = []
        self.lexical = LexicalIndex(english_stem)
        self._places: dict[str, int] = {}
        self._text_bytes = 0
        self._vectors = np.zeros((FIRST_ROWS, dimension), np.float32)
        self._times = np.zeros((FIRST_ROWS, 3), np.float64)
        self._undated = np.zeros(FIRST_ROWS, np.bool_)
        self._speakers = np.zeros(FIRST_ROWS, np.int32)
        self._speaker_codes: dict[str, int] = {}

    def __len__(self) -> int:
        return len(self.documents)

    @property
    def size(self) -> int:
        """Bytes it takes, roughly."""
        return self._vectors.nbytes + self._times.nbytes + BYTES_PER_TEXT_BYTE * self._text_bytes

    @property
    def vectors(self) -> npt.NDArray[np.float32]:
        """Unit vectors, a row each; zeros where there is none."""
        return self._vectors[: len(self)]

    @property
    def undated(self) -> Mask:
        """Which are known by their year only, so that their recency is neutral."""
        return self._undated[: len(self)]

    @property
    def created(self) -> Floats:
        """When each was created, in seconds since 1970."""
        return self._times[: len(self), 0]

    @property
    def touched(self) -> Floats:
        """When each was touched, in seconds since 1970."""
        return self._times[: len(self), 1]

    @property
    def expires(self) -> Floats:
        """When each expires, in seconds since 1970, or infinity."""
        return self._times[: len(self), 2]

    def place(self, ref: str) -> int | None:
        """Return the row of a document, or None."""
        return self._places.get(ref)

    def put(self, document: Document, vector: npt.NDArray[np.float16] | None) -> None:
        """Add or replace a document, unless a later revision is here already."""
        place = self._places.get(document.ref)
        if place is None:
            place = len(self.documents)
            self._reserve(place + 1)
            self._places[document.ref] = place
            self.documents.append(document)
        else:
            known = self.documents[place]
            if known.revision > document.revision:
                return
            if known.revision == document.revision and vector is None:
                return
            self._text_bytes -= _text_bytes(known)
            self.documents[place] = document
        self._text_bytes += _text_bytes(document)
        self.lexical.put(document.ref, document.text, document.context)
        self._vectors[place] = 0 if vector is None else vector
        self._undated[place] = document.time_precision == "year"
        codes = self._speaker_codes
        self._speakers[place] = codes.setdefault(document.speaker, len(codes))
        self._times[place] = (
            document.created_at.timestamp(),
            document.touched_at.timestamp(),
            _seconds(document.expires_at, np.inf),
        )

    def remove(self, ref: str) -> None:
        """Take a document out; does nothing if it is not there."""
        place = self._places.pop(ref, None)
        if place is None:
            return
        self.lexical.remove(ref)
        self._text_bytes -= _text_bytes(self.documents[place])
        last = self.documents.pop()
        if place < len(self.documents):
            end = len(self.documents)
            self.documents[place] = last
            self._places[last.ref] = place
            for column in (self._vectors, self._times, self._undated, self._speakers):
                column[place] = column[end]

    def spread(self, scores: Mapping[str, float]) -> Floats:
        """Return a score for every row from scores by ref; those not named get 0."""
        column = np.zeros(len(self), np.float64)
        places = self._places
        known = [ref for ref in scores if ref in places]
        column[[places[ref] for ref in known]] = [scores[ref] for ref in known]
        return column

    def spoken_by(self, meant: Callable[[str], bool]) -> Mask:
        """Return which rows were said by a speaker that is meant."""
        codes = [code for speaker, code in self._speaker_codes.items() if meant(speaker)]
        return np.isin(self._speakers[: len(self)], codes)

    def refs(self, places: Sequence[int]) -> list[str]:
        """Return the refs of rows."""
        return [self.documents[place].ref for place in places]

    def _reserve(self, rows: int) -> None:
        if rows > len(self._vectors):
            room = max(rows, 2 * len(self._vectors))
            self._vectors = _grown(self._vectors, room)
            self._times = _grown(self._times, room)
            self._undated = _grown(self._undated, room)
            self._speakers = _grown(self._speakers, room)


def _grown[A: npt.NDArray[np.generic]](array: A, rows: int) -> A:
    grown = np.zeros((rows, *array.shape[1:]), array.dtype)
    grown[: len(array)] = array
    return grown  # type: ignore[return-value]


def _seconds(moment: datetime | None, otherwise: float) -> float:
    return otherwise if moment is None else moment.timestamp()


def _text_bytes(document: Document) -> int:
    return len(document.text) + len(document.context)
