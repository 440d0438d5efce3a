"""Starting and stopping one node; its lock file tells whether it runs."""

import contextlib
import fcntl
import http.client
import os
import shutil
import signal
import socket
import subprocess
import time
from dataclasses import dataclass
from pathlib import Path
from typing import IO

from local.opensearch.errors import LocalOpenSearchError

LAUNCHER = Path(__file__).with_name("LocalNode.java")
CONFIG = LAUNCHER.with_name("config")
START_SECONDS = 120.0
STOP_SECONDS = 30.0
POLL_SECONDS = 0.1
JVM_OPTIONS = [
    "-Xms512m",
    "-Xmx1g",
    "--add-modules=jdk.incubator.vector",  # Lucene scores vectors with it
    "--enable-native-access=ALL-UNNAMED",
]


@dataclass(frozen=True, slots=True)
class Node:
    """A node on 127.0.0.1: single-node cluster, no security, HTTP on `port`.

    The process holds a lock on `lock_path` for as long as it lives, inherited from the command that
    started it. So a crash leaves nothing to clean up, and a process id is only trusted while the
    lock is held.

    Attributes:
        folder: where the lock file, the log and throw-away data lie.
        port: of the HTTP interface.
    """

    folder: Path
    port: int

    @property
    def url(self) -> str:
        """Address of the HTTP interface."""
        return f"http://127.0.0.1:{self.port}"

    @property
    def log_path(self) -> Path:
        """What the node printed since its last start."""
        return self.folder / f"node-{self.port}.log"

    @property
    def lock_path(self) -> Path:
        """The lock file; it contains the process id."""
        return self.folder / f"node-{self.port}.pid"

    @property
    def throwaway_data(self) -> Path:
        """The data folder used when none is given; emptied at every start and stop."""
        return self.folder / f"data-{self.port}"

    def start(self, java: Path, home: Path, data: Path | None = None) -> None:
        """Start the node and wait until its cluster is yellow or green; join one that runs.

        Args:
            java: the `java` of a JDK.
            home: folder of the server, see `install`.
            data: folder to keep the data in; None for throw-away data.

        Raises:
            LocalOpenSearchError: the port is taken, or the node ended or was not ready in time.
        """
        self.folder.mkdir(parents=True, exist_ok=True)
        with self.lock_path.open("a") as lock:
            if _acquire(lock):
                self._spawn(lock, java, home, data)
        self._wait_until_ready()

    def stop(self) -> bool:
        """End the node and drop its throw-away data; return whether it ran.

        Raises:
            LocalOpenSearchError: the process did not end.
        """
        was_running = self.is_running()
        if was_running and not (self._end(signal.SIGTERM) or self._end(signal.SIGKILL)):
            message = f"the node on port {self.port} does not end; see {self.log_path}"
            raise LocalOpenSearchError(message)
        shutil.rmtree(self.throwaway_data, ignore_errors=True)
        return was_running

    def is_running(self) -> bool:
        """Tell whether the process lives."""
        if not self.lock_path.exists():
            return False
        with self.lock_path.open() as lock:
            return not _acquire(lock)

    def is_ready(self) -> bool:
        """Tell whether the cluster answers that it is yellow or green."""
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=5)
        try:
            connection.request("GET", "/_cluster/health?wait_for_status=yellow&timeout=1s")
            return connection.getresponse().status == http.HTTPStatus.OK
        except (OSError, http.client.HTTPException):
            return False
        finally:
            connection.close()

    def _spawn(self, lock: IO[str], java: Path, home: Path, data: Path | None) -> None:
        """Start the process, which inherits the lock."""
        self._require_free_port()
        lock.truncate(0)  # a process id that is no longer ours must not be found
        if data is None:
            shutil.rmtree(self.throwaway_data, ignore_errors=True)
        command = [
            str(java),
            *JVM_OPTIONS,
            f"--class-path={home}/lib/*",
            str(LAUNCHER),
            str(CONFIG),
        ]
        command += [
            f"path.home={home}",
            f"path.data={data or self.throwaway_data}",
            f"http.port={self.port}",
        ]
        with self.log_path.open("w") as log:
            process = subprocess.Popen(
                command,
                cwd=self.folder,
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=subprocess.STDOUT,
                start_new_session=True,
                pass_fds=[lock.fileno()],
            )
        lock.write(str(process.pid))

    def _require_free_port(self) -> None:
        """Say so now if the node could not listen, instead of in its log."""
        with socket.socket() as probe:
            probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            try:
                probe.bind(("127.0.0.1", self.port))
            except OSError as error:
                message = f"port {self.port} is taken by another program"
                raise LocalOpenSearchError(message) from error

    def _wait_until_ready(self) -> None:
        """Return when the cluster answers; raise when the process ends or takes too long."""
        deadline = time.monotonic() + START_SECONDS
        while not self.is_ready():
            if not self.is_running():
                message = f"OpenSearch ended while starting; see {self.log_path}"
                raise LocalOpenSearchError(message)
            if time.monotonic() > deadline:
                message = f"OpenSearch was not ready in {START_SECONDS:.0f} s; see {self.log_path}"
                raise LocalOpenSearchError(message)
            time.sleep(POLL_SECONDS)

    def _end(self, how: signal.Signals) -> bool:
        """Send a signal to the process and wait for its end; return whether it ended."""
        process_id = self.lock_path.read_text()
        if not process_id:
            message = f"the node on port {self.port} is just being started; stop it afterwards"
            raise LocalOpenSearchError(message)
        deadline = time.monotonic() + STOP_SECONDS
        with contextlib.suppress(ProcessLookupError):
            os.kill(int(process_id), how)
        while self.is_running() and time.monotonic() < deadline:
            time.sleep(POLL_SECONDS)
        return not self.is_running()


def _acquire(lock: IO[str]) -> bool:
    """Try to lock the file without waiting; return whether it worked."""
    try:
        fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    return True
