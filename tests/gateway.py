"""Calling functions as API Gateway's REST API does, without a network."""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, cast

from threadkeep.http.rest import wire_request
from threadkeep.http.serving import serve

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence

    from threadkeep.http import Api, Parts

BASE = "/api/v1"
NO_ONE = ""


@dataclass(frozen=True)
class Reply:
    """What came back.

    Args:
        status: HTTP status.
        body: Parsed JSON, or None for an empty body.
        headers: By lower-case name.
    """

    status: int
    body: Any
    headers: Mapping[str, str] = field(default_factory=dict)

    @property
    def code(self) -> str:
        """Code of the problem document."""
        return str(self.body["code"])

    @property
    def fields(self) -> dict[str, str]:
        """Codes of the faulty fields, by field."""
        return {one["field"]: one["code"] for one in self.body.get("errors", ())}


def event(
    method: str,
    path: str,
    *,
    claims: Mapping[str, Any] | None,
    body: str | None = None,
    query: Mapping[str, str | Sequence[str]] | None = None,
    headers: Mapping[str, str] | None = None,
) -> dict[str, Any]:
    """Return the proxy event of a request; without claims nobody is signed in."""
    lists = {
        name: [value] if isinstance(value, str) else list(value)
        for name, value in (query or {}).items()
    }
    sent = {"Content-Type": "application/json", **(headers or {})}
    return {
        "resource": path,
        "path": path,
        "httpMethod": method,
        "headers": sent,
        "multiValueHeaders": {name: [value] for name, value in sent.items()},
        "queryStringParameters": {name: values[-1] for name, values in lists.items()} or None,
        "multiValueQueryStringParameters": lists or None,
        "pathParameters": None,
        "body": body,
        "isBase64Encoded": False,
        "requestContext": {
            "requestId": "request-1",
            "authorizer": None if claims is None else {"claims": dict(claims)},
        },
    }


class Gateway:
    """Sends requests to the function whose routes have the path.

    Args:
        functions: Routes and handler of each function.
    """

    def __init__(self, *functions: tuple[Api, Callable[[dict[str, Any], Any], Any]]) -> None:
        self._functions = functions

    def call(
        self,
        method: str,
        path: str,
        body: Any = None,
        *,
        user: str = "u1",
        groups: Any = None,
        raw: str | None = None,
        query: Mapping[str, str | Sequence[str]] | None = None,
        headers: Mapping[str, str] | None = None,
    ) -> Reply:
        """Send a request below the base path as a user, or as ``NO_ONE``.

        Args:
            method: HTTP method.
            path: Path below the base path.
            body: Body to send as JSON.
            user: Who is signed in.
            groups: Their ``cognito:groups`` as the gateway hands it on.
            raw: Body to send as it is, in place of ``body``.
            query: Query parameters.
            headers: Headers.
        """
        text = raw if raw is not None else None if body is None else json.dumps(body)
        claims = None if user == NO_ONE else {"sub": user, "token_use": "id"}
        if claims is not None and groups is not None:
            claims["cognito:groups"] = groups
        sent = event(method, BASE + path, claims=claims, body=text, query=query, headers=headers)
        answer = self._answer(sent)
        content = answer.get("body") or ""
        received = {
            name.lower(): value if isinstance(value, str) else ",".join(value)
            for name, value in {
                **(answer.get("headers") or {}),
                **(answer.get("multiValueHeaders") or {}),
            }.items()
        }
        return Reply(answer["statusCode"], json.loads(content) if content else None, received)

    def get(self, path: str, **options: Any) -> Reply:
        """Send a GET."""
        return self.call("GET", path, **options)

    def post(self, path: str, body: Any = None, **options: Any) -> Reply:
        """Send a POST."""
        return self.call("POST", path, body, **options)

    def put(self, path: str, body: Any = None, **options: Any) -> Reply:
        """Send a PUT."""
        return self.call("PUT", path, body, **options)

    def delete(self, path: str, **options: Any) -> Reply:
        """Send a DELETE."""
        return self.call("DELETE", path, **options)

    def _answer(self, sent: dict[str, Any]) -> dict[str, Any]:
        for api, handler in self._functions:
            if any(route.matches(sent["path"]) for route in api.routes):
                return cast("dict[str, Any]", handler(sent, None))
        return cast("dict[str, Any]", self._functions[0][1](sent, None))


class ManyAtOnce(Gateway):
    """Takes many requests at the same time, as many instances of the functions do.

    Powertools keeps the event of the one request that an instance has in a global; so this one
    finds the route itself.

    Args:
        apis: Routes of each function.
        parts: Builds the product.
    """

    def __init__(self, apis: Iterable[Api], parts: Callable[[], Parts]) -> None:
        super().__init__()
        self._routes = [route for api in apis for route in api.routes]
        self._parts = parts

    def _answer(self, sent: dict[str, Any]) -> dict[str, Any]:
        method, path = sent["httpMethod"], sent["path"]
        route = next(r for r in self._routes if r.method == method and r.matches(path))
        names = zip(route.full_path.split("/"), path.split("/"), strict=True)
        parameters = {name[1:-1]: value for name, value in names if name.startswith("{")}
        answer = serve(route, wire_request(sent, parameters), self._parts)
        return {"statusCode": answer.status, "headers": answer.headers, "body": answer.body}
