"""An endpoint that speaks OpenAI's API, on a real HTTP server of the test's own."""

from __future__ import annotations

import json
import threading
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator


@dataclass(frozen=True)
class Reply:
    """What the endpoint answers: JSON or raw bytes; ``closes`` ends the connection instead."""

    status: int = 200
    body: dict[str, Any] | bytes = b""
    headers: dict[str, str] = field(default_factory=dict)
    closes: bool = False


@dataclass
class OpenAiApi:
    """The running endpoint.

    Attributes:
        url: Its base URL, up to and with ``/v1``.
        respond: Maps path and body of a request to the reply; tests set it.
        requests: Path, body and headers of each request.
    """

    url: str
    respond: Callable[[str, dict[str, Any]], Reply]
    requests: list[tuple[str, dict[str, Any], dict[str, str]]] = field(default_factory=list)


@contextmanager
def openai_api(respond: Callable[[str, dict[str, Any]], Reply]) -> Iterator[OpenAiApi]:
    """Run an endpoint on a free port of this machine."""
    api = OpenAiApi("", respond)

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
            api.requests.append((self.path, body, dict(self.headers)))
            reply = api.respond(self.path, body)
            if reply.closes:
                self.close_connection = True
                return
            content = reply.body if isinstance(reply.body, bytes) else json.dumps(reply.body)
            data = content if isinstance(content, bytes) else content.encode()
            self.send_response(reply.status)
            self.send_header("Content-Length", str(len(data)))
            for name, value in reply.headers.items():
                self.send_header(name, value)
            self.end_headers()
            self.wfile.write(data)

        def log_message(self, *_: Any) -> None:
            """Stay silent."""

    server = _Server(("127.0.0.1", 0), Handler)
    thread = threading.Thread(target=server.serve_forever, daemon=True)
    thread.start()
    api.url = f"http://127.0.0.1:{server.server_address[1]}/v1"
    try:
        yield api
    finally:
        server.shutdown()
        server.server_close()
        thread.join()


class _Server(ThreadingHTTPServer):
    def handle_error(self, *_: Any) -> None:
        """Stay silent about clients that went away, as the slow ones' do."""


def chat_reply(text: str | None, finish_reason: str = "stop", **usage: Any) -> Reply:
    """Return a reply of the chat completions API."""
    return Reply(
        body={
            "choices": [
                {
                    "index": 0,
                    "message": {"role": "assistant", "content": text},
                    "finish_reason": finish_reason,
                }
            ],
            "usage": {"prompt_tokens": 10, "completion_tokens": 5, **usage},
        }
    )
