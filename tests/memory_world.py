"""Entities, relations, graph and search on in-memory stores, by use case and over HTTP."""

from __future__ import annotations

from datetime import timedelta
from typing import TYPE_CHECKING, Any

from functions.graph import app as graph_app
from functions.memories import app as memories_app
from tests.fakes.audit import FakeAuditLog
from tests.fakes.clock import FakeClock
from tests.fakes.conversations import FakeConversationStore
from tests.fakes.embedder import HashingEmbedder
from tests.fakes.extraction import FakeExtractionStore
from tests.fakes.idempotency import FakeIdempotencyStore
from tests.fakes.ids import SequentialIds
from tests.fakes.memory import FakeMemoryStore
from tests.fakes.queue import FakeExtractionQueue
from tests.fakes.vector_rows import FakeVectorRows
from tests.gateway import Gateway, ManyAtOnce
from threadkeep.bootstrap import Bootstrap
from threadkeep.domain.changes import Origin
from threadkeep.domain.entities import EntityDraft
from threadkeep.domain.graph import GraphQuery
from threadkeep.domain.relations import RelationDraft, RelationType
from threadkeep.search.exact import ExactIndex

if TYPE_CHECKING:
    import pytest

    from threadkeep.domain.entities import Entity
    from threadkeep.domain.graph import Subgraph
    from threadkeep.domain.relations import Relation

USER = "u1"
HAND = Origin("user:u1")


class MemoryWorld:
    """The memory part of the product with fakes for everything outside of it.

    Each reading of the clock moves it on by a millisecond, so that no two changes share a time.

    Args:
        overrides: Further parts, by their names in ``Bootstrap``.
    """

    def __init__(self, **overrides: Any) -> None:
        self.clock = FakeClock(step=timedelta(milliseconds=1))
        self.store = FakeMemoryStore()
        self.audit = FakeAuditLog()
        embedder = HashingEmbedder()
        parts: dict[str, Any] = {
            "clock": self.clock,
            "ids": SequentialIds(),
            "memory_store": self.store,
            "conversation_store": FakeConversationStore(self.store),
            "extraction_store": FakeExtractionStore(),
            "extraction_queue": FakeExtractionQueue(),
            "idempotency_store": FakeIdempotencyStore(),
            "audit_log": self.audit,
            "embedder": embedder,
            "vector_index": ExactIndex(FakeVectorRows(), embedder.dimension, self.clock),
        }
        self.product = Bootstrap(**{**parts, **overrides})

    def entity(self, name: str, user: str = USER, **fields: Any) -> Entity:
        """Create or merge an entity."""
        draft = EntityDraft.model_validate({"entity_type": "concept", **fields, "name": name})
        return self.product.memories.create(user, draft, HAND)[0]

    def relation(
        self,
        source: str,
        target: str,
        relation_type: RelationType = RelationType.RELATED_TO,
        user: str = USER,
        **fields: Any,
    ) -> Relation:
        """Create or merge a relation between two ids."""
        draft = RelationDraft(
            source_entity_id=source,
            target_entity_id=target,
            relation_type=relation_type,
            **fields,
        )
        return self.product.relations.create(user, draft, HAND)[0]

    def graph(self, *seeds: str, user: str = USER, **options: Any) -> Subgraph:
        """Walk from seeds."""
        return self.product.graph.traverse(user, GraphQuery(entity_ids=seeds, **options))

    def gateway(self, monkeypatch: pytest.MonkeyPatch) -> Gateway:
        """Return the functions of this product behind the gateway."""
        for app in (memories_app, graph_app):
            monkeypatch.setattr(app, "bootstrap", lambda: self.product)
        return Gateway(
            (memories_app.api, memories_app.lambda_handler),
            (graph_app.api, graph_app.lambda_handler),
        )

    def many_at_once(self, monkeypatch: pytest.MonkeyPatch) -> ManyAtOnce:
        """Return the same for many requests at the same time."""
        for app in (memories_app, graph_app):
            monkeypatch.setattr(app, "bootstrap", lambda: self.product)
        return ManyAtOnce((memories_app.api, graph_app.api), lambda: self.product)
