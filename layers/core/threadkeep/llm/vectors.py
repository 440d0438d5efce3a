"""What every embedder keeps: unit vectors of the configured length, zeros for blank text."""

import math
from collections.abc import Callable, Sequence

from threadkeep.errors import MisconfiguredError, ModelError

type Vector = tuple[float, ...]


def embed_texts(
    texts: Sequence[str],
    dimension: int,
    ask: Callable[[Sequence[str]], Sequence[Sequence[float]]],
    *,
    model_id: str,
    batch: int,
) -> tuple[Vector, ...]:
    """Embed texts in batches by ``ask``, which is never given a blank one.

    Args:
        texts: What to embed.
        dimension: Length that every vector must have.
        ask: Turns at most ``batch`` texts into as many vectors of any length but zero.
        model_id: Name for messages.
        batch: Most texts of one call.

    Raises:
        ModelError: A vector is missing, or no direction can be made of it.
        MisconfiguredError: The vectors have another length than ``dimension``.
    """
    written = [index for index, text in enumerate(texts) if text.strip()]
    vectors: list[Vector] = [(0.0,) * dimension] * len(texts)
    for start in range(0, len(written), batch):
        chunk = written[start : start + batch]
        answers = ask([valid_text(texts[index]) for index in chunk])
        if len(answers) != len(chunk):
            raise ModelError(f"{model_id} embedded {len(answers)} of {len(chunk)} texts")
        for index, answer in zip(chunk, answers, strict=True):
            vectors[index] = _unit(answer, dimension, model_id)
    return tuple(vectors)


def valid_text(text: str) -> str:
    """Return the text with lone surrogates, which no tokenizer takes, replaced by U+FFFD."""
    return text.encode("utf-16", "surrogatepass").decode("utf-16", "replace")


def dimension_mismatch(model_id: str, real: int, configured: int) -> MisconfiguredError:
    """Return the error that names both numbers."""
    return MisconfiguredError(
        f"EMBEDDING_DIMENSION is {configured}, but {model_id} makes vectors of {real}",
        extra={"setting": "EMBEDDING_DIMENSION", "configured": configured, "real": real},
    )


def _unit(vector: Sequence[float], dimension: int, model_id: str) -> Vector:
    if len(vector) != dimension:
        raise dimension_mismatch(model_id, len(vector), dimension)
    length = math.hypot(*vector)
    if not math.isfinite(length) or length == 0.0:
        raise ModelError(f"{model_id} answered a vector without direction")
    return tuple(value / length for value in vector)
