"""What the product relies on in an OpenSearch server with the k-NN plugin, shown on a real one."""

import time
import uuid
from collections.abc import Iterator, Mapping, Sequence
from datetime import UTC, datetime, timedelta
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray
from opensearchpy import NotFoundError, OpenSearch, RequestError

type Vector = NDArray[np.float64]

DIMENSION = 8
NOW = datetime(2026, 6, 1, tzinfo=UTC)
MAPPING = {
    "dynamic": "strict",
    "properties": {
        "user": {"type": "keyword"},
        "ref": {"type": "keyword"},
        "text": {"type": "text"},
        "touched_at": {"type": "date"},
        "deleted": {"type": "boolean"},
        "vector": {
            "type": "knn_vector",
            "dimension": DIMENSION,
            "method": {"name": "hnsw", "engine": "lucene", "space_type": "cosinesimil"},
        },
    },
}
# The plugin's own script `knn_score` knows neither the clamp nor the recency.
COMBINED_SCORE = """
    double similarity = Math.max(0.0, cosineSimilarity(params.vector, doc['vector']));
    long age = params.now - doc['touched_at'].value.toInstant().toEpochMilli();
    double days = Math.max(0.0, age / 86400000.0);
    double recency = Math.exp(-Math.log(2) / params.half_life_days * days);
    return (1 - params.weight) * similarity + params.weight * recency;
"""


@pytest.fixture(scope="module")
def client(opensearch_url: str) -> Iterator[OpenSearch]:
    """A client of the server."""
    with OpenSearch(opensearch_url, timeout=60) as client:
        yield client


@pytest.fixture
def index(client: OpenSearch) -> Iterator[str]:
    """An empty index that refreshes only when asked to."""
    name = create_index(client)
    yield name
    client.indices.delete(index=name)


@pytest.fixture
def other_index(client: OpenSearch) -> Iterator[str]:
    """A second such index."""
    name = create_index(client)
    yield name
    client.indices.delete(index=name)


def create_index(client: OpenSearch) -> str:
    name = f"test-{uuid.uuid4().hex}"
    settings = {"knn": True, "number_of_replicas": 0, "refresh_interval": "-1"}
    client.indices.create(index=name, body={"settings": {"index": settings}, "mappings": MAPPING})
    return name


def fill(client: OpenSearch, index: str, documents: Mapping[str, Mapping[str, Any]]) -> None:
    """Store documents by id and make them visible."""
    lines: list[Mapping[str, Any]] = []
    for ref, document in documents.items():
        lines += [{"index": {"_index": index, "_id": ref}}, {"ref": ref, **document}]
    assert not client.bulk(body=lines, refresh=True)["errors"]


def hits(
    client: OpenSearch, index: str, query: Mapping[str, Any], size: int
) -> list[tuple[str, float]]:
    """Return ids and scores of a search, best first, ties by ref."""
    sort = [{"_score": "desc"}, {"ref": "asc"}]
    found = client.search(index=index, body={"size": size, "query": query, "sort": sort})
    return [(hit["_id"], hit["_score"]) for hit in found["hits"]["hits"]]


def write(client: OpenSearch, index: str, version: int, kind: str, text: str = "") -> int:
    """Index document "a" at an external version in bulk; return the status of the item."""
    target = {"_index": index, "_id": "a", "version": version, "version_type": kind}
    answer = client.bulk(body=[{"index": target}, {"user": "u1", "text": text}])
    status: int = answer["items"][0]["index"]["status"]
    return status


def cosines(vectors: Vector, query: Vector) -> Vector:
    products: Vector = vectors @ query
    return products / np.linalg.norm(vectors, axis=1) / np.linalg.norm(query)


def test_plugin_has_the_version_of_the_server(client: OpenSearch) -> None:
    server = client.info()["version"]["number"]
    plugins = {row["component"]: row["version"] for row in client.cat.plugins(format="json")}
    assert plugins["opensearch-knn"] == f"{server}.0"


def test_filter_inside_the_knn_clause_finds_the_user_among_nearer_strangers(
    client: OpenSearch, index: str
) -> None:
    # given 5 documents of u1 pointing away from the query, and 300 of u10 pointing at it
    query = np.ones(DIMENSION)
    near = query + np.random.default_rng(1).normal(0, 0.01, (300, DIMENSION))
    documents = {f"u10-{n}": {"user": "u10", "vector": v.tolist()} for n, v in enumerate(near)}
    documents |= {f"u1-{n}": {"user": "u1", "vector": (-near[n]).tolist()} for n in range(5)}
    fill(client, index, documents)
    # when the 5 nearest of u1 are asked for
    only_u1 = {"vector": query.tolist(), "k": 5, "filter": {"term": {"user": "u1"}}}
    found = hits(client, index, {"knn": {"vector": only_u1}}, size=50)
    # then they are all found and nothing else: a filter behind the search would have left none
    assert {ref for ref, _ in found} == {f"u1-{n}" for n in range(5)}


def test_knn_score_is_half_of_one_plus_cosine(client: OpenSearch, index: str) -> None:
    query = np.arange(1.0, DIMENSION + 1)
    vectors = np.vstack([query, -query, np.random.default_rng(2).normal(size=(20, DIMENSION))])
    fill(
        client, index, {f"{n}": {"user": "u1", "vector": v.tolist()} for n, v in enumerate(vectors)}
    )
    found = dict(hits(client, index, {"knn": {"vector": {"vector": query.tolist(), "k": 22}}}, 22))
    expected = (1 + cosines(vectors, query)) / 2
    assert [found[f"{n}"] for n in range(22)] == pytest.approx(expected, abs=1e-6)


def test_script_behind_a_filter_ranks_exactly_by_the_combined_score(
    client: OpenSearch, index: str
) -> None:
    # given 500 documents of two users, touched from a year ago until tomorrow, two of them alike
    random = np.random.default_rng(3)
    vectors, days = random.normal(size=(500, DIMENSION)), random.uniform(-1, 365, 500)
    vectors[11], days[11] = vectors[10], days[10]
    documents = {
        f"{n:03}": {
            "user": "u1" if n < 400 else "u10",
            "vector": vectors[n].tolist(),
            "touched_at": (NOW - timedelta(days=days[n])).isoformat(timespec="milliseconds"),
        }
        for n in range(500)
    }
    fill(client, index, documents)
    # when they are scored for u1, nearest to the two that are alike
    query, weight, half_life = vectors[10], 0.15, 30.0
    parameters = {"vector": query.tolist(), "weight": weight, "half_life_days": half_life}
    parameters["now"] = int(NOW.timestamp() * 1000)
    script = {"lang": "painless", "source": COMBINED_SCORE, "params": parameters}
    only_u1 = {"bool": {"filter": {"term": {"user": "u1"}}}}
    found = hits(client, index, {"script_score": {"query": only_u1, "script": script}}, size=400)
    # then all of them come in the order of the formula, the tie in the order of their refs
    recency = np.exp(-np.log(2) / half_life * np.maximum(0, days[:400]))
    similarity = np.maximum(0, cosines(vectors[:400], query))
    expected = (1 - weight) * similarity + weight * recency
    ranked = [int(ref) for ref, _ in found]
    assert sorted(ranked) == list(range(400))
    assert expected[ranked] == pytest.approx(np.sort(expected)[::-1], abs=1e-6)
    assert [score for _, score in found] == pytest.approx(expected[ranked], abs=1e-6)
    assert ranked.index(11) == ranked.index(10) + 1


def test_match_query_ranks_by_bm25_within_the_user(client: OpenSearch, index: str) -> None:
    texts = {
        "rare": "the dog found truffles",
        "common": "the dog found the other dog",
        "long": "the dog found a road and a river and a house and a field and a tree",
        "none": "a cat slept",
    }
    documents = {ref: {"user": "u1", "text": text} for ref, text in texts.items()}
    fill(client, index, documents | {"strange": {"user": "u10", "text": "dog truffles"}})
    match = {"match": {"text": "dog truffles"}}
    query = {"bool": {"must": match, "filter": {"term": {"user": "u1"}}}}
    assert [ref for ref, _ in hits(client, index, query, 10)] == ["rare", "common", "long"]


@pytest.mark.parametrize(
    ("kind", "same_version"),
    [("external", 409), ("external_gte", 200)],
    ids=lambda value: f"{value}",
)
def test_older_external_version_never_replaces_a_newer(
    client: OpenSearch, index: str, kind: str, same_version: int
) -> None:
    assert write(client, index, 5, kind) == 201
    assert write(client, index, 5, kind) == same_version
    assert write(client, index, 4, kind, "late") == 409
    assert write(client, index, 7, kind, "new") == 200
    stored = client.get(index=index, id="a")
    assert (stored["_version"], stored["_source"]["text"]) == (7, "new")


def test_conflict_of_one_bulk_item_leaves_the_others(client: OpenSearch, index: str) -> None:
    write(client, index, 5, "external")
    late = {"_index": index, "_id": "a", "version": 4, "version_type": "external"}
    new = late | {"_id": "b"}
    answer = client.bulk(body=[{"index": late}, {"user": "u1"}, {"index": new}, {"user": "u1"}])
    assert answer["errors"]
    assert [item["index"]["status"] for item in answer["items"]] == [409, 201]


def test_engine_forgets_the_version_of_a_delete_but_not_of_a_tombstone(
    client: OpenSearch, index: str
) -> None:
    # given an engine that remembers deletes for 1 ms (60 s unless told) and a deleted document
    client.indices.put_settings(index=index, body={"index": {"gc_deletes": "1ms"}})
    client.index(index=index, id="a", version=5, version_type="external", body={"user": "u1"})
    client.delete(index=index, id="a", version=8, version_type="external")
    # when an older write comes late, then it brings the document back
    deadline = time.monotonic() + 20
    while (status := write(client, index, 7, "external", "ghost")) == 409:
        assert time.monotonic() < deadline, "the engine still rejects the late write"
        client.indices.refresh(index=index)
    assert status == 201
    # and a tombstone, which is a document like any other, rejects it for good
    tombstone = {"user": "u1", "deleted": True}
    client.index(index=index, id="a", version=8, version_type="external", body=tombstone)
    client.indices.refresh(index=index)
    assert write(client, index, 7, "external", "ghost") == 409
    assert client.get(index=index, id="a")["_source"] == tombstone


def test_write_is_read_by_id_at_once_and_searched_after_a_refresh(
    client: OpenSearch, index: str
) -> None:
    client.index(index=index, id="a", body={"user": "u1", "ref": "a"})
    query = {"term": {"user": "u1"}}
    assert client.get(index=index, id="a")["found"]
    assert hits(client, index, query, 10) == []
    client.indices.refresh(index=index)
    assert [ref for ref, _ in hits(client, index, query, 10)] == ["a"]


def test_alias_moves_in_one_step_or_not_at_all(
    client: OpenSearch, index: str, other_index: str
) -> None:
    alias = f"alias-of-{index}"
    client.indices.update_aliases(body={"actions": [{"add": {"index": index, "alias": alias}}]})

    def switch(target: str) -> None:
        remove = {"remove": {"index": index, "alias": alias}}
        add = {"add": {"index": target, "alias": alias}}
        client.indices.update_aliases(body={"actions": [remove, add]})

    with pytest.raises(NotFoundError):
        switch("no-such-index")
    assert list(client.indices.get_alias(name=alias)) == [index]
    switch(other_index)
    assert list(client.indices.get_alias(name=alias)) == [other_index]


def test_write_through_a_missing_alias_makes_no_index(client: OpenSearch) -> None:
    target = {"_index": "no-such-alias", "_id": "a", "require_alias": True}
    answer = client.bulk(body=[{"index": target}, {"user": "u1"}])
    assert answer["items"][0]["index"]["status"] == 404
    assert not client.indices.exists(index="no-such-alias")


def test_reindex_keeps_versions_and_what_is_newer_in_the_target(
    client: OpenSearch, index: str, other_index: str
) -> None:
    write(client, index, 5, "external", "old")
    client.index(index=index, id="b", version=3, version_type="external", body={"user": "u1"})
    client.indices.refresh(index=index)
    write(client, other_index, 9, "external", "new")
    target = {"index": other_index, "version_type": "external"}
    body = {"conflicts": "proceed", "source": {"index": index}, "dest": target}
    answer = client.reindex(body=body, refresh=True)
    assert (answer["created"], answer["version_conflicts"]) == (1, 1)
    assert client.get(index=other_index, id="a")["_source"]["text"] == "new"
    assert client.get(index=other_index, id="b")["_version"] == 3


def test_delete_by_query_takes_the_next_version_so_the_next_write_conflicts(
    client: OpenSearch, index: str
) -> None:
    # given a document at version 3 and one of another user
    write(client, index, 3, "external")
    fill(client, index, {"b": {"user": "u10"}})
    # when the documents of the user are deleted by a query
    query = {"query": {"term": {"user": "u1"}}}
    assert client.delete_by_query(index=index, body=query, refresh=True)["deleted"] == 1
    # then only they are gone, and the delete holds version 4
    assert client.count(index=index)["count"] == 1
    assert write(client, index, 4, "external") == 409
    assert write(client, index, 5, "external") == 201


@pytest.mark.parametrize(
    ("vector", "reason"),
    [
        ([1.0] * (DIMENSION - 1), "Vector dimension mismatch. Expected: 8, Given: 7"),
        ([0.0] * DIMENSION, "zero vector is not supported"),
    ],
    ids=["dimension", "zero"],
)
def test_vector_without_the_dimension_or_a_direction_is_refused(
    client: OpenSearch, index: str, vector: Sequence[float], reason: str
) -> None:
    with pytest.raises(RequestError) as refusal:
        client.index(index=index, id="a", body={"user": "u1", "vector": vector})
    assert reason in str(refusal.value.info)
    assert not client.exists(index=index, id="a")
