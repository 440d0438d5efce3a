"""Serving an Api behind API Gateway's REST API, with Powertools' resolver."""

from __future__ import annotations

import base64
import binascii
from functools import cache
from typing import TYPE_CHECKING, Any
from urllib.parse import unquote

from threadkeep.errors import BadRequestError, MethodNotAllowedError, NotFoundError
from threadkeep.http.callers import caller_from_claims
from threadkeep.http.serving import Parts, WireAnswer, WireRequest, failure, serve, unexpected

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from aws_lambda_powertools.event_handler import APIGatewayRestResolver, Response

    from threadkeep.http.routes import Api, Caller, Route

type Event = dict[str, Any]


def rest_handler(api: Api, parts: Callable[[], Parts]) -> Callable[[Event, Any], dict[str, Any]]:
    """Return the Lambda handler of an Api.

    Args:
        api: The function's routes.
        parts: Builds the product on first use.
    """

    @cache
    def resolver() -> APIGatewayRestResolver:
        return _resolver(api, parts)

    def lambda_handler(event: Event, context: Any) -> dict[str, Any]:
        try:
            return resolver().resolve(event, context)
        except Exception as error:
            answer = unexpected(error, _request_id(event))
            return {
                "statusCode": answer.status,
                "headers": dict(answer.headers),
                "body": answer.body,
                "isBase64Encoded": False,
            }

    return lambda_handler


def _resolver(api: Api, parts: Callable[[], Parts]) -> APIGatewayRestResolver:
    from aws_lambda_powertools.event_handler import APIGatewayRestResolver

    app = APIGatewayRestResolver()

    def endpoint(route: Route) -> Callable[..., Response[str]]:
        def answer(**path: str) -> Response[str]:
            event = app.current_event.raw_event
            try:
                wire = wire_request(event, path)
            except BadRequestError as error:
                return _response(failure(error, _request_id(event)))
            return _response(serve(route, wire, parts))

        return answer

    for route in api.routes:
        rule = route.full_path.replace("{", "<").replace("}", ">")
        app.route(rule, method=route.method)(endpoint(route))

    @app.not_found
    def no_route(_: Exception) -> Response[str]:
        event = app.current_event.raw_event
        path = str(event.get("path", ""))
        methods = sorted({route.method for route in api.routes if route.matches(path)})
        # The router takes fewer characters in a path than the gateway: then the id is at fault.
        if not methods or event.get("httpMethod") in methods:
            return _response(failure(NotFoundError("No such route."), _request_id(event)))
        error = MethodNotAllowedError(methods)
        return _response(failure(error, _request_id(event)))

    return app


def wire_request(event: Event, path: Mapping[str, str]) -> WireRequest:
    """Read a proxy event.

    Args:
        event: The event of the REST API.
        path: Path parameters as the router found them.

    Raises:
        BadRequestError: The body is not the base64 that it is said to be.
    """
    lists = event.get("multiValueQueryStringParameters") or {}
    single = event.get("queryStringParameters") or {}
    headers = {str(k).lower(): str(v) for k, v in (event.get("headers") or {}).items()}
    return WireRequest(
        target=f"{event.get('httpMethod', '')} {event.get('path', '')}",
        path={name: unquote(value) for name, value in path.items()},
        query={**{name: [value] for name, value in single.items()}, **lists},
        headers=headers,
        body=_body(event),
        request_id=_request_id(event),
        identify=lambda: _caller(event),
    )


def _body(event: Event) -> bytes:
    body = event.get("body") or ""
    try:
        if event.get("isBase64Encoded"):
            return base64.b64decode(body, validate=True)
        return str(body).encode()
    except (binascii.Error, UnicodeEncodeError) as error:
        raise BadRequestError("The body can not be decoded.", code="invalid_json") from error


def _caller(event: Event) -> Caller | None:
    authorizer = (event.get("requestContext") or {}).get("authorizer") or {}
    return caller_from_claims(authorizer.get("claims"))


def _request_id(event: Event) -> str:
    return str((event.get("requestContext") or {}).get("requestId") or "unknown")


def _response(answer: WireAnswer) -> Response[str]:
    from aws_lambda_powertools.event_handler import Response

    return Response(status_code=answer.status, headers=dict(answer.headers), body=answer.body)
