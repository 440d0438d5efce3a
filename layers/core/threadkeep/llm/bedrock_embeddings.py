"""Embedding models of Amazon Bedrock: Titan Text Embeddings V2 and Cohere Embed.

https://docs.aws.amazon.com/bedrock/latest/userguide/model-parameters-titan-embed-text.html
https://docs.aws.amazon.com/bedrock/latest/userguide/model-parameters-embed.html
"""

from __future__ import annotations

import json
from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING, Any, Literal

from threadkeep.errors import MisconfiguredError, ModelError
from threadkeep.llm.bedrock_runtime import BedrockRuntime
from threadkeep.llm.transcripts import model_name
from threadkeep.llm.vectors import Vector, cut, dimension_mismatch, embed_texts

if TYPE_CHECKING:
    from collections.abc import Sequence

    from mypy_boto3_bedrock_runtime import BedrockRuntimeClient
    from mypy_boto3_bedrock_runtime.type_defs import InvokeModelResponseTypeDef

_TIMEOUT_SECONDS = 30.0
_TITAN_PARALLEL = 8
_COHERE_V3_CHARS = 2_048
_COHERE_TEXTS = 96
# The lengths that a family makes, by a part of the model's name.
_DIMENSIONS = {
    "titan-embed-text-v2": (256, 512, 1024),
    "cohere.embed-english-v3": (1024,),
    "cohere.embed-multilingual-v3": (1024,),
    "cohere.embed-v4": (256, 512, 1024, 1536),
}


class BedrockEmbedder:
    """Embeds with ``bedrock:{model id}``.

    Args:
        model_id: As in the settings.
        dimension: Length of the vectors that is asked for and must come back.
        runtime: The runtime API.

    Raises:
        MisconfiguredError: The model is of no known family, or does not make such vectors.
    """

    def __init__(
        self, model_id: str, dimension: int, runtime: BedrockRuntime | None = None
    ) -> None:
        name = model_name(model_id)
        makes = next((lengths for part, lengths in _DIMENSIONS.items() if part in name), None)
        if makes is None:
            raise MisconfiguredError(
                f"EMBEDDER {model_id!r} is none of {', '.join(_DIMENSIONS)}",
                extra={"setting": "EMBEDDER"},
            )
        if dimension not in makes:
            raise dimension_mismatch(model_id, dimension, *makes)
        self._name = name
        self._model_id = model_id
        self._dimension = dimension
        self._runtime = runtime or BedrockRuntime()

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
        """Embed texts; what would exceed the model's window is cut off.

        Raises:
            ModelThrottledError: Bedrock limits the rate.
            ModelError: A call failed or its answer can not be used.
            MisconfiguredError: The vectors have another length.
        """
        if "titan" in self._name:
            return embed_texts(
                texts,
                self._dimension,
                self._ask_titan,
                model_id=self._model_id,
                batch=_TITAN_PARALLEL,
            )
        input_type = "search_document" if purpose == "document" else "search_query"
        return embed_texts(
            texts,
            self._dimension,
            lambda chunk: self._ask_cohere(chunk, input_type),
            model_id=self._model_id,
            batch=_COHERE_TEXTS,
        )

    def _ask_titan(self, texts: Sequence[str]) -> Sequence[Sequence[float]]:
        # Titan takes one text a call, so the calls of a batch run side by side.
        with ThreadPoolExecutor(max_workers=_TITAN_PARALLEL) as pool:
            return list(pool.map(self._ask_titan_once, texts))

    def _ask_titan_once(self, text: str) -> Sequence[float]:
        body = {
            "inputText": cut(text),
            "dimensions": self._dimension,
            "normalize": True,
        }
        return _numbers(self._invoke(body).get("embedding"), self._model_id)

    def _ask_cohere(self, texts: Sequence[str], input_type: str) -> Sequence[Sequence[float]]:
        body: dict[str, Any] = {
            "input_type": input_type,
            "embedding_types": ["float"],
        }
        if "-v3" in self._name:
            body |= {"texts": [text[:_COHERE_V3_CHARS] for text in texts], "truncate": "END"}
        else:
            # Embed 4 chooses the length of its vectors, and names the kept end of a long text.
            body |= {
                "texts": list(texts),
                "truncate": "RIGHT",
                "output_dimension": self._dimension,
            }
        embeddings = self._invoke(body).get("embeddings")
        rows = embeddings.get("float") if isinstance(embeddings, dict) else embeddings
        if not isinstance(rows, list):
            raise _unusable(self._model_id)
        return [_numbers(row, self._model_id) for row in rows]

    def _invoke(self, body: dict[str, Any]) -> dict[str, Any]:
        def invoke(client: BedrockRuntimeClient) -> InvokeModelResponseTypeDef:
            return client.invoke_model(
                modelId=self._name,
                body=json.dumps(body),
                accept="application/json",
                contentType="application/json",
            )

        response = self._runtime.call(
            invoke, model_id=self._model_id, timeout_seconds=_TIMEOUT_SECONDS
        )
        try:
            answer = json.loads(response["body"].read())
        except ValueError as error:
            raise _unusable(self._model_id) from error
        if not isinstance(answer, dict):
            raise _unusable(self._model_id)
        return answer


def _numbers(row: object, model_id: str) -> list[float]:
    if not isinstance(row, list) or not all(isinstance(value, int | float) for value in row):
        raise _unusable(model_id)
    return [float(value) for value in row]


def _unusable(model_id: str) -> ModelError:
    return ModelError(f"{model_id} answered no vectors", extra={"retryable": True})
