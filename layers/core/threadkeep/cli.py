"""Care of the search index, from an operator's machine: ``python -m threadkeep.cli --help``.

It runs with the settings of a function: those of the environment, or with ``--stack`` those of a
deployed stack. It says what it does on stdout, and nothing of what users wrote.
"""

from __future__ import annotations

import argparse
import os
import sys
from typing import TYPE_CHECKING

from threadkeep.bootstrap import Bootstrap
from threadkeep.errors import ConflictError, ThreadkeepError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence

    from threadkeep.search.opensearch_generations import OpenSearchGenerations
    from threadkeep.services.index_care import Difference

type Command = Callable[[Bootstrap, argparse.Namespace], int]


def rebuild(product: Bootstrap, arguments: argparse.Namespace) -> int:
    """Write all documents anew into every generation, while serving; may be repeated.

    An index of the search engine that was lost is made first.
    """
    if product.settings.search_backend == "opensearch":
        product.opensearch_generations.prepare()
    left = 0
    for user_id in _users(product, arguments):
        done = product.index_care.rebuild(user_id)
        left += done.left
        print(f"{user_id}: {done.indexed} indexed, {done.removed} removed, {done.left} left")
    return 1 if left else 0


def verify(product: Bootstrap, arguments: argparse.Namespace) -> int:
    """Compare table and indexes; differences are printed, and none is expected."""
    count = 0
    for user_id in _users(product, arguments):
        for found in product.index_care.verify(user_id):
            print(f"{user_id}: {found.ref} is {found.what} in {found.index}")
            count += 1
    print(f"{count} differences")
    return 1 if count else 0


def generations(product: Bootstrap, arguments: argparse.Namespace) -> int:
    """List the indexes of the search engine: which serves, which are written, which are left."""
    engine = _engine(product)
    serving, written = engine.serving().name, {each.name for each in engine.written()}
    for name in engine.names():
        state = "serves" if name == serving else "written" if name in written else "left over"
        print(f"{name}  {state}")
    return 0


def switch(product: Bootstrap, arguments: argparse.Namespace) -> int:
    """Let another generation serve, if it holds everything that the table calls for."""
    engine, name = _engine(product), arguments.name
    if name not in {each.name for each in engine.written()}:
        raise ConflictError(f"{name!r} is written by no function: configure its embedder first.")
    lacking = sum(
        1
        for user_id in product.users.all()
        for found in product.index_care.verify(user_id)
        if _lacks(found, name)
    )
    if lacking:
        raise ConflictError(f"{name!r} lacks {lacking} documents: rebuild first.")
    engine.switch(name)
    print(f"{name} serves")
    return 0


def drop(product: Bootstrap, arguments: argparse.Namespace) -> int:
    """Delete an index that is left over from a former embedder."""
    _engine(product).drop(arguments.name)
    print(f"{arguments.name} is gone")
    return 0


def parser() -> argparse.ArgumentParser:
    """Return the reader of the command line."""
    made = argparse.ArgumentParser(prog="python -m threadkeep.cli", description=__doc__)
    made.add_argument("--stack", help="take the settings of this deployed stack")
    commands = made.add_subparsers(required=True, metavar="COMMAND")

    def add(command: Command) -> argparse.ArgumentParser:
        summary = (command.__doc__ or "").partition("\n")[0]
        added = commands.add_parser(command.__name__, help=summary)
        added.set_defaults(command=command)
        return added

    who = add(rebuild).add_mutually_exclusive_group(required=True)
    who.add_argument("--user", help="id of one user")
    who.add_argument("--all", action="store_true", help="every user; reads the whole table")
    add(verify).add_argument("--user", help="id of one user; without it every one")
    add(generations)
    for command in (switch, drop):
        add(command).add_argument("name", help="name of the index, as `generations` lists it")
    return made


def main(words: Sequence[str] | None = None, product: Bootstrap | None = None) -> int:
    """Run a command.

    Args:
        words: The command line; the process's own by default.
        product: The product to run it on; one by the settings by default.

    Returns:
        Exit code: 0 when all is well, 1 when something differs or is left, 2 when it could not run.
    """
    arguments = parser().parse_args(words)
    try:
        if arguments.stack:
            os.environ.update(_environment_of(arguments.stack))
        return int(arguments.command(product or Bootstrap(), arguments))
    except ThreadkeepError as error:
        print(error.detail, file=sys.stderr)
        return 2


def _users(product: Bootstrap, arguments: argparse.Namespace) -> Iterable[str]:
    return [arguments.user] if arguments.user else product.users.all()


def _engine(product: Bootstrap) -> OpenSearchGenerations:
    if product.settings.search_backend != "opensearch":
        raise ConflictError("SEARCH_BACKEND is exact, which has no generations.")
    return product.opensearch_generations


def _lacks(found: Difference, name: str) -> bool:
    return found.index == name and found.what in ("missing", "stale")


def _environment_of(stack: str) -> Mapping[str, str]:
    """Return the environment of a stack's indexer, which has all that this needs."""
    import boto3

    resource = boto3.client("cloudformation").describe_stack_resource(
        StackName=stack, LogicalResourceId="IndexerFunction"
    )["StackResourceDetail"]
    function = boto3.client("lambda").get_function_configuration(
        FunctionName=resource["PhysicalResourceId"]
    )
    return function["Environment"]["Variables"]


if __name__ == "__main__":
    sys.exit(main())
