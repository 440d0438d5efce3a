"""The API's description in OpenAPI 3.1 (https://spec.openapis.org/oas/v3.1.1), from the routes.

The description of all functions together is written by ``make docs`` and shipped in
this package, since no function can import another.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from importlib.resources import files
from typing import TYPE_CHECKING, Any

from pydantic import BaseModel, ConfigDict
from pydantic.json_schema import GenerateJsonSchema, JsonSchemaMode, models_json_schema

from threadkeep.domain.limits import ID_PATTERN

if TYPE_CHECKING:
    from pydantic.json_schema import JsonSchemaValue
    from pydantic_core import core_schema

    from threadkeep.http.routes import Route

FILE_NAME = "openapi.json"
_REF = "#/components/schemas/{model}"
_DESCRIPTIONS = {200: "OK", 201: "Created", 202: "Accepted", 204: "Done, no body"}

type Models = Mapping[tuple[Any, JsonSchemaMode], JsonSchemaValue]


class FieldProblem(BaseModel):
    """A faulty field of a request."""

    field: str
    code: str
    detail: str


class Problem(BaseModel):
    """A failure (RFC 9457); some codes add members of their own, such as `current_version`."""

    model_config = ConfigDict(extra="allow")

    type: str
    title: str
    status: int
    detail: str
    code: str
    request_id: str
    errors: tuple[FieldProblem, ...] = ()


class _Schemas(GenerateJsonSchema):
    """Schemas of what is sent: a null field is left out of an answer."""

    def nullable_schema(self, schema: core_schema.NullableSchema) -> JsonSchemaValue:
        if self.mode == "serialization":
            return self.generate_inner(schema["schema"])
        return super().nullable_schema(schema)

    def default_schema(self, schema: core_schema.WithDefaultSchema) -> JsonSchemaValue:
        described = super().default_schema(schema)
        if self.mode == "serialization" and described.get("default", ...) is None:
            del described["default"]
        return described


def published() -> Mapping[str, Any]:
    """Return the description of the whole API that this package ships."""
    document: dict[str, Any] = json.loads(
        files("threadkeep").joinpath(FILE_NAME).read_text("utf-8")
    )
    return document


def describe(routes: Iterable[Route]) -> dict[str, Any]:
    """Describe routes in one OpenAPI 3.1 document."""
    ordered = sorted(routes, key=lambda route: (route.path, route.method))
    schemas, definitions = _schemas(ordered)
    paths: dict[str, dict[str, Any]] = {}
    for route in ordered:
        operation = _operation(route, schemas, definitions)
        paths.setdefault(route.full_path, {})[route.method.lower()] = operation
    queries = {schemas[route.query, "validation"]["$ref"] for route in ordered if route.query}
    shown = {
        name: schema
        for name, schema in definitions.items()
        if _REF.format(model=name) not in queries
    }
    return {
        "openapi": "3.1.0",
        "info": {
            "title": "Threadkeep",
            "version": "1",
            "description": "Memory service for AI agents. Failures are problem documents "
            "(RFC 9457); docs/errors.md lists their codes.",
        },
        "security": [{"token": []}],
        "paths": paths,
        "components": {
            "schemas": shown,
            "securitySchemes": {
                "token": {"type": "http", "scheme": "bearer", "bearerFormat": "JWT"}
            },
        },
    }


def _schemas(routes: Iterable[Route]) -> tuple[Models, dict[str, Any]]:
    """Return the schema of each model that the routes name, and all definitions they refer to."""
    wanted: dict[tuple[type[BaseModel], JsonSchemaMode], None] = {(Problem, "serialization"): None}
    for route in routes:
        for model in (route.body, route.query):
            if model is not None:
                wanted[model, "validation"] = None
        if route.response is not None:
            wanted[route.response, "serialization"] = None
    schemas, definitions = models_json_schema(
        list(wanted), ref_template=_REF, schema_generator=_Schemas
    )
    return schemas, definitions["$defs"]


def _operation(route: Route, schemas: Models, definitions: Mapping[str, Any]) -> dict[str, Any]:
    operation: dict[str, Any] = {
        "operationId": route.operation_id,
        "summary": route.summary,
        "tags": [route.tag],
        "parameters": list(_parameters(route, schemas, definitions)),
        "responses": _responses(route, schemas),
    }
    if route.body is not None:
        content = {"application/json": {"schema": schemas[route.body, "validation"]}}
        operation["requestBody"] = {"required": True, "content": content}
    if route.open_to_all:
        operation["security"] = []
    return operation


def _parameters(
    route: Route, schemas: Models, definitions: Mapping[str, Any]
) -> Iterable[dict[str, Any]]:
    identifier = {"type": "string", "pattern": ID_PATTERN}
    for name in route.path_names:
        yield {"name": name, "in": "path", "required": True, "schema": identifier}
    if route.query is not None:
        name = schemas[route.query, "validation"]["$ref"].rpartition("/")[2]
        query = definitions[name]
        required = query.get("required", [])
        for field, schema in query["properties"].items():
            yield {
                "name": field,
                "in": "query",
                "required": field in required,
                "schema": _without_null(schema),
            }
    if route.versioned:
        yield _header("If-Match", 'Versions that are accepted, such as `"v3"`.')
    if route.writes:
        yield _header("Idempotency-Key", "The first answer to this key is replayed for 24 hours.")


def _header(name: str, description: str) -> dict[str, Any]:
    return {
        "name": name,
        "in": "header",
        "description": description,
        "schema": {"type": "string"},
    }


def _without_null(schema: Mapping[str, Any]) -> dict[str, Any]:
    """Return a parameter's schema without null, which no query can say."""
    kept = {key: value for key, value in schema.items() if key not in ("anyOf", "default")}
    if schema.get("default") is not None:
        kept["default"] = schema["default"]
    options = [option for option in schema.get("anyOf", ()) if option != {"type": "null"}]
    return (
        {**options[0], **kept}
        if len(options) == 1
        else {**kept, "anyOf": options}
        if options
        else kept
    )


def _responses(route: Route, schemas: Models) -> dict[str, Any]:
    good: dict[str, Any] = {}
    for status in route.statuses:
        good[str(status)] = {"description": _DESCRIPTIONS[status]}
        if route.response is None:
            continue
        schema = schemas[route.response, "serialization"]
        good[str(status)]["content"] = {"application/json": {"schema": schema}}
        if "version" in route.response.model_fields:
            etag = {"description": 'Such as `"v3"`.', "schema": {"type": "string"}}
            good[str(status)]["headers"] = {"ETag": etag}
    problem = schemas[Problem, "serialization"]
    return {
        **good,
        "default": {
            "description": "A failure",
            "content": {"application/problem+json": {"schema": problem}},
        },
    }
