"""Feeds a conversation in the LoCoMo format through the running stack, then asks a question.

    .venv/bin/python bench/replay.py FILE --conversation 0 --sessions 3

The first speaker is the user. What they say in a row is one message; what the other one says next
is the answer, given by a scripted OpenAI-compatible endpoint that this script serves as model
`openai:replay`. Extraction runs as deployed, on the offline model. Afterwards every stored message
is compared with what was sent, and a question in a new conversation shows what is recalled.
"""

from __future__ import annotations

import argparse
import json
import sys
import threading
import time
import tomllib
from contextlib import contextmanager
from dataclasses import dataclass
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from itertools import groupby
from pathlib import Path
from typing import TYPE_CHECKING, Any

import httpx

ROOT = Path(__file__).resolve().parent.parent
sys.path[:0] = [str(ROOT / "layers/core"), str(ROOT)]

from bench import locomo  # noqa: E402
from threadkeep.domain.conversations import Role  # noqa: E402

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from threadkeep.domain.conversations import Message

MODEL = "openai:replay"
OFFLINE = "offline"
AGENT = {"name": "Replay", "model_id": MODEL, "enable_memory": True}
SILENCE = "(says nothing)"
"""What the model answers where the session ends with the user."""

LEARNING_SECONDS = 120
BAR = 30


class ReplayError(Exception):
    """The replay can not go on or did not come out right; the text is for the user."""


@dataclass(frozen=True)
class Turn:
    """What the user says, and what is answered."""

    said: str
    answer: str


def turns_of(session: Iterable[Message]) -> tuple[list[Turn], int]:
    """Join a session's lines into turns.

    Returns:
        The turns, and how many lines before the user's first one were left out: a conversation
        begins with its user.
    """
    spoken = [
        (role, "\n".join(message.content for message in lines))
        for role, lines in groupby(session, key=lambda message: message.role)
    ]
    lead = 1 if spoken and spoken[0][0] is Role.ASSISTANT else 0
    texts = [text for _, text in spoken[lead:]]
    if len(texts) % 2:
        texts.append(SILENCE)
    return [Turn(*pair) for pair in zip(texts[::2], texts[1::2], strict=True)], lead


class ScriptedModel:
    """An OpenAI-compatible endpoint that gives the answer it was told to give next."""

    def __init__(self, port: int) -> None:
        model = self
        self.answer = ""

        class Handler(BaseHTTPRequestHandler):
            def do_POST(self) -> None:
                asked = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
                body = json.dumps(model.completion(asked)).encode()
                self.send_response(200)
                self.send_header("Content-Type", "application/json")
                self.send_header("Content-Length", str(len(body)))
                self.end_headers()
                self.wfile.write(body)

            def log_message(self, *_: Any) -> None:
                """Stay silent: the progress bar has the terminal."""

        try:
            self._server = ThreadingHTTPServer(("127.0.0.1", port), Handler)
        except OSError as error:
            raise ReplayError(f"port {port} is busy; it is reserved for the replay") from error
        threading.Thread(target=self._server.serve_forever, daemon=True).start()

    def completion(self, asked: dict[str, Any]) -> dict[str, Any]:
        """Return the scripted answer as a chat completion; tokens are counted as words."""
        sent = sum(len(str(message.get("content", "")).split()) for message in asked["messages"])
        said = len(self.answer.split())
        return {
            "id": "replay",
            "object": "chat.completion",
            "created": int(time.time()),
            "model": asked["model"],
            "choices": [
                {
                    "index": 0,
                    "finish_reason": "stop",
                    "message": {"role": "assistant", "content": self.answer},
                }
            ],
            "usage": {
                "prompt_tokens": sent,
                "completion_tokens": said,
                "total_tokens": sent + said,
            },
        }

    def close(self) -> None:
        """Stop serving."""
        self._server.shutdown()


class Api:
    """The stack's HTTP API, as one user."""

    def __init__(self, stack: dict[str, Any], user: str) -> None:
        self._http = httpx.Client(
            base_url=f"{stack['api_url']}/api/v1",
            headers={"Authorization": f"Bearer {stack['users'][user]['token']}"},
            timeout=300,
        )

    def call(self, method: str, path: str, **more: Any) -> Any:
        """Call the API and return the answer's body."""
        try:
            response = self._http.request(method, path, **more)
        except httpx.HTTPError as error:
            raise ReplayError(f"the stack does not answer ({error}); start it: make up") from error
        if response.status_code == httpx.codes.UNAUTHORIZED:
            raise ReplayError("the token has expired; run: make tokens")
        if response.is_error:
            raise ReplayError(f"{method} {path}: {response.status_code} {response.text}")
        return response.json()

    def items(self, path: str) -> list[dict[str, Any]]:
        """Return all items of a listing."""
        items: list[dict[str, Any]] = []
        cursor = None
        while True:
            query = {"limit": 100, **({"cursor": cursor} if cursor else {})}
            page = self.call("GET", path, params=query)
            items += page["items"]
            cursor = page.get("next_cursor")
            if not cursor:
                return items

    def agent(self) -> str:
        """Return the published agent that answers by script, making it if needed."""
        found = [agent for agent in self.items("/agents") if agent["name"] == AGENT["name"]]
        agent = found[0] if found else self.call("POST", "/agents", json=AGENT)
        if agent["status"] != "published":
            self.call("POST", f"/agents/{agent['id']}/publish")
        return str(agent["id"])


def main() -> None:
    """Run the replay from the command line."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("file", type=Path, help="conversations in the LoCoMo format")
    parser.add_argument("--conversation", type=int, default=0, help="which one, from 0")
    parser.add_argument("--sessions", type=int, help="how many of its sessions; default all")
    parser.add_argument("--question", help="what to ask; default the first the sessions answer")
    parser.add_argument("--user", default="alice", help="who speaks; default alice")
    parser.add_argument("--stack", type=Path, default=ROOT / ".local/stack.json")
    parser.add_argument("--port", type=int, help="of the scripted model; default as reserved")
    arguments = parser.parse_args()
    try:
        samples = locomo.read(arguments.file)
        if not 0 <= arguments.conversation < len(samples):
            raise ReplayError(f"there are conversations 0 to {len(samples) - 1}")
        replay(
            samples[arguments.conversation],
            arguments.sessions,
            arguments.question,
            _stack(arguments.stack),
            arguments.user,
            arguments.port or _reserved_port(),
        )
    except (ReplayError, OSError, ValueError) as error:
        sys.exit(f"replay: {error}")


def replay(
    sample: locomo.Sample,
    count: int | None,
    question: str | None,
    stack: dict[str, Any],
    user: str,
    port: int,
) -> None:
    """Replay sessions of a conversation, check what is stored, ask, and print the recall.

    Raises:
        ReplayError: What is stored is not what was sent, or the stack does not play along.
    """
    sessions = sample.sessions[:count]
    asked = question or _question(sample, sessions)
    api = Api(stack, user)
    model = ScriptedModel(port)
    try:
        with _extraction_on(OFFLINE, Api(stack, "admin")):
            _replay(api, model, sessions, asked)
    finally:
        model.close()


def _replay(
    api: Api, model: ScriptedModel, sessions: Sequence[Sequence[Message]], asked: str
) -> None:
    agent = api.agent()
    run = f"replay-{time.time_ns():x}"
    scripts = [turns_of(session) for session in sessions]
    left_out = sum(lead for _, lead in scripts)
    total, done = sum(len(turns) for turns, _ in scripts), 0
    for number, (turns, _) in enumerate(scripts, 1):
        thread = f"{run}-{number}"
        for turn in turns:
            model.answer = turn.answer
            body = {"message": turn.said, "conversation_id": thread}
            api.call("POST", f"/agents/{agent}/chat", json=body)
            done += 1
            _progress(done, total, f"session {number} of {len(scripts)}")
        _check_stored(api, thread, turns)
    print(
        f"{2 * total} messages of {len(scripts)} sessions stored as sent and in order"
        + (f"; {left_out} opening answers without a question left out" if left_out else "")
    )
    last_said = {f"{run}-{n}": 2 * len(turns) - 1 for n, (turns, _) in enumerate(scripts, 1)}
    _wait_for_learning(api, last_said)
    model.answer = "This is what I was given."
    body = {"message": asked, "conversation_id": f"{run}-question"}
    answer = api.call("POST", f"/agents/{agent}/chat", json=body)
    _print_recall(asked, answer["recall"])


@contextmanager
def _extraction_on(model_id: str, admin: Api) -> Iterator[None]:
    """Let extraction run on a model meanwhile: the scripted one can only answer."""
    key = "memory_extraction_model_id"
    before = admin.call("GET", f"/admin/site-settings/{key}")["value"]
    admin.call("PUT", f"/admin/site-settings/{key}", json={"value": model_id})
    try:
        yield
    finally:
        admin.call("PUT", f"/admin/site-settings/{key}", json={"value": before})


def _stack(path: Path) -> dict[str, Any]:
    try:
        stack: dict[str, Any] = json.loads(path.read_text())
    except OSError as error:
        raise ReplayError("no stack is running; start it: make up") from error
    return stack


def _reserved_port() -> int:
    settings = tomllib.loads((ROOT / "local/settings.toml").read_text())
    return int(settings["ports"]["replay"])


def _question(sample: locomo.Sample, sessions: Sequence[Sequence[Message]]) -> str:
    """Return the first question that these sessions answer."""
    told = {locomo.ref_of(message) for session in sessions for message in session}
    for question in sample.questions:
        if question.gold <= told and question.category != locomo.ADVERSARIAL:
            return question.text
    raise ReplayError("no question of the file is answered by these sessions; give --question")


def _check_stored(api: Api, thread: str, turns: Sequence[Turn]) -> None:
    """Compare a conversation's stored messages with what was sent."""
    sent = [
        message for turn in turns for message in (("user", turn.said), ("assistant", turn.answer))
    ]
    items = api.items(f"/conversations/{thread}/messages")
    stored = [(item["role"], item["content"]) for item in items]
    for place, (was, now) in enumerate(zip(sent, stored, strict=False), 1):
        if was != now:
            raise ReplayError(f"message {place} of {thread} was sent as {was}, is stored as {now}")
    if len(sent) != len(stored):
        raise ReplayError(f"{len(sent)} messages of {thread} were sent, {len(stored)} are stored")


def _wait_for_learning(api: Api, last_said: dict[str, int]) -> None:
    """Wait until each conversation has been extracted up to what the user said last in it."""
    deadline = time.monotonic() + LEARNING_SECONDS
    while time.monotonic() < deadline:
        jobs = [job for job in api.items("/memories/jobs") if job["conversation_id"] in last_said]
        failed = next((job for job in jobs if job["status"] == "failed"), None)
        if failed:
            raise ReplayError(f"extraction gave up: {failed['reason']}")
        done = [job for job in jobs if job["status"] == "done"]
        learned = {
            job["conversation_id"]
            for job in done
            if job["to_seq"] >= last_said[job["conversation_id"]]
        }
        stored = sum(job["stored"] for job in done)
        _progress(len(learned), len(last_said), f"learning, {stored} entities and relations")
        if len(learned) == len(last_said):
            return
        time.sleep(2)
    print(f"extraction is not done after {LEARNING_SECONDS} seconds; asking all the same")


def _progress(done: int, total: int, what: str) -> None:
    filled = BAR * done // max(total, 1)
    end = "\n" if done == total else ""
    bar = "#" * filled + "." * (BAR - filled)
    print(f"\r[{bar}] {done}/{total} {what:45}", end=end, file=sys.stderr, flush=True)


def _print_recall(question: str, recall: dict[str, list[dict[str, Any]]]) -> None:
    print(f"\n{question}")
    names = {entity["id"]: entity["name"] for entity in recall["entities"]}
    for entity in recall["entities"]:
        score = entity.get("score")
        mark = "  near" if score is None else f"{score:6.3f}"
        print(f"  {mark}  {entity['entity_type']}: {entity['name']}")
    for relation in recall["relations"]:
        source, target = (
            names.get(relation[f"{end}_entity_id"], "…") for end in ("source", "target")
        )
        print(f"          {source} -{relation['relation_type']}-> {target}")
    for turn in recall["episodes"]:
        print(f"  {turn['score']:6.3f}  {turn['role']}: {' '.join(turn['content'].split())[:90]}")
    if not any(recall.values()):
        print("  nothing was recalled")


if __name__ == "__main__":
    main()
