"""What the services need from the outside, as Protocols.

Every port has one contract suite in ``tests/contract`` that runs on the in-memory fake and on each
real adapter. All stores are scoped by ``user_id``: no method finds anything without the owner.
Writes either took effect durably when a method returns, or raised.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Literal, Protocol

from threadkeep.domain.agents import Agent
from threadkeep.domain.changes import Commit, HistoryEntry, Support
from threadkeep.domain.conversations import Conversation, Lease, Message, Usage
from threadkeep.domain.entities import Entity, EntityType
from threadkeep.domain.extraction import DueExtraction, Extraction, Job, Plan
from threadkeep.domain.relations import Direction, Relation, RelationType
from threadkeep.domain.retrieval import Document, DocumentKind, SearchQuery
from threadkeep.domain.transfers import Transfer


class Clock(Protocol):
    """Time, injected so that tests set it."""

    def now(self) -> datetime:
        """Return the current UTC time."""
        ...

    def sleep(self, seconds: float) -> None:
        """Wait; used between retries only."""
        ...


class Ids(Protocol):
    """Source of new ids."""

    def new(self) -> str:
        """Return a new opaque id; later ids sort after earlier ones."""
        ...


@dataclass(frozen=True)
class Page[T]:
    """One page of a listing.

    Args:
        items: The page's items in the listing's order.
        next_position: Where the next page starts, or None on the last one. Opaque to services:
            they seal it into a cursor.
        total: Exact number of all items, when it was asked for.
    """

    items: Sequence[T]
    next_position: Mapping[str, str] | None = None
    total: int | None = None


@dataclass(frozen=True)
class PageRequest:
    """Where a page starts and how long it is.

    Args:
        limit: Most items of the page, 1–100.
        position: ``next_position`` of the page before, or None for the first.
        skip: Items to pass over before the page (page and page_size listings).
        with_total: Whether to count all items exactly.
    """

    limit: int = 20
    position: Mapping[str, str] | None = None
    skip: int = 0
    with_total: bool = False


@dataclass(frozen=True)
class Pending:
    """A mark that something changed and the index may not know it yet.

    Args:
        kind: What it stands for.
        ref: Entity id, or ``conversation_id/message_id``.
        revision: Index version of the change; a later change of the same ref has a higher one.
        deleted: Whether the change is a deletion.
        marked_at: When the change was made.
    """

    kind: DocumentKind
    ref: str
    revision: int
    deleted: bool
    marked_at: datetime


@dataclass(frozen=True)
class Half:
    """A relation as seen from one of its ends: enough to traverse without reading its body.

    Args:
        relation_id: The relation.
        entity_id: The end it is seen from.
        other_id: The other end, which may be gone or expired: the reader checks.
        outgoing: Whether ``entity_id`` is the source.
        relation_type: What it says.
        current: Whether it was not closed when it was last written.
        valid_to: When it ended or ends; a current one may have lapsed since.
    """

    relation_id: str
    entity_id: str
    other_id: str
    outgoing: bool
    relation_type: RelationType
    current: bool
    valid_to: datetime | None = None

    def is_current(self, now: datetime) -> bool:
        """Tell whether the relation has not ended by ``now``."""
        return self.valid_to is None or self.valid_to > now


@dataclass(frozen=True)
class AuditEntry:
    """What an administrator did with a user's data.

    Args:
        id: Id of the entry; later entries have later ids.
        at: When.
        actor: Who, as ``admin:{sub}``.
        user_id: Whose data.
        action: What, as method and route, such as ``GET /admin/users/{user_id}/memories/graph``.
        request_id: The request that did it.
        resource: Id of the one item that it was about, if any.
    """

    id: str
    at: datetime
    actor: str
    user_id: str
    action: str
    request_id: str
    resource: str | None = None


class MemoryStore(Protocol):
    """Entities, relations, their history and sources, and the marks of what waits to be indexed."""

    @property
    def requests(self) -> int:
        """Requests made to storage so far in this context; callers take differences.

        What the store itself runs in parallel counts for the caller.
        """
        ...

    def find_by_name(self, user_id: str, entity_type: EntityType, name_key: str) -> str | None:
        """Return the id of the entity that holds a name key (strong read), or None."""
        ...

    def self_id(self, user_id: str) -> str | None:
        """Return the id of the user's self entity, or None before first use."""
        ...

    def get_entities(
        self, user_id: str, ids: Sequence[str], *, counts: bool = False
    ) -> dict[str, Entity]:
        """Read entities strongly, without evidence, in one batch request per 100.

        Missing, deleted and being-deleted ids are left out; expiry is the service's to judge.

        Args:
            user_id: Owner.
            ids: Entities to read.
            counts: Whether to read access counts too; then one batch request per 50.
        """
        ...

    def get_items(
        self, user_id: str, *, entity_ids: Sequence[str], relation_ids: Sequence[str]
    ) -> tuple[dict[str, Entity], dict[str, Relation]]:
        """Read entities and relation bodies together, in one batch request per 100 of both."""
        ...

    def get_entity(self, user_id: str, entity_id: str) -> Entity | None:
        """Read one entity with its newest evidence and its access counts, in one query per 1 MB."""
        ...

    def get_entity_with_halves(
        self, user_id: str, entity_id: str
    ) -> tuple[Entity, Sequence[Half]] | None:
        """Read what ``get_entity`` does and all current halves, in the same query."""
        ...

    def entity_sources(self, user_id: str, entity_id: str) -> frozenset[str]:
        """Return the ids of all sources that support an entity."""
        ...

    def list_entities(
        self,
        user_id: str,
        page: PageRequest,
        *,
        sort: Literal["updated", "name"],
        now: datetime,
        entity_type: EntityType | None = None,
        text: str | None = None,
    ) -> Page[Entity]:
        """List live entities, newest touched first or by name; ``text`` is matched folded in name
        and description.

        Entities expired at ``now`` are neither listed nor counted. They come without evidence.
        ``page.limit`` may be up to 1,000 here, for pages of a whole graph.

        Raises:
            ValidationError: The position is of no page of this listing (``invalid_cursor``).
        """
        ...

    def get_relations(self, user_id: str, ids: Sequence[str]) -> dict[str, Relation]:
        """Read relation bodies strongly, without sources, in one batch request per 100."""
        ...

    def get_relation(self, user_id: str, relation_id: str) -> Relation | None:
        """Read one relation with its sources (newest 20), in one query."""
        ...

    def relation_sources(self, user_id: str, relation_id: str) -> frozenset[str]:
        """Return the ids of all sources that support a relation."""
        ...

    def find_relation(
        self, user_id: str, source_id: str, relation_type: RelationType, target_id: str
    ) -> str | None:
        """Return the id of the unclosed relation of this triple (strong read), or None.

        Its end may have passed since it was written (``Relation.is_current``): then a commit that
        creates a new one must also close it (``domain.relations.settle``).
        """
        ...

    def halves(
        self,
        user_id: str,
        entity_id: str,
        *,
        direction: Direction = Direction.BOTH,
        relation_types: Sequence[RelationType] | None = None,
        closed: bool = False,
        limit: int | None = None,
    ) -> Sequence[Half]:
        """Read an entity's relations as lean halves, in one query per 1 MB; with ``closed`` also
        those that ended, which takes a second query.

        At most ``limit`` are returned, and reading stops there.
        """
        ...

    def halves_of(
        self,
        user_id: str,
        entity_ids: Sequence[str],
        *,
        direction: Direction = Direction.BOTH,
        relation_types: Sequence[RelationType] | None = None,
        closed: bool = False,
        limit: int | None = None,
    ) -> dict[str, Sequence[Half]]:
        """Read the halves of several entities in parallel, each as ``halves`` does."""
        ...

    def edges(self, user_id: str, *, closed: bool = False) -> Sequence[Half]:
        """Read all relations of a user, each once as its outgoing half, in one query per 1 MB."""
        ...

    def list_relations(
        self,
        user_id: str,
        page: PageRequest,
        *,
        now: datetime,
        entity_id: str | None = None,
        relation_type: RelationType | None = None,
    ) -> Page[Relation]:
        """List current relations between live entities, newest updated first, without sources.

        Raises:
            ValidationError: The position is of no page of this listing (``invalid_cursor``).
        """
        ...

    def history(self, user_id: str, item_id: str, page: PageRequest) -> Page[HistoryEntry]:
        """List the changes of an entity or relation, newest first.

        Callers read the item first: while it is being deleted, its history may still be here.

        Raises:
            ValidationError: The position is of no page of this listing (``invalid_cursor``).
        """
        ...

    def walk_entities(
        self, user_id: str, *, after: str = ""
    ) -> Iterator[tuple[Entity, Sequence[Support]]]:
        """Yield entities with all their sources, in an order that does not change, from the one
        that follows the id ``after``; in one query per 1 MB.

        They come without evidence; expiry is the caller's to judge.
        """
        ...

    def walk_relations(
        self, user_id: str, *, after: str = ""
    ) -> Iterator[tuple[Relation, Sequence[Support]]]:
        """Yield relations, current and closed, with all their sources, as ``walk_entities`` does.

        Their ends may be gone: the caller checks.
        """
        ...

    def commit(self, user_id: str, commit: Commit) -> None:
        """Apply all changes in one transaction, with history and index marks, or none.

        With a ``step``, the transaction also counts one step of an extraction job as applied: each
        step takes effect once, whoever delivers it and however often, and none does after the
        job's conversation was deleted. With an ``advance``, it also stores how far an import has
        come, unless another worker went on with it meanwhile. A commit may consist of either alone.

        Raises:
            ConflictError: A condition did not hold: another writer was first, an end is gone, a
                name is taken, the step was applied, the life has ended. The caller reads again and
                decides anew.
        """
        ...

    def steps(self, user_id: str, job_id: str) -> Sequence[str]:
        """Return the outcomes of the steps of a job that were applied, in order (strong read)."""
        ...

    def delete_entity(self, user_id: str, entity: Entity, *, at: datetime) -> None:
        """Delete an entity with relations, sources, evidence, history and counter.

        ``entity`` is as a read returned it; its index mark says ``deleted``, at the next revision.
        The first step makes it invisible on every surface and frees its name; the rest may take
        further steps. Raising after the first step is safe: ``finish_deletion`` completes it.

        Raises:
            ConflictError: The entity is no longer as given.
        """
        ...

    def finish_deletion(self, user_id: str, item_id: str) -> None:
        """Complete the deletion of an entity or relation; does nothing when none was begun.

        Several may do so at the same time.
        """
        ...

    def unfinished_deletions(self, user_id: str) -> frozenset[str]:
        """Return the ids of entities and relations whose deletion was begun and not completed."""
        ...

    def count_accesses(self, user_id: str, entity_ids: Sequence[str], at: datetime) -> None:
        """Count one chat recall for each entity, outside the versioned item."""
        ...

    def pending(self, user_id: str) -> Sequence[Pending]:
        """Return all marks of the user, in one query per 1 MB."""
        ...

    def clear_pending(self, user_id: str, marks: Sequence[Pending]) -> None:
        """Clear marks whose revision is still the given one; later marks of the same ref stay."""
        ...


class AuditLog(Protocol):
    """What administrators did with users' data; it does not go with the user."""

    def record(self, entry: AuditEntry) -> None:
        """Store an entry durably, before the data is handed out."""
        ...

    def entries(self, year: int, month: int, page: PageRequest) -> Page[AuditEntry]:
        """List the entries of a month (UTC), newest first."""
        ...


class ConversationStore(Protocol):
    """Conversations and their messages."""

    def get(self, user_id: str, conversation_id: str) -> Conversation | None:
        """Read a conversation's head strongly."""
        ...

    def list(self, user_id: str, page: PageRequest) -> Page[Conversation]:
        """List conversations, newest activity first.

        Raises:
            ValidationError: The position is of no page of this listing (``invalid_cursor``).
        """
        ...

    def acquire(
        self, user_id: str, conversation: Conversation, *, now: datetime, until: datetime
    ) -> Lease | None:
        """Take the right to write, creating the conversation from ``conversation`` if it is not
        there.

        Returns:
            The lease with a new fencing token, or None while another holder's lease runs.
        """
        ...

    def append(
        self,
        user_id: str,
        lease: Lease,
        messages: Sequence[Message],
        *,
        at: datetime,
        index: bool = False,
    ) -> None:
        """Store messages in order, conditioned on the lease; ``seq`` must continue the transcript.

        Args:
            user_id: Owner.
            lease: The writer's lease.
            messages: Messages with consecutive ``seq`` and ``parent_id`` set.
            at: Time of the activity.
            index: Whether the user's messages among them become searchable (marks them pending).

        Raises:
            ConflictError: The lease was lost or ``seq`` is taken (``lease_lost``).
            ValidationError: A message has more tool results than can be stored at once
                (``too_many_tool_calls``).
        """
        ...

    def release(self, user_id: str, lease: Lease) -> None:
        """Give the right back; does nothing if it was lost."""
        ...

    def rename(
        self, user_id: str, conversation_id: str, title: str, *, expected_version: int
    ) -> Conversation | None:
        """Set the title, which makes a new version; None if there is no such conversation.

        Raises:
            ConflictError: The stored version is not ``expected_version``.
        """
        ...

    def messages(
        self, user_id: str, conversation_id: str, page: PageRequest, *, after_seq: int = 0
    ) -> Page[Message]:
        """Read messages in order of ``seq``, strongly; a page ends early at 4 MB.

        ``page.skip`` and ``page.with_total`` are the caller's: messages are numbered from 1 without
        gaps, and the head counts them.

        Raises:
            ValidationError: The position is of no transcript (``invalid_cursor``).
        """
        ...

    def get_messages(
        self, user_id: str, refs: Sequence[tuple[str, str]]
    ) -> dict[tuple[str, str], Message]:
        """Read messages by ``(conversation_id, message_id)``, in one batch request per 100 of them
        and their conversations; ids that are of no message are left out."""
        ...

    def indexed(self, user_id: str, conversation_id: str) -> Sequence[str]:
        """Return the ids of the messages of a conversation that are searchable, in order."""
        ...

    def advance_extracted(
        self, user_id: str, conversation_id: str, life: str, *, from_seq: int, to_seq: int
    ) -> bool:
        """Move the extraction watermark; False if it is not at ``from_seq`` or the life ended."""
        ...

    def delete(
        self,
        user_id: str,
        conversation_id: str,
        *,
        at: datetime,
        expected_version: int | None = None,
    ) -> bool:
        """Delete a conversation with all that belongs to it, its episodes marked for removal.

        The first step makes it invisible and fences its writers off; the rest may take further
        steps. Raising after the first step is safe: ``finish_deletion`` completes it. The id can be
        used again at once: it starts a new life.

        Returns:
            False if there is none.

        Raises:
            ConflictError: It has another version than ``expected_version``.
        """
        ...

    def finish_deletion(self, user_id: str, conversation_id: str) -> None:
        """Complete a deletion that was begun; does nothing when there is none."""
        ...

    def unfinished_deletions(self, *, before: datetime, limit: int) -> Sequence[tuple[str, str]]:
        """Return ``(user_id, conversation_id)`` of deletions begun before a time, of all users."""
        ...


class AgentStore(Protocol):
    """Agents: private to their owner, or shared when their live configuration says so."""

    def get(self, user_id: str, agent_id: str) -> Agent | None:
        """Read an own or shared agent.

        Of someone else's shared agent only the live configuration is known: it stands for the draft
        too.
        """
        ...

    def list(self, user_id: str) -> Sequence[Agent]:
        """Return own and shared agents, each once, newest first."""
        ...

    def put(self, agent: Agent, *, expected_version: int | None) -> None:
        """Store an agent in its owner's partition and, when shared, for everyone.

        Raises:
            ConflictError: The stored version is not ``expected_version`` (None: it must not exist).
        """
        ...

    def delete(self, agent: Agent) -> None:
        """Remove an agent everywhere; does nothing if it is gone.

        Raises:
            ConflictError: The stored version is not that of ``agent``.
        """
        ...


class SettingsStore(Protocol):
    """Site settings that administrators change at run time."""

    def all(self) -> Mapping[str, Any]:
        """Return the values that were set, by key."""
        ...

    def put(self, key: str, value: Any) -> None:
        """Set a value."""
        ...

    def reset(self, keys: Sequence[str]) -> None:
        """Remove values, so that the defaults hold again."""
        ...


class ExtractionStore(Protocol):
    """Due rows, and jobs with their plans."""

    def get_due(self, user_id: str, conversation_id: str) -> DueExtraction | None:
        """Read the due row of a conversation strongly."""
        ...

    def put_due(self, due: DueExtraction, *, replaces: int | None) -> bool:
        """Store a due row in place of generation ``replaces`` (None: none).

        Returns:
            False if it is too late: another generation is there, or the life has ended.
        """
        ...

    def clear_due(self, due: DueExtraction) -> bool:
        """Remove a due row of exactly this generation; False if there is a newer one."""
        ...

    def overdue(self, *, before: datetime, limit: int) -> Sequence[DueExtraction]:
        """Return rows due before a time, of all users (the sweep)."""
        ...

    def get_job(self, user_id: str, job_id: str) -> Job | None:
        """Read a job."""
        ...

    def list_jobs(self, user_id: str, page: PageRequest) -> Page[Job]:
        """List jobs, newest first.

        Raises:
            ValidationError: The position is of no page of this listing (``invalid_cursor``).
        """
        ...

    def put_job(self, user_id: str, job: Job) -> None:
        """Store a job's state; it goes with its conversation.

        Raises:
            ConflictError: The conversation's life has ended.
        """
        ...

    def save_plan(self, user_id: str, job_id: str, plan: Plan) -> Plan:
        """Store a job's validated plan once; a redelivery gets the plan that was stored first.

        Raises:
            ConflictError: There is no such job: it was never stored, or its conversation was
                deleted.
        """
        ...

    def get_plan(self, user_id: str, job_id: str) -> Plan | None:
        """Read the plan of a job, or None before it was stored."""
        ...


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


@dataclass(frozen=True)
class ChatRequest:
    """What a model is asked.

    Args:
        model_id: Model to ask, as in the settings.
        system: System blocks in order.
        messages: Messages in order, the newest user message last.
        max_output_tokens: Most tokens of the answer.
        context: Recalled memory to be read with the newest message; never stored as user text.
        timeout_seconds: Longest wait for the whole answer; past it the call fails.
    """

    model_id: str
    system: Sequence[str]
    messages: Sequence[Message]
    max_output_tokens: int
    context: str = ""
    timeout_seconds: float = 270.0


@dataclass(frozen=True)
class ChatAnswer:
    """What a model answered."""

    content: str
    stop_reason: str
    usage: Usage
    model_id: str


class ChatModel(Protocol):
    """A chat model behind one way of asking."""

    def answer(self, request: ChatRequest) -> ChatAnswer:
        """Answer once.

        Raises:
            ModelError: The model does not answer (``retryable`` in its extra members).
        """
        ...


class Extractor(Protocol):
    """Reads statements from turns."""

    @property
    def prompt_hash(self) -> str:
        """sha256 of the prompt, for the job record."""
        ...

    def extract(
        self,
        model_id: str,
        messages: Sequence[Message],
        *,
        instructions: str,
        zone: str,
        known_names: Sequence[str] = (),
    ) -> tuple[Extraction, Usage]:
        """Read the statements of the user's turns; assistant turns are context.

        Raises:
            ModelError: No usable answer.
        """
        ...


class TokenCounter(Protocol):
    """Counts tokens without asking a provider."""

    def count(self, text: str, model_id: str) -> int:
        """Return a count that is never under 0.95 of the model's own."""
        ...


class ExtractionQueue(Protocol):
    """Producer of extraction jobs."""

    def send(self, due: DueExtraction, *, delay_seconds: int) -> None:
        """Queue the job of a due row; longer delays than 15 minutes are re-sent on arrival."""
        ...

    def dead_letter(self, due: DueExtraction, reason: str) -> None:
        """Send a job to the dead-letter queue with the reason."""
        ...


@dataclass(frozen=True)
class StoredAnswer:
    """An answer as it is replayed.

    Args:
        status: HTTP status.
        headers: Headers that belong to the answer, such as ``ETag`` and ``Location``.
        body: The body as it was sent.
    """

    status: int
    headers: Mapping[str, str]
    body: str


@dataclass(frozen=True)
class Fresh:
    """The request has not run: the caller runs it, then finishes or abandons it with ``claim``."""

    claim: str


@dataclass(frozen=True)
class Replay:
    """The request has run: this is what it answered."""

    answer: StoredAnswer


@dataclass(frozen=True)
class InProgress:
    """The request is running until ``until`` at the latest."""

    until: datetime


@dataclass(frozen=True)
class OtherBody:
    """The key was used with another body."""


class IdempotencyStore(Protocol):
    """Records of requests that carried an ``Idempotency-Key``, in the user's partition.

    A record counts for 24 hours from when its request began. What is expired counts as absent,
    whether or not it was reclaimed.
    """

    def begin(
        self,
        user_id: str,
        route: str,
        key: str,
        *,
        body_hash: str,
        now: datetime,
        deadline: datetime,
    ) -> Fresh | Replay | InProgress | OtherBody:
        """Claim a request, or learn what became of it.

        Args:
            user_id: Owner of the key.
            route: Method and path of the request: a key counts for one of them.
            key: The caller's key.
            body_hash: Digest of the body.
            now: The current time.
            deadline: When a running request is given up: a claim older than this can be taken over.
        """
        ...

    def finish(
        self, user_id: str, route: str, key: str, fresh: Fresh, answer: StoredAnswer
    ) -> None:
        """Store the answer; does nothing when the claim was taken over or has an answer."""
        ...

    def abandon(self, user_id: str, route: str, key: str, fresh: Fresh) -> None:
        """Give the claim back, so that the next try runs; does nothing when it was taken over or
        has an answer."""
        ...


class RepairQueue(Protocol):
    """Producer of what could not be indexed, by id."""

    def send(self, user_id: str, refs: Sequence[str], *, delay_seconds: int) -> None:
        """Queue refs of a user to be indexed again."""
        ...


class Blobs(Protocol):
    """Bodies too large for a table row."""

    def put(self, user_id: str, key: str, body: bytes) -> None:
        """Store a body under the user's prefix."""
        ...

    def get(self, user_id: str, key: str) -> bytes:
        """Read a body.

        Raises:
            NotFoundError: There is none.
        """
        ...

    def delete(self, user_id: str, keys: Sequence[str]) -> None:
        """Remove bodies; missing ones are no error."""
        ...

    def delete_all(self, user_id: str, prefix: str) -> None:
        """Remove all of a user's bodies whose key starts with ``prefix``, which ends in ``/``."""
        ...


class TransferStore(Protocol):
    """Exports and imports of a user's memory, and the ids that an import maps."""

    def create(self, user_id: str, transfer: Transfer) -> None:
        """Store a new job."""
        ...

    def get(self, user_id: str, transfer_id: str) -> Transfer | None:
        """Read a job strongly."""
        ...

    def list(self, user_id: str, page: PageRequest) -> Page[Transfer]:
        """List jobs, newest first.

        Raises:
            ValidationError: The position is of no page of this listing (``invalid_cursor``).
        """
        ...

    def save(self, user_id: str, transfer: Transfer) -> Transfer:
        """Store a job's next state and return it with its new revision.

        Raises:
            ConflictError: It is no longer of this revision (``superseded``), or not there.
        """
        ...

    def mapped(self, user_id: str, transfer_id: str, refs: Sequence[str]) -> dict[str, str]:
        """Return the ids that stand for ids of the imported file, where they are others."""
        ...

    def forget_mapping(self, user_id: str, transfer_id: str) -> None:
        """Remove the mapped ids of a job."""
        ...


class TransferQueue(Protocol):
    """Producer of messages that wake the worker of exports and imports up."""

    def send(self, user_id: str, transfer_id: str, *, delay_seconds: int) -> None:
        """Queue a job, to be gone on with after a while, 15 minutes at most."""
        ...


@dataclass(frozen=True)
class StoredFile:
    """A file that is there: its size in bytes, and what tells it from another of its name."""

    size: int
    etag: str


class TransferFiles(Blobs, Protocol):
    """The files of exports and imports, apart from all other bodies; they are forgotten soon."""

    def stat(self, user_id: str, key: str) -> StoredFile | None:
        """Return a file's size and identity, or None if there is none."""
        ...

    def read(self, user_id: str, key: str, *, start: int, length: int, etag: str) -> bytes:
        """Read a stretch of a file, as far as it goes; ``start`` lies within it.

        Raises:
            NotFoundError: There is none.
            ConflictError: It is another file than ``etag`` names (``upload_changed``).
        """
        ...

    def join(self, user_id: str, key: str, parts: Sequence[str]) -> None:
        """Make one file of the bodies under ``parts``, in order; they may be of any size."""
        ...

    def download_url(self, user_id: str, key: str, *, seconds: int, name: str) -> str:
        """Return an address from which anyone who has it can read a file for a while."""
        ...

    def upload_form(
        self, user_id: str, key: str, *, seconds: int, max_bytes: int
    ) -> tuple[str, dict[str, str]]:
        """Return where a file can be posted to for a while, and the form fields to send with it.

        What is larger than ``max_bytes`` is refused.
        """
        ...
