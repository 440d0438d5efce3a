"""The OpenSearch back end: one index of a generation, shared by all users."""

from __future__ import annotations

from itertools import batched
from typing import TYPE_CHECKING, Any

from threadkeep.domain.fusion import FusionWeights
from threadkeep.search.halves import require_none
from threadkeep.search.opensearch_client import answering
from threadkeep.search.opensearch_documents import document_id, source_of, tombstone_of
from threadkeep.search.opensearch_search import EXACT_LIMIT, UserSearch

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence
    from datetime import datetime

    from opensearchpy import OpenSearch

    from threadkeep.domain.retrieval import Document, DocumentKind, SearchQuery
    from threadkeep.ports import Candidates, Clock

_BULK_DOCUMENTS = 100
"""At most some 6 MB, with the longest texts and vectors; a small domain takes 10 MB."""

_REFS_A_PAGE = 5_000
_CONFLICT = 409


class OpenSearchIndex:
    """Documents of all users in one index, each at its revision as external version.

    Args:
        client: The server.
        name: Name of the index.
        dimension: Length of the vectors.
        clock: The time.
        weights: Weights of hybrid relevance.
        exact_limit: Most documents of a user that are scored one by one, up to 10,000; of more
            HNSW and others nominate.
    """

    def __init__(
        self,
        client: OpenSearch,
        name: str,
        dimension: int,
        clock: Clock,
        *,
        weights: FusionWeights | None = None,
        exact_limit: int = EXACT_LIMIT,
    ) -> None:
        self._client = client
        self._name = name
        self._dimension = dimension
        self._clock = clock
        self._weights = weights or FusionWeights()
        self._exact_limit = exact_limit

    def upsert(self, user_id: str, documents: Sequence[Document]) -> None:
        """Store documents unless a later revision is there already.

        Raises:
            NotIndexedError: The named ones were refused; the others are stored.
            UnavailableError: The server does not answer (``search_unavailable``).
        """
        refused: dict[str, str] = {}
        writes = []
        for document in documents:
            try:
                source = source_of(user_id, document, self._dimension)
            except ValueError as error:
                refused[document.ref] = str(error)
                continue
            writes.append((document.ref, document.revision, source))
        refused |= self._write(user_id, writes)
        require_none(refused)

    def remove(self, user_id: str, refs: Sequence[tuple[str, int]]) -> None:
        """Remove documents ``(ref, revision)`` unless a later revision is there already.

        A tombstone takes the place of each, so that late writes find it; ``OpenSearchGenerations``
        sweeps them up later.

        Raises:
            NotIndexedError: As for ``upsert``.
            UnavailableError: As for ``upsert``.
        """
        now = self._clock.now()
        require_none(
            self._write(
                user_id,
                [
                    (ref, revision, tombstone_of(user_id, ref, revision, now))
                    for ref, revision in refs
                ],
            )
        )

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
        """Propose the best documents of a kind; see the port.

        They are exactly the best while the user has at most ``exact_limit`` documents that the
        filters leave, in hybrid mode for turns also at most 1,000 entities that were learned from
        some; and for a query of at most 64 terms unless the mode is semantic.

        Raises:
            UnavailableError: The server does not answer (``search_unavailable``).
        """
        search = UserSearch(
            self._client,
            self._name,
            user_id,
            query,
            vector,
            now=now,
            fresh=fresh,
            gone=gone,
            dimension=self._dimension,
            weights=self._weights,
            exact_limit=self._exact_limit,
        )
        with answering():
            return search.candidates(kind, count)

    def refs(self, user_id: str) -> Iterator[tuple[str, int]]:
        """Yield every ``(ref, revision)`` that is stored of a user.

        Raises:
            UnavailableError: The server does not answer (``search_unavailable``).
        """
        body: dict[str, Any] = {
            "size": _REFS_A_PAGE,
            "query": {"bool": {"filter": [{"term": {"user": user_id}}, _LIVE]}},
            "sort": [{"ref": "asc"}],
            "_source": ["ref", "revision"],
        }
        while True:
            with answering():
                hits = self._client.search(index=self._name, body=body)["hits"]["hits"]
            for hit in hits:
                yield hit["_source"]["ref"], hit["_source"]["revision"]
            if len(hits) < _REFS_A_PAGE:
                return
            body["search_after"] = hits[-1]["sort"]

    def _write(
        self, user_id: str, writes: Sequence[tuple[str, int, Mapping[str, Any]]]
    ) -> dict[str, str]:
        """Write documents ``(ref, revision, source)``; return by ref why some were refused.

        It returns once searches see them: the engine answers after its next periodic refresh, and
        is not asked for one. Only then may the marks in the table go.
        """
        refused: dict[str, str] = {}
        for chunk in batched(writes, _BULK_DOCUMENTS, strict=False):
            lines: list[Mapping[str, Any]] = []
            for ref, revision, source in chunk:
                version = {"version": revision, "version_type": "external_gte"}
                lines += [{"index": {"_id": document_id(user_id, ref), **version}}, source]
            with answering():
                # A missing index is an error, never made up with a guessed mapping.
                answer = self._client.bulk(
                    body=lines,
                    index=write_alias(self._name),
                    params={"require_alias": "true", "refresh": "wait_for"},
                )
            for (ref, _, _), item in zip(chunk, answer["items"], strict=True):
                error = item["index"].get("error")
                if error is not None and item["index"]["status"] != _CONFLICT:
                    refused[ref] = str(error["type"])
        return refused


_LIVE = {"term": {"deleted": False}}


def write_alias(name: str) -> str:
    """Return the alias by which an index is written."""
    return f"{name}-write"
