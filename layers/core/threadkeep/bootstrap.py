"""The composition root: builds each part on first use; a function starts with what it needs.

Every part can be overridden by passing it to ``Bootstrap``: tests hand in fakes and a fixed clock.
"""

from __future__ import annotations

import os
from functools import cached_property
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from opensearchpy import OpenSearch

    from threadkeep import ports
    from threadkeep.domain.models import Models
    from threadkeep.http.tokens import TokenVerifier
    from threadkeep.search.opensearch_generations import OpenSearchGenerations
    from threadkeep.services.agents import Agents
    from threadkeep.services.assembly import Assembly
    from threadkeep.services.chat import Chat
    from threadkeep.services.conversations import Conversations
    from threadkeep.services.extraction import Extraction
    from threadkeep.services.extraction_worker import ExtractionWorker
    from threadkeep.services.graph import Graph
    from threadkeep.services.index_care import IndexCare
    from threadkeep.services.index_feed import IndexFeed
    from threadkeep.services.indexing import Indexing
    from threadkeep.services.learning import Learning
    from threadkeep.services.memories import Memories
    from threadkeep.services.relation_statements import RelationStatements
    from threadkeep.services.relations import Relations
    from threadkeep.services.retrieval import Retrieval
    from threadkeep.services.site_settings import SiteSettings
    from threadkeep.services.statements import EntityStatements
    from threadkeep.services.transfer_worker import TransferWorker
    from threadkeep.services.transfers import Transfers
    from threadkeep.settings import Settings
    from threadkeep.storage.table import Table


class Bootstrap:
    """All parts of the service, each built when first asked for.

    Args:
        overrides: Parts to use in place of the built ones, by property name.
    """

    def __init__(self, **overrides: Any) -> None:
        unknown = [name for name in overrides if not hasattr(type(self), name)]
        if unknown:
            raise TypeError(f"no such part: {', '.join(unknown)}")
        self._overridden = frozenset(overrides)
        self.__dict__.update(overrides)

    @cached_property
    def settings(self) -> Settings:
        """Deployment settings."""
        from threadkeep.settings import Settings

        return Settings.from_environment(os.environ)

    def check_settings(self) -> None:
        """Check the settings, ask the default model and the embedders once, and make the indexes
        of the search engine that are missing.

        Raises:
            MisconfiguredError: A setting is wrong or missing; the detail names it.
            UnavailableError: The search engine does not answer.
        """
        from threadkeep.llm.routing import validate

        validate(self.settings)
        if self.settings.search_backend == "opensearch":
            self.opensearch_generations.prepare()

    @cached_property
    def clock(self) -> ports.Clock:
        """The time."""
        from threadkeep.system import SystemClock

        return SystemClock()

    @cached_property
    def ids(self) -> ports.Ids:
        """New ids."""
        from threadkeep.system import UlidIds

        return UlidIds()

    # Adapters

    @cached_property
    def table(self) -> Table:
        """The one DynamoDB table."""
        from threadkeep.storage.table import Table

        return Table(self.settings.table_name)

    @cached_property
    def memory_store(self) -> ports.MemoryStore:
        """Entities and relations."""
        from threadkeep.storage.memory import DynamoMemoryStore

        return DynamoMemoryStore(self.table)

    @cached_property
    def conversation_store(self) -> ports.ConversationStore:
        """Conversations and messages."""
        from threadkeep.storage.conversations import DynamoConversationStore

        return DynamoConversationStore(self.table, self.blobs)

    @cached_property
    def agent_store(self) -> ports.AgentStore:
        """Agents."""
        from threadkeep.storage.agents import DynamoAgentStore

        return DynamoAgentStore(self.table)

    @cached_property
    def settings_store(self) -> ports.SettingsStore:
        """Site settings that were set."""
        from threadkeep.storage.site_settings import DynamoSettingsStore

        return DynamoSettingsStore(self.table)

    @cached_property
    def extraction_store(self) -> ports.ExtractionStore:
        """Due rows, jobs and plans."""
        from threadkeep.storage.extraction import DynamoExtractionStore

        return DynamoExtractionStore(self.table, self.blobs)

    @cached_property
    def blobs(self) -> ports.Blobs:
        """Large bodies."""
        from threadkeep.storage.blobs import S3Blobs

        return S3Blobs(self.settings.bucket_name)

    @cached_property
    def extraction_queue(self) -> ports.ExtractionQueue:
        """Producer of extraction jobs."""
        from threadkeep.messaging.extraction_queue import SqsExtractionQueue

        return SqsExtractionQueue(
            self.settings.extraction_queue_url, self.settings.extraction_dlq_url
        )

    @cached_property
    def transfer_store(self) -> ports.TransferStore:
        """Exports and imports."""
        from threadkeep.storage.transfers import DynamoTransferStore

        return DynamoTransferStore(self.table)

    @cached_property
    def transfer_files(self) -> ports.TransferFiles:
        """Files of exports and imports."""
        from threadkeep.storage.transfer_files import S3TransferFiles

        return S3TransferFiles(self.settings.bucket_name)

    @cached_property
    def transfer_queue(self) -> ports.TransferQueue:
        """Producer of exports and imports."""
        from threadkeep.messaging.transfer_queue import SqsTransferQueue

        return SqsTransferQueue(self.settings.transfer_queue_url)

    @cached_property
    def chat_models(self) -> Models:
        """The models that agents can name, with their limits."""
        return self.settings.chat_models

    @cached_property
    def repair_queue(self) -> ports.RepairQueue:
        """Producer of what could not be indexed."""
        from threadkeep.messaging.repair_queue import SqsRepairQueue

        return SqsRepairQueue(self.settings.repair_queue_url)

    @cached_property
    def chat_model(self) -> ports.ChatModel:
        """All configured chat models behind one port."""
        from threadkeep.llm.routing import chat_model

        return chat_model(self.settings)

    @cached_property
    def extractor(self) -> ports.Extractor:
        """Reader of statements: a model with a prompt, or the offline rules."""
        from threadkeep.llm.routing import extractor

        return extractor(self.settings, self.chat_model)

    @cached_property
    def embedder(self) -> ports.Embedder:
        """The configured embedder."""
        from threadkeep.llm.routing import embedder

        return embedder(self.settings)

    @cached_property
    def token_counter(self) -> ports.TokenCounter:
        """Counts tokens offline."""
        from threadkeep.llm.tokens import TiktokenCounter

        return TiktokenCounter()

    @cached_property
    def vector_rows(self) -> ports.VectorRows:
        """Documents in the table."""
        from threadkeep.storage.vectors import DynamoVectorRows

        return DynamoVectorRows(self.table)

    @cached_property
    def vector_index(self) -> ports.VectorIndex:
        """The exact back end over the documents in the table."""
        return self._exact_index(self.settings.embedder, self.settings.embedding_dimension)

    @cached_property
    def generations(self) -> ports.Generations:
        """The configured search back end with its embedders."""
        from threadkeep.search.generations import OneGeneration

        if "vector_index" in self._overridden or self.settings.search_backend == "exact":
            return OneGeneration(self.vector_index, self.embedder)
        return self.opensearch_generations

    @cached_property
    def opensearch_generations(self) -> OpenSearchGenerations:
        """The indexes of the search engine."""
        from threadkeep.llm.routing import next_embedder
        from threadkeep.search.opensearch_client import connect
        from threadkeep.search.opensearch_generations import OpenSearchGenerations

        upcoming = next_embedder(self.settings)
        return OpenSearchGenerations(
            connect(self.settings.opensearch_url),
            self.settings.search_alias,
            [self.embedder] if upcoming is None else [self.embedder, upcoming],
            self._opensearch_index,
            self.clock,
        )

    def _opensearch_index(
        self, client: OpenSearch, name: str, embedder: ports.Embedder
    ) -> ports.VectorIndex:
        """Return an index of the search engine, with the rows of the table at hand."""
        from threadkeep.search.opensearch import OpenSearchIndex
        from threadkeep.search.opensearch_standby import StandbyIndex

        return StandbyIndex(
            OpenSearchIndex(client, name, embedder.dimension, self.clock),
            self._exact_index(embedder.model_id, embedder.dimension),
            self.vector_rows,
            self.clock,
            writes_rows=embedder is self.embedder,
        )

    def _exact_index(self, model_id: str, dimension: int) -> ports.VectorIndex:
        from threadkeep.search.exact import ExactIndex

        generation = f"{model_id}/{dimension}"
        return ExactIndex(self.vector_rows, dimension, self.clock, generation=generation)

    @cached_property
    def users(self) -> ports.Users:
        """Who has data."""
        from threadkeep.storage.users import DynamoUsers

        return DynamoUsers(self.table)

    @cached_property
    def idempotency_store(self) -> ports.IdempotencyStore:
        """Records of requests that carried an ``Idempotency-Key``."""
        from threadkeep.storage.idempotency import DynamoIdempotencyStore

        return DynamoIdempotencyStore(self.table)

    @cached_property
    def audit_log(self) -> ports.AuditLog:
        """Record of what administrators do with users' data."""
        from threadkeep.storage.audit import DynamoAuditLog

        return DynamoAuditLog(self.table)

    @cached_property
    def token_verifier(self) -> TokenVerifier:
        """Checks tokens where no gateway did."""
        from threadkeep.http.tokens import TokenVerifier

        settings = self.settings
        return TokenVerifier(
            settings.jwt_issuer, settings.user_pool_client_id, settings.jwks_url, self.clock
        )

    # Use cases

    @cached_property
    def memories(self) -> Memories:
        """Entities by hand."""
        from threadkeep.services.memories import Memories

        return Memories(self.memory_store, self.entity_statements, self.clock)

    @cached_property
    def relations(self) -> Relations:
        """Relations by hand."""
        from threadkeep.services.relations import Relations

        return Relations(self.memory_store, self.memories, self.relation_statements, self.clock)

    @cached_property
    def entity_statements(self) -> EntityStatements:
        """What statements about entities change."""
        from threadkeep.services.statements import EntityStatements

        return EntityStatements(self.memory_store, self.ids)

    @cached_property
    def relation_statements(self) -> RelationStatements:
        """What statements about relations change."""
        from threadkeep.services.relation_statements import RelationStatements

        return RelationStatements(self.memory_store, self.ids)

    @cached_property
    def learning(self) -> Learning:
        """Entities and relations from extracted statements."""
        from threadkeep.services.learning import Learning

        return Learning(self.memory_store, self.entity_statements, self.clock, self.ids)

    @cached_property
    def graph(self) -> Graph:
        """Traversal."""
        from threadkeep.services.graph import Graph

        return Graph(self.memory_store, self.clock)

    @cached_property
    def indexing(self) -> Indexing:
        """Bringing the index up to the table."""
        from threadkeep.services.indexing import Indexing

        return Indexing(self.memory_store, self.conversation_store, self.generations)

    @cached_property
    def index_feed(self) -> IndexFeed:
        """Indexing what the stream brings."""
        from threadkeep.services.index_feed import IndexFeed

        return IndexFeed(self.indexing, self.memory_store, self.repair_queue)

    @cached_property
    def index_care(self) -> IndexCare:
        """Holding the index against the table."""
        from threadkeep.services.index_care import IndexCare

        # Of every generation, and the rows, which are those of the embedder in use.
        indexes = {each.name: each.index for each in self.generations.written() if each.name}
        indexes["exact"] = self.vector_index
        return IndexCare(self.memory_store, self.conversation_store, self.indexing, indexes)

    @cached_property
    def read_mark(self) -> Callable[[Mapping[str, Any]], tuple[str, ports.Pending] | None]:
        """Reader of marks from the table's stream."""
        from threadkeep.storage.stream import read_mark

        return read_mark

    @cached_property
    def retrieval(self) -> Retrieval:
        """Search and recall."""
        from threadkeep.services.retrieval import Retrieval

        return Retrieval(
            self.memory_store,
            self.conversation_store,
            self.generations,
            self.indexing,
            self.graph,
            self.clock,
        )

    @cached_property
    def site_settings(self) -> SiteSettings:
        """Settings that administrators change."""
        from threadkeep.services.site_settings import SiteSettings

        return SiteSettings(self.settings_store)

    @cached_property
    def agents(self) -> Agents:
        """Agents."""
        from threadkeep.services.agents import Agents

        return Agents(self.agent_store, self.chat_models, self.clock, self.ids)

    @cached_property
    def conversations(self) -> Conversations:
        """Reading and deleting conversations."""
        from threadkeep.services.conversations import Conversations

        return Conversations(self.conversation_store, self.clock)

    @cached_property
    def extraction(self) -> Extraction:
        """Scheduling extraction, and its job records."""
        from threadkeep.services.extraction import Extraction

        return Extraction(self.extraction_store, self.extraction_queue, self.clock)

    @cached_property
    def extraction_worker(self) -> ExtractionWorker:
        """Running extraction."""
        from threadkeep.services.extraction_worker import ExtractionWorker

        return ExtractionWorker(
            self.extraction_store,
            self.conversation_store,
            self.agents,
            self.site_settings,
            self.extractor,
            self.learning,
            self.extraction,
            self.extraction_queue,
            self.chat_models,
            self.clock,
        )

    @cached_property
    def transfers(self) -> Transfers:
        """Asking for exports and imports."""
        from threadkeep.services.transfers import Transfers

        return Transfers(
            self.transfer_store, self.transfer_files, self.transfer_queue, self.clock, self.ids
        )

    @cached_property
    def transfer_worker(self) -> TransferWorker:
        """Running exports and imports."""
        from threadkeep.services.exporting import Exporting
        from threadkeep.services.importing import Importing
        from threadkeep.services.transfer_worker import TransferWorker

        exporting = Exporting(
            self.memory_store,
            self.conversation_store,
            self.transfer_store,
            self.transfer_files,
            self.clock,
            self.ids,
        )
        importing = Importing(
            self.memory_store,
            self.conversation_store,
            self.entity_statements,
            self.relation_statements,
            self.transfer_store,
            self.transfer_files,
            self.clock,
            self.ids,
        )
        return TransferWorker(
            self.transfer_store, self.transfer_queue, exporting, importing, self.clock
        )

    @cached_property
    def assembly(self) -> Assembly:
        """Putting a request together within the model's budget."""
        from threadkeep.services.assembly import Assembly

        return Assembly(self.token_counter, self.retrieval)

    @cached_property
    def chat(self) -> Chat:
        """A turn of a chat."""
        from threadkeep.services.chat import Chat

        return Chat(
            self.agents,
            self.conversation_store,
            self.assembly,
            self.chat_model,
            self.extraction,
            self.site_settings,
            self.chat_models,
            self.clock,
            self.ids,
        )
