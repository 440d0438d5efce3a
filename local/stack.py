"""A whole local stack: emulator, deployment, chat server, forwarder and seed."""

import json
import os
import sys
from collections.abc import Callable
from dataclasses import asdict, dataclass
from typing import Any

from local import emulator
from local.config import HOST, ROOT, STAGE, Config, LocalStackError, require_free
from local.deploy import deploy, outputs
from local.emulator import Clients
from local.processes import Process, Record, end_group, terminate
from local.seed import ADMIN, create_user, id_token, seed, subject

SUPERVISOR = "supervisor"


@dataclass(frozen=True)
class User:
    """A seeded user.

    Args:
        token: Id token, good for a day.
        sub: The user's id.
    """

    token: str
    sub: str


@dataclass(frozen=True)
class Addresses:
    """What ``stack.json`` says.

    Args:
        api_url: Origin and stage, without ``/api/v1``.
        stream_url: The same for the server that streams.
        console_url: First page of the console.
        users: Seeded users by name.
    """

    api_url: str
    stream_url: str
    console_url: str
    users: dict[str, User]

    @classmethod
    def from_json(cls, document: dict[str, Any]) -> "Addresses":
        """Read the content of a ``stack.json``."""
        users = {name: User(**user) for name, user in document["users"].items()}
        return cls(document["api_url"], document["stream_url"], document["console_url"], users)


class Stack:
    """A local stack.

    Args:
        config: Where it lives and what it listens on.
        say: Called with a line of progress.
    """

    def __init__(self, config: Config, say: Callable[[str], None] = lambda line: None) -> None:
        self.config = config
        self.clients = Clients(config)
        self.outputs: dict[str, str] = {}
        self._say = say
        self._record = Record(config.directory / "processes.json")
        self._processes: list[Process] = []

    def start(self) -> Addresses:
        """Start everything, deploy what changed, seed what is missing, write ``stack.json``.

        Raises:
            LocalStackError: Something of it failed; all that was started is stopped again.
        """
        if running := self._record.running():
            process = next(iter(running.values()))
            raise LocalStackError(f"the stack is running (process {process}): `make down` ends it")
        require_free(self.config.ports)
        try:
            return self._start()
        except BaseException:
            self.stop()
            raise

    def _start(self) -> Addresses:
        self._say("starting the emulator")
        self._add(emulator.start(self.config))
        self._say("building and deploying the template (skipped when nothing changed)")
        self.outputs = deploy(self.config, self.clients)
        self._say("starting chat and console")
        self._add(self._start_chat())
        self._add(self._start_forwarder())
        pool_id = self.outputs["UserPoolId"]
        for name, password in self.config.passwords.items():
            create_user(self.clients, pool_id, name, password, admin=name == ADMIN)
        addresses = self.refresh_tokens()
        seed(addresses.api_url, addresses.users[ADMIN].token)
        return addresses

    def attach(self) -> Addresses:
        """Use a stack that another process runs.

        Raises:
            LocalStackError: It does not run.
        """
        if not self._record.running():
            raise LocalStackError("the stack is not running: `make run` or `make up` starts it")
        self.outputs = outputs(self.clients)
        return Addresses.from_json(json.loads(self.config.stack_file.read_text()))

    def refresh_tokens(self) -> Addresses:
        """Sign the users in again and write ``stack.json``."""
        names = self.config.passwords
        users = {name: asdict(self.sign_in(name, names[name])) for name in names}
        document = {
            "api_url": f"{self.config.origin}/{STAGE}",
            "stream_url": self.config.chat_url,
            "console_url": f"{self.config.origin}/app/memories",
            "users": users,
        }
        self.config.stack_file.write_text(json.dumps(document, indent=1) + "\n")
        return Addresses.from_json(document)

    def add_user(self, name: str, *, admin: bool = False) -> User:
        """Make a user, unless there is one of that name, and sign in."""
        password = f"A-{name}-2026-local"
        create_user(self.clients, self.outputs["UserPoolId"], name, password, admin=admin)
        return self.sign_in(name, password)

    def sign_in(self, name: str, password: str) -> User:
        """Return a user's fresh token."""
        token = id_token(self.clients, self.outputs["UserPoolClientId"], name, password)
        return User(token, subject(token))

    def stop(self) -> None:
        """Stop what was started, last first, so that the emulator saves its state in peace."""
        if not self._processes:
            return
        while self._processes:
            self._processes.pop().stop()
        self._record.clear()
        self.config.stack_file.unlink(missing_ok=True)

    def check(self) -> None:
        """Check that everything still runs.

        Raises:
            LocalStackError: A part ended by itself.
        """
        for process in self._processes:
            process.require_running()

    def _add(self, process: Process) -> None:
        self._processes.append(process)
        parts = {process.name: process.pid for process in self._processes}
        self._record.write({SUPERVISOR: os.getpid(), **parts})

    def _start_chat(self) -> Process:
        """Serve the chat function as it was deployed, with its layers and its environment."""
        name = self.outputs["ChatFunctionName"]
        function = self.clients.functions.get_function_configuration(FunctionName=name)
        layers = [
            self.config.build / f"{layer}Layer/python"
            for layer in ("Core", "Search", "Offline", "Deps")
        ]
        environment = {
            **emulator.root_environment(self.config),
            **function["Environment"]["Variables"],
            "PYTHONPATH": os.pathsep.join(str(layer) for layer in layers),
        }
        command = [sys.executable, "-m", "uvicorn", "app:app", "--host", HOST]
        command += ["--port", str(self.config.ports.chat), "--log-level", "warning"]
        directory = self.config.build / "ChatFunction"
        process = Process("chat", command, environment, self.config.logs, directory)
        emulator.wait_for_port(process, self.config.ports.chat)
        return process

    def _start_forwarder(self) -> Process:
        api = f"{self.config.emulator_url}/_aws/execute-api/{self.outputs['ApiId']}/{STAGE}"
        command = [sys.executable, "-m", "local.forwarder", str(self.config.ports.origin)]
        environment = emulator.base_environment()
        process = Process(
            "forwarder", [*command, api, self.config.chat_url], environment, self.config.logs, ROOT
        )
        emulator.wait_for_port(process, self.config.ports.origin)
        return process


def stop_recorded(config: Config) -> bool:
    """Stop a stack that another process started; return whether there was one.

    A supervisor stops its parts itself; parts whose supervisor was killed are ended one by one.

    Raises:
        LocalStackError: It did not stop in time.
    """
    record = Record(config.directory / "processes.json")
    running = record.running()
    for name, pid in running.items():
        if not terminate(pid):
            raise LocalStackError(f"{name} (process {pid}) does not stop")
        if name != SUPERVISOR:
            end_group(pid)
    record.clear()
    config.stack_file.unlink(missing_ok=True)
    return bool(running)
