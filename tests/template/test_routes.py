"""Each route is guarded, reaches its function and answers errors in the service's own shape."""

import importlib
import json
import re
from collections import defaultdict
from pathlib import Path

import pytest

from tests.template.routes import GatewayRoute, api_body, gateway_routes, resolve
from tests.template.translation import ROOT, Document, resources_of
from threadkeep.http import Api

OPEN = {
    ("GET", "/api/v1/health"),
    ("GET", "/api/v1/openapi.json"),
    ("GET", "/app"),
    ("GET", "/app/{proxy+}"),
    ("GET", "/memories"),
    ("GET", "/site-settings/{proxy+}"),
    ("GET", "/callback"),
}
# https://docs.aws.amazon.com/lambda/latest/dg/gettingstarted-limits.html
POLICY_BYTES = 20 * 1024


@pytest.fixture
def routes(translated: Document) -> list[GatewayRoute]:
    return gateway_routes(translated)


def apis() -> dict[str, Api]:
    """Return what each function declares, by the function's folder."""
    declared = {}
    for app in sorted(Path(ROOT / "functions").glob("*/app.py")):
        module = importlib.import_module(f"functions.{app.parent.name}.app")
        if isinstance(getattr(module, "api", None), Api):
            declared[app.parent.name] = module.api
    return declared


def test_only_the_named_routes_are_open(routes: list[GatewayRoute]) -> None:
    assert {(route.method, route.path) for route in routes if route.is_open} == OPEN


def test_authorizer_is_the_user_pool(translated: Document) -> None:
    schemes = api_body(translated)["securityDefinitions"]
    authorizer = schemes["Users"]["x-amazon-apigateway-authorizer"]
    assert authorizer["type"] == "cognito_user_pools"
    assert authorizer["providerARNs"] == [{"Fn::GetAtt": ["UserPool", "Arn"]}]


def test_methods_are_named(routes: list[GatewayRoute]) -> None:
    assert {route.method for route in routes} <= {"GET", "POST", "PUT", "PATCH", "DELETE"}


def test_no_path_has_two_variables_side_by_side(routes: list[GatewayRoute]) -> None:
    # Given that API Gateway allows one variable child to a resource, and the emulator any number
    children: dict[str, set[str]] = defaultdict(set)
    for route in routes:
        segments = route.path.split("/")
        for position, segment in enumerate(segments):
            if segment.startswith("{"):
                children["/".join(segments[:position])].add(segment)
    # Then no resource has two
    assert {path: found for path, found in children.items() if len(found) > 1} == {}


@pytest.mark.parametrize("function", sorted(apis()))
def test_every_route_of_the_code_reaches_its_function(
    routes: list[GatewayRoute], function: str
) -> None:
    for declared in apis()[function].routes:
        # Given a route that the function declares
        path = re.sub(r"\{[^}]+\}", "01ABC", declared.full_path)
        # When API Gateway gets a request for it
        taken = resolve(routes, declared.method, path)
        # Then it hands it to that function, signed in or not as declared
        assert taken is not None, f"{declared.method} {path} has no route in the template"
        assert taken.function == f"{function.capitalize()}Function"
        assert taken.is_open == declared.open_to_all, path


def test_chat_streams_on_every_route(routes: list[GatewayRoute]) -> None:
    # Given that under the web adapter a function answers all of its requests as streams
    by_function: dict[str, set[bool]] = defaultdict(set)
    for route in routes:
        by_function[route.function].add(route.streams)
    # Then all routes of the chat function stream and no others do
    assert by_function.pop("ChatFunction") == {True}
    assert set().union(*by_function.values()) == {False}


def test_permissions_fit_into_a_function_policy(translated: Document) -> None:
    # Given statements as Lambda stores them, with all that is filled in
    sizes: dict[str, int] = defaultdict(int)
    for permission in resources_of(translated, "AWS::Lambda::Permission").values():
        properties = permission["Properties"]
        statement = {
            "Sid": "threadkeep-production-ConsoleFunctionCallbackPermissionProd-ABCDEFGHIJKL",
            "Effect": "Allow",
            "Principal": {"Service": properties["Principal"]},
            "Action": properties["Action"],
            "Resource": "arn:aws:lambda:ap-southeast-2:123456789012:function:threadkeep-production",
            "Condition": {"ArnLike": {"AWS:SourceArn": json.dumps(properties["SourceArn"])}},
        }
        sizes[json.dumps(properties["FunctionName"])] += len(json.dumps(statement))
    # Then each function's policy is below Lambda's limit
    assert max(sizes.values()) < POLICY_BYTES, sizes


def test_gateway_errors_are_problem_documents(translated: Document) -> None:
    responses = api_body(translated)["x-amazon-apigateway-gateway-responses"]
    for kind, response in responses.items():
        headers = response["responseParameters"]
        assert headers["gatewayresponse.header.Content-Type"] == "'application/problem+json'"
        problem = json.loads(response["responseTemplates"]["application/json"])
        assert set(problem) - {"status"} == {"type", "title", "detail", "code", "request_id"}
        assert re.fullmatch(r"[a-z]+(_[a-z]+)*", problem["code"]), kind
        assert str(problem.get("status", "")) == response.get("statusCode", ""), kind


@pytest.mark.parametrize(
    ("kind", "status", "code"),
    [
        ("UNAUTHORIZED", "401", "unauthorized"),
        ("EXPIRED_TOKEN", "401", "unauthorized"),
        ("MISSING_AUTHENTICATION_TOKEN", "404", "not_found"),
        ("REQUEST_TOO_LARGE", "413", "payload_too_large"),
        ("THROTTLED", "429", "throttled"),
    ],
)
def test_gateway_error_has_its_status_and_code(
    translated: Document, kind: str, status: str, code: str
) -> None:
    response = api_body(translated)["x-amazon-apigateway-gateway-responses"][kind]
    assert response["statusCode"] == status
    assert json.loads(response["responseTemplates"]["application/json"])["code"] == code
