"""The HTTP layer: a registry of routes that is served by Lambda, by ASGI, and described in OpenAPI.

A function declares its routes; everything else (who calls, parsing, errors, ETags, idempotency,
admin variants with audit) is done here, the same way for each transport::

    api = Api("agents")

    @lru_cache
    def bootstrap() -> Bootstrap:
        return Bootstrap()

    @api.get("/agents", query=ListQuery, response=Listing[AgentView])
    def list_agents(request: Request[None, ListQuery]) -> Answer:
        \"\"\"List own and shared agents.\"\"\"
        agents = bootstrap().agents
        return listed(request, lambda page: agents.list(request.user_id, page))

    @api.post("/agents", body=AgentConfig, response=AgentView, status=201)
    def create_agent(request: Request[AgentConfig]) -> Answer:
        \"\"\"Create an agent.\"\"\"
        return Answer(bootstrap().agents.create(request.user_id, request.body))

    @api.put("/agents/{agent_id}", body=AgentConfig, response=AgentView, versioned=True)
    def update_agent(request: Request[AgentConfig]) -> Answer:
        \"\"\"Replace an agent's draft.\"\"\"
        agent_id, expected = request.path["agent_id"], request.if_match
        agents = bootstrap().agents
        return Answer(agents.update(request.user_id, agent_id, request.body, if_match=expected))

    lambda_handler = rest_handler(api, lambda: bootstrap())  # behind API Gateway
    app = asgi_app(api, lambda: bootstrap())  # under uvicorn or Mangum

Rules:

- Paths are relative to ``/api/v1``; path parameters are ids. The docstring's first line is the
  route's summary, the function's name its operation id.
- Handlers raise :class:`~threadkeep.errors.ThreadkeepError`; nothing else is caught by them.
- ``Answer.body`` is a model, or a mapping of models; null fields are left out. A body with an
  integer ``version`` gets the ETag ``"v{version}"``. Services take ``request.if_match`` and call
  :func:`~threadkeep.domain.versions.require_version` on what they read.
- A POST writes, so it takes an ``Idempotency-Key``, unless it says ``writes=False``.
- ``admin=True`` is for the group ``admin`` only; ``open_to_all=True`` needs no token;
  ``admin_twin=True`` serves the route a second time under ``/admin/users/{user_id}``, for
  administrators, audited, with ``request.user_id`` the user of the path.
"""

from threadkeep.http.asgi import asgi_app
from threadkeep.http.listing import Listing, ListQuery, cursor_at, listed, position_of
from threadkeep.http.rest import rest_handler
from threadkeep.http.routes import BASE_PATH, Answer, Api, Caller, Request, Route
from threadkeep.http.serving import Parts

__all__ = [
    "BASE_PATH",
    "Answer",
    "Api",
    "Caller",
    "ListQuery",
    "Listing",
    "Parts",
    "Request",
    "Route",
    "asgi_app",
    "cursor_at",
    "listed",
    "position_of",
    "rest_handler",
]
