"""Serving one request, whatever transport brought it."""

import hashlib
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import timedelta
from typing import Any, Protocol

from pydantic_core import to_json

from threadkeep.errors import (
    ConflictError,
    ForbiddenError,
    ThreadkeepError,
    UnauthorizedError,
    ValidationError,
)
from threadkeep.http import problems, reading
from threadkeep.http.routes import Caller, Request, Route
from threadkeep.http.tokens import TokenVerifier
from threadkeep.observability import describe, logger
from threadkeep.ports import (
    AuditEntry,
    AuditLog,
    Clock,
    IdempotencyStore,
    Ids,
    InProgress,
    OtherBody,
    Replay,
    StoredAnswer,
)


class Parts(Protocol):
    """What serving needs of the product; ``Bootstrap`` has it."""

    @property
    def clock(self) -> Clock:
        """The time."""
        ...

    @property
    def ids(self) -> Ids:
        """New ids."""
        ...

    @property
    def idempotency_store(self) -> IdempotencyStore:
        """Records of requests with an ``Idempotency-Key``."""
        ...

    @property
    def audit_log(self) -> AuditLog:
        """Record of what administrators do with users' data."""
        ...

    @property
    def token_verifier(self) -> TokenVerifier:
        """Checks tokens where no gateway did."""
        ...


@dataclass(frozen=True)
class WireRequest:
    """A request as a transport delivers it.

    Args:
        target: Method and path as sent, without the query.
        path: Path parameters, decoded.
        query: Query parameters, decoded, each with all its values.
        headers: Headers with lower-case names.
        body: The body's bytes.
        request_id: Id under which the request is logged.
        identify: Returns the caller, None without a token.
    """

    target: str
    path: Mapping[str, str]
    query: Mapping[str, Sequence[str]]
    headers: Mapping[str, str]
    body: bytes
    request_id: str
    identify: Callable[[], Caller | None]


@dataclass(frozen=True)
class WireAnswer:
    """An answer as a transport sends it; header names are lower-case."""

    status: int
    headers: Mapping[str, str] = field(default_factory=dict)
    body: str = ""


def serve(route: Route, wire: WireRequest, parts: Callable[[], Parts]) -> WireAnswer:
    """Answer a request; failures become problem documents, and nothing is raised.

    Args:
        route: The route that the path matched.
        wire: The request.
        parts: Builds the product on first use.
    """
    started = time.perf_counter()
    caller: Caller | None = None
    try:
        caller = _authorise(route, wire)
        request = _read(route, wire, caller)
        if route.twin and caller is not None:
            _audit(route, request, caller, parts())
        if route.writes and request.idempotency_key and caller is not None:
            answer = _serve_once(route, wire, request, caller, parts())
        else:
            answer = _run(route, request)
    except ThreadkeepError as error:
        answer = failure(error, wire.request_id)
    except Exception as error:
        answer = unexpected(error, wire.request_id)
    logger().info(
        "request",
        extra={
            "request_id": wire.request_id,
            "route": f"{route.method} {route.path}",
            "status": answer.status,
            "ms": round((time.perf_counter() - started) * 1000, 1),
            "user_id": caller.user_id if caller else None,
        },
    )
    return answer


def failure(error: ThreadkeepError, request_id: str) -> WireAnswer:
    """Turn a known failure into an answer."""
    body = to_json(problems.problem(error, request_id)).decode()
    return _sealed(error.status, problems.headers(error), body, request_id)


def unexpected(error: Exception, request_id: str) -> WireAnswer:
    """Turn an unexpected failure into a 500 that tells nothing, and log it."""
    logger().error("unexpected", extra={"request_id": request_id, **describe(error)})
    return failure(ThreadkeepError(), request_id)


def _authorise(route: Route, wire: WireRequest) -> Caller | None:
    if route.open_to_all:
        return None
    caller = wire.identify()
    if caller is None:
        raise UnauthorizedError
    if route.admin and not caller.is_admin:
        raise ForbiddenError
    return caller


def _read(route: Route, wire: WireRequest, caller: Caller | None) -> Request[Any, Any]:
    path = reading.read_path(wire.path)
    query = None
    if route.query is None:
        reading.read_no_query(wire.query)
    else:
        query = reading.read_query(route.query, wire.query)
    body = None
    if route.body is not None:
        body = reading.read_body(route.body, wire.body)
    elif route.method == "POST":
        reading.read_no_body(wire.body)
    return Request(
        caller=caller,
        path=path,
        body=body,
        query=query,
        if_match=reading.read_if_match(wire.headers.get("if-match")),
        idempotency_key=reading.read_idempotency_key(wire.headers.get("idempotency-key")),
        request_id=wire.request_id,
        target=wire.target,
        subject=path.get("user_id") if route.twin else None,
    )


def _audit(route: Route, request: Request[Any, Any], caller: Caller, parts: Parts) -> None:
    """Record the access before it happens: without a record there is none."""
    own = [value for name, value in request.path.items() if name != "user_id"]
    entry = AuditEntry(
        id=parts.ids.new(),
        at=parts.clock.now(),
        actor=f"admin:{caller.user_id}",
        user_id=request.user_id,
        action=f"{route.method} {route.path}",
        request_id=request.request_id,
        resource=own[0] if own else None,
    )
    parts.audit_log.record(entry)


def _run(route: Route, request: Request[Any, Any]) -> WireAnswer:
    answer = route.handler(request)
    status = answer.status or route.statuses[0]
    extra = dict(answer.headers)
    version = getattr(answer.body, "version", None)
    if isinstance(version, int):
        extra.setdefault("etag", f'"v{version}"')
    if answer.body is None:
        return _sealed(status, extra, "", request.request_id)
    extra["content-type"] = "application/json"
    body = to_json(answer.body, exclude_none=True).decode()
    return _sealed(status, extra, body, request.request_id)


def _serve_once(
    route: Route, wire: WireRequest, request: Request[Any, Any], caller: Caller, parts: Parts
) -> WireAnswer:
    """Run a request unless its key has run before; then replay what it answered.

    An answer that asks to be tried again (5xx, or with ``Retry-After``) is not stored: the try
    could otherwise never succeed.
    """
    store, owner, key = parts.idempotency_store, caller.user_id, request.idempotency_key or ""
    now = parts.clock.now()
    claim = store.begin(
        owner,
        wire.target,
        key,
        body_hash=_fingerprint(wire),
        now=now,
        deadline=now + timedelta(seconds=route.time_limit),
    )
    if isinstance(claim, Replay):
        stored = claim.answer
        return WireAnswer(
            stored.status, {**stored.headers, "idempotency-replayed": "true"}, stored.body
        )
    if isinstance(claim, InProgress):
        wait = max(1, round((claim.until - now).total_seconds()))
        raise ConflictError(
            "A request with this Idempotency-Key is running.", code="in_progress", retry_after=wait
        )
    if isinstance(claim, OtherBody):
        raise ValidationError(
            "This Idempotency-Key was used with another body.", code="idempotency_key_reused"
        )
    try:
        answer = _run(route, request)
    except ThreadkeepError as error:
        answer = failure(error, wire.request_id)
    except Exception:
        store.abandon(owner, wire.target, key, claim)
        raise
    if answer.status >= 500 or "retry-after" in answer.headers:
        store.abandon(owner, wire.target, key, claim)
    else:
        stored = StoredAnswer(answer.status, answer.headers, answer.body)
        try:
            store.finish(owner, wire.target, key, claim, stored)
        except ThreadkeepError as error:
            # The work is done. A failure would make the caller do it again.
            logger().warning(
                "not_replayable", extra={"request_id": wire.request_id, "code": error.code}
            )
    return answer


def _fingerprint(wire: WireRequest) -> str:
    """Return a digest of what the key stands for: the query and the body as sent."""
    query = to_json(sorted((name, list(values)) for name, values in wire.query.items()))
    return hashlib.sha256(query + b"\n" + wire.body).hexdigest()


def _sealed(status: int, headers: Mapping[str, str], body: str, request_id: str) -> WireAnswer:
    common = {"cache-control": "no-store", "x-request-id": request_id}
    return WireAnswer(status, {**common, **headers}, body)
