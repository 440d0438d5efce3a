"""``Idempotency-Key``: a request takes effect once, and its answer is replayed."""

from __future__ import annotations

from datetime import timedelta
from typing import TYPE_CHECKING, Any

import pytest

from tests.gateway import Gateway
from threadkeep.errors import NotFoundError, UnavailableError
from threadkeep.http import rest_handler

if TYPE_CHECKING:
    from tests.unit.http.conftest import Site

KEY = {"Idempotency-Key": "k-1"}


@pytest.fixture
def gateway(site: Site) -> Gateway:
    return Gateway((site.api, rest_handler(site.api, lambda: site)))


def create(gateway: Gateway, name: str = "a", **options: Any) -> Any:
    """Create a thing under the key."""
    return gateway.post("/things", {"name": name}, headers=KEY, **options)


def test_same_key_and_body_replay_the_first_answer(gateway: Gateway, site: Site) -> None:
    """T20: the second POST of the same thing does nothing and answers the same."""
    # when
    first, second = create(gateway), create(gateway)
    # then
    assert (second.status, second.body) == (first.status, first.body) == (201, first.body)
    assert second.headers["etag"] == first.headers["etag"]
    assert (first.headers.get("idempotency-replayed"), second.headers["idempotency-replayed"]) == (
        None,
        "true",
    )
    assert len(site.seen) == 1


def test_other_body_is_refused(gateway: Gateway, site: Site) -> None:
    # given
    create(gateway)
    # when
    reply = create(gateway, "b")
    # then
    assert (reply.status, reply.code) == (422, "idempotency_key_reused")
    assert len(site.seen) == 1


def test_key_counts_for_one_user_and_one_path(gateway: Gateway, site: Site) -> None:
    # when
    replies = [
        create(gateway, user="u1"),
        create(gateway, user="u10"),
        gateway.post("/things/t1/publish", headers=KEY),
        gateway.post("/things/t2/publish", headers=KEY),
    ]
    # then
    assert [reply.status for reply in replies] == [201, 201, 200, 200]
    assert len(site.seen) == 4


def test_running_request_is_told_apart(gateway: Gateway, site: Site) -> None:
    # given: the client sends the request again while it runs
    nested: list[Any] = []
    site.meanwhile = lambda: nested.append(create(gateway))
    # when
    create(gateway)
    # then
    assert (nested[0].status, nested[0].code) == (409, "in_progress")
    assert int(nested[0].headers["retry-after"]) <= 30


def test_server_error_is_not_stored(gateway: Gateway, site: Site) -> None:
    # given
    site.failures.append(RuntimeError("boom"))
    # when
    failed, tried_again = create(gateway), create(gateway)
    # then
    assert (failed.status, tried_again.status) == (500, 201)


def test_answer_that_asks_to_try_again_is_not_stored(
    gateway: Gateway, site: Site, busy: Exception
) -> None:
    # given
    site.failures.append(busy)
    # when
    failed, tried_again = create(gateway), create(gateway)
    # then
    assert (failed.status, tried_again.status) == (409, 201)


def test_other_client_error_is_replayed(gateway: Gateway, site: Site) -> None:
    # given
    site.failures.append(NotFoundError("No such thing."))
    # when
    first, second = create(gateway), create(gateway)
    # then
    assert (first.status, second.status) == (404, 404)
    assert second.body == first.body
    assert len(site.seen) == 1


def test_invalid_request_leaves_the_key_free(gateway: Gateway, site: Site) -> None:
    # when
    refused = gateway.post("/things", {"name": ""}, headers=KEY)
    # then
    assert refused.status == 422
    assert create(gateway).status == 201


def test_key_is_free_again_after_24_hours(gateway: Gateway, site: Site) -> None:
    # given
    create(gateway)
    # when
    site.clock.advance(hours=24)
    create(gateway, "b")
    # then
    assert len(site.seen) == 2


def test_key_of_a_lost_request_is_free_after_its_time_limit(gateway: Gateway, site: Site) -> None:
    # given: a worker that died while it had the key
    now = site.clock.now()
    first = Gateway((site.api, rest_handler(site.api, lambda: site)))
    site.failures.append(KeyboardInterrupt())
    with pytest.raises(KeyboardInterrupt):
        create(first)
    # when
    early = create(gateway)
    site.clock.set(now + timedelta(seconds=30))
    late = create(gateway)
    # then
    assert (early.status, late.status) == (409, 201)


def test_done_work_is_acknowledged_though_its_record_is_lost(
    gateway: Gateway, site: Site, monkeypatch: pytest.MonkeyPatch
) -> None:
    # given
    def fail(*_: Any) -> None:
        raise UnavailableError

    monkeypatch.setattr(site.idempotency_store, "finish", fail)
    # then
    assert create(gateway).status == 201


@pytest.mark.parametrize("key", ["", "a b", "é", "x" * 256])
def test_malformed_key_is_refused(gateway: Gateway, site: Site, key: str) -> None:
    # when
    reply = gateway.post("/things", {"name": "a"}, headers={"Idempotency-Key": key})
    # then
    assert (reply.status, reply.code) == (422, "invalid_idempotency_key")
    assert not site.seen


def test_key_counts_on_posts_only(gateway: Gateway, site: Site) -> None:
    # when
    for _ in range(2):
        gateway.put("/things/t1", {"name": "a"}, headers=KEY)
    # then
    assert len(site.seen) == 2
