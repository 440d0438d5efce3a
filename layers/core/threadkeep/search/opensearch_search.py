"""One search of one user in an index of OpenSearch."""

from __future__ import annotations

from datetime import timedelta
from typing import TYPE_CHECKING, Any

from threadkeep.domain.retrieval import DocumentKind, Mode
from threadkeep.ports import Candidates
from threadkeep.search.opensearch_documents import SCORED, Scorable
from threadkeep.search.opensearch_scoring import Corpus, Question, counted_terms

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from datetime import datetime

    from opensearchpy import OpenSearch

    from threadkeep.domain.fusion import FusionWeights
    from threadkeep.domain.retrieval import Document, SearchQuery

    type Clause = dict[str, Any]

NAME = "opensearch"

EXACT_LIMIT = 10_000
"""Most documents of a user that are scored one by one."""

_WINDOW = 10_000
"""Most hits of one answer (``index.max_result_window``)."""

_SPARE = 20
"""How many more hits than wanted are fetched at first, so that float32 seldom hides a tie."""

_NOMINATED = 500
"""How many documents each way of nominating proposes for a user of more than ``EXACT_LIMIT``."""

_SUPPORTERS = 1_000
"""Most entities that lend relevance to the turns they were learned from."""

_MAX_SPEAKERS = 1_000


class UserSearch:
    """A search under way, with the requests that it made and whether it is exact so far."""

    def __init__(
        self,
        client: OpenSearch,
        index: str,
        user_id: str,
        query: SearchQuery,
        vector: Sequence[float] | None,
        *,
        now: datetime,
        fresh: Sequence[Document],
        gone: Sequence[str],
        dimension: int,
        weights: FusionWeights,
        exact_limit: int,
    ) -> None:
        self._client = client
        self._index = index
        self._user_id = user_id
        self._query = query
        self._mode = query.mode if vector is not None else Mode.LEXICAL
        self._vector = vector or ()
        if len(self._vector) not in (0, dimension):
            raise ValueError(f"the query's vector must have dimension {dimension}")
        self._now = now
        self._fresh = fresh
        self._hidden = sorted({*(document.ref for document in fresh), *gone})
        self._dimension = dimension
        self._weights = weights
        self._exact_limit = exact_limit
        self._requests = 0
        self._exact = self._mode is query.mode

    def candidates(self, kind: DocumentKind, count: int) -> Candidates:
        """Return the best documents of a kind."""
        hybrid_turns = self._mode is Mode.HYBRID and kind is DocumentKind.EPISODE
        question = self._question(kind, self._support() if hybrid_turns else None)
        self._exact = self._exact and question.complete
        found = [
            question.candidate(document)
            for document in [*self._stored(question, kind, count), *self._pending(kind)]
        ]
        if self._mode is Mode.LEXICAL:
            found = [candidate for candidate in found if candidate.similarity > 0]
        found.sort(key=lambda candidate: (-candidate.score, candidate.ref))
        return Candidates(
            found=found[:count], exact=self._exact, backend=NAME, requests=self._requests
        )

    def _question(
        self,
        kind: DocumentKind,
        support: Mapping[str, float] | None = None,
        *,
        recency: bool = True,
    ) -> Question:
        query = self._query
        return Question(
            query if recency else query.model_copy(update={"recency_weight": 0.0}),
            self._mode,
            self._vector,
            self._weights,
            now=self._now.timestamp(),
            corpus=None if self._mode is Mode.SEMANTIC else self._corpus(kind),
            support=support,
        )

    def _corpus(self, kind: DocumentKind) -> Corpus:
        """Count the user's documents of a kind, those that hold each term of the query too."""
        terms = counted_terms(self._query.query)
        holding = {str(place): _any_of([term]) for place, term in enumerate(terms)}
        totals: Clause = {
            "terms": {"sum": {"field": "terms_count"}},
            "around": {"sum": {"field": "around_count"}},
        }
        if holding:
            totals["holders"] = {"filters": {"filters": holding}}
        if self._mode is Mode.HYBRID:
            totals["speakers"] = {"terms": {"field": "speaker", "size": _MAX_SPEAKERS}}
        answer = self._ask(
            {
                "size": 0,
                "track_total_hits": True,
                "query": {"bool": {"filter": self._owned(kind)}},
                "aggs": totals,
            }
        )
        counted = answer["aggregations"]
        buckets = counted["holders"]["buckets"] if holding else {}
        speakers = counted.get("speakers", {"buckets": (), "sum_other_doc_count": 0})
        self._exact = self._exact and not speakers["sum_other_doc_count"]
        stored = Corpus(
            documents=answer["hits"]["total"]["value"],
            terms=int(counted["terms"]["value"]),
            around=int(counted["around"]["value"]),
            holders={term: buckets[str(place)]["doc_count"] for place, term in enumerate(terms)},
            speakers=frozenset(bucket["key"] for bucket in speakers["buckets"]),
        )
        return stored.with_pending(
            [
                Scorable.of_document(document, self._dimension)
                for document in self._fresh
                if document.kind is kind
            ]
        )

    def _support(self) -> dict[str, float]:
        """Return by turn the relevance of the best entity that was learned from it, as float32."""
        question = self._question(DocumentKind.ENTITY, recency=False)
        filters = [*self._owned(DocumentKind.ENTITY), {"exists": {"field": "turns"}}]
        answer = self._ask(_scoring(question, filters, _SUPPORTERS + 1, ["turns"]))
        hits = answer["hits"]["hits"]
        self._exact = self._exact and len(hits) <= _SUPPORTERS
        best: dict[str, float] = {}
        lent = [(hit["_source"]["turns"], hit["_score"]) for hit in hits]
        for document in self._fresh:
            if document.kind is DocumentKind.ENTITY and document.turns:
                scorable = Scorable.of_document(document, self._dimension)
                lent.append((document.turns, question.relevance(scorable)))
        for turns, relevance in lent:
            for turn in turns:
                best[turn] = max(relevance, best.get(turn, 0.0))
        return best

    def _stored(self, question: Question, kind: DocumentKind, count: int) -> list[Scorable]:
        """Return the stored documents among which the best are."""
        filters = [*self._owned(kind), *self._filters()]
        if self._mode is Mode.LEXICAL:
            if not question.terms:
                return []
            filters.append(_any_of(question.terms))
        hits = self._best(question, filters, count)
        if hits is None:
            self._exact = False
            nominated = {"terms": {"ref": self._nominated(question, filters, count)}}
            hits = self._best(question, [*filters, nominated], count) or []
        return [Scorable.of_hit(kind, hit["_source"]) for hit in hits]

    def _best(
        self, question: Question, filters: Sequence[Clause], count: int
    ) -> list[Clause] | None:
        """Score all documents that filters leave, and return all that can be among the best.

        Rounding to float32 keeps the order and makes ties: a document behind the last hit can only
        be as good as the ``count``-th if that hit's rounded score is the same. Then more are
        fetched.

        Returns:
            The hits, or None if there are more documents than are scored one by one.
        """
        size = min(count + _SPARE, _WINDOW)
        while True:
            body = _scoring(question, filters, size, SCORED)
            answer = self._ask({**body, "terminate_after": self._exact_limit + 1})
            if answer.get("terminated_early"):
                return None
            hits: list[Clause] = answer["hits"]["hits"]
            if len(hits) < size or size == _WINDOW:
                return hits
            if hits[-1]["_score"] < hits[min(count, len(hits)) - 1]["_score"]:
                return hits
            size = min(4 * size, _WINDOW)

    def _nominated(self, question: Question, filters: Sequence[Clause], count: int) -> list[str]:
        """Return refs of documents that are near, new or share words."""
        some = min(max(_NOMINATED, 10 * count), _WINDOW)
        rest = {"size": some, "_source": ["ref"], "track_total_hits": False}
        within = {"bool": {"filter": list(filters)}}
        bodies: list[Clause] = [{**rest, "query": within, "sort": [{"touched": "desc"}]}]
        if any(self._vector) and self._mode is not Mode.LEXICAL:
            near = {"vector": list(self._vector), "k": some, "filter": within}
            bodies.append({**rest, "query": {"knn": {"vector": near}}})
        if question.terms:
            worded = {"bool": {"filter": list(filters), **_any_of(question.terms)["bool"]}}
            bodies.append({**rest, "query": worded})
        answers = [self._ask(body) for body in bodies]
        return sorted(
            {hit["_source"]["ref"] for answer in answers for hit in answer["hits"]["hits"]}
        )

    def _pending(self, kind: DocumentKind) -> list[Scorable]:
        return [
            Scorable.of_document(document, self._dimension)
            for document in self._fresh
            if document.kind is kind and self._allows(document)
        ]

    def _owned(self, kind: DocumentKind) -> list[Clause]:
        """Return the filters that every request begins with: the owner, and what is current."""
        return [
            {"term": {"user": self._user_id}},
            {"term": {"kind": kind.value}},
            {"term": {"deleted": False}},
            {"bool": {"must_not": {"terms": {"ref": self._hidden}}}},
        ]

    def _filters(self) -> list[Clause]:
        query, now = self._query, self._now.timestamp()
        clauses: list[Clause] = [{"bool": {"must_not": {"range": {"expires": {"lte": now}}}}}]
        if query.time_window_days is not None:
            since = self._now - timedelta(days=query.time_window_days)
            clauses.append({"range": {"fresh": {"gte": since.timestamp()}}})
        if query.known_at is not None:
            clauses.append({"range": {"created": {"lte": query.known_at.timestamp()}}})
        if query.entity_types:
            clauses.append({"terms": {"entity_type": [kind.value for kind in query.entity_types]}})
        return clauses

    def _allows(self, document: Document) -> bool:
        """Tell of a pending document what ``_filters`` tells of a stored one."""
        query = self._query
        if document.expires_at is not None and document.expires_at <= self._now:
            return False
        if query.time_window_days is not None:
            since = self._now - timedelta(days=query.time_window_days)
            if max(document.created_at, document.touched_at) < since:
                return False
        if query.known_at is not None and document.created_at > query.known_at:
            return False
        return not query.entity_types or document.entity_type in query.entity_types

    def _ask(self, body: Mapping[str, Any]) -> Clause:
        """Send a request; an answer of some shards only is none."""
        self._requests += 1
        answer: Clause = self._client.search(
            index=self._index, body=body, params={"allow_partial_search_results": "false"}
        )
        return answer


def _scoring(
    question: Question, filters: Sequence[Clause], size: int, fields: Sequence[str]
) -> Clause:
    """Return the request for the documents that score best, ties by ref."""
    scored = {"query": {"bool": {"filter": list(filters)}}, "script": question.script()}
    return {
        "size": size,
        "track_total_hits": False,
        "query": {"script_score": scored},
        "sort": [{"_score": "desc"}, {"ref": "asc"}],
        "_source": list(fields),
    }


def _any_of(terms: Sequence[str]) -> Clause:
    """Return the clause that a document holds one of some terms, ranked by BM25."""
    asked = " ".join(terms)
    return {
        "bool": {
            "should": [
                {"match": {"terms": asked}},
                {"match": {"around": {"query": asked, "boost": 0.5}}},
            ],
            "minimum_should_match": 1,
        }
    }
