"""An embedder without a model: texts with common words are near each other."""

from __future__ import annotations

import hashlib
import math
from typing import TYPE_CHECKING, Literal

from threadkeep.domain.lexical import words
from threadkeep.errors import ModelError

if TYPE_CHECKING:
    from collections.abc import Sequence


class HashingEmbedder:
    """Puts every word of a text on one of the axes.

    Attributes:
        is_out: Whether it fails, as a provider that is down does.
        calls: How many texts each call asked for.
    """

    model_id = "fake:hashing"

    def __init__(self, dimension: int = 64) -> None:
        self.dimension = dimension
        self.is_out = False
        self.calls: list[int] = []

    def embed(
        self, texts: Sequence[str], *, purpose: Literal["document", "query"]
    ) -> Sequence[tuple[float, ...]]:
        """Embed texts."""
        if self.is_out:
            raise ModelError("The embedder is out.")
        self.calls.append(len(texts))
        return [self._vector(text) for text in texts]

    def _vector(self, text: str) -> tuple[float, ...]:
        axes = [0.0] * self.dimension
        for word in words(text):
            axes[hashlib.sha256(word.encode()).digest()[0] % self.dimension] += 1.0
        length = math.hypot(*axes)
        return tuple(axis / length for axis in axes) if length else tuple(axes)
