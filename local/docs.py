"""Write what is generated from the code: ``make docs``.

``docs/openapi.json`` is a link to the file that the core package ships, so that there is one copy.
"""

import ast
import importlib
import inspect
import json
from collections import defaultdict
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from threadkeep import errors, openapi
from threadkeep.errors import ThreadkeepError
from threadkeep.http import Api

ROOT = Path(__file__).resolve().parent.parent
PACKAGE = ROOT / "layers/core/threadkeep"
OPENAPI = PACKAGE / openapi.FILE_NAME
ERRORS = ROOT / "docs/errors.md"

_CLASSES = {
    name: found
    for name, found in inspect.getmembers(errors, inspect.isclass)
    if issubclass(found, ThreadkeepError)
}


@dataclass(frozen=True)
class Failure:
    """A code as one place in the code uses it."""

    code: str
    status: int
    meaning: str


def apis() -> list[Api]:
    """Return the routes of every function that has some."""
    names = sorted(path.parent.name for path in (ROOT / "functions").glob("*/app.py"))
    modules = [importlib.import_module(f"functions.{name}.app") for name in names]
    return [module.api for module in modules if hasattr(module, "api")]


def openapi_text() -> str:
    """Return the description of the whole API."""
    document = openapi.describe(route for api in apis() for route in api.routes)
    return json.dumps(document, indent=1, ensure_ascii=False) + "\n"


def errors_text() -> str:
    """Return the table of all error codes."""
    meanings: defaultdict[tuple[str, int], dict[str, None]] = defaultdict(dict)
    for failure in failures():
        meanings[failure.code, failure.status].setdefault(failure.meaning)
    rows = [
        f"| `{code}` | {status} | {' · '.join(found)} |"
        for (code, status), found in sorted(meanings.items())
    ]
    return "\n".join(
        [
            "# Error codes",
            "",
            "Every failure is a problem document (RFC 9457) whose `code` is one of these. "
            "Generated from the code by `make docs`; `{…}` stands for a value. The "
            "codes in `errors[]` are these, pydantic's error types, `repeated` or `invalid_id`.",
            "",
            "| code | status | meaning |",
            "|---|---|---|",
            *rows,
            "",
        ]
    )


def failures() -> Iterator[Failure]:
    """Yield every code: those of the error classes, and those that a call names.

    Raises:
        ValueError: A code is not written out where the error is made.
    """
    for found in _CLASSES.values():
        described = found.title if found is ThreadkeepError else inspect.getdoc(found) or ""
        yield Failure(found.code, found.status, described.partition("\n")[0])
    for path in sorted([*PACKAGE.rglob("*.py"), *(ROOT / "functions").rglob("*.py")]):
        yield from codes_in(path)


def codes_in(path: Path) -> Iterator[Failure]:
    """Yield the codes that a module names: in calls of error classes, and of functions that
    return an error.

    Raises:
        ValueError: A code is not written out where the error is made.
    """
    yield from _Finder(path).find()


class _Finder(ast.NodeVisitor):
    """Finds the codes in a module: in calls of error classes, and of functions that return one."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._tree = ast.parse(path.read_text("utf-8"))
        self._makers: dict[str, tuple[type[ThreadkeepError], list[str]]] = {
            name: (found, ["detail"]) for name, found in _CLASSES.items()
        }
        self._makers["invalid_field"] = (errors.ValidationError, ["field", "code", "detail"])
        self._within: list[str] = []
        self._found: list[Failure] = []
        functions = [node for node in ast.walk(self._tree) if isinstance(node, ast.FunctionDef)]
        for function in functions:
            if isinstance(function.returns, ast.Name) and function.returns.id in _CLASSES:
                names = [argument.arg for argument in function.args.args]
                self._makers[function.name] = (_CLASSES[function.returns.id], names)

    def find(self) -> Iterator[Failure]:
        """Yield the codes of the module."""
        self.visit(self._tree)
        yield from self._found

    def visit_FunctionDef(self, node: ast.FunctionDef) -> None:
        self._within.append(node.name)
        self.generic_visit(node)
        self._within.pop()

    def visit_Call(self, node: ast.Call) -> None:
        self.generic_visit(node)
        if not isinstance(node.func, ast.Name) or node.func.id not in self._makers:
            return
        made, names = self._makers[node.func.id]
        given = dict(zip(names, node.args, strict=False))
        given |= {keyword.arg: keyword.value for keyword in node.keywords if keyword.arg}
        if "code" in given and not self._is_handed_on(given["code"]):
            code = self._constant(given["code"])
            self._found.append(Failure(code, made.status, _text(given.get("detail"))))

    def _is_handed_on(self, code: ast.expr) -> bool:
        """Tell whether a function that makes errors uses the code that it was called with."""
        return (
            isinstance(code, ast.Name)
            and bool(self._within)
            and code.id in self._makers.get(self._within[-1], (ThreadkeepError, []))[1]
        )

    def _constant(self, code: ast.expr) -> str:
        if isinstance(code, ast.Name):
            relative = self._path.relative_to(
                ROOT / "layers/core" if self._path.is_relative_to(PACKAGE) else ROOT
            )
            module = importlib.import_module(".".join(relative.with_suffix("").parts))
            value = getattr(module, code.id, None)
        else:
            value = code.value if isinstance(code, ast.Constant) else None
        if not isinstance(value, str):
            raise ValueError(f"{self._path}:{code.lineno}: the code is not written out")
        return value


def _text(detail: ast.expr | None) -> str:
    """Return a sentence as written, with ``{…}`` in place of what is filled in."""
    parts = detail.values if isinstance(detail, ast.JoinedStr) else [detail]
    return "".join(str(part.value) if isinstance(part, ast.Constant) else "{…}" for part in parts)


def main() -> None:
    """Write the files."""
    OPENAPI.write_text(openapi_text(), "utf-8")
    ERRORS.write_text(errors_text(), "utf-8")


if __name__ == "__main__":
    main()
