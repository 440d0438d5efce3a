"""Command line of the local stack: see COMMANDS."""

import signal
import subprocess
import sys
import time
from pathlib import Path
from types import FrameType

from local.config import ROOT, Config, LocalStackError
from local.stack import Addresses, Stack, stop_recorded

BACKGROUND = "--background"
UP_SECONDS = 600


def say(line: str) -> None:
    """Print a line of progress."""
    print(line, flush=True)


def run(config: Config) -> None:
    """Start the stack and stay until Ctrl-C or SIGTERM."""
    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, _interrupt)
    stack = Stack(config, say)
    try:
        addresses = stack.start()
        _greet(addresses, config)
        while True:
            time.sleep(1)
            stack.check()
    except KeyboardInterrupt:
        say("stopping")
    finally:
        signal.signal(signal.SIGINT, signal.SIG_IGN)
        signal.signal(signal.SIGTERM, signal.SIG_IGN)
        stack.stop()


def up(config: Config) -> None:
    """Start the stack in the background and return when it is ready."""
    config.logs.mkdir(parents=True, exist_ok=True)
    log = config.logs / "run.log"
    with log.open("wb") as output:
        child = subprocess.Popen(
            [sys.executable, "-m", "local", "run", BACKGROUND],
            cwd=ROOT,
            stdin=subprocess.DEVNULL,
            stdout=output,
            stderr=subprocess.STDOUT,
            start_new_session=True,
        )
    deadline = time.monotonic() + UP_SECONDS
    while "Ctrl-C" not in log.read_text(errors="replace"):
        if child.poll() is not None or time.monotonic() > deadline:
            raise LocalStackError(log.read_text(errors="replace").strip().splitlines()[-1])
        time.sleep(0.2)
    say(log.read_text(errors="replace").strip())


def down(config: Config) -> None:
    """Stop the stack; its data stays."""
    say("stopped" if stop_recorded(config) else "nothing was running")


def tokens(config: Config) -> None:
    """Sign the users in again."""
    stack = Stack(config)
    stack.attach()
    stack.refresh_tokens()
    say(f"fresh tokens in {config.stack_file.relative_to(ROOT)}")


def _greet(addresses: Addresses, config: Config) -> None:
    passwords = ", ".join(f"{name} / {password}" for name, password in config.passwords.items())
    say(f"console  {addresses.console_url}   ({passwords})")
    say(f"API      {addresses.api_url}/api/v1   (tokens in {config.stack_file.relative_to(ROOT)})")
    say("Ctrl-C stops it (make down, if it runs in the background)")


def _interrupt(number: int, frame: FrameType | None) -> None:
    raise KeyboardInterrupt


def sam_local(config: Config) -> None:
    """Run the function of an event in a container."""
    from local.sam_local import invoke

    invoke(config, Path(sys.argv[2] if len(sys.argv) > 2 else "EVENT"))


COMMANDS = {"run": run, "up": up, "down": down, "tokens": tokens, "sam-local": sam_local}


def main() -> int:
    """Run the command; a failure is one line and exit code 1."""
    command = COMMANDS.get(sys.argv[1] if len(sys.argv) > 1 else "")
    if command is None:
        print(f"usage: python -m local {' | '.join(COMMANDS)}", file=sys.stderr)
        return 2
    try:
        command(Config.default())
    except LocalStackError as error:
        print(error, file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
