"""Search and recall: the index proposes, the table answers."""

from __future__ import annotations

from typing import TYPE_CHECKING

from threadkeep.domain.graph import GraphQuery, Subgraph
from threadkeep.domain.limits import MAX_QUERY_CHARS
from threadkeep.domain.retrieval import (
    DEFAULT_HALF_LIFE_DAYS,
    EntityHit,
    Episode,
    Mode,
    SearchAnswer,
    SearchQuery,
)
from threadkeep.domain.traversal import joined_since
from threadkeep.services.finding import Finding
from threadkeep.services.moments import Moment

if TYPE_CHECKING:
    from collections.abc import Sequence

    from threadkeep.domain.agents import MemoryConfig
    from threadkeep.ports import Clock, ConversationStore, Generations, MemoryStore
    from threadkeep.services.graph import Graph
    from threadkeep.services.indexing import Indexing

RECALL_MODE = Mode.HYBRID
"""What an agent's recall uses unless its memory_config says otherwise (docs/decisions.md)."""

RECALL_RECENCY_WEIGHT = 0.02
"""The same for the weight of recency: as much as costs no relevant turn (docs/decisions.md)."""

MAX_SEEDS = 5
"""Expansion starts from at most this many of the best entities."""


class Retrieval:
    """Finds what is relevant and recent, and re-reads every hit before it answers."""

    def __init__(
        self,
        memories: MemoryStore,
        conversations: ConversationStore,
        generations: Generations,
        indexing: Indexing,
        graph: Graph,
        clock: Clock,
    ) -> None:
        self._memories = memories
        self._conversations = conversations
        self._generations = generations
        self._indexing = indexing
        self._graph = graph
        self._clock = clock

    def search(
        self,
        user_id: str,
        query: SearchQuery,
        *,
        episodes: bool = True,
        not_from: str | None = None,
    ) -> SearchAnswer:
        """Find the entities and episodes that match a query best.

        What was written a moment ago is found: pending changes take the place of what the index
        holds. While the embedder is out, the answer is lexical and says that it is not exact.

        Args:
            user_id: Owner of the memory.
            query: What to look for, with filters and weights.
            episodes: Whether to look for turns too.
            not_from: A conversation whose episodes are left out, since the asker has them at hand.
        """
        now = self._clock.now()
        finding = Finding(
            self._memories,
            self._conversations,
            self._generations.serving(),
            self._indexing,
            user_id=user_id,
            query=query,
            now=now,
        )
        found = finding.entities()
        moment = Moment(
            self._memories, user_id, now=now, as_of=query.as_of, known_at=query.known_at
        )
        then = moment.entities([entity for _, entity in found])
        hits = [
            EntityHit.model_validate({**dict(entity), "score": candidate.score})
            for (candidate, _), entity in zip(found, then, strict=True)
        ]
        # A filter by entity type asks for entities: turns have no type.
        turns = finding.episodes(not_from) if episodes and not query.entity_types else ()
        around = self._expand(user_id, query, [hit.id for hit in hits[:MAX_SEEDS]], finding)
        known = {hit.id for hit in hits}
        neighbours = [
            EntityHit.model_validate(dict(entity))
            for entity in around.entities
            if entity.id not in known
        ]
        return SearchAnswer(
            entities=(*hits, *neighbours),
            relations=around.relations,
            episodes=tuple(
                Episode(
                    conversation_id=message.conversation_id,
                    message_id=message.id,
                    role=message.role,
                    content=message.content,
                    created_at=message.created_at,
                    score=candidate.score,
                )
                for candidate, message in turns
            ),
            exact=finding.exact,
            backend=finding.backend,
            explain=finding.explain(around) if query.explain else None,
        )

    def recall(
        self,
        user_id: str,
        text: str,
        config: MemoryConfig,
        *,
        index_turns: bool,
        conversation_id: str | None = None,
    ) -> SearchAnswer:
        """Find what an agent should remember for a message, and count the recall.

        Args:
            user_id: The chatting user, whose memory it is whoever owns the agent.
            text: The user's message.
            config: The agent's memory configuration.
            index_turns: Whether past turns are recalled too.
            conversation_id: The conversation at hand: its own turns are not recalled.
        """
        weight, half_life = config.recency_weight, config.half_life_days
        query = SearchQuery(
            query=text[:MAX_QUERY_CHARS],
            top_k=config.max_memories_per_retrieval,
            mode=RECALL_MODE if config.retrieval_mode is None else Mode(config.retrieval_mode),
            recency_weight=RECALL_RECENCY_WEIGHT if weight is None else weight,
            half_life_days=DEFAULT_HALF_LIFE_DAYS if half_life is None else half_life,
            max_depth=config.max_depth,
        )
        answer = self.search(user_id, query, episodes=index_turns, not_from=conversation_id)
        recalled = tuple(
            entity
            for entity in answer.entities
            if entity.extraction is None or entity.extraction.modality != "hypothetical"
        )
        if recalled:
            self._memories.count_accesses(user_id, [e.id for e in recalled], self._clock.now())
        return answer.model_copy(update={"entities": recalled})

    def _expand(
        self, user_id: str, query: SearchQuery, seeds: Sequence[str], finding: Finding
    ) -> Subgraph:
        if not seeds or query.max_depth == 0:
            return Subgraph()
        around = self._graph.traverse(
            user_id,
            GraphQuery(
                entity_ids=tuple(seeds),
                max_depth=query.max_depth,
                direction=query.direction,
                relation_types=query.relation_types,
                as_of=query.as_of,
                known_at=query.known_at,
            ),
        )
        if finding.since is None:
            return around
        return joined_since(around, seeds, finding.since, query.direction)
