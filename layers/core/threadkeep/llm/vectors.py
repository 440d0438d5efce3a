"""What every embedder keeps: unit vectors of the configured length, zeros for blank text."""

import math
from collections.abc import Callable, Sequence

from threadkeep.errors import MisconfiguredError, ModelError

type Vector = tuple[float, ...]

MAX_EMBEDDED_BYTES = 14_000
"""What an embedder with a window of 8,192 tokens takes of a text of any script, base64 included."""


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


def cut(text: str, most_bytes: int = MAX_EMBEDDED_BYTES) -> str:
    """Return the longest beginning of a text that is not over so many bytes of UTF-8."""
    return text.encode()[:most_bytes].decode(errors="ignore")


def valid_text(text: str) -> str:
    """Return the text with lone surrogates, which no tokenizer takes, replaced by U+FFFD."""
    return text.encode("utf-16", "surrogatepass").decode("utf-16", "replace")


def dimension_mismatch(model_id: str, configured: int, *real: int) -> MisconfiguredError:
    """Return the error that names the configured length and those that the model makes."""
    makes = " or ".join(str(length) for length in real)
    return MisconfiguredError(
        f"EMBEDDING_DIMENSION is {configured}, but {model_id} makes vectors of {makes}",
        extra={"setting": "EMBEDDING_DIMENSION", "configured": configured, "real": list(real)},
    )


def _unit(vector: Sequence[float], dimension: int, model_id: str) -> Vector:
    if len(vector) != dimension:
        raise dimension_mismatch(model_id, dimension, len(vector))
    length = math.hypot(*vector)
    if not math.isfinite(length) or length == 0.0:
        raise ModelError(f"{model_id} answered a vector without direction")
    return tuple(value / length for value in vector)
