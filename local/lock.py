"""Write requirements.lock and the requirements of each layer and tool (`make lock`, needs uv).

pyproject.toml says what is wanted and requirements.lock pins all of it with hashes. A layer gets
the part of the lock that its group needs, as plain pins, which is what `sam build` understands.
"""

import re
import subprocess
import tomllib
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
LAMBDA_PLATFORM = "x86_64-manylinux_2_28"
TOOLS = {"sam": ["aws-sam-cli"], "emulator": ["ministack", "aws-sam-translator", "cryptography"]}


def compile_pins(*arguments: str, stdin: str | None = None) -> list[str]:
    """Run `uv pip compile` with the arguments; return the pins it printed."""
    command = ["uv", "pip", "compile", "--quiet", "--no-header", "--no-annotate"]
    run = subprocess.run(
        [*command, "--python-version", "3.13", *arguments],
        cwd=ROOT,
        input=stdin,
        text=True,
        check=True,
        stdout=subprocess.PIPE,
    )
    return run.stdout.splitlines()


def closure(group: str) -> list[str]:
    """Return the pins of one dependency group and of all it needs, as the lock has them."""
    constraint = ["-c", "requirements.lock", "--python-platform", LAMBDA_PLATFORM]
    return compile_pins("--group", group, *constraint, "pyproject.toml")


def write(path: str, pins: list[str]) -> None:
    """Write pins to a file of the project."""
    (ROOT / path).write_text("\n".join(pins) + "\n")


def main() -> None:
    """Resolve anew, keeping what is pinned already where it still fits."""
    groups = tomllib.loads((ROOT / "pyproject.toml").read_text())["dependency-groups"]
    everything = [f"--group={name}" for name in groups]
    compile_pins(
        *everything, "--universal", "--generate-hashes", "-o", "requirements.lock", "pyproject.toml"
    )
    deps = closure("deps")
    write("layers/deps/requirements.txt", deps)
    write(
        "layers/search/requirements.txt", [pin for pin in closure("search") if pin not in set(deps)]
    )
    # The offline layer is installed without dependencies: only weights and tokenizer are used.
    named = {re.split(r"[^\w-]", wanted)[0] for wanted in groups["offline"]}
    offline = [pin for pin in closure("offline") if pin.split("==")[0] in named]
    write("layers/offline/requirements.txt", offline)
    for tool, packages in TOOLS.items():
        write(
            f"local/tools-{tool}.txt", compile_pins("--universal", "-", stdin="\n".join(packages))
        )


if __name__ == "__main__":
    main()
