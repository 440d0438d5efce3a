"""What a function declares: routes with their models, and the requests and answers of handlers."""

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any, Literal

from pydantic import BaseModel

from threadkeep.domain.changes import Origin
from threadkeep.errors import UnauthorizedError

BASE_PATH = "/api/v1"
ADMIN_PREFIX = "/admin/users/{user_id}"

type Method = Literal["GET", "POST", "PUT", "PATCH", "DELETE"]


@dataclass(frozen=True)
class Caller:
    """Who sends a request: the token's ``sub``, and whether the token's groups name ``admin``."""

    user_id: str
    is_admin: bool = False


@dataclass(frozen=True)
class Request[B = None, Q = None]:
    """A request whose parts are parsed and valid.

    Args:
        caller: Who sends it; None on a route that is open to all.
        path: Path parameters, each a valid id.
        body: The parsed body, or None for a route without one.
        query: The parsed query parameters, or None for a route without any.
        if_match: Versions that ``If-Match`` accepts; None without the header or with ``*``.
        idempotency_key: The ``Idempotency-Key``, if any.
        request_id: Id under which the request is logged.
        target: Method and path as sent, without the query.
        subject: The user an administrator acts for, on the admin variant of a route.
    """

    caller: Caller | None
    path: Mapping[str, str]
    body: B
    query: Q
    if_match: tuple[int, ...] | None
    idempotency_key: str | None
    request_id: str
    target: str
    subject: str | None = None

    @property
    def user_id(self) -> str:
        """Whose memory the request is about.

        Raises:
            UnauthorizedError: The route is open and nobody is signed in.
        """
        if self.caller is None:
            raise UnauthorizedError
        return self.caller.user_id if self.subject is None else self.subject

    @property
    def origin(self) -> Origin:
        """Who makes a change, for the history.

        Raises:
            UnauthorizedError: The route is open and nobody is signed in.
        """
        if self.caller is None:
            raise UnauthorizedError
        role = "user" if self.subject is None else "admin"
        return Origin(actor=f"{role}:{self.caller.user_id}")


@dataclass(frozen=True)
class Answer:
    """What a handler answers.

    Args:
        body: A model, or a mapping of JSON values and models; None for no body.
        status: HTTP status; None for the route's own.
        headers: Further headers.
    """

    body: BaseModel | Mapping[str, Any] | None = None
    status: int | None = None
    headers: Mapping[str, str] = field(default_factory=dict)


type Handler[B, Q] = Callable[[Request[B, Q]], Answer]
type Declarer[B, Q] = Callable[[Handler[B, Q]], Handler[B, Q]]


@dataclass(frozen=True)
class Route:
    """One method on one path, with all that parsing, serving and OpenAPI need.

    Args:
        method: HTTP method.
        path: Path below ``/api/v1``, with parameters as ``{name}``.
        handler: Function that answers.
        tag: Group of the route in OpenAPI.
        body: Model of the body.
        query: Model of the query parameters; a tuple field takes a repeated parameter.
        response: Model of a good answer's body, for OpenAPI.
        statuses: Statuses of good answers; the first is the one a handler need not name.
        open_to_all: Whether the route works without a token.
        admin: Whether only administrators may call it.
        writes: Whether it takes an ``Idempotency-Key``.
        versioned: Whether it takes ``If-Match``.
        twin: Whether this is the admin variant of a user's route.
        time_limit: Seconds after which a running request is given up.
    """

    method: Method
    path: str
    handler: Callable[[Request[Any, Any]], Answer]
    tag: str
    body: type[BaseModel] | None = None
    query: type[BaseModel] | None = None
    response: type[BaseModel] | None = None
    statuses: tuple[int, ...] = (200,)
    open_to_all: bool = False
    admin: bool = False
    writes: bool = False
    versioned: bool = False
    twin: bool = False
    time_limit: int = 30

    @property
    def full_path(self) -> str:
        """Path with the base path."""
        return BASE_PATH + self.path

    @property
    def path_names(self) -> tuple[str, ...]:
        """Names of the path parameters, in order."""
        return tuple(re.findall(r"{(\w+)}", self.path))

    @property
    def operation_id(self) -> str:
        """Unique name of the operation."""
        name = self.handler.__name__
        return f"admin_{name}" if self.twin else name

    @property
    def summary(self) -> str:
        """First line of the handler's docstring."""
        return (self.handler.__doc__ or "").strip().partition("\n")[0]

    def matches(self, path: str) -> bool:
        """Tell whether a path as sent is one of this route's."""
        pattern = re.sub(r"\\{\w+\\}", "[^/]+", re.escape(self.full_path))
        return re.fullmatch(pattern, path.rstrip("/")) is not None


class Api:
    """The routes of one function.

    Args:
        tag: Group of the routes in OpenAPI.
    """

    def __init__(self, tag: str) -> None:
        self.tag = tag
        self.routes: list[Route] = []

    def get[B = None, Q = None](
        self,
        path: str,
        *,
        query: type[Q] | None = None,
        response: type[BaseModel] | None = None,
        open_to_all: bool = False,
        admin: bool = False,
        admin_twin: bool = False,
    ) -> Declarer[B, Q]:
        """Declare a route that reads."""
        return self._declare(
            "GET",
            path,
            admin_twin=admin_twin,
            query=query,
            response=response,
            open_to_all=open_to_all,
            admin=admin,
        )

    def post[B = None, Q = None](
        self,
        path: str,
        *,
        body: type[B] | None = None,
        query: type[Q] | None = None,
        response: type[BaseModel] | None = None,
        status: int | tuple[int, ...] = 200,
        admin: bool = False,
        admin_twin: bool = False,
        writes: bool = True,
        versioned: bool = False,
        time_limit: int = 30,
    ) -> Declarer[B, Q]:
        """Declare a route that creates or acts; ``status`` names what a good answer may have."""
        return self._declare(
            "POST",
            path,
            admin_twin=admin_twin,
            body=body,
            query=query,
            response=response,
            statuses=status if isinstance(status, tuple) else (status,),
            admin=admin,
            writes=writes,
            versioned=versioned,
            time_limit=time_limit,
        )

    def put[B = None, Q = None](
        self,
        path: str,
        *,
        body: type[B],
        response: type[BaseModel] | None = None,
        admin: bool = False,
        admin_twin: bool = False,
        versioned: bool = False,
    ) -> Declarer[B, Q]:
        """Declare a route that replaces."""
        return self._declare(
            "PUT",
            path,
            admin_twin=admin_twin,
            body=body,
            response=response,
            admin=admin,
            versioned=versioned,
        )

    def patch[B = None, Q = None](
        self,
        path: str,
        *,
        body: type[B],
        response: type[BaseModel] | None = None,
        versioned: bool = False,
    ) -> Declarer[B, Q]:
        """Declare a route that changes in part."""
        return self._declare(
            "PATCH", path, admin_twin=False, body=body, response=response, versioned=versioned
        )

    def delete[B = None, Q = None](
        self,
        path: str,
        *,
        query: type[Q] | None = None,
        response: type[BaseModel] | None = None,
        status: int = 204,
        admin: bool = False,
        admin_twin: bool = False,
        versioned: bool = False,
    ) -> Declarer[B, Q]:
        """Declare a route that deletes."""
        return self._declare(
            "DELETE",
            path,
            admin_twin=admin_twin,
            query=query,
            response=response,
            statuses=(status,),
            admin=admin,
            versioned=versioned,
        )

    def _declare[B, Q](
        self, method: Method, path: str, *, admin_twin: bool, **options: Any
    ) -> Declarer[B, Q]:
        def declare(handler: Handler[B, Q]) -> Handler[B, Q]:
            route = Route(method, path, handler, self.tag, **options)
            self.routes.append(route)
            if admin_twin:
                twin = replace(route, path=ADMIN_PREFIX + path, admin=True, twin=True)
                self.routes.append(twin)
            return handler

        return declare
