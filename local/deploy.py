"""Builds and deploys the template to the emulator with the SAM command line, when it changed."""

import hashlib
import os
import subprocess
import tomllib
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import yaml
from botocore.exceptions import ClientError

from local.config import ROOT, STAGE, Config, LocalStackError
from local.emulator import Clients, root_environment

SAM = ROOT / ".local/tools/sam/bin"
SAMCONFIG = ROOT / "samconfig.toml"
STACK_NAME = "threadkeep-local"
FINGERPRINT = "fingerprint"
API_KEY_SECRET = "openai-api-key"
# Settings that the caller's environment may override, by template parameter.
OVERRIDES = {
    "DefaultModel": "DEFAULT_MODEL",
    "Models": "MODELS",
    "Embedder": "EMBEDDER",
    "EmbeddingDimension": "EMBEDDING_DIMENSION",
    "SearchBackend": "SEARCH_BACKEND",
    "OpenSearchUrl": "OPENSEARCH_URL",
    "OpenAIBaseUrl": "OPENAI_BASE_URL",
    "LogLevel": "LOG_LEVEL",
}


def parameters(config: Config, environment: Mapping[str, str]) -> dict[str, str]:
    """Return the template's parameters for a local stack.

    They are those of samconfig.toml with this stack's addresses, and with what the environment
    sets: ``DEFAULT_MODEL``, ``OPENAI_BASE_URL`` and the like choose a model of one's own.
    """
    samconfig = tomllib.loads(SAMCONFIG.read_text())
    listed = samconfig[STAGE]["deploy"]["parameters"]["parameter_overrides"]
    values = dict(entry.split("=", 1) for entry in listed)
    values["ConsoleOrigin"] = config.origin
    values["EmulatorUrl"] = config.emulator_url
    values["OpenAIBaseUrl"] = f"http://127.0.0.1:{config.ports.replay}/v1"
    for parameter, variable in OVERRIDES.items():
        if environment.get(variable):
            values[parameter] = environment[variable]
    return values


def deploy(config: Config, clients: Clients) -> dict[str, str]:
    """Bring the emulator to what the tree says; return the stack's outputs.

    Raises:
        LocalStackError: The build or the deployment failed; the message has the reason.
    """
    values = parameters(config, os.environ)
    if os.environ.get("OPENAI_API_KEY"):
        values["OpenAIApiKeySecret"] = _store_api_key(clients, os.environ["OPENAI_API_KEY"])
    wanted = fingerprint(values)
    stack = _stack(clients)
    if stack is not None and stack["StackStatus"] in ("ROLLBACK_COMPLETE", "CREATE_FAILED"):
        clients.cloudformation.delete_stack(StackName=STACK_NAME)
        stack = None
    if stack is None or _tags(stack).get(FINGERPRINT) != wanted:
        _build(config)
        _sam_deploy(config, clients, values, wanted)
        _apply_gateway_responses(clients, outputs(clients)["ApiId"])
    return outputs(clients)


def outputs(clients: Clients) -> dict[str, str]:
    """Return the outputs of the deployed stack.

    Raises:
        LocalStackError: Nothing is deployed.
    """
    stack = _stack(clients)
    if stack is None:
        raise LocalStackError("nothing is deployed: `make run` or `make up` does it")
    return {output["OutputKey"]: output["OutputValue"] for output in stack.get("Outputs", [])}


def fingerprint(values: Mapping[str, str]) -> str:
    """Return a digest of everything that a deployment is made from."""
    digest = hashlib.sha256(repr(sorted(values.items())).encode())
    for path in sorted(_sources()):
        digest.update(f"{path.relative_to(ROOT)}\0".encode())
        digest.update(hashlib.sha256(path.read_bytes()).digest())
    return digest.hexdigest()[:32]


def _sources() -> Iterator[Path]:
    yield ROOT / "template.yaml"
    for top in ("functions", "layers"):
        for path in (ROOT / top).rglob("*"):
            if path.is_file() and "__pycache__" not in path.parts:
                yield path


def _build(config: Config) -> None:
    environment = {
        **root_environment(config),
        "PATH": f"{SAM}{os.pathsep}{os.environ['PATH']}",  # its Python is 3.13 and no shim
        "LAYERS": "host",
        "SAM_CLI_TELEMETRY": "0",
    }
    _run(
        config,
        "build",
        ["--build-dir", str(config.build), "--cache-dir", str(ROOT / ".aws-sam/cache")],
        environment,
    )
    # API Gateway streams what the chat function answers; the emulator knows buffered calls only.
    built = config.build / "template.yaml"
    text = built.read_text()
    built.write_text(text.replace("ResponseTransferMode: RESPONSE_STREAM", ""))


def _sam_deploy(config: Config, clients: Clients, values: Mapping[str, str], wanted: str) -> None:
    quoted = [f"{name}={_quote(value)}" for name, value in values.items()]
    options = ["--template-file", str(config.build / "template.yaml"), "--stack-name", STACK_NAME]
    options += ["--tags", f"{FINGERPRINT}={wanted}", "--parameter-overrides", *quoted]
    environment = {**root_environment(config), "SAM_CLI_TELEMETRY": "0"}
    try:
        _run(config, "deploy", options, environment)
    except LocalStackError as error:
        reason = _failure(clients)
        raise LocalStackError(
            f"the deployment failed: {reason}" if reason else str(error)
        ) from error


def _quote(value: str) -> str:
    return '"' + value.replace("\\", "\\\\").replace('"', '\\"') + '"'


def _run(config: Config, action: str, options: list[str], environment: Mapping[str, str]) -> None:
    log = config.logs / f"sam-{action}.log"
    log.parent.mkdir(parents=True, exist_ok=True)
    command = [str(SAM / "sam"), action, "--config-file", str(SAMCONFIG), "--config-env", STAGE]
    with log.open("wb") as output:
        run = subprocess.run(
            [*command, *options],
            cwd=ROOT,
            env=dict(environment),
            stdin=subprocess.DEVNULL,
            stdout=output,
            stderr=subprocess.STDOUT,
            check=False,
        )
    if run.returncode != 0:
        tail = [line for line in log.read_text(errors="replace").splitlines() if line.strip()][-3:]
        raise LocalStackError(f"sam {action} failed ({log}): " + " | ".join(tail))


def _stack(clients: Clients) -> dict[str, Any] | None:
    try:
        found = clients.cloudformation.describe_stacks(StackName=STACK_NAME)["Stacks"]
    except ClientError:
        return None
    return dict(found[0]) if found else None


def _tags(stack: Mapping[str, Any]) -> dict[str, str]:
    return {tag["Key"]: tag["Value"] for tag in stack.get("Tags", [])}


def _failure(clients: Clients) -> str:
    """Return the reason of the newest failure of the stack, or nothing."""
    try:
        events = clients.cloudformation.describe_stack_events(StackName=STACK_NAME)["StackEvents"]
    except ClientError:
        return ""
    failed = [event for event in events if event.get("ResourceStatus", "").endswith("FAILED")]
    if not failed:
        return ""
    newest = failed[0]
    return f"{newest.get('LogicalResourceId')}: {newest.get('ResourceStatusReason')}"


def _store_api_key(clients: Clients, key: str) -> str:
    try:
        return clients.secrets.create_secret(Name=API_KEY_SECRET, SecretString=key)["ARN"]
    except clients.secrets.exceptions.ResourceExistsException:
        return clients.secrets.put_secret_value(SecretId=API_KEY_SECRET, SecretString=key)["ARN"]


class _IgnoreTags(yaml.SafeLoader):
    """Reads a template's plain values; intrinsic functions become None."""


_IgnoreTags.add_multi_constructor("!", lambda loader, suffix, node: None)


def _apply_gateway_responses(clients: Clients, api_id: str) -> None:
    """Give the API the gateway responses of the template.

    The emulator serves gateway responses and leaves them out when it imports an API's description.
    """
    template = yaml.load((ROOT / "template.yaml").read_text(), Loader=_IgnoreTags)
    for kind, response in template["Resources"]["Api"]["Properties"]["GatewayResponses"].items():
        headers = response["ResponseParameters"]["Headers"]
        optional = {"statusCode": str(response["StatusCode"])} if "StatusCode" in response else {}
        clients.apigateway.put_gateway_response(
            restApiId=api_id,
            responseType=kind,
            responseParameters={
                f"gatewayresponse.header.{name}": value for name, value in headers.items()
            },
            responseTemplates=response["ResponseTemplates"],
            **optional,
        )
    clients.apigateway.create_deployment(restApiId=api_id, stageName=STAGE)
