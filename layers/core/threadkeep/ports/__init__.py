"""What the services need from the outside, as Protocols.

Every port has one contract suite in ``tests/contract`` that runs on the in-memory fake and on each
real adapter. All stores are scoped by ``user_id``: no method finds anything without the owner.
Writes either took effect durably when a method returns, or raised.
"""

from threadkeep.ports.agents import (
    AgentStore,
    SettingsStore,
)
from threadkeep.ports.common import (
    Clock,
    Ids,
    Page,
    PageRequest,
)
from threadkeep.ports.conversations import (
    ConversationStore,
)
from threadkeep.ports.extraction import (
    ExtractionQueue,
    ExtractionStore,
    Extractor,
)
from threadkeep.ports.files import (
    Blobs,
    StoredFile,
    TransferFiles,
    TransferQueue,
    TransferStore,
)
from threadkeep.ports.idempotency import (
    Fresh,
    IdempotencyStore,
    InProgress,
    OtherBody,
    Replay,
    StoredAnswer,
)
from threadkeep.ports.memory import (
    AuditEntry,
    AuditLog,
    Half,
    MemoryStore,
    Pending,
)
from threadkeep.ports.models import (
    ChatAnswer,
    ChatModel,
    ChatRequest,
    TokenCounter,
)
from threadkeep.ports.search import (
    Candidate,
    Candidates,
    Embedder,
    Generation,
    Generations,
    RepairQueue,
    Users,
    VectorIndex,
    VectorRow,
    VectorRows,
)

__all__ = [
    "AgentStore",
    "AuditEntry",
    "AuditLog",
    "Blobs",
    "Candidate",
    "Candidates",
    "ChatAnswer",
    "ChatModel",
    "ChatRequest",
    "Clock",
    "ConversationStore",
    "Embedder",
    "ExtractionQueue",
    "ExtractionStore",
    "Extractor",
    "Fresh",
    "Generation",
    "Generations",
    "Half",
    "IdempotencyStore",
    "Ids",
    "InProgress",
    "MemoryStore",
    "OtherBody",
    "Page",
    "PageRequest",
    "Pending",
    "RepairQueue",
    "Replay",
    "SettingsStore",
    "StoredAnswer",
    "StoredFile",
    "TokenCounter",
    "TransferFiles",
    "TransferQueue",
    "TransferStore",
    "Users",
    "VectorIndex",
    "VectorRow",
    "VectorRows",
]
