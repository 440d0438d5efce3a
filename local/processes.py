"""Processes of a local stack: each in a group of its own, recorded, and ended as a group."""

import json
import os
import signal
import subprocess
import time
from collections.abc import Mapping, Sequence
from contextlib import suppress
from pathlib import Path

from local.config import LocalStackError

STOP_SECONDS = 30


class Process:
    """A server that a stack started.

    Args:
        name: What it is, for messages and the log's name.
        command: Its command line.
        environment: Its whole environment.
        logs: Folder of its log.
        directory: Where it runs.
    """

    def __init__(
        self,
        name: str,
        command: Sequence[str],
        environment: Mapping[str, str],
        logs: Path,
        directory: Path,
    ) -> None:
        logs.mkdir(parents=True, exist_ok=True)
        self.name = name
        self.log = logs / f"{name}.log"
        with self.log.open("wb") as log:
            self._child = subprocess.Popen(
                command,
                env=dict(environment),
                cwd=directory,
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=subprocess.STDOUT,
                start_new_session=True,  # Ctrl-C reaches the supervisor only, which stops in order
            )

    @property
    def pid(self) -> int:
        """Process id, which is the id of the group too."""
        return self._child.pid

    def running(self) -> bool:
        """Tell whether it runs."""
        return self._child.poll() is None

    def require_running(self) -> None:
        """Check that it has not ended.

        Raises:
            LocalStackError: It ended; the message has the end of its log.
        """
        if not self.running():
            tail = self.log.read_text(errors="replace").strip().splitlines()[-5:]
            raise LocalStackError(f"{self.name} ended ({self.log}): " + " | ".join(tail))

    def stop(self) -> None:
        """Ask it to end, wait until it has saved its state, and end what it left behind."""
        if self.running():
            self._child.terminate()
            try:
                self._child.wait(STOP_SECONDS)
            except subprocess.TimeoutExpired:
                self._child.kill()
                self._child.wait()
        end_group(self.pid)


def end_group(pid: int) -> None:
    """Kill what is left of a process group."""
    with suppress(ProcessLookupError, PermissionError):
        os.killpg(pid, signal.SIGKILL)


def command_of(pid: int) -> str:
    """Return the command line of a process, or nothing when it has ended."""
    if Path("/proc/self").exists():
        with suppress(OSError):
            return Path(f"/proc/{pid}/cmdline").read_bytes().replace(b"\0", b" ").decode().strip()
        return ""
    run = subprocess.run(
        ["ps", "-o", "command=", "-p", str(pid)], capture_output=True, text=True, check=False
    )
    return run.stdout.strip()


def terminate(pid: int) -> bool:
    """Ask a process that is not our child to end; return whether it ended in time."""
    with suppress(ProcessLookupError):
        os.kill(pid, signal.SIGTERM)
    deadline = time.monotonic() + STOP_SECONDS + 10
    while command_of(pid):
        if time.monotonic() > deadline:
            return False
        time.sleep(0.1)
    return True


class Record:
    """Which processes a stack runs, on disk, so that `make down` finds them.

    Args:
        path: The file.
    """

    def __init__(self, path: Path) -> None:
        self._path = path

    def write(self, processes: Mapping[str, int]) -> None:
        """Remember the process id of each part, with its command line to know it again."""
        entries = {
            name: {"pid": pid, "command": command_of(pid)} for name, pid in processes.items()
        }
        self._path.parent.mkdir(parents=True, exist_ok=True)
        self._path.write_text(json.dumps(entries, indent=1))

    def clear(self) -> None:
        """Forget them."""
        self._path.unlink(missing_ok=True)

    def running(self) -> dict[str, int]:
        """Return those that still run; an id that another program got meanwhile is not one."""
        try:
            entries = json.loads(self._path.read_text())
        except (FileNotFoundError, ValueError):
            return {}
        return {
            name: entry["pid"]
            for name, entry in entries.items()
            if entry["command"] and command_of(entry["pid"]) == entry["command"]
        }
