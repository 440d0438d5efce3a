"""Static word vectors from the package wordllama: no network, about 0.1 ms a text.

Only the package's two files are read. Importing it would load compiled search code, and its own
``load`` looks for the tokenizer in a folder that the package does not have.
"""

from __future__ import annotations

import importlib.util
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Literal

from threadkeep.errors import MisconfiguredError
from threadkeep.llm.vectors import Vector, dimension_mismatch, embed_texts

if TYPE_CHECKING:
    from collections.abc import Sequence

    import numpy as np
    from numpy.typing import NDArray
    from tokenizers import Tokenizer

_WEIGHTS = "weights/l2_supercat_256.safetensors"
_TENSOR = "embedding.weight"
_TOKENIZER = "tokenizers/l2_supercat_tokenizer_config.json"
_DIMENSIONS = (256, 128, 64)
_BATCH = 256


class WordVectorEmbedder:
    """Mean of the static vectors of a text's tokens, at unit length.

    The vectors were trained so that their first 64 or 128 numbers are vectors of their own
    (matryoshka representation learning, Kusupati et al. 2022).

    Args:
        model_id: Name of the model, as in the settings.
        dimension: 64, 128 or 256.

    Raises:
        MisconfiguredError: The dimension is another one.
    """

    def __init__(self, model_id: str = "offline:wordllama", dimension: int = 256) -> None:
        if dimension not in _DIMENSIONS:
            raise dimension_mismatch(model_id, dimension, *_DIMENSIONS)
        self._model_id = model_id
        self._dimension = dimension

    @property
    def model_id(self) -> str:
        """Name of the model, as in the settings."""
        return self._model_id

    @property
    def dimension(self) -> int:
        """Length of every vector."""
        return self._dimension

    def embed(
        self, texts: Sequence[str], *, purpose: Literal["document", "query"]
    ) -> tuple[Vector, ...]:
        """Embed texts; the purpose makes no difference to these vectors.

        Raises:
            MisconfiguredError: The package wordllama is not there.
        """
        return embed_texts(
            texts, self._dimension, self._means, model_id=self._model_id, batch=_BATCH
        )

    def _means(self, texts: Sequence[str]) -> Sequence[Sequence[float]]:
        import numpy as np

        encodings = self._tokenizer.encode_batch_fast(list(texts), add_special_tokens=False)
        ids = [encoding.ids for encoding in encodings]
        starts = np.cumsum([0, *(len(row) for row in ids[:-1])])
        rows = np.concatenate([np.asarray(row, dtype=np.int64) for row in ids])
        sums = np.add.reduceat(self._table[rows], starts, axis=0)
        means: list[list[float]] = sums.astype(np.float64).tolist()
        return means

    @cached_property
    def _table(self) -> NDArray[np.float32]:
        """The vectors by token id, shape (32000, dimension)."""
        import numpy as np
        from safetensors.numpy import load_file

        return load_file(_package() / _WEIGHTS)[_TENSOR][:, : self._dimension].astype(np.float32)

    @cached_property
    def _tokenizer(self) -> Tokenizer:
        from tokenizers import Tokenizer

        tokenizer = Tokenizer.from_file(str(_package() / _TOKENIZER))
        tokenizer.no_padding()
        tokenizer.no_truncation()
        return tokenizer


def _package() -> Path:
    found = importlib.util.find_spec("wordllama")
    if found is None or not found.submodule_search_locations:
        raise MisconfiguredError(
            "EMBEDDER is offline, and the package wordllama, which carries its vectors, is missing",
            extra={"setting": "EMBEDDER"},
        )
    return Path(found.submodule_search_locations[0])
