"""Where a local stack keeps its files, and its ports and passwords."""

import socket
import tomllib
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
HOST = "127.0.0.1"
STAGE = "local"
SETTINGS = Path("local/settings.toml")


class LocalStackError(Exception):
    """The local stack can not do what was asked; the text is one clear line for the user."""


@dataclass(frozen=True)
class Ports:
    """Ports of one stack, all on 127.0.0.1."""

    origin: int
    emulator: int
    chat: int
    replay: int


@dataclass(frozen=True)
class Config:
    """One local stack.

    Args:
        directory: Where its state, build, logs and ``stack.json`` live.
        ports: What it listens on.
        passwords: Password by user name.
    """

    directory: Path
    ports: Ports
    passwords: dict[str, str]

    @classmethod
    def default(cls) -> "Config":
        """Return the stack of ``make run``: ``.local`` and the ports of local/settings.toml."""
        settings = tomllib.loads((ROOT / SETTINGS).read_text())
        return cls(ROOT / ".local", Ports(**settings["ports"]), settings["passwords"])

    @classmethod
    def throwaway(cls, directory: Path) -> "Config":
        """Return a stack of its own in ``directory`` on free ports, as tests want it."""
        ports = Ports(*free_ports(4))
        return cls(directory, ports, cls.default().passwords)

    @property
    def state(self) -> Path:
        """What the emulator remembers between two runs."""
        return self.directory / "state"

    @property
    def build(self) -> Path:
        """What `sam build` made for this stack."""
        return self.directory / "build"

    @property
    def logs(self) -> Path:
        """Logs of the processes."""
        return self.directory / "logs"

    @property
    def stack_file(self) -> Path:
        """Addresses and tokens, as JSON."""
        return self.directory / "stack.json"

    @property
    def origin(self) -> str:
        """Address of console and API. Not an IP address: sign-in returns to this very origin."""
        return f"http://localhost:{self.ports.origin}"

    @property
    def emulator_url(self) -> str:
        """Address of the emulator."""
        return f"http://{HOST}:{self.ports.emulator}"

    @property
    def chat_url(self) -> str:
        """Address of the chat server."""
        return f"http://{HOST}:{self.ports.chat}"


def free_ports(count: int) -> list[int]:
    """Return ports that nothing listens on now."""
    sockets = [socket.socket() for _ in range(count)]
    try:
        for each in sockets:
            each.bind((HOST, 0))
        return [each.getsockname()[1] for each in sockets]
    finally:
        for each in sockets:
            each.close()


def require_free(ports: Ports) -> None:
    """Check that the ports of a stack are free.

    Raises:
        LocalStackError: One is in use; the replay port is not checked, it is only reserved.
    """
    for name in ("origin", "emulator", "chat"):
        with socket.socket() as probe:
            probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            try:
                probe.bind((HOST, getattr(ports, name)))
            except OSError as error:
                raise LocalStackError(
                    f"port {getattr(ports, name)} ({name}) is in use: stop what uses it "
                    f"(`make down` if it is a stack of this tree) or change {SETTINGS}"
                ) from error
