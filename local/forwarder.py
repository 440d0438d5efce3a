"""One origin in front of the emulator's API and the chat server, as CloudFront is on AWS.

It knows one rule: what ends in ``/chat/stream`` goes to the server that streams, all else to API
Gateway. The stage may lead the path or not: ``/local/api/v1/…`` and ``/api/v1/…`` are the same.

Run by local/stack.py: ``python -m local.forwarder PORT API_URL CHAT_URL``, where the URLs are what
the rest of the path is put after.
"""

import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import httpx
import uvicorn
from starlette.applications import Starlette
from starlette.background import BackgroundTask
from starlette.requests import Request
from starlette.responses import Response, StreamingResponse
from starlette.routing import Route

from local.config import HOST, STAGE

STREAMED = "/chat/stream"
METHODS = ["GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS"]
# Belong to one connection, not to the message (RFC 9110, section 7.6.1).
HOP_BY_HOP = {
    "connection", "keep-alive", "proxy-authenticate", "proxy-authorization", "te", "trailer",
    "transfer-encoding", "upgrade",
}  # fmt: skip


def forwarder(api_url: str, chat_url: str) -> Starlette:
    """Return the ASGI application that forwards to these two base URLs."""

    @asynccontextmanager
    async def lifespan(app: Starlette) -> AsyncIterator[None]:
        limits = httpx.Limits(max_connections=None, keepalive_expiry=4)
        async with httpx.AsyncClient(timeout=None, limits=limits, trust_env=False) as client:
            app.state.client = client
            yield

    async def forward(request: Request) -> Response:
        path = request.scope["raw_path"].decode("ascii")  # as sent: %2F in an id is no slash
        path = path.removeprefix(f"/{STAGE}") if path.startswith(f"/{STAGE}/") else path
        base = chat_url if path.endswith(STREAMED) else api_url
        query = request.url.query
        client: httpx.AsyncClient = request.app.state.client
        upstream = client.build_request(
            request.method,
            f"{base}{path}" + (f"?{query}" if query else ""),
            headers=[
                (name, value)
                for name, value in request.headers.raw
                if _passes(name.decode("latin-1")) and name != b"host"
            ],
            content=request.stream(),
        )
        try:
            answer = await client.send(upstream, stream=True)
        except httpx.TransportError:
            return Response("the local stack does not answer\n", 502)
        response = StreamingResponse(
            answer.aiter_raw(), answer.status_code, background=BackgroundTask(answer.aclose)
        )
        response.raw_headers = [
            (name.lower(), value)
            for name, value in answer.headers.raw
            if _passes(name.decode("latin-1"))
        ]
        return response

    return Starlette(routes=[Route("/{path:path}", forward, methods=METHODS)], lifespan=lifespan)


def _passes(header: str) -> bool:
    return header.lower() not in HOP_BY_HOP


def main() -> None:
    """Serve until told to stop."""
    port, api_url, chat_url = sys.argv[1:]
    app = forwarder(api_url, chat_url)
    uvicorn.run(
        app,
        host=HOST,
        port=int(port),
        log_level="warning",
        date_header=False,
        server_header=False,
        timeout_graceful_shutdown=3,
    )


if __name__ == "__main__":
    main()
