"""The API's routes in the translated template, and which of them API Gateway takes for a path."""

import re
from dataclasses import dataclass
from typing import Any

from tests.template.translation import Document, resources_of


@dataclass(frozen=True)
class GatewayRoute:
    """A method of a path.

    Args:
        method: HTTP method, upper case.
        path: Path with ``{name}`` and ``{proxy+}``.
        function: Logical id of the function that serves it.
        is_open: Whether it has no authorizer.
        streams: Whether the answer is passed on as it comes.
    """

    method: str
    path: str
    function: str
    is_open: bool
    streams: bool


def api_body(document: Document) -> Document:
    """Return the API's description."""
    (api,) = resources_of(document, "AWS::ApiGateway::RestApi").values()
    body: Document = api["Properties"]["Body"]
    return body


def gateway_routes(document: Document) -> list[GatewayRoute]:
    """Return every route of the API."""
    return [
        _route(method, path, operation)
        for path, operations in api_body(document)["paths"].items()
        for method, operation in operations.items()
    ]


def _route(method: str, path: str, operation: Document) -> GatewayRoute:
    integration: Document = operation["x-amazon-apigateway-integration"]
    uri = integration["uri"]["Fn::Sub"]
    (function,) = re.findall(r"\$\{(\w+)\.Arn\}", uri)
    streams = integration.get("responseTransferMode") == "STREAM"
    if streams != uri.endswith("/response-streaming-invocations"):
        raise ValueError(f"{method} {path}: transfer mode and invocation differ")
    security: list[dict[str, Any]] = operation.get("security", [])
    return GatewayRoute(method.upper(), path, function, security == [{"NONE": []}], streams)


def resolve(routes: list[GatewayRoute], method: str, path: str) -> GatewayRoute | None:
    """Return the route that API Gateway takes: the most literal path first, then its methods.

    https://docs.aws.amazon.com/apigateway/latest/developerguide/api-gateway-method-settings-method-request.html
    """
    matching = [route for route in routes if _pattern(route.path).fullmatch(path)]
    if not matching:
        return None
    best = min((route.path for route in matching), key=_rank)
    return next((r for r in matching if r.path == best and r.method == method), None)


def _pattern(path: str) -> re.Pattern[str]:
    parts = re.split(r"(\{[^}]+\})", path)
    return re.compile(
        "".join(
            ".+" if part.endswith("+}") else "[^/]+" if part.startswith("{") else re.escape(part)
            for part in parts
        )
    )


def _rank(path: str) -> list[int]:
    kinds = {"{": 1}
    return [
        2 if segment.endswith("+}") else kinds.get(segment[:1], 0) for segment in path.split("/")
    ]
