"""The indexes of OpenSearch: one a generation, an alias on the one that serves."""

from __future__ import annotations

import hashlib
import re
import threading
from datetime import timedelta
from typing import TYPE_CHECKING, Any

from opensearchpy.exceptions import NotFoundError, RequestError

from threadkeep.errors import ConflictError, MisconfiguredError, UnavailableError
from threadkeep.ports import Generation
from threadkeep.search import opensearch_documents as documents
from threadkeep.search.opensearch import write_alias
from threadkeep.search.opensearch_client import answering

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from datetime import datetime

    from opensearchpy import OpenSearch

    from threadkeep.ports import Clock, Embedder, VectorIndex

KNOWN_FOR = timedelta(seconds=30)
"""How long a process goes on with what it knows of the alias. The generation that served before is
written for as long as it is configured, so that nothing is missed meanwhile."""

TOMBSTONE_AGE = timedelta(days=7)
"""How long a tombstone is kept: longer than a stream or a queue keeps events."""


def generation_name(model_id: str, dimension: int) -> str:
    """Return the name of the generation of an embedder, fit to be part of an index's name."""
    readable = re.sub(r"[^a-z0-9]+", "-", model_id.lower()).strip("-")[:60]
    digest = hashlib.sha256(model_id.encode()).hexdigest()[:8]
    return f"{readable}-{digest}-{dimension}"


class OpenSearchGenerations:
    """Generations by configured embedder.

    A query's vector must come from the embedder of the index that it is sent to. So the alias is
    resolved first, and index and embedder are taken together.

    Args:
        client: The server.
        alias: Alias on the index that serves; the indexes are named ``{alias}-{generation}``.
        embedders: The configured embedders: the one in use, then the next one, if any.
        make: Makes the back end of an index: of the server, its name and its embedder.
        clock: The time.
    """

    def __init__(
        self,
        client: OpenSearch,
        alias: str,
        embedders: Sequence[Embedder],
        make: Callable[[OpenSearch, str, Embedder], VectorIndex],
        clock: Clock,
    ) -> None:
        self._client = client
        self._alias = alias
        self._embedders = embedders
        self._make = make
        self._clock = clock
        self._made: dict[str, Generation] = {}
        self._serving: tuple[str, datetime] | None = None
        self._lock = threading.Lock()

    def serving(self) -> Generation:
        """Return the generation that the alias is on.

        While the server is out it is the one last known, or that of the embedder in use: whoever
        asks it learns that it is out.

        Raises:
            MisconfiguredError: It was made by an embedder that is not configured.
        """
        now = self._clock.now()
        known = self._serving
        if known is not None and now - known[1] < KNOWN_FOR:
            return self._generation(known[0])
        try:
            name = self._aliased()
        except UnavailableError:
            return self._generation(known[0] if known else self._own_name(self._embedders[0]))
        self._serving = (name, now)
        return self._generation(name)

    def written(self) -> Sequence[Generation]:
        """Return the generations of the configured embedders, and the one that serves."""
        names = [self._own_name(embedder) for embedder in self._embedders]
        return [self._generation(name) for name in dict.fromkeys([*names, self.serving().name])]

    def prepare(self, *, replicas: int | None = None) -> None:
        """Make the indexes that are missing, and put the alias on the first one of all.

        Args:
            replicas: Copies of each shard; None leaves it to the server.

        Raises:
            MisconfiguredError: The index that serves was made by an embedder or with a dimension
                that is not configured; both numbers are named.
            UnavailableError: The server does not answer.
        """
        try:
            serving: str | None = self._aliased()
        except NoAliasError:
            serving = None
        if serving is not None:
            self._generation(serving)
        for embedder in self._embedders:
            self._create(embedder, replicas)
        if serving is None:
            first = self._own_name(self._embedders[0])
            with answering():
                self._client.indices.put_alias(index=first, name=self._alias)

    def switch(self, name: str) -> None:
        """Let an index serve, in one step.

        Raises:
            ConflictError: There is no such index.
            UnavailableError: The server does not answer.
        """
        indexes = f"{self._alias}-*"
        remove = {"remove": {"index": indexes, "alias": self._alias, "must_exist": False}}
        add = {"add": {"index": name, "alias": self._alias}}
        with answering():
            if not self._client.indices.exists(index=name):
                raise ConflictError(f"There is no index {name!r}.")
            self._client.indices.update_aliases(body={"actions": [remove, add]})
        self._serving = None

    def drop(self, name: str) -> None:
        """Delete an index that neither serves nor belongs to a configured embedder.

        Raises:
            ConflictError: It does.
            UnavailableError: The server does not answer.
        """
        kept = {generation.name for generation in self.written()}
        if name in kept or not name.startswith(f"{self._alias}-"):
            raise ConflictError(f"{name!r} is no index that is left over.")
        with answering():
            self._client.indices.delete(index=name)

    def names(self) -> list[str]:
        """Return the names of all indexes, those left over too."""
        with answering():
            return sorted(self._client.indices.get(index=f"{self._alias}-*"))

    def sweep(self) -> int:
        """Delete tombstones that no late write can meet any more; return how many."""
        before = (self._clock.now() - TOMBSTONE_AGE).timestamp()
        old = [{"term": {"deleted": True}}, {"range": {"deleted_at": {"lt": before}}}]
        swept = 0
        for generation in self.written():
            with answering():
                answer = self._client.delete_by_query(
                    index=generation.name,
                    body={"query": {"bool": {"filter": old}}},
                    params={"conflicts": "proceed"},
                )
            swept += int(answer["deleted"])
        return swept

    def _aliased(self) -> str:
        """Return the name of the index that the alias is on."""
        with answering():
            try:
                names: list[str] = list(self._client.indices.get_alias(index=self._alias))
            except NotFoundError as error:
                raise NoAliasError(
                    f"No search index serves: deploy again, which makes {self._alias!r}.",
                    code="search_unavailable",
                ) from error
        if len(names) != 1:
            raise MisconfiguredError(f"The alias {self._alias!r} is on {len(names)} indexes.")
        return names[0]

    def _generation(self, name: str) -> Generation:
        with self._lock:
            if name not in self._made:
                embedder = self._embedder_of(name)
                self._made[name] = Generation(
                    name, self._make(self._client, name, embedder), embedder
                )
            return self._made[name]

    def _embedder_of(self, name: str) -> Embedder:
        """Return the embedder that an index was made by, whatever version its mapping has."""
        for embedder in self._embedders:
            if name.rpartition("-v")[0] == self._own_name(embedder).rpartition("-v")[0]:
                return embedder
        meta = self._meta(name)
        configured = " or ".join(
            f"{embedder.model_id} with {embedder.dimension}" for embedder in self._embedders
        )
        raise MisconfiguredError(
            f"The index that serves holds vectors of {meta.get('embedder')} with dimension"
            f" {meta.get('dimension')}, and configured is {configured}: keep EMBEDDER and"
            " EMBEDDING_DIMENSION until NEXT_EMBEDDER has taken over",
            extra={"setting": "EMBEDDING_DIMENSION"},
        )

    def _meta(self, name: str) -> dict[str, Any]:
        with answering():
            found = self._client.indices.get_mapping(index=name)
        return dict(found[name]["mappings"].get("_meta", {}))

    def _own_name(self, embedder: Embedder) -> str:
        generation = generation_name(embedder.model_id, embedder.dimension)
        return f"{self._alias}-{generation}-v{documents.MAPPING_VERSION}"

    def _create(self, embedder: Embedder, replicas: int | None) -> None:
        name = self._own_name(embedder)
        meta = {"embedder": embedder.model_id, "dimension": embedder.dimension}
        body = {
            "settings": documents.settings(replicas),
            "mappings": documents.mapping(embedder.dimension, meta),
            "aliases": {write_alias(name): {}},
        }
        with answering():
            if self._client.indices.exists(index=name):
                return
            try:
                self._client.indices.create(index=name, body=body)
            except RequestError as error:
                if error.error != "resource_already_exists_exception":
                    raise


class NoAliasError(UnavailableError):
    """The server answers and has no index that serves."""
