"""Ports of the search index, and of what feeds it."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Literal, Protocol

from threadkeep.domain.retrieval import Document, DocumentKind, SearchQuery


@dataclass(frozen=True)
class Candidate:
    """A document that the index proposes, with the parts of its score."""

    kind: DocumentKind
    ref: str
    revision: int
    score: float
    similarity: float
    recency: float


@dataclass(frozen=True)
class Candidates:
    """The proposals of an index for a query.

    Args:
        found: Best first, ties by ref.
        exact: Whether this is exactly the top of all documents by combined score.
        backend: Name of the back end that answered.
        requests: Requests made to storage or index.
    """

    found: Sequence[Candidate]
    exact: bool
    backend: str
    requests: int = 0


@dataclass(frozen=True)
class VectorRow:
    """A document as the exact back end stores it.

    Args:
        document: The document, without vector.
        vector: Its vector as little-endian float16, or None while the embedder is out.
        generation: What the vector was made with; those of two generations have nothing in common.
    """

    document: Document
    vector: bytes | None
    generation: str = ""


class VectorRows(Protocol):
    """Where the exact back end keeps its documents, with a log of what changed."""

    def load(self, user_id: str) -> Iterator[VectorRow]:
        """Yield all rows of a user, shards in parallel."""
        ...

    def get(self, user_id: str, refs: Sequence[str]) -> dict[str, VectorRow]:
        """Read rows by ref; removed ones are left out."""
        ...

    def put(self, user_id: str, rows: Sequence[VectorRow], *, at: datetime) -> None:
        """Store rows unless a later revision is there already, and log their refs."""
        ...

    def remove(self, user_id: str, refs: Sequence[tuple[str, int]], *, at: datetime) -> None:
        """Remove rows ``(ref, revision)`` unless a later revision is there, and log the refs."""
        ...

    def changes(self, user_id: str, *, since: datetime) -> Mapping[str, Sequence[str]]:
        """Return the refs that changed, by the id of the batch that logged them, in one query."""
        ...

    def estimate(self, user_id: str) -> int:
        """Return about how many documents a user has, from a part of them."""
        ...


class VectorIndex(Protocol):
    """Searchable documents of a user; it proposes, callers re-read every hit from the table."""

    def upsert(self, user_id: str, documents: Sequence[Document]) -> None:
        """Store documents unless a later revision is there already; then every search sees them.

        Raises:
            NotIndexedError: The named ones were refused; the others are stored.
            UnavailableError: The index does not answer; some may be stored.
        """
        ...

    def remove(self, user_id: str, refs: Sequence[tuple[str, int]]) -> None:
        """Remove documents ``(ref, revision)`` unless a later revision is there already.

        Raises:
            NotIndexedError: As for ``upsert``.
            UnavailableError: As for ``upsert``.
        """
        ...

    def search(
        self,
        user_id: str,
        query: SearchQuery,
        vector: Sequence[float] | None,
        *,
        kind: DocumentKind,
        count: int,
        now: datetime,
        fresh: Sequence[Document] = (),
        gone: Sequence[str] = (),
    ) -> Candidates:
        """Propose the best documents of one kind.

        Args:
            user_id: Owner; nothing of anyone else is ever proposed.
            query: Text, mode, filters and weights.
            vector: The query's embedding; None while the embedder is out (then lexical only).
            kind: Entities or episodes.
            count: Most proposals to return.
            now: Time that recency and windows count from.
            fresh: Documents of any kind that are pending: they take the place of what the index
                holds of them.
            gone: Refs that are pending deletions: never proposed.

        Raises:
            UnavailableError: The index does not answer (``search_unavailable``).
        """
        ...

    def refs(self, user_id: str) -> Iterator[tuple[str, int]]:
        """Yield every ``(ref, revision)`` the index holds of a user (for verify)."""
        ...


class Embedder(Protocol):
    """Turns text into vectors."""

    @property
    def model_id(self) -> str:
        """Name of the model, as in the settings."""
        ...

    @property
    def dimension(self) -> int:
        """Length of every vector."""
        ...

    def embed(
        self, texts: Sequence[str], *, purpose: Literal["document", "query"]
    ) -> Sequence[tuple[float, ...]]:
        """Embed texts, in order; vectors have unit length, or are all zero for text without
        content.

        Raises:
            ModelError: The embedder does not answer.
        """
        ...


@dataclass(frozen=True)
class Generation:
    """An index with the embedder that its vectors come from.

    Args:
        name: What tells it from others.
        index: Where documents are.
        embedder: What embeds documents and queries for it.
    """

    name: str
    index: VectorIndex
    embedder: Embedder


class Generations(Protocol):
    """The generations of the search index: one answers, and every one that is kept is written."""

    def serving(self) -> Generation:
        """Return the generation that answers searches."""
        ...

    def written(self) -> Sequence[Generation]:
        """Return the generations that every change goes to, the serving one among them."""
        ...

    def sweep(self) -> int:
        """Reclaim what removed documents left behind; return how many of them."""
        ...


class Users(Protocol):
    """Who has data here."""

    def all(self) -> Iterator[str]:
        """Yield every user with a graph or conversations, each once; it reads the whole table."""
        ...


class RepairQueue(Protocol):
    """Producer of what could not be indexed, by id."""

    def send(self, user_id: str, refs: Sequence[str], *, delay_seconds: int) -> None:
        """Queue refs of a user to be indexed again."""
        ...
