"""What is generated from the code says what the code does."""

from __future__ import annotations

import json
from typing import Any

import pytest

from local import docs
from threadkeep import openapi

HOW = "run `make docs`"


@pytest.fixture(scope="module")
def document() -> dict[str, Any]:
    loaded: dict[str, Any] = json.loads(docs.openapi_text())
    return loaded


def test_openapi_is_up_to_date() -> None:
    assert docs.OPENAPI.read_text("utf-8") == docs.openapi_text(), HOW


def test_table_of_error_codes_is_up_to_date() -> None:
    assert docs.ERRORS.read_text("utf-8") == docs.errors_text(), HOW


def test_documentation_links_to_the_file_that_is_shipped() -> None:
    assert (docs.ROOT / "docs/openapi.json").resolve() == docs.OPENAPI
    assert openapi.published() == json.loads(docs.OPENAPI.read_text("utf-8"))


def test_every_operation_has_a_name_and_a_summary_of_its_own(document: dict[str, Any]) -> None:
    # given
    operations = [one for path in document["paths"].values() for one in path.values()]
    # then
    names = [operation["operationId"] for operation in operations]
    assert len(set(names)) == len(names)
    assert all(operation["summary"].endswith(".") for operation in operations)


def test_every_reference_leads_somewhere(document: dict[str, Any]) -> None:
    # given
    def references(node: Any) -> set[str]:
        if isinstance(node, dict):
            own = {node["$ref"]} if isinstance(node.get("$ref"), str) else set()
            return own.union(*(references(value) for value in node.values()))
        return (
            set().union(*(references(value) for value in node)) if isinstance(node, list) else set()
        )

    # then
    known = {f"#/components/schemas/{name}" for name in document["components"]["schemas"]}
    assert references(document) <= known


def test_what_has_a_version_takes_if_match(document: dict[str, Any]) -> None:
    # given
    schemas = document["components"]["schemas"]

    def has_version(operations: dict[str, Any]) -> bool:
        good = operations.get("get", {}).get("responses", {}).get("200", {})
        schema = good.get("content", {}).get("application/json", {}).get("schema", {})
        named = schemas.get(schema.get("$ref", "").rsplit("/", 1)[-1], schema)
        return "version" in named.get("properties", {})

    # when
    changes = {
        one["operationId"]: {parameter["name"] for parameter in one.get("parameters", ())}
        for operations in document["paths"].values()
        if has_version(operations)
        for method, one in operations.items()
        if method in ("put", "patch", "delete")
    }
    # then
    assert "delete_conversation" in changes
    assert [name for name, parameters in changes.items() if "If-Match" not in parameters] == []


def test_optional_fields_of_bodies_take_null(document: dict[str, Any]) -> None:
    """An optional field that is null is absent, whatever its default."""
    # given
    schemas = document["components"]["schemas"]

    def resolved(schema: dict[str, Any]) -> dict[str, Any]:
        named: dict[str, Any] = (
            schemas[schema["$ref"].rsplit("/", 1)[1]] if "$ref" in schema else {}
        )
        return named or schema

    def takes_null(schema: dict[str, Any]) -> bool:
        schema = resolved(schema)
        return not schema or schema.get("type") == "null" or any(map(takes_null, options(schema)))

    def options(schema: dict[str, Any]) -> list[dict[str, Any]]:
        return [*schema.get("anyOf", ()), *schema.get("oneOf", ())]

    def refusals(schema: dict[str, Any], at: str) -> list[str]:
        schema = resolved(schema)
        found = [name for option in options(schema) for name in refusals(option, at)]
        for name, field in schema.get("properties", {}).items():
            place = f"{at}.{name}"
            if name not in schema.get("required", ()) and not takes_null(field):
                found.append(place)
            found += refusals(field, place)
        return found

    operations = {
        one["operationId"]: one for path in document["paths"].values() for one in path.values()
    }
    bodies = {
        name: one["requestBody"]["content"]["application/json"]["schema"]
        for name, one in operations.items()
        if "requestBody" in one
    }
    # then
    assert "create_agent" in bodies
    assert [place for name, body in bodies.items() for place in refusals(body, name)] == []


def test_open_routes_ask_for_no_token(document: dict[str, Any]) -> None:
    assert document["paths"]["/api/v1/health"]["get"]["security"] == []
    assert document["security"] == [{"token": []}]


def test_code_that_is_not_written_out_is_found(tmp_path: Any) -> None:
    # given: a module that makes an error with a code that nobody can read off
    path = tmp_path / "made_up.py"
    path.write_text("def f(x): raise ConflictError('No.', code=x + 'y')")
    # then
    with pytest.raises(ValueError, match="not written out"):
        list(docs.codes_in(path))


def test_codes_are_read_from_calls_and_from_functions_that_make_errors(tmp_path: Any) -> None:
    # given
    path = tmp_path / "made_up.py"
    path.write_text(
        "def a(n): raise ConflictError(f'Too {n}.', code='too_much')\n"
        "def b(code, detail) -> ValidationError: return ValidationError(detail, code=code)\n"
        "def c(): raise b('odd', 'It is odd.')\n"
        "def d(): raise invalid_field('name', 'ugly', 'It is ugly.')\n"
    )
    # then
    assert [(one.code, one.status, one.meaning) for one in docs.codes_in(path)] == [
        ("too_much", 409, "Too {…}."),
        ("odd", 422, "It is odd."),
        ("ugly", 422, "It is ugly."),
    ]
