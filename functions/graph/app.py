"""The graph and search over HTTP."""

from functools import lru_cache

from pydantic import Field

from threadkeep.bootstrap import Bootstrap
from threadkeep.domain.graph import GraphPage, GraphQuery
from threadkeep.domain.retrieval import SearchAnswer, SearchQuery
from threadkeep.http import Answer, Api, Request, cursor_at, position_of, rest_handler

api = Api("graph")


@lru_cache
def bootstrap() -> Bootstrap:
    """Return the product; tests put another in its place."""
    return Bootstrap()


class GraphRequest(GraphQuery):
    """A traversal, or a page of the whole graph."""

    cursor: str | None = Field(default=None, description="`next_cursor` of the page before.")


@api.get("/memories/graph", query=GraphRequest, response=GraphPage, admin_twin=True)
def read_graph(request: Request[None, GraphRequest]) -> Answer:
    """Walk from entities within bounds, or read the whole graph page by page."""
    graph, query = bootstrap().graph, request.query
    filters = query.model_dump(mode="json", exclude={"cursor"})
    position = position_of(request, query.cursor, filters)
    if query.entity_ids:
        return Answer(graph.around(request.user_id, query))
    page, after = graph.whole(request.user_id, query, position)
    return Answer(GraphPage(**dict(page), next_cursor=cursor_at(request, after, filters)))


@api.post(
    "/memories/search", body=SearchQuery, response=SearchAnswer, writes=False, admin_twin=True
)
def search(request: Request[SearchQuery]) -> Answer:
    """Find what is relevant and recent."""
    return Answer(bootstrap().retrieval.search(request.user_id, request.body))


# Looked up at each call, so that tests can put another product in its place.
lambda_handler = rest_handler(api, lambda: bootstrap())  # noqa: PLW0108
