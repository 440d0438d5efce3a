"""Generations on a real OpenSearch: made, filled beside the one that serves, switched, swept."""

from __future__ import annotations

import random
import uuid
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import pytest
from opensearchpy import OpenSearch

from tests.contract.vector_indexes import generations
from tests.fakes.clock import FakeClock
from tests.fakes.embedder import HashingEmbedder
from tests.fakes.vector_rows import FakeVectorRows
from tests.indexing import index_pending
from tests.ranking_oracle import a_document
from tests.world import ALICE, World
from threadkeep.bootstrap import Bootstrap
from threadkeep.domain.changes import Origin
from threadkeep.domain.entities import EntityDraft, EntityType
from threadkeep.domain.retrieval import DocumentKind, Mode, SearchQuery
from threadkeep.errors import ConflictError, MisconfiguredError, UnavailableError
from threadkeep.search.exact import ExactIndex
from threadkeep.search.opensearch import OpenSearchIndex
from threadkeep.search.opensearch_generations import (
    KNOWN_FOR,
    TOMBSTONE_AGE,
    OpenSearchGenerations,
)

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from threadkeep.ports import Embedder

OLD, NEW = HashingEmbedder(16), HashingEmbedder(24)


@dataclass(frozen=True)
class Server:
    """The server, and an alias of one test's own."""

    url: str
    client: OpenSearch
    clock: FakeClock = field(default_factory=FakeClock)
    alias: str = field(default_factory=lambda: f"test-{uuid.uuid4().hex}")


@pytest.fixture
def server(opensearch_url: str) -> Iterator[Server]:
    with OpenSearch(opensearch_url, timeout=60) as client:
        yield Server(opensearch_url, client)


def product(server: Server, made: OpenSearchGenerations) -> tuple[Bootstrap, World]:
    """Return the product on in-memory stores, searching in some generations."""
    world = World()
    del world.parts["retrieval"]
    return Bootstrap(
        **world.parts,
        embedder=OLD,
        generations=made,
        vector_index=ExactIndex(FakeVectorRows(), OLD.dimension, world.clock),
    ), world


def another_process(
    made: OpenSearchGenerations, embedders: Sequence[Embedder] = ()
) -> OpenSearchGenerations:
    """Return the generations as another process sees them, configured alike or with others."""
    return OpenSearchGenerations(
        made._client, made._alias, embedders or made._embedders, made._make, made._clock
    )


def learn(app: Bootstrap, name: str) -> str:
    """Create an entity and return its id."""
    draft = EntityDraft(name=name, entity_type=EntityType.FACT)
    return app.memories.create(ALICE, draft, Origin(actor="user:test"))[0].id


def test_first_generation_serves_and_stays(server: Server) -> None:
    with generations(server.url, server.clock, [OLD], alias=server.alias) as made:
        serving = made.serving()
        assert serving.embedder is OLD
        made.prepare(replicas=0)
        assert made.names() == [serving.name] == [each.name for each in made.written()]


def test_another_dimension_is_refused_with_both_numbers(server: Server) -> None:
    """T13: a deployment whose embedder does not fit the index fails, and writes nothing."""
    with generations(server.url, server.clock, [OLD], alias=server.alias) as made:
        deployed = another_process(made, [NEW])
        for use in (deployed.prepare, deployed.serving, deployed.written):
            with pytest.raises(MisconfiguredError, match=r"dimension 16.*fake:hashing with 24"):
                use()
        assert made.names() == [made.serving().name]


def test_change_of_embedder_under_traffic_loses_nothing(server: Server) -> None:
    """T67: the old generation serves until the new one has everything."""
    rng = random.Random(1)
    with generations(server.url, server.clock, [OLD, NEW], alias=server.alias) as made:
        app, world = product(server, made)
        old, new = made.written()
        # given memories that only the old generation was told of
        early = [learn(app, f"fact {n}") for n in range(60)]
        only_old = Bootstrap(**world.parts, embedder=OLD, vector_index=old.index)
        assert not index_pending(only_old, ALICE)
        assert {d.what for d in app.index_care.verify(ALICE) if d.index == new.name} == {"missing"}
        # when people go on writing and deleting while the new one is filled
        names = {}
        for step in range(40):
            names[learn(app, f"later {step}")] = f"later {step}"
            if rng.random() < 0.3:
                app.memories.delete(ALICE, early.pop())
            if step == 20:
                app.index_care.rebuild(ALICE)
            if rng.random() < 0.5:
                index_pending(app, ALICE)
            # then the old one answers, and knows all of it
            query = SearchQuery(query=f"later {step}", mode=Mode.HYBRID)
            assert made.serving() is old
            assert app.retrieval.search(ALICE, query).entities[0].name == f"later {step}"
        assert not index_pending(app, ALICE)
        # and when nothing is missing any more, the new one takes over and knows the same
        assert [d for d in app.index_care.verify(ALICE) if d.index == new.name] == []
        made.switch(new.name)
        assert made.serving() is new
        wanted = {*early, *names}
        found = {ref for ref, _ in made.serving().index.refs(ALICE)}
        assert found == wanted
        assert app.retrieval.search(ALICE, SearchQuery(query="later 7")).backend == "opensearch"


def test_other_processes_follow_a_switch(server: Server) -> None:
    with generations(server.url, server.clock, [OLD, NEW], alias=server.alias) as one:
        other = another_process(one)
        first, second = one.written()
        assert other.serving().name == first.name
        one.switch(second.name)
        assert other.serving().name == first.name  # index and embedder fit together still
        server.clock.advance(seconds=KNOWN_FOR.total_seconds())
        assert other.serving().name == second.name
        assert other.serving().embedder is NEW


def test_only_what_is_left_over_can_be_dropped(server: Server) -> None:
    with generations(server.url, server.clock, [OLD, NEW], alias=server.alias) as made:
        old, new = made.written()
        made.switch(new.name)
        with pytest.raises(ConflictError):
            made.drop(old.name)  # still configured: another process may answer from it
        later = another_process(made, [NEW])
        with pytest.raises(ConflictError):
            later.drop(new.name)
        with pytest.raises(ConflictError):
            later.switch(f"{server.alias}-nothing")
        later.drop(old.name)
        assert later.names() == [new.name]


def test_deletes_older_than_the_engine_remembers_hold_until_no_event_can_come(
    server: Server,
) -> None:
    with generations(server.url, server.clock, [OLD], alias=server.alias) as made:
        # given an engine that forgets deletes at once, and a document removed at revision 8
        serving = made.serving()
        forgetful = {"index": {"gc_deletes": "1ms"}}
        server.client.indices.put_settings(index=serving.name, body=forgetful)
        rng = random.Random(2)
        document = a_document(rng, "e", DocumentKind.ENTITY, server.clock)
        document = document.model_copy(update={"vector": None, "revision": 7})
        serving.index.upsert("u1", [document])
        serving.index.remove("u1", [("e", 8)])
        # when its former writes come late, days later and after a sweep
        server.clock.advance(seconds=TOMBSTONE_AGE.total_seconds() - 1)
        assert made.sweep() == 0
        for _ in range(3):
            server.client.indices.refresh(index=serving.name)
            serving.index.upsert("u1", [document])
        # then nothing comes back
        assert list(serving.index.refs("u1")) == []
        # and once no event can come any more, the tombstone goes, and live documents do not
        serving.index.upsert("u1", [document.model_copy(update={"ref": "other"})])
        server.clock.advance(seconds=2)
        assert made.sweep() == 1
        server.client.indices.refresh(index=serving.name)
        assert server.client.count(index=serving.name)["count"] == 1


def test_a_lost_index_is_an_outage_and_is_never_made_up(server: Server) -> None:
    with generations(server.url, server.clock, [OLD], alias=server.alias) as made:
        serving = made.serving()
        server.client.indices.delete(index=serving.name)
        document = a_document(random.Random(3), "e", DocumentKind.ENTITY, server.clock)
        with pytest.raises(UnavailableError) as failure:
            serving.index.upsert("u1", [document.model_copy(update={"vector": None})])
        assert failure.value.code in ("search_unavailable", "not_indexed")
        assert made.names() == []
        made.prepare(replicas=0)


def test_nothing_asks_the_engine_to_refresh(
    server: Server, monkeypatch: pytest.MonkeyPatch
) -> None:
    """T17: no refresh is requested by any write or search; writes wait for the periodic one."""
    with generations(server.url, server.clock, [OLD], alias=server.alias) as made:
        asked: list[tuple[str, Any]] = []
        client = made._client
        perform = client.transport.perform_request

        def record(method: str, url: str, *rest: Any, **options: Any) -> Any:
            asked.append((url, (options.get("params") or {}).get("refresh")))
            return perform(method, url, *rest, **options)

        monkeypatch.setattr(client.transport, "perform_request", record)
        serving = made.serving()
        document = a_document(random.Random(4), "e", DocumentKind.ENTITY, server.clock)
        document = document.model_copy(update={"vector": None, "expires_at": None})
        serving.index.upsert("u1", [document])
        found = serving.index.search(
            "u1",
            SearchQuery(query="x"),
            (0.25,) * OLD.dimension,
            kind=DocumentKind.ENTITY,
            count=1,
            now=server.clock.now(),
        )
        # and what was written is found as soon as the write has returned
        assert [candidate.ref for candidate in found.found] == ["e"]
        serving.index.remove("u1", [("e", 2)])
        assert list(serving.index.refs("u1")) == []
        assert not [url for url, _ in asked if "_refresh" in url]
        assert {refresh for _, refresh in asked} == {None, "wait_for"}


@pytest.mark.slow
def test_recall_above_the_exact_limit_is_told_and_high(
    server: Server, record_property: Any
) -> None:
    # given more documents than are scored one by one
    rng = random.Random(6)
    embedder = HashingEmbedder(32)
    words = [f"word{n}" for n in range(400)]

    def exact_index() -> ExactIndex:
        return ExactIndex(FakeVectorRows(), embedder.dimension, server.clock)

    some = []
    for number in range(3_000):
        text = " ".join(rng.choices(words, k=6))
        made_up = a_document(rng, f"e{number:04d}", DocumentKind.ENTITY, server.clock)
        vector = embedder.embed([text], purpose="document")[0]
        some.append(made_up.model_copy(update={"text": text, "context": "", "vector": vector}))
    truth = exact_index()
    truth.upsert("u1", some)
    with generations(
        server.url, server.clock, [embedder], alias=server.alias, exact_limit=1_000
    ) as made:
        index = made.serving().index
        assert isinstance(index, OpenSearchIndex)
        index.upsert("u1", some)
        recalls: dict[str, float] = {}
        for mode in Mode:
            hits = wanted = 0
            for _ in range(25):
                query = SearchQuery(query=" ".join(rng.choices(words, k=3)), mode=mode)
                vector = embedder.embed([query.query], purpose="query")[0]
                asked: dict[str, Any] = {
                    "kind": DocumentKind.ENTITY, "count": 10, "now": server.clock.now(),
                }  # fmt: skip
                found = index.search("u1", query, vector, **asked)
                best = {c.ref for c in truth.search("u1", query, vector, **asked).found}
                # then what is more than the limit is not called exact
                assert not found.exact or mode is Mode.LEXICAL
                hits += len(best & {c.ref for c in found.found})
                wanted += len(best)
            recalls[mode.value] = hits / wanted
    record_property("recall_at_10", recalls)
    print(f"recall@10 of 3,000 documents with exact_limit 1,000: {recalls}")
    assert min(recalls.values()) > 0.9
