"""One store under load, in a process of its own: python bench/speed_runner.py STORE SIZE OTHERS.

Prints one JSON object. Peers are imported only when asked for, since they live in an environment of
their own; so this file and what it imports at the top need numpy only.
"""

from __future__ import annotations

import json
import os
import resource
import sys
import tempfile
import time
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from numpy.typing import NDArray

    type Vectors = NDArray[np.float32]

ROOT = Path(__file__).resolve().parent.parent
DIMENSION = 256
USER = "user"
TOP = 10
QUERIES = 300
ADDS = 20
SLOW_QUERY_SECONDS = 0.02


class Store(Protocol):
    """What is measured of a store: it embeds nothing, vectors are handed in.

    Attributes:
        holds_all: Whether it keeps all users in memory, not only those it searches for.
    """

    holds_all: bool

    def fill(self, user: str, vectors: Vectors) -> None:
        """Store many memories of a user; not timed."""
        ...

    def add(self, number: int, vector: NDArray[np.float32]) -> None:
        """Store one memory of the user, numbered after those of ``fill``."""
        ...

    def search(self, vector: NDArray[np.float32]) -> list[int]:
        """Return the numbers of the user's ten nearest memories."""
        ...


class Floor:
    """The bare minimum: one block of the user's vectors, a product, a partition."""

    holds_all = True

    def __init__(self) -> None:
        self.block: Vectors = np.zeros((0, DIMENSION), np.float32)

    def fill(self, user: str, vectors: Vectors) -> None:
        if user == USER:
            self.block = vectors.copy()

    def add(self, number: int, vector: NDArray[np.float32]) -> None:
        self.block = np.vstack([self.block, vector])

    def search(self, vector: NDArray[np.float32]) -> list[int]:
        scores = self.block @ vector
        best = np.argpartition(scores, len(scores) - TOP)[-TOP:]
        found: list[int] = best[np.argsort(-scores[best])].tolist()
        return found


class Product:
    """The product's exact back end over rows in memory: all of a search but the embedding and
    the reads from storage."""

    holds_all = False

    def __init__(self) -> None:
        sys.path[:0] = [str(ROOT / "layers/core"), str(ROOT)]
        from tests.fakes.clock import FakeClock
        from tests.fakes.vector_rows import FakeVectorRows
        from threadkeep.domain.retrieval import Document, DocumentKind, SearchQuery
        from threadkeep.search.exact import ExactIndex

        self.clock = FakeClock()
        self.index = ExactIndex(
            FakeVectorRows(), DIMENSION, self.clock, cache_bytes=4 * 1024 * 1024 * 1024
        )
        self.kind = DocumentKind.ENTITY
        self.query = SearchQuery(query="anything", recency_weight=0.0)
        self.document = Document

    def fill(self, user: str, vectors: Vectors) -> None:
        documents = [self._document(number, vector) for number, vector in enumerate(vectors)]
        self.index.upsert(user, documents)
        # The log of changes is read back for a minute; a store at rest is what is measured.
        self.clock.advance(hours=1)

    def add(self, number: int, vector: NDArray[np.float32]) -> None:
        self.index.upsert(USER, [self._document(number, vector)])

    def search(self, vector: NDArray[np.float32]) -> list[int]:
        found = self.index.search(
            USER, self.query, vector.tolist(), kind=self.kind, count=TOP, now=self.clock.now()
        )
        return [int(candidate.ref) for candidate in found.found]

    def _document(self, number: int, vector: NDArray[np.float32]) -> Any:
        return self.document(
            kind=self.kind,
            ref=str(number),
            revision=1,
            text=f"memory {number}",
            vector=tuple(vector.tolist()),
            created_at=self.clock.now(),
            touched_at=self.clock.now(),
        )


class Handed:
    """An embedder that hands out the vector that was put under a text."""

    def __init__(self) -> None:
        self.vectors: dict[str, list[float]] = {}

    def embed(self, text: str, memory_action: str | None = None) -> list[float]:
        """Return the vector of a text, as mem0 asks for it."""
        return self.vectors[text]

    def embed_all(self, texts: Sequence[str]) -> list[list[float]]:
        """Return the vectors of texts, as LangGraph asks for them."""
        return [self.vectors[text] for text in texts]


class Mem0:
    """mem0 on FAISS (cosine), without inference."""

    holds_all = True

    def __init__(self) -> None:
        folder = tempfile.mkdtemp()
        os.environ |= {"MEM0_TELEMETRY": "False", "MEM0_DIR": folder}
        mem0 = import_module("mem0")
        self.embedder = Handed()
        self.memory = mem0.Memory.from_config(
            {
                "history_db_path": f"{folder}/history.db",
                "llm": {"provider": "openai", "config": {"api_key": "unused"}},
                "embedder": {"provider": "openai", "config": {"api_key": "unused"}},
                "vector_store": {
                    "provider": "faiss",
                    "config": {
                        "path": f"{folder}/faiss",
                        "embedding_model_dims": DIMENSION,
                        "distance_strategy": "cosine",
                    },
                },
            }
        )
        self.memory.embedding_model = self.embedder

    def fill(self, user: str, vectors: Vectors) -> None:
        numbers = range(len(vectors))
        self.memory.vector_store.insert(
            vectors=vectors.tolist(),
            payloads=[{"data": f"memory {n}", "user_id": user} for n in numbers],
            ids=[f"{user}/{n}" for n in numbers],
        )

    def add(self, number: int, vector: NDArray[np.float32]) -> None:
        self.embedder.vectors[f"memory {number}"] = vector.tolist()
        self.memory.add(f"memory {number}", user_id=USER, infer=False)

    def search(self, vector: NDArray[np.float32]) -> list[int]:
        self.embedder.vectors["anything"] = vector.tolist()
        found = self.memory.search("anything", filters={"user_id": USER}, top_k=TOP, threshold=0.0)
        return [int(row["memory"].removeprefix("memory ")) for row in found["results"]]


class LangGraph:
    """LangGraph's InMemoryStore, a namespace per user."""

    holds_all = True

    def __init__(self) -> None:
        memory = import_module("langgraph.store.memory")
        self.embedder = Handed()
        self.store = memory.InMemoryStore(
            index={
                "dims": DIMENSION,
                "embed": self.embedder.embed_all,
                "fields": ["text"],
            }
        )

    def fill(self, user: str, vectors: Vectors) -> None:
        for number, vector in enumerate(vectors):
            self._put(user, number, vector)

    def add(self, number: int, vector: NDArray[np.float32]) -> None:
        self._put(USER, number, vector)

    def search(self, vector: NDArray[np.float32]) -> list[int]:
        self.embedder.vectors["anything"] = vector.tolist()
        found = self.store.search(("memories", USER), query="anything", limit=TOP)
        return [int(item.key) for item in found]

    def _put(self, user: str, number: int, vector: NDArray[np.float32]) -> None:
        text = f"{user} {number}"
        self.embedder.vectors[text] = vector.tolist()
        self.store.put(("memories", user), str(number), {"text": text})
        del self.embedder.vectors[text]


STORES: dict[str, Callable[[], Store]] = {
    "floor": Floor,
    "product": Product,
    "mem0": Mem0,
    "langgraph": LangGraph,
}


def unit_vectors(seed: int, rows: int) -> Vectors:
    """Make random unit vectors with values that float16 can hold, the same for every store."""
    raw = np.random.default_rng(seed).standard_normal((rows, DIMENSION), dtype=np.float32)
    raw /= np.linalg.norm(raw, axis=1, keepdims=True)
    return raw.astype(np.float16).astype(np.float32)


def resident_mb() -> float:
    """Return the memory that the process holds now, in MB."""
    pages = int(Path("/proc/self/statm").read_text(encoding="ascii").split()[1])
    return pages * resource.getpagesize() / 1e6


def run(store: Store, size: int, others: int) -> dict[str, float]:
    """Fill a store with a user and others of the same size, then time searches and adds.

    Returns:
        Milliseconds of a warm search (``search_min``, ``_p50``, ``_p95``) and an add (``add_p50``),
        recall at 10 against the floor, and ``memory_mb`` that the store holds
        for it: for all users, or, if it loads them when they search, for the one.
    """
    mine = unit_vectors(0, size)
    before = resident_mb()
    store.fill(USER, mine)
    for other in range(1, others + 1):
        store.fill(f"{USER}{other}", unit_vectors(other, size))
    if not store.holds_all:
        before = resident_mb()
    queries = unit_vectors(1_000_000, QUERIES)
    floor = Floor()
    floor.fill(USER, mine)
    started = time.perf_counter()
    for query in queries[:3]:
        store.search(query)
    slow = (time.perf_counter() - started) / 3 > SLOW_QUERY_SECONDS
    asked = queries[: QUERIES // 10] if slow else queries
    held = resident_mb() - before
    spent, hits = [], 0
    for query in asked:
        started = time.perf_counter()
        found = store.search(query)
        spent.append(time.perf_counter() - started)
        hits += len(set(found) & set(floor.search(query)))
    added = []
    for number, vector in enumerate(unit_vectors(2_000_000, ADDS), size):
        started = time.perf_counter()
        store.add(number, vector)
        added.append(time.perf_counter() - started)
        if number not in store.search(vector):
            raise RuntimeError(f"memory {number} is not found right after it was added")
    return {
        "search_min": 1e3 * min(spent),
        "search_p50": 1e3 * float(np.percentile(spent, 50)),
        "search_p95": 1e3 * float(np.percentile(spent, 95)),
        "add_p50": 1e3 * float(np.percentile(added, 50)),
        "recall": hits / (TOP * len(asked)),
        "memory_mb": held,
    }


if __name__ == "__main__":
    print(json.dumps(run(STORES[sys.argv[1]](), int(sys.argv[2]), int(sys.argv[3]))))
