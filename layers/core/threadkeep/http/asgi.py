"""Serving an Api as an ASGI application, with Starlette; the token is verified here."""

from __future__ import annotations

import uuid
from typing import TYPE_CHECKING

from threadkeep.domain.limits import MAX_BODY_BYTES
from threadkeep.errors import MethodNotAllowedError, NotFoundError
from threadkeep.http.callers import caller_from_claims
from threadkeep.http.serving import Parts, WireAnswer, WireRequest, failure, serve, unexpected

if TYPE_CHECKING:
    from collections.abc import Callable

    from starlette.applications import Starlette
    from starlette.requests import Request as HttpRequest
    from starlette.responses import Response

    from threadkeep.http.routes import Api, Caller, Route


def asgi_app(api: Api, parts: Callable[[], Parts]) -> Starlette:
    """Return the ASGI application of an Api.

    Handlers are synchronous and run in a thread each.

    Args:
        api: The function's routes.
        parts: Builds the product on first use.
    """
    from starlette.applications import Starlette
    from starlette.exceptions import HTTPException
    from starlette.routing import Route as AsgiRoute

    async def no_route(request: HttpRequest, _: Exception) -> Response:
        methods = sorted({r.method for r in api.routes if r.matches(request.url.path)})
        error = MethodNotAllowedError(methods) if methods else NotFoundError("No such route.")
        return _response(failure(error, _request_id(request)))

    async def broken(request: HttpRequest, error: Exception) -> Response:
        return _response(unexpected(error, _request_id(request)))

    static_first = sorted(api.routes, key=lambda route: len(route.path_names))
    return Starlette(
        routes=[
            AsgiRoute(route.full_path, _endpoint(route, parts), methods=[route.method])
            for route in static_first
        ],
        exception_handlers={HTTPException: no_route, Exception: broken},
    )


def _endpoint(route: Route, parts: Callable[[], Parts]) -> Callable[[HttpRequest], object]:
    from starlette.concurrency import run_in_threadpool

    async def endpoint(request: HttpRequest) -> Response:
        wire = await _wire(request, parts)
        return _response(await run_in_threadpool(serve, route, wire, parts))

    return endpoint


async def _wire(request: HttpRequest, parts: Callable[[], Parts]) -> WireRequest:
    body = bytearray()
    async for chunk in request.stream():
        body += chunk
        if len(body) > MAX_BODY_BYTES:
            break
    query: dict[str, list[str]] = {}
    for name, value in request.query_params.multi_items():
        query.setdefault(name, []).append(value)

    def identify() -> Caller | None:
        claims = parts().token_verifier.claims(request.headers.get("authorization"))
        return caller_from_claims(claims)

    return WireRequest(
        target=f"{request.method} {request.url.path}",
        path={name: str(value) for name, value in request.path_params.items()},
        query=query,
        headers={name.lower(): value for name, value in request.headers.items()},
        body=bytes(body),
        request_id=_request_id(request),
        identify=identify,
    )


def _request_id(request: HttpRequest) -> str:
    """Return the gateway's id of the request, or a new one that stays with it."""
    if not hasattr(request.state, "request_id"):
        event = request.scope.get("aws.event") or {}
        given = (event.get("requestContext") or {}).get("requestId")
        request.state.request_id = str(given or uuid.uuid4())
    return str(request.state.request_id)


def _response(answer: WireAnswer) -> Response:
    from starlette.responses import Response

    return Response(answer.body, status_code=answer.status, headers=dict(answer.headers))
