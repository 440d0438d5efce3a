"""What every embedder does, and the calls that the adapters make of their providers."""

from __future__ import annotations

import hashlib
import importlib.util
import json
import math
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest

from tests.contract.bedrock_api import BedrockApi, failure
from tests.contract.openai_api import OpenAiApi, Reply, openai_api
from tests.fakes.embedder import HashingEmbedder
from threadkeep.errors import MisconfiguredError, ModelError, ModelThrottledError
from threadkeep.llm.bedrock_embeddings import BedrockEmbedder
from threadkeep.llm.offline.embedder import WordVectorEmbedder
from threadkeep.llm.openai_compatible import OpenAiEmbedder
from threadkeep.llm.openai_endpoint import OpenAiEndpoint

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from threadkeep.ports import Embedder

TITAN = "bedrock:amazon.titan-embed-text-v2:0"
COHERE_3 = "bedrock:cohere.embed-multilingual-v3"
COHERE_4 = "bedrock:cohere.embed-v4:0"


def direction(text: str, dimension: int) -> list[float]:
    """Return a vector of no particular length, another one for each text."""
    seed = int.from_bytes(hashlib.sha256(text.encode()).digest()[:4])
    vector: list[float] = (7 * np.random.default_rng(seed).normal(size=dimension)).tolist()
    return vector


def bedrock_answer(model_id: str, body: dict[str, Any]) -> tuple[int, dict[str, Any]]:
    """Answer an embedding call as Titan and Cohere do."""
    if model_id.startswith("amazon"):
        return 200, {"embedding": direction(body["inputText"], body["dimensions"])}
    dimension = body.get("output_dimension", 1024)
    return 200, {"embeddings": {"float": [direction(text, dimension) for text in body["texts"]]}}


def openai_answer(_: str, body: dict[str, Any]) -> Reply:
    """Answer an embedding call, rows in no order."""
    rows = [
        {"index": index, "embedding": direction(text, body.get("dimensions", 256))}
        for index, text in enumerate(body["input"])
    ]
    return Reply(body={"data": rows[::-1]})


@pytest.fixture
def openai() -> Iterator[OpenAiApi]:
    """An OpenAI-compatible endpoint that embeds."""
    with openai_api(openai_answer) as api:
        yield api


def openai_embedder(api: OpenAiApi, model: str = "local", dimension: int = 256) -> OpenAiEmbedder:
    """Return the adapter, with waits too short to matter."""
    endpoint = OpenAiEndpoint(api.url, backoff_seconds=0.001)
    return OpenAiEmbedder(endpoint, f"openai:{model}", dimension)


@pytest.fixture(params=["fake", "offline", "titan", "cohere-v3", "cohere-v4", "openai"])
def embedder(request: pytest.FixtureRequest) -> Embedder:
    """Every embedder in turn."""
    api = BedrockApi(bedrock_answer)
    match request.param:
        case "fake":
            return HashingEmbedder()
        case "offline":
            return WordVectorEmbedder()
        case "titan":
            return BedrockEmbedder(TITAN, 512, api.runtime())
        case "cohere-v3":
            return BedrockEmbedder(COHERE_3, 1024, api.runtime())
        case "cohere-v4":
            return BedrockEmbedder(COHERE_4, 256, api.runtime())
    return openai_embedder(request.getfixturevalue("openai"))


TEXTS = [
    "I prefer dark roast coffee",
    "",
    "  \n",
    "茶が好き 🍵",
    "I prefer dark roast coffee",
    "x" * 300,
]


def test_vectors_have_unit_length_and_blank_text_has_none(embedder: Embedder) -> None:
    vectors = embedder.embed(TEXTS, purpose="document")
    assert [len(vector) for vector in vectors] == [embedder.dimension] * len(TEXTS)
    lengths = [math.hypot(*vector) for vector in vectors]
    assert lengths == pytest.approx([1, 0, 0, 1, 1, 1])


def test_vectors_come_in_the_order_of_the_texts_whatever_the_batch(embedder: Embedder) -> None:
    # Given more texts than any batch holds, blank ones among them
    texts = [f"text number {n}" if n % 7 else "" for n in range(300)]

    # When they are embedded together and one by one
    together = embedder.embed(texts, purpose="document")
    apart = [embedder.embed([text], purpose="document")[0] for text in texts[:20]]

    # Then each text has its own vector
    assert np.allclose(together[:20], apart, atol=1e-6)


def test_no_texts_have_no_vectors(embedder: Embedder) -> None:
    assert list(embedder.embed([], purpose="query")) == []


# Offline


def test_offline_vectors_equal_those_of_the_package_s_own_code() -> None:
    # Given the package's own inference on its own files
    from safetensors.numpy import load_file
    from tokenizers import Tokenizer
    from wordllama.inference import WordLlamaInference

    found = importlib.util.find_spec("wordllama")
    assert found is not None
    assert found.submodule_search_locations
    package = Path(found.submodule_search_locations[0])
    theirs = WordLlamaInference(
        load_file(package / "weights/l2_supercat_256.safetensors")["embedding.weight"],
        Tokenizer.from_file(str(package / "tokenizers/l2_supercat_tokenizer_config.json")),
    )
    texts = [
        "dark roast",
        "A longer sentence, with punctuation; and numbers 12,345.",
        "叫王小明，在腾讯工作",
        "🍵",
        "a " * 2000,
    ]

    # Then both make the same vectors
    ours = WordVectorEmbedder().embed(texts, purpose="document")
    assert np.allclose(theirs.embed(texts, norm=True), ours, atol=1e-5)


def test_offline_vectors_tell_what_is_near() -> None:
    asked, near, far = WordVectorEmbedder().embed(
        ["what coffee should I buy?", "dark roast coffee", "the train to Utrecht was late"],
        purpose="query",
    )
    assert np.dot(asked, near) > np.dot(asked, far) + 0.2


def test_shorter_offline_vectors_are_the_beginning_of_the_long_ones() -> None:
    long = np.array(WordVectorEmbedder(dimension=256).embed(["dark roast"], purpose="query")[0])
    short = WordVectorEmbedder(dimension=64).embed(["dark roast"], purpose="query")[0]
    assert np.allclose(short, long[:64] / np.linalg.norm(long[:64]), atol=1e-6)


def test_lone_surrogates_break_no_embedding() -> None:
    (vector,) = WordVectorEmbedder().embed(["tea \ud800"], purpose="query")
    assert math.hypot(*vector) == pytest.approx(1)


# Shapes of calls


def test_titan_is_asked_once_a_text_for_the_configured_length() -> None:
    api = BedrockApi(bedrock_answer)
    BedrockEmbedder(TITAN, 512, api.runtime()).embed(["tea", "", "jazz"], purpose="query")
    assert sorted(api.calls, key=lambda call: str(call[1])) == [
        (
            "amazon.titan-embed-text-v2:0",
            {"inputText": text, "dimensions": 512, "normalize": True},
        )
        for text in ("jazz", "tea")
    ]


@pytest.mark.parametrize(
    ("model", "purpose", "expected"),
    [
        (
            COHERE_3,
            "query",
            {"input_type": "search_query", "embedding_types": ["float"], "truncate": "END"},
        ),
        (
            COHERE_4,
            "document",
            {
                "input_type": "search_document",
                "embedding_types": ["float"],
                "truncate": "RIGHT",
                "output_dimension": 1024,
            },
        ),
    ],
)
def test_cohere_is_told_what_the_vectors_are_for(
    model: str, purpose: Any, expected: dict[str, Any]
) -> None:
    api = BedrockApi(bedrock_answer)
    BedrockEmbedder(model, 1024, api.runtime()).embed(["tea", "jazz"], purpose=purpose)
    assert [body for _, body in api.calls] == [{**expected, "texts": ["tea", "jazz"]}]


def test_the_length_is_sent_to_models_that_take_it_only(openai: OpenAiApi) -> None:
    openai_embedder(openai, "nomic").embed(["tea"], purpose="query")
    openai_embedder(openai, "text-embedding-3-small", 512).embed(["tea"], purpose="query")
    assert [body for _, body, _ in openai.requests] == [
        {"model": "nomic", "input": ["tea"], "encoding_format": "float"},
        {
            "model": "text-embedding-3-small",
            "input": ["tea"],
            "encoding_format": "float",
            "dimensions": 512,
        },
    ]


@pytest.mark.parametrize("text", ["茶" * 100_000, "x" * 100_000])
def test_text_beyond_the_model_s_window_is_cut_off_between_characters(
    openai: OpenAiApi, text: str
) -> None:
    openai_embedder(openai).embed([text], purpose="document")
    (sent,) = openai.requests[0][1]["input"]
    assert text.startswith(sent)
    assert 13_990 < len(sent.encode()) <= 14_000


# Failures


@pytest.mark.parametrize(
    "reply",
    [
        Reply(body={}),
        Reply(body={"data": [{"index": 0, "embedding": ["a"] * 256}]}),
        Reply(body={"data": []}),
        Reply(body={"data": [{"index": 0, "embedding": [0.0] * 256}]}),
        Reply(body=json.dumps({"data": [{"index": 0, "embedding": [math.nan] * 256}]}).encode()),
        Reply(status=500),
    ],
)
def test_no_vector_is_made_of_an_unusable_answer(openai: OpenAiApi, reply: Reply) -> None:
    openai.respond = lambda *_: reply
    with pytest.raises(ModelError):
        openai_embedder(openai).embed(["tea"], purpose="query")


@pytest.mark.parametrize(
    "answer", [(200, {}), (200, {"embedding": ["a"]}), failure("ValidationException")]
)
def test_no_vector_is_made_of_an_unusable_answer_of_bedrock(answer: Any) -> None:
    api = BedrockApi(lambda *_: answer)
    with pytest.raises(ModelError):
        BedrockEmbedder(TITAN, 256, api.runtime()).embed(["tea"], purpose="query")


def test_a_throttled_embedder_says_so() -> None:
    api = BedrockApi(lambda *_: failure("ThrottlingException", 429))
    with pytest.raises(ModelThrottledError):
        BedrockEmbedder(COHERE_3, 1024, api.runtime()).embed(["tea"], purpose="query")


def test_vectors_of_another_length_are_refused_with_both_numbers(openai: OpenAiApi) -> None:
    """T13."""
    with pytest.raises(MisconfiguredError) as refused:
        openai_embedder(openai, dimension=768).embed(["tea"], purpose="query")
    assert "768" in refused.value.detail
    assert "256" in refused.value.detail


def unavailable() -> Sequence[Any]:
    """Return makers of embedders for lengths that their models do not make."""
    return [
        lambda: WordVectorEmbedder(dimension=384),
        lambda: BedrockEmbedder(TITAN, 384),
        lambda: BedrockEmbedder(COHERE_3, 384),
        lambda: OpenAiEmbedder(OpenAiEndpoint("http://x"), "openai:text-embedding-3-small", 3840),
    ]


@pytest.mark.parametrize("make", unavailable())
def test_a_length_that_a_model_does_not_make_is_refused_with_both_numbers(make: Any) -> None:
    with pytest.raises(MisconfiguredError, match=r"EMBEDDING_DIMENSION is 384.*\d{3,4}"):
        make()
