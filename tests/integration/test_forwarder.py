"""The forwarder passes requests on as they are, and answers as they come."""

import http.client
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import ExitStack, closing
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest

from local import emulator
from local.config import HOST, ROOT, free_ports
from local.processes import Process

PREFIX = "/_aws/execute-api/abc/local"


@dataclass
class Upstream:
    """A server that remembers requests, and answers in two pieces when told to."""

    port: int = 0
    requests: list[tuple[str, str, dict[str, str], bytes]] = field(default_factory=list)
    go_on: threading.Event = field(default_factory=threading.Event)

    @property
    def url(self) -> str:
        return f"http://{HOST}:{self.port}"


@pytest.fixture
def serve() -> Iterator[Callable[[], Upstream]]:
    with ExitStack() as servers:

        def start() -> Upstream:
            upstream = Upstream()

            class Handler(BaseHTTPRequestHandler):
                protocol_version = "HTTP/1.1"

                def answer(self) -> None:
                    body = self.rfile.read(int(self.headers.get("content-length", 0)))
                    upstream.requests.append((self.command, self.path, dict(self.headers), body))
                    self.send_response(202)
                    self.send_header("x-two", "1")
                    self.send_header("x-two", "2")
                    self.send_header("content-length", "10")
                    self.end_headers()
                    self.wfile.write(b"first")
                    self.wfile.flush()
                    if self.path.endswith("/chat/stream"):
                        upstream.go_on.wait(10)
                    self.wfile.write(b"other")

                do_GET = do_POST = do_DELETE = answer

                def log_message(self, format: str, *arguments: object) -> None:  # noqa: A002
                    """Stay quiet."""

            server = ThreadingHTTPServer((HOST, 0), Handler)
            upstream.port = server.server_address[1]
            threading.Thread(target=server.serve_forever, daemon=True).start()
            servers.callback(server.server_close)
            servers.callback(server.shutdown)
            return upstream

        yield start


@dataclass
class Forwarder:
    """A running forwarder and what it forwards to."""

    port: int
    api: Upstream
    chat: Upstream


@pytest.fixture
def forwarder(serve: Callable[[], Upstream], tmp_path: Path) -> Iterator[Forwarder]:
    api, chat = serve(), serve()
    (port,) = free_ports(1)
    process = Process(
        "forwarder",
        [sys.executable, "-m", "local.forwarder", str(port), api.url + PREFIX, chat.url],
        emulator.base_environment(),
        tmp_path,
        ROOT,
    )
    emulator.wait_for_port(process, port)
    try:
        yield Forwarder(port, api, chat)
    finally:
        process.stop()


@pytest.mark.parametrize("stage", ["", "/local"])
def test_request_arrives_as_it_was_sent(forwarder: Forwarder, stage: str) -> None:
    # When a request has a coded slash, a repeated parameter, a body and a token
    with closing(http.client.HTTPConnection(HOST, forwarder.port)) as connection:
        connection.request(
            "POST", f"{stage}/api/v1/a%2Fb%20c?q=1&q=%C3%A9", b"body", {"Authorization": "Bearer t"}
        )
        answer = connection.getresponse()
        content = answer.read()
    # Then the API gets all of it, below the address of its stage
    ((method, path, headers, body),) = forwarder.api.requests
    assert (method, path, body) == ("POST", f"{PREFIX}/api/v1/a%2Fb%20c?q=1&q=%C3%A9", b"body")
    assert {name.lower(): value for name, value in headers.items()}["authorization"] == "Bearer t"
    # And the answer comes back whole
    assert (answer.status, content) == (202, b"firstother")
    assert answer.headers.get_all("x-two") == ["1", "2"]
    assert forwarder.chat.requests == []


def test_stream_arrives_piece_by_piece_from_the_chat_server(forwarder: Forwarder) -> None:
    with closing(http.client.HTTPConnection(HOST, forwarder.port)) as connection:
        # When a streamed answer has begun and not ended
        connection.request("POST", "/local/api/v1/agents/a/chat/stream", b"{}")
        answer = connection.getresponse()
        # Then its beginning is here
        assert answer.read1(100) == b"first"
        forwarder.chat.go_on.set()
        assert answer.read() == b"other"
    assert [request[1] for request in forwarder.chat.requests] == ["/api/v1/agents/a/chat/stream"]
    assert forwarder.api.requests == []
