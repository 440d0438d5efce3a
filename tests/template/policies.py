"""What each function may do, read from the translated template.

``grants(document)["ChatFunction"]`` is a set of ``(action, resource)``, such as
``("dynamodb:GetItem", "Table")``, ``("dynamodb:Query", "Table/index/*")``,
``("dynamodb:GetRecords", "Table/stream")`` or ``("s3:GetObject", "Bucket/*")``: a resource of the
template is named by its logical id.
"""

import re
from collections.abc import Iterator
from typing import Any

from tests.template.translation import Document, resources_of

type Grants = frozenset[tuple[str, str]]


def grants(document: Document) -> dict[str, Grants]:
    """Return what the role of each function allows; statements under a condition count."""
    functions = resources_of(document, "AWS::Lambda::Function")
    return {
        name: frozenset(_grants_of(document, resource["Properties"]["Role"]))
        for name, resource in functions.items()
    }


def _grants_of(document: Document, role: Any) -> Iterator[tuple[str, str]]:
    name = role["Fn::GetAtt"][0]
    properties = document["Resources"][name]["Properties"]
    if properties.get("ManagedPolicyArns"):
        raise ValueError(f"{name} has managed policies, which this reader does not know")
    for policy in properties["Policies"]:
        for statement in policy["PolicyDocument"]["Statement"]:
            yield from _grants_of_statement(_unconditional(statement))


def _grants_of_statement(statement: Document) -> Iterator[tuple[str, str]]:
    if statement["Effect"] != "Allow":
        raise ValueError(f"this reader knows Allow only: {statement}")
    for action in _listed(statement["Action"]):
        for resource in _listed(statement["Resource"]):
            yield action, _resource_name(resource)


def _unconditional(statement: Document) -> Document:
    if "Fn::If" in statement:
        _, then, _ = statement["Fn::If"]
        return dict(then)
    return statement


def _listed(value: Any) -> list[Any]:
    return value if isinstance(value, list) else [value]


def _resource_name(resource: Any) -> str:
    match resource:
        case str():
            return resource
        case {"Fn::GetAtt": [name, "Arn"]}:
            return str(name)
        case {"Fn::GetAtt": [name, "StreamArn"]}:
            return f"{name}/stream"
        case {"Fn::Sub": str() as pattern}:
            return re.sub(r"\$\{(\w+)\.Arn\}", r"\1", pattern)
        case {"Ref": str() as parameter}:
            return f"${{{parameter}}}"
    raise ValueError(f"unknown form of a resource: {resource}")
