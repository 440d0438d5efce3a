"""The generations of a back end that has one only."""

from __future__ import annotations

from typing import TYPE_CHECKING

from threadkeep.ports import Generation

if TYPE_CHECKING:
    from collections.abc import Sequence

    from threadkeep.ports import Embedder, VectorIndex


class OneGeneration:
    """An index that is brought to another embedder in place.

    Args:
        index: The index.
        embedder: Its embedder.
    """

    def __init__(self, index: VectorIndex, embedder: Embedder) -> None:
        self._generations = (Generation("", index, embedder),)

    def serving(self) -> Generation:
        """Return the generation."""
        return self._generations[0]

    def sweep(self) -> int:
        """Do nothing: rows of removed documents expire by themselves."""
        return 0

    def written(self) -> Sequence[Generation]:
        """Return the generation."""
        return self._generations
