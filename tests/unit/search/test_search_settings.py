"""Settings of search: which are refused, and what is built from which."""

from __future__ import annotations

import pytest

from threadkeep.bootstrap import Bootstrap
from threadkeep.errors import MisconfiguredError, UnavailableError
from threadkeep.search.generations import OneGeneration
from threadkeep.search.opensearch_generations import OpenSearchGenerations
from threadkeep.settings import Settings

TABLE = {"TABLE_NAME": "t"}
SERVER = {"SEARCH_BACKEND": "opensearch", "OPENSEARCH_URL": "http://127.0.0.1:1"}


@pytest.mark.parametrize(
    ("environment", "setting"),
    [
        ({"SEARCH_BACKEND": "solr"}, "SEARCH_BACKEND"),
        ({"SEARCH_BACKEND": "opensearch"}, "OPENSEARCH_URL"),
        ({"NEXT_EMBEDDER": "offline:wordllama"}, "NEXT_EMBEDDER"),
        ({**SERVER, "NEXT_EMBEDDER": "wordllama"}, "NEXT_EMBEDDER"),
        ({**SERVER, "NEXT_EMBEDDING_DIMENSION": "-1"}, "NEXT_EMBEDDING_DIMENSION"),
    ],
)
def test_wrong_settings_of_search_are_named(environment: dict[str, str], setting: str) -> None:
    with pytest.raises(MisconfiguredError) as failure:
        Settings.from_environment({**TABLE, **environment})
    assert failure.value.extra["setting"] == setting


def test_back_end_and_generations_follow_the_settings(monkeypatch: pytest.MonkeyPatch) -> None:
    def out(_: OpenSearchGenerations) -> str:
        raise UnavailableError("out", code="search_unavailable")

    monkeypatch.setattr(OpenSearchGenerations, "_aliased", out)
    # given both back ends, the second with an embedder that is to take over
    upcoming = {"NEXT_EMBEDDER": "offline:wordllama", "NEXT_EMBEDDING_DIMENSION": "128"}
    exact = Bootstrap(settings=Settings.from_environment(TABLE))
    engine = Bootstrap(settings=Settings.from_environment({**TABLE, **SERVER, **upcoming}))
    # then the first has one generation, and the second, whose server is out, starts with its own
    assert isinstance(exact.generations, OneGeneration)
    assert isinstance(engine.generations, OpenSearchGenerations)
    serving, following = engine.generations.written()
    assert serving.name.startswith("threadkeep-offline-wordllama-")
    assert (serving.embedder.dimension, following.embedder.dimension) == (256, 128)
    assert serving.name.endswith("-256-v1")
