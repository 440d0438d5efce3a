"""The whole product on in-memory stores, for tests of behaviour across its parts."""

from __future__ import annotations

from collections.abc import Callable
from datetime import timedelta
from typing import TYPE_CHECKING, Any

from functions.accounts import app as accounts_app
from functions.chat import app as chat_app
from functions.extraction import app as extraction_app
from tests.fakes.agents import FakeAgentStore
from tests.fakes.audit import FakeAuditLog
from tests.fakes.clock import FakeClock
from tests.fakes.conversations import FakeConversationStore
from tests.fakes.extraction import FakeExtractionStore
from tests.fakes.idempotency import FakeIdempotencyStore
from tests.fakes.ids import SequentialIds
from tests.fakes.memory import FakeMemoryStore
from tests.fakes.queue import FakeExtractionQueue
from tests.fakes.site_settings import FakeSettingsStore
from tests.gateway import Gateway, Reply
from threadkeep.bootstrap import Bootstrap
from threadkeep.domain.agents import AgentConfig
from threadkeep.domain.budget import ModelLimits
from threadkeep.domain.conversations import Message, Role, Usage
from threadkeep.domain.entities import EntityType, ExtractionNote
from threadkeep.domain.extraction import ExtractedEntity, ExtractedRelation, Extraction
from threadkeep.domain.models import Models
from threadkeep.domain.retrieval import SearchAnswer
from threadkeep.domain.turns import TurnAnswer, TurnRequest
from threadkeep.errors import UnauthorizedError
from threadkeep.ports import ChatAnswer, ChatRequest, PageRequest
from threadkeep.services.chat import LEASE_SECONDS
from threadkeep.services.extraction import LOST_AFTER
from threadkeep.services.extraction_worker import RUN_SECONDS

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    import pytest

    from tests.crashes import Crashes
    from threadkeep.domain.agents import MemoryConfig
    from threadkeep.domain.extraction import DueExtraction
    from threadkeep.domain.relations import RelationType

ALICE, BOB = "alice", "bob"
THREAD = "thread-1"


class ScriptedModel:
    """A chat model that does what a test says, and remembers what it was asked.

    Attributes:
        requests: All requests, in order.
        behave: Answers a request, or raises.
    """

    def __init__(self) -> None:
        self.requests: list[ChatRequest] = []
        self.behave: Callable[[ChatRequest], str] = lambda _: "Understood."

    def answer(self, request: ChatRequest) -> ChatAnswer:
        """Answer as scripted."""
        self.requests.append(request)
        content = self.behave(request)
        return ChatAnswer(content, "end_turn", Usage(input_tokens=7, output_tokens=3), "scripted")


class ScriptedRetrieval:
    """Finds what a test puts into it."""

    def __init__(self) -> None:
        self.found = SearchAnswer()
        self.asked: list[tuple[str, str, str | None]] = []

    def recall(
        self,
        user_id: str,
        text: str,
        config: MemoryConfig,
        *,
        index_turns: bool,
        conversation_id: str | None = None,
    ) -> SearchAnswer:
        """Return what was put in."""
        self.asked.append((user_id, text, conversation_id))
        return self.found


type Reading = Callable[[Message], Extraction]


class ScriptedExtractor:
    """Reads every user message by the reading that a test gives for its text.

    Attributes:
        readings: By the message's text; others state nothing.
        calls: The user messages of each call.
        failures: Errors to raise, one a call, before anything is read.
    """

    prompt_hash = "scripted"

    def __init__(self, readings: dict[str, Reading] | None = None) -> None:
        self.readings = readings or {}
        self.calls: list[list[str]] = []
        self.failures: list[Exception] = []
        self.models: list[str] = []

    def extract(
        self,
        model_id: str,
        messages: Sequence[Message],
        *,
        instructions: str,
        zone: str,
        known_names: Sequence[str] = (),
    ) -> tuple[Extraction, Usage]:
        """Read all user messages; references are kept apart by message."""
        said = [message for message in messages if message.role is Role.USER]
        self.calls.append([message.content for message in said])
        self.models.append(model_id)
        if self.failures:
            raise self.failures.pop(0)
        name: str | None = None
        entities: list[ExtractedEntity] = []
        relations: list[ExtractedRelation] = []
        for message in said:
            reading = self.readings.get(message.content)
            if reading is not None:
                read = reading(message)
                name = read.self_name or name
                entities += read.entities
                relations += read.relations
        extraction = Extraction(
            self_name=name, entities=tuple(entities), relations=tuple(relations)
        )
        return extraction, Usage(input_tokens=11, output_tokens=5)


class WordCounter:
    """Counts a word as a token."""

    def count(self, text: str, model_id: str) -> int:
        """Return the number of words."""
        return len(text.split())


def told(
    *statements: tuple[str, RelationType, str, EntityType, str],
    name: str | None = None,
    **about: Any,
) -> Reading:
    """Return a reading: statements as ``(source, relation, target, target's type, quote)``.

    A source other than ``self`` is a person. ``about`` goes to every relation.
    """

    def read(message: Message) -> Extraction:
        def entity(ref: str, kind: EntityType, quote: str) -> ExtractedEntity:
            return ExtractedEntity(
                ref=f"{message.id}:{ref}",
                name=ref,
                entity_type=kind,
                quote=quote,
                message_id=message.id,
                note=ExtractionNote(modality="asserted"),
            )

        entities: dict[str, ExtractedEntity] = {}
        relations = []
        for source, relation, target, kind, quote in statements:
            entities[target] = entity(target, kind, quote)
            if source != "self":
                entities[source] = entity(source, EntityType.PERSON, quote)
            relations.append(
                ExtractedRelation(
                    source_ref="self" if source == "self" else f"{message.id}:{source}",
                    target_ref=f"{message.id}:{target}",
                    relation_type=relation,
                    quote=quote,
                    message_id=message.id,
                    **about,
                )
            )
        return Extraction(
            self_name=name, entities=tuple(entities.values()), relations=tuple(relations)
        )

    return read


class NamedTokens:
    """Takes ``Bearer {name}`` for a token of the user of that name."""

    def claims(self, authorization: str | None) -> Mapping[str, Any]:
        """Return the claims of a token."""
        scheme, _, name = (authorization or "").partition(" ")
        if scheme != "Bearer" or not name:
            raise UnauthorizedError
        return {"sub": name, "token_use": "id"}


class Http:
    """The functions of chat and accounts behind the gateway, and signed-in users."""

    def __init__(self) -> None:
        self._gateway = Gateway(
            (chat_app.api, chat_app.lambda_handler),
            (accounts_app.api, accounts_app.lambda_handler),
        )

    def call(self, method: str, path: str, body: Any = None, **options: Any) -> Reply:
        """Send a request as a user; the chat function reads the token itself."""
        user = options.setdefault("user", ALICE)
        token = {"Authorization": f"Bearer {user}"} if user else {}
        options["headers"] = {**token, **options.get("headers", {})}
        return self._gateway.call(method, path, body, **options)

    def get(self, path: str, **options: Any) -> Reply:
        """Send a GET."""
        return self.call("GET", path, **options)

    def post(self, path: str, body: Any = None, **options: Any) -> Reply:
        """Send a POST."""
        return self.call("POST", path, body, **options)

    def put(self, path: str, body: Any = None, **options: Any) -> Reply:
        """Send a PUT."""
        return self.call("PUT", path, body, **options)

    def patch(self, path: str, body: Any = None, **options: Any) -> Reply:
        """Send a PATCH."""
        return self.call("PATCH", path, body, **options)

    def delete(self, path: str, **options: Any) -> Reply:
        """Send a DELETE."""
        return self.call("DELETE", path, **options)


class World:
    """The product with fakes for everything outside of it.

    Args:
        overrides: Further parts, by their names in ``Bootstrap``.
    """

    def __init__(self, **overrides: Any) -> None:
        self.clock = FakeClock(step=timedelta(milliseconds=1))
        self.ids = SequentialIds()
        self.memory = FakeMemoryStore()
        self.conversations = FakeConversationStore(self.memory)
        self.memory.join(self.conversations)
        self.extractions = FakeExtractionStore(self.conversations)
        self.settings_store = FakeSettingsStore()
        self.agent_store = FakeAgentStore()
        self.queue = FakeExtractionQueue()
        self.model = ScriptedModel()
        self.retrieval = ScriptedRetrieval()
        self.extractor = ScriptedExtractor()
        self.audit = FakeAuditLog()
        self.models = Models(
            "offline",
            {
                "openai:small": ModelLimits(window=8_000, max_output=1_024),
                "openai:tiny": ModelLimits(window=1_200),
            },
        )
        self.parts: dict[str, Any] = {
            "clock": self.clock,
            "ids": self.ids,
            "memory_store": self.memory,
            "conversation_store": self.conversations,
            "extraction_store": self.extractions,
            "settings_store": self.settings_store,
            "agent_store": self.agent_store,
            "extraction_queue": self.queue,
            "chat_model": self.model,
            "retrieval": self.retrieval,
            "extractor": self.extractor,
            "token_counter": WordCounter(),
            "chat_models": self.models,
            "idempotency_store": FakeIdempotencyStore(),
            "audit_log": self.audit,
            "token_verifier": NamedTokens(),
            **overrides,
        }
        self.product = Bootstrap(**self.parts)
        self.settings_store.put("memory_async_extraction_enabled", True)

    @classmethod
    def real(cls) -> World:
        """Return a world that reads, embeds and searches as the offline product does."""
        from tests.fakes.vector_rows import FakeVectorRows
        from threadkeep.llm.offline.embedder import WordVectorEmbedder
        from threadkeep.llm.offline.extractor import RuleExtractor
        from threadkeep.search.exact import ExactIndex

        world = cls()
        embedder = WordVectorEmbedder("offline:wordllama", 256)
        del world.parts["retrieval"]
        world.parts |= {
            "extractor": RuleExtractor(),
            "embedder": embedder,
            "vector_index": ExactIndex(FakeVectorRows(), embedder.dimension, world.clock),
        }
        world.product = Bootstrap(**world.parts)
        return world

    def serve(self, patch: pytest.MonkeyPatch) -> Http:
        """Put this product into the functions, for as long as a patch lasts."""
        for app in (accounts_app, chat_app, extraction_app):
            patch.setattr(app, "bootstrap", lambda: self.product)
        return Http()

    def process(self, crashes: Crashes) -> Bootstrap:
        """Return the product as another process on the same data, which can be killed."""
        ways_out = (
            "memory_store",
            "conversation_store",
            "extraction_store",
            "settings_store",
            "agent_store",
            "extraction_queue",
            "extractor",
            "chat_model",
        )
        wrapped = {name: crashes.wrap(self.parts[name]) for name in ways_out}
        return Bootstrap(**{**self.parts, **wrapped})

    def agent(self, user: str = ALICE, **config: Any) -> str:
        """Create and publish an agent with memory; return its id."""
        defaults = {"name": "Helper", "enable_memory": True}
        made = self.product.agents.create(user, AgentConfig.model_validate({**defaults, **config}))
        self.product.agents.publish(user, made.id, None)
        return made.id

    def say(
        self, agent_id: str, text: str, thread: str = THREAD, *, user: str = ALICE, **more: Any
    ) -> TurnAnswer:
        """Run one turn."""
        request = TurnRequest(message=text, conversation_id=thread, **more)
        return self.product.chat.turn(user, agent_id, request)

    def transcript(self, thread: str = THREAD, user: str = ALICE) -> list[Message]:
        """Return a conversation's messages."""
        page = PageRequest(limit=100)
        return list(self.conversations.messages(user, thread, page).items)

    def texts(self, thread: str = THREAD, user: str = ALICE) -> list[tuple[str, str]]:
        """Return roles and texts of a conversation."""
        return [(message.role.value, message.content) for message in self.transcript(thread, user)]

    def deliver(self, *messages: DueExtraction) -> None:
        """Deliver queue messages to the worker."""
        for message in messages:
            self.product.extraction_worker.run(message)

    def settle(self) -> None:
        """Let time pass and deliver until nothing waits, sweeping up what the queue lost."""
        for _ in range(50):
            longest = max(LEASE_SECONDS, RUN_SECONDS) + LOST_AFTER.total_seconds()
            self.clock.advance(seconds=longest + 1)
            self.product.extraction.sweep()
            waiting, self.queue.sent = self.queue.sent, []
            if not waiting:
                return
            self.deliver(*(message for message, _ in waiting))
        raise AssertionError("the queue never came to rest")

    def entities(self, user: str = ALICE) -> dict[str, str]:
        """Return the entities as names with their types."""
        page = self.memory.list_entities(
            user, PageRequest(limit=100), sort="name", now=self.clock.now()
        )
        return {entity.name: entity.entity_type.value for entity in page.items}

    def relations(self, user: str = ALICE, *, closed: bool = False) -> list[tuple[str, str, str]]:
        """Return the relations as names: those that are current, or those that are closed."""
        now = self.clock.now()
        halves = self.memory.edges(user, closed=True)
        bodies = self.memory.get_relations(user, [half.relation_id for half in halves]).values()
        ends = {r.source_entity_id for r in bodies} | {r.target_entity_id for r in bodies}
        names = {i: e.name for i, e in self.memory.get_entities(user, list(ends)).items()}
        return sorted(
            (names[r.source_entity_id], r.relation_type.value, names[r.target_entity_id])
            for r in bodies
            if r.is_current(now) is not closed
        )
