"""Run OpenSearch on this machine: `python -m local.opensearch start | stop | status`."""

import argparse
import sys
from pathlib import Path

from local.opensearch.errors import LocalOpenSearchError
from local.opensearch.install import find_java, install
from local.opensearch.node import Node

HOME = Path(__file__).resolve().parents[2] / ".local" / "opensearch"


def port(text: str) -> int:
    """Read a port number."""
    number = int(text)
    if not 0 < number < 65536:
        raise ValueError
    return number


def parse() -> argparse.Namespace:
    """Read the command line."""
    parser = argparse.ArgumentParser(prog="python -m local.opensearch", description=__doc__)
    parser.add_argument("command", choices=["start", "stop", "status"])
    parser.add_argument("--port", type=port, default=9200, help="of HTTP on 127.0.0.1 (9200)")
    parser.add_argument("--home", type=Path, default=HOME, help="server, log and data")
    parser.add_argument("--data", type=Path, help="start: keep the data here; else thrown away")
    return parser.parse_args()


def main() -> int:
    """Do what the command line says; the address of a running node is all that goes to stdout."""
    arguments = parse()
    home: Path = arguments.home.resolve()
    node = Node(home, arguments.port)
    try:
        if arguments.command == "stop":
            print("stopped" if node.stop() else "was not running", file=sys.stderr)
            return 0
        if arguments.command == "start":
            data = arguments.data and arguments.data.resolve()
            node.start(find_java(), install(home), data)
    except LocalOpenSearchError as error:
        print(error, file=sys.stderr)
        return 1
    if not (node.is_running() and node.is_ready()):
        print(f"not running on port {node.port}", file=sys.stderr)
        return 1
    print(node.url)
    return 0


if __name__ == "__main__":
    sys.exit(main())
