"""What answers while the search engine does not, and how its failures are told."""

from __future__ import annotations

import random
from typing import TYPE_CHECKING, Any

import pytest
from opensearchpy import ConnectionTimeout, TransportError
from opensearchpy.exceptions import (
    AuthorizationException,
    NotFoundError,
    RequestError,
)
from opensearchpy.exceptions import (
    ConnectionError as NoConnection,
)

from tests.fakes.clock import FakeClock
from tests.fakes.vector_rows import FakeVectorRows
from tests.ranking_oracle import DIMENSION, USER, a_document, a_vector
from threadkeep.domain.retrieval import DocumentKind, SearchQuery
from threadkeep.errors import MisconfiguredError, UnavailableError
from threadkeep.ports import Candidates
from threadkeep.search.exact import ExactIndex
from threadkeep.search.opensearch_client import answering, connect
from threadkeep.search.opensearch_standby import REST, StandbyIndex

if TYPE_CHECKING:
    from collections.abc import Sequence

    from threadkeep.domain.retrieval import Document


class Engine(ExactIndex):
    """A search engine that can be out.

    Attributes:
        is_out: Whether it fails.
        asked: How often it was asked to search.
    """

    def __init__(self, clock: FakeClock) -> None:
        super().__init__(FakeVectorRows(), DIMENSION, clock)
        self.is_out = False
        self.asked = 0

    def _require(self) -> None:
        if self.is_out:
            raise UnavailableError("out", code="search_unavailable", retry_after=5)

    def upsert(self, user_id: str, documents: Sequence[Document]) -> None:
        """Store, or fail."""
        self._require()
        super().upsert(user_id, documents)

    def search(self, *arguments: Any, **options: Any) -> Candidates:
        """Search, or fail."""
        self.asked += 1
        self._require()
        found = super().search(*arguments, **options)
        return Candidates(found.found, exact=True, backend="engine")


class Both:
    """The engine with rows at hand, and 20 documents in both."""

    def __init__(self, **options: Any) -> None:
        self.clock, self.rows = FakeClock(), FakeVectorRows()
        self.engine = Engine(self.clock)
        standby = ExactIndex(self.rows, DIMENSION, self.clock)
        self.index = StandbyIndex(self.engine, standby, self.rows, self.clock, **options)
        rng = random.Random(1)
        self.documents = [
            a_document(rng, f"e{n:02d}", DocumentKind.ENTITY, self.clock) for n in range(20)
        ]
        self.index.upsert(USER, self.documents)

    def search(self) -> Candidates:
        """Search for five."""
        return self.index.search(
            USER,
            SearchQuery(query="coffee"),
            a_vector(random.Random(2)),
            kind=DocumentKind.ENTITY,
            count=5,
            now=self.clock.now(),
        )


def test_outage_is_bridged_by_the_rows_and_told() -> None:
    both = Both()
    before = both.search()
    both.engine.is_out = True
    during = both.search()
    assert (before.backend, during.backend) == ("engine", "exact")
    assert during.found == before.found


def test_engine_that_is_out_is_asked_again_after_a_rest() -> None:
    both = Both()
    both.engine.is_out = True
    for _ in range(5):
        both.search()
    assert both.engine.asked == 1
    both.engine.is_out = False
    both.clock.advance(seconds=REST.total_seconds())
    assert both.search().backend == "engine"


def test_users_too_large_for_the_rows_are_told_to_wait() -> None:
    both = Both(most_documents=19)
    both.engine.is_out = True
    for _ in range(2):  # when it fails, and while it rests
        with pytest.raises(UnavailableError) as failure:
            both.search()
        assert failure.value.code == "search_unavailable"
        assert failure.value.retry_after


def test_writes_in_an_outage_reach_the_rows_and_are_tried_again() -> None:
    both = Both()
    both.engine.is_out = True
    late = both.documents[0].model_copy(update={"ref": "late", "expires_at": None})
    with pytest.raises(UnavailableError):
        both.index.upsert(USER, [late])
    assert both.rows.get(USER, ["late"])


def test_rows_are_left_alone_by_a_generation_that_does_not_write_them() -> None:
    both = Both(writes_rows=False)
    assert list(both.rows.load(USER)) == []
    assert len(list(both.index.refs(USER))) == 20


@pytest.mark.parametrize(
    "error",
    [
        NoConnection("N/A", "refused", None),
        ConnectionTimeout("TIMEOUT", "slow", None),
        TransportError(503, "busy", {}),
        TransportError(429, "es_rejected_execution_exception", {}),
        AuthorizationException(403, "denied", {}),
        NotFoundError(404, "index_not_found_exception", {}),
    ],
    ids=lambda error: str(error.status_code),
)
def test_failures_of_the_engine_have_one_name(error: TransportError) -> None:
    with pytest.raises(UnavailableError) as failure, answering():
        raise error
    assert failure.value.code == "search_unavailable"
    assert failure.value.retry_after
    assert failure.value.__cause__ is error


def test_a_wrong_request_is_no_outage() -> None:
    with pytest.raises(RequestError), answering():
        raise RequestError(400, "parsing_exception", {})


@pytest.mark.parametrize(
    ("url", "complaint"),
    [
        ("", "is no http"),
        ("search.example", "is no http"),
        ("https://abc.us-east-1.aoss.amazonaws.com", "Serverless"),
    ],
)
def test_addresses_that_can_not_work_are_refused(url: str, complaint: str) -> None:
    """T17: Serverless collections have no document versions; a deployment says so."""
    with pytest.raises(MisconfiguredError, match=complaint):
        connect(url)


def test_requests_to_a_managed_domain_are_signed_and_others_are_not(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    for name, value in {
        "AWS_ACCESS_KEY_ID": "AKIDEXAMPLE",
        "AWS_SECRET_ACCESS_KEY": "secret",
        "AWS_DEFAULT_REGION": "eu-west-1",
    }.items():
        monkeypatch.setenv(name, value)
    sent: list[dict[str, str]] = []

    class Sent(Exception):
        pass

    def urlopen(pool: Any, method: str, url: str, body: Any, **options: Any) -> Any:
        sent.append(dict(options["headers"]))
        raise Sent

    monkeypatch.setattr("urllib3.HTTPConnectionPool.urlopen", urlopen)
    for url in ("https://d.eu-west-1.es.amazonaws.com", "http://127.0.0.1:9200"):
        with pytest.raises(UnavailableError), answering():
            connect(url).search(index="i", body={"query": {"match_all": {}}})
    signed, plain = sent[0], sent[-1]
    assert "/eu-west-1/es/aws4_request" in signed["Authorization"]
    assert not [name for name in plain if name.lower() == "authorization"]
