"""The whole product on in-memory stores, with its real search."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from tests.fakes.embedder import HashingEmbedder
from tests.fakes.vector_rows import FakeVectorRows
from tests.indexing import index_pending
from tests.world import ALICE, World
from threadkeep.bootstrap import Bootstrap
from threadkeep.domain.changes import Origin
from threadkeep.domain.entities import EntityDraft, EntityType
from threadkeep.domain.relations import RelationDraft, RelationType
from threadkeep.domain.retrieval import SearchAnswer, SearchQuery
from threadkeep.search.exact import ExactIndex

if TYPE_CHECKING:
    from collections.abc import Sequence

    from threadkeep.domain.entities import Entity
    from threadkeep.ports import Candidates

HAND = Origin(actor="user:test")


class DeafIndex(ExactIndex):
    """An index that takes everything in and never forgets: its removals are lost.

    It starts cold each time, so that nothing but the stored rows speaks.
    """

    def search(self, user_id: str, *arguments: Any, **options: Any) -> Candidates:
        """Search with nothing in memory."""
        cold = ExactIndex(self._rows, self._dimension, self._clock)
        return cold.search(user_id, *arguments, **options)

    def remove(self, user_id: str, refs: Sequence[tuple[str, int]]) -> None:
        """Lose the removal."""


class Memory(World):
    """The product with its real search on in-memory rows."""

    def __init__(self, index_type: type[ExactIndex] = ExactIndex, **more: Any) -> None:
        super().__init__()
        self.embedder = HashingEmbedder()
        self.index = index_type(FakeVectorRows(), self.embedder.dimension, self.clock)
        parts = {k: v for k, v in self.parts.items() if k != "retrieval"}
        self.product = Bootstrap(**parts, embedder=self.embedder, vector_index=self.index, **more)

    def learn(self, name: str, user: str = ALICE, **fields: Any) -> Entity:
        """Create an entity by hand."""
        draft = EntityDraft(name=name, **{"entity_type": EntityType.FACT, **fields})
        return self.product.memories.create(user, draft, HAND)[0]

    def join(self, source: Entity, target: Entity, user: str = ALICE) -> None:
        """Relate two entities."""
        draft = RelationDraft(
            source_entity_id=source.id,
            target_entity_id=target.id,
            relation_type=RelationType.RELATED_TO,
        )
        self.product.relations.create(user, draft, HAND)

    def index_all(self, *users: str) -> None:
        """Bring the index up to the table."""
        for user in users or (ALICE,):
            assert not index_pending(self.product, user)

    def search(self, text: str, user: str = ALICE, **more: Any) -> SearchAnswer:
        """Search."""
        return self.product.retrieval.search(user, SearchQuery(query=text, **more))

    def names(self, text: str, user: str = ALICE, **more: Any) -> list[str]:
        """Search and return names."""
        return [hit.name for hit in self.search(text, user, **more).entities]
