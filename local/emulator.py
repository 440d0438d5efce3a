"""ministack, the AWS emulator, with IAM enforced: a function may do what its role allows."""

import json
import os
import shutil
import socket
import time
from contextlib import suppress
from functools import cached_property
from typing import TYPE_CHECKING

import boto3

from local.config import HOST, ROOT, Config, LocalStackError
from local.processes import Process

if TYPE_CHECKING:
    from mypy_boto3_apigateway import APIGatewayClient
    from mypy_boto3_cloudformation import CloudFormationClient
    from mypy_boto3_cognito_idp import CognitoIdentityProviderClient
    from mypy_boto3_dynamodb import DynamoDBClient
    from mypy_boto3_lambda import LambdaClient
    from mypy_boto3_logs import CloudWatchLogsClient
    from mypy_boto3_secretsmanager import SecretsManagerClient

REGION = "us-east-1"
START_SECONDS = 60
# What the machine is reached with; nothing else of the caller's environment reaches a server.
PASSED_ON = (
    "PATH", "HOME", "LANG", "LC_ALL",
    "HTTP_PROXY", "HTTPS_PROXY", "http_proxy", "https_proxy",
    "SSL_CERT_FILE", "SSL_CERT_DIR", "REQUESTS_CA_BUNDLE",
    "OPENBLAS_CORETYPE", "OPENBLAS_L2_SIZE",
)  # fmt: skip


def base_environment() -> dict[str, str]:
    """Return the part of the caller's environment that servers get."""
    passed_on = {name: os.environ[name] for name in PASSED_ON if name in os.environ}
    return {**passed_on, "NO_PROXY": f"{HOST},localhost", "no_proxy": f"{HOST},localhost"}


def root_environment(config: Config) -> dict[str, str]:
    """Return an environment in which every AWS client is the emulator's root user."""
    return {
        **base_environment(),
        "AWS_ENDPOINT_URL": config.emulator_url,
        "AWS_ACCESS_KEY_ID": "test",
        "AWS_SECRET_ACCESS_KEY": "test",
        "AWS_DEFAULT_REGION": REGION,
        "AWS_REGION": REGION,
    }


def start(config: Config) -> Process:
    """Start the emulator and wait until it answers.

    Raises:
        LocalStackError: It ended or did not answer in time.
    """
    scratch = config.state / "tmp"  # workers unpack code here; a kill leaves it behind
    shutil.rmtree(scratch, ignore_errors=True)
    scratch.mkdir(parents=True)
    _forget_stream_positions(config)
    environment = {
        **base_environment(),
        "BIND_HOST": HOST,
        "MINISTACK_HOST": HOST,
        "GATEWAY_PORT": str(config.ports.emulator),
        "AUTH": "true",
        "PERSIST_STATE": "1",
        "STATE_DIR": str(config.state),
        "S3_PERSIST": "1",
        "S3_DATA_DIR": str(config.state / "s3"),
        "TMPDIR": str(scratch),
        "IOT_MTLS_ENABLED": "0",
        "SFTP_ENABLED": "0",
        "LOG_LEVEL": "WARNING",
    }
    python = ROOT / ".local/tools/emulator/bin/python"
    process = Process(
        "emulator", [str(python), "-m", "ministack"], environment, config.logs, config.state
    )
    wait_for_port(process, config.ports.emulator)
    return process


def _forget_stream_positions(config: Config) -> None:
    """Let functions read the table's stream from its start.

    The emulator remembers how far they had read, but not the records: after a restart they would
    wait until the new stream is as long as the old one was.
    """
    path = config.state / "lambda.json"
    if path.exists():
        state = json.loads(path.read_text())
        if state["payload"].pop("dynamodb_stream_positions", None):
            path.write_text(json.dumps(state))


def wait_for_port(process: Process, port: int) -> None:
    """Wait until a server that was just started takes connections.

    Raises:
        LocalStackError: It ended or did not listen in time; it is stopped then.
    """
    deadline = time.monotonic() + START_SECONDS
    while True:
        with suppress(OSError), socket.create_connection((HOST, port), timeout=5):
            return
        try:
            process.require_running()
            if time.monotonic() > deadline:
                raise LocalStackError(f"{process.name} does not listen ({process.log})")
        except LocalStackError:
            process.stop()
            raise
        time.sleep(0.1)


class Clients:
    """Clients of the emulator as its root user.

    Args:
        config: The stack.
    """

    def __init__(self, config: Config) -> None:
        self._url = config.emulator_url
        self._session = boto3.Session(
            aws_access_key_id="test", aws_secret_access_key="test", region_name=REGION
        )

    @cached_property
    def cloudformation(self) -> "CloudFormationClient":
        """Stacks."""
        return self._session.client("cloudformation", endpoint_url=self._url)

    @cached_property
    def apigateway(self) -> "APIGatewayClient":
        """The REST API."""
        return self._session.client("apigateway", endpoint_url=self._url)

    @cached_property
    def cognito(self) -> "CognitoIdentityProviderClient":
        """Users."""
        return self._session.client("cognito-idp", endpoint_url=self._url)

    @cached_property
    def functions(self) -> "LambdaClient":
        """Functions."""
        return self._session.client("lambda", endpoint_url=self._url)

    @cached_property
    def dynamodb(self) -> "DynamoDBClient":
        """The table."""
        return self._session.client("dynamodb", endpoint_url=self._url)

    @cached_property
    def logs(self) -> "CloudWatchLogsClient":
        """Logs of functions."""
        return self._session.client("logs", endpoint_url=self._url)

    @cached_property
    def secrets(self) -> "SecretsManagerClient":
        """Secrets."""
        return self._session.client("secretsmanager", endpoint_url=self._url)
