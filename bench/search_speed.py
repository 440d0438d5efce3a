"""How fast the exact back end scores and adds, beside a bare numpy block and other stores.

    .venv/bin/python bench/search_speed.py [--peers] [--json]

Every store is measured in a process of its own with the same vectors and one thread: 1,000 and
10,000 memories of one user beside ten other users of the same size. Then growth from 100 to 100,000
memories of a user alone. `--peers` adds mem0 on FAISS and LangGraph's InMemoryStore, in an
environment of their own that is made from bench/peers.txt on first use. Times depend on the machine
and on what else runs there: read the ratios, which are of the least disturbed search of each.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parent.parent
RUNNER = ROOT / "bench" / "speed_runner.py"
REQUIREMENTS = ROOT / "bench" / "peers.txt"
PEERS_HOME = ROOT / ".local" / "bench" / "peers"

OWN = ("floor", "product")
PEERS = ("mem0", "langgraph")
SIZES = (1_000, 10_000)
OTHERS = 10
GROWTH = (100, 1_000, 10_000, 100_000)
LIMIT_SECONDS = 360
"""Of one store at one size; the slowest took a third of that."""

type Figures = dict[str, float]


def main() -> None:
    """Run the benchmark from the command line."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--peers", action="store_true", help="measure mem0 and LangGraph too")
    parser.add_argument("--json", action="store_true", help="print one JSON object on stdout")
    arguments = parser.parse_args()
    pythons = dict.fromkeys(OWN, sys.executable)
    if arguments.peers:
        pythons |= dict.fromkeys(PEERS, str(peers_python()))
    beside = {
        str(size): {name: measure(python, name, size, OTHERS) for name, python in pythons.items()}
        for size in SIZES
    }
    growth = {
        str(size): {name: measure(sys.executable, name, size, 0) for name in OWN} for size in GROWTH
    }
    progress("")
    report = {"memories": beside, "growth": growth}
    print(json.dumps(report) if arguments.json else table(report))


def measure(python: str, name: str, size: int, others: int) -> Figures:
    """Measure one store at one size in a process of its own.

    Raises:
        subprocess.CalledProcessError: It failed; its own message is on stderr.
    """
    progress(f"{name}: {size:,} memories" + (f" beside {others} such users" if others else ""))
    threads = dict.fromkeys(("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS"), "1")
    done = subprocess.run(
        [python, str(RUNNER), name, str(size), str(others)],
        env=os.environ | threads,
        stdout=subprocess.PIPE,
        text=True,
        check=True,
        timeout=LIMIT_SECONDS,
    )
    figures: Figures = json.loads(done.stdout.splitlines()[-1])
    return figures


def peers_python() -> Path:
    """Return the Python of the peers' environment, made from bench/peers.txt on first use."""
    python = PEERS_HOME / "bin" / "python"
    ready = PEERS_HOME / "installed.txt"
    wanted = REQUIREMENTS.read_text(encoding="utf-8")
    if not ready.exists() or ready.read_text(encoding="utf-8") != wanted:
        progress("installing the peers of bench/peers.txt")
        subprocess.run([sys.executable, "-m", "venv", "--clear", str(PEERS_HOME)], check=True)
        quiet = ["--quiet", "--disable-pip-version-check"]
        install = [str(python), "-m", "pip", "install", *quiet, "-r", str(REQUIREMENTS)]
        subprocess.run(install, check=True)
        ready.write_text(wanted, encoding="utf-8")
    return python


def table(report: dict[str, Any]) -> str:
    """Return the report as text: milliseconds, and ratios to the product."""
    heads = (
        "search min", "to product", "to floor", "p50", "p95", "recall@10", "add p50", "to product",
        "MB",
    )  # fmt: skip
    lines = []
    for title, sizes in (
        (f"beside {OTHERS} other users", report["memories"]),
        ("alone", report["growth"]),
    ):
        lines += [_line(title, heads)]
        for size, stores in sizes.items():
            product, floor = stores["product"], stores["floor"]
            lines += [
                _line(
                    f"{int(size):>9,} {name}",
                    (
                        f"{row['search_min']:.3f}",
                        f"{row['search_min'] / product['search_min']:.1f} x",
                        f"{row['search_min'] / floor['search_min']:.1f} x",
                        f"{row['search_p50']:.3f}",
                        f"{row['search_p95']:.3f}",
                        f"{row['recall']:.3f}",
                        f"{row['add_p50']:.3f}",
                        f"{row['add_p50'] / product['add_p50']:.1f} x",
                        f"{row['memory_mb']:.0f}",
                    ),
                )
                for name, row in stores.items()
            ]
        lines.append("")
    return "\n".join(lines)


def _line(name: str, cells: tuple[str, ...]) -> str:
    return f"{name:24}" + "".join(f"{cell:>12}" for cell in cells)


def progress(text: str) -> None:
    """Show a line of progress on stderr, in place of the last one."""
    print(f"\r\033[K{text}", end="", file=sys.stderr, flush=True)


if __name__ == "__main__":
    main()
