"""Every back end of the vector index port, empty, for the suites that run on each."""

from __future__ import annotations

import uuid
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from opensearchpy import OpenSearch

from tests.fakes.clock import FakeClock
from tests.fakes.embedder import HashingEmbedder
from tests.fakes.vector_rows import FakeVectorRows
from tests.ranking_oracle import DIMENSION
from threadkeep.search.exact import ExactIndex
from threadkeep.search.opensearch import OpenSearchIndex
from threadkeep.search.opensearch_generations import OpenSearchGenerations
from threadkeep.storage.vectors import DynamoVectorRows

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    import pytest

    from threadkeep.ports import Embedder, VectorIndex

KINDS = ["exact", "exact on dynamodb", "opensearch"]


@dataclass(frozen=True)
class BackEnd:
    """A back end and the time it lives in.

    Attributes:
        index: The back end.
        clock: Its time.
        queries: How many random queries it is asked: a server takes its time.
    """

    index: VectorIndex
    clock: FakeClock = field(default_factory=FakeClock)
    queries: int = 1_000


@contextmanager
def open_back_end(request: pytest.FixtureRequest, **options: Any) -> Iterator[BackEnd]:
    """Open the back end that a fixture's parameter names.

    ``options`` go to the constructor of the one on OpenSearch.
    """
    clock = FakeClock()
    if request.param == "exact":
        yield BackEnd(ExactIndex(FakeVectorRows(), DIMENSION, clock), clock)
    elif request.param == "exact on dynamodb":
        rows = DynamoVectorRows(request.getfixturevalue("table"))
        yield BackEnd(ExactIndex(rows, DIMENSION, clock), clock, queries=60)
    else:
        with generations(request.getfixturevalue("opensearch_url"), clock, **options) as made:
            yield BackEnd(made.serving().index, clock, queries=150)


@contextmanager
def generations(
    url: str,
    clock: FakeClock,
    embedders: Sequence[Embedder] = (),
    *,
    alias: str = "",
    **options: Any,
) -> Iterator[OpenSearchGenerations]:
    """Make generations of their own on a server; their indexes go in the end.

    They refresh a hundred times as often as in production, so that writes return as much sooner,
    and the engine forgets what was deleted at once, which otherwise takes a minute.
    """

    def make(client: OpenSearch, name: str, embedder: Embedder) -> VectorIndex:
        return OpenSearchIndex(client, name, embedder.dimension, clock, **options)

    alias = alias or f"test-{uuid.uuid4().hex}"
    with OpenSearch(url, timeout=60) as client:
        made = OpenSearchGenerations(
            client, alias, embedders or [HashingEmbedder(DIMENSION)], make, clock
        )
        try:
            made.prepare(replicas=0)
            quick = {"index": {"refresh_interval": "10ms", "gc_deletes": "1ms"}}
            client.indices.put_settings(index=f"{alias}-*", body=quick)
            yield made
        finally:
            client.indices.delete(index=f"{alias}-*")
