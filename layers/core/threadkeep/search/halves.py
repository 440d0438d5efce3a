"""Vectors on their way into an index: float16, checked, refused one by one."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from threadkeep.errors import NotIndexedError

if TYPE_CHECKING:
    from collections.abc import Mapping

    from numpy.typing import NDArray

    from threadkeep.domain.retrieval import Document

_RETRY_SECONDS = 60


def half_of(document: Document, dimension: int) -> NDArray[np.float16] | None:
    """Return a document's vector as float16, or None for one without a direction.

    Raises:
        ValueError: The vector has another dimension, or a number in it is not finite.
    """
    if document.vector is None:
        return None
    half = np.asarray(document.vector, "<f2")
    if half.shape != (dimension,):
        raise ValueError(f"the vector has dimension {half.size}, and the index {dimension}")
    if not np.isfinite(half).all():
        raise ValueError("a number in the vector is not finite")
    return half if half.any() else None


def require_none(refused: Mapping[str, str]) -> None:
    """Require that nothing was refused.

    Args:
        refused: Reasons by ref.

    Raises:
        NotIndexedError: Something was.
    """
    if refused:
        reasons = ", ".join(sorted(set(refused.values())))
        raise NotIndexedError(
            f"The index refused {len(refused)} documents: {reasons}.",
            refs=tuple(refused),
            retry_after=_RETRY_SECONDS,
        )
