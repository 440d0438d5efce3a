"""The local stack's own parts: ports, processes, parameters and what survives a restart."""

import os
import socket
import sys
import time
from pathlib import Path
from typing import TYPE_CHECKING

import boto3
import pytest

from local import emulator
from local.config import HOST, ROOT, Config, LocalStackError, require_free
from local.deploy import fingerprint, parameters
from local.processes import Process, Record, command_of
from local.stack import Stack

if TYPE_CHECKING:
    from mypy_boto3_dynamodb import DynamoDBClient

SPAWNS_A_CHILD = """
import subprocess, sys, time
child = subprocess.Popen([sys.executable, "-c", "import time; time.sleep(600)"])
print(child.pid, flush=True)
time.sleep(600)
"""


@pytest.fixture
def config(tmp_path: Path) -> Config:
    return Config.throwaway(tmp_path)


def python(config: Config, code: str) -> Process:
    command = [sys.executable, "-c", code]
    return Process("sleeper", command, dict(os.environ), config.logs, ROOT)


def test_busy_port_is_refused_in_one_line(config: Config) -> None:
    with socket.socket() as occupant:
        occupant.bind((HOST, config.ports.chat))
        occupant.listen()
        with pytest.raises(LocalStackError) as refusal:
            require_free(config.ports)
    message = str(refusal.value)
    assert message.startswith(f"port {config.ports.chat} (chat) is in use")
    assert "\n" not in message


def test_second_stack_is_refused_and_leaves_the_first_alone(config: Config) -> None:
    # Given a stack that runs
    running = python(config, "import time; time.sleep(600)")
    record = Record(config.directory / "processes.json")
    record.write({"emulator": running.pid})
    try:
        # When another is started in the same place
        with pytest.raises(LocalStackError, match="is running"):
            Stack(config).start()
        # Then the first runs and can still be found
        assert running.running()
        assert record.running() == {"emulator": running.pid}
    finally:
        running.stop()


def test_process_that_ends_at_once_says_why(config: Config) -> None:
    with pytest.raises(LocalStackError, match="boom"):
        emulator.wait_for_port(python(config, "raise SystemExit('boom')"), config.ports.chat)


def test_stop_leaves_no_worker_behind(config: Config) -> None:
    # Given a process that has started another
    parent = python(config, SPAWNS_A_CHILD)
    while not (child := parent.log.read_text().strip()):
        parent.require_running()
    assert command_of(int(child))
    # When it is stopped
    parent.stop()
    # Then both have ended
    assert not command_of(parent.pid)
    deadline = time.monotonic() + 10
    while command_of(int(child)) and time.monotonic() < deadline:
        time.sleep(0.01)
    assert not command_of(int(child))


def test_process_id_of_another_program_is_not_ours(config: Config) -> None:
    # Given a record of a process that ended, whose id now belongs to this test
    record = Record(config.directory / "processes.json")
    record.write({"emulator": os.getpid()})
    path = config.directory / "processes.json"
    path.write_text(path.read_text().replace("pytest", "ministack"))
    # Then nothing is found that could be ended
    assert record.running() == {}


def test_data_survives_a_restart_of_the_emulator(config: Config) -> None:
    # Given an item in a table of the emulator
    process = emulator.start(config)
    dynamodb = client(config)
    try:
        dynamodb.create_table(
            TableName="kept",
            KeySchema=[{"AttributeName": "PK", "KeyType": "HASH"}],
            AttributeDefinitions=[{"AttributeName": "PK", "AttributeType": "S"}],
            BillingMode="PAY_PER_REQUEST",
        )
        dynamodb.put_item(TableName="kept", Item={"PK": {"S": "a"}})
    finally:
        process.stop()
    # When it is stopped in an orderly way and started again
    process = emulator.start(config)
    try:
        # Then the item is there
        found = dynamodb.get_item(TableName="kept", Key={"PK": {"S": "a"}})
    finally:
        process.stop()
    assert found["Item"] == {"PK": {"S": "a"}}


def client(config: Config) -> "DynamoDBClient":
    root = emulator.root_environment(config)
    session = boto3.Session(
        aws_access_key_id=root["AWS_ACCESS_KEY_ID"],
        aws_secret_access_key=root["AWS_SECRET_ACCESS_KEY"],
        region_name=root["AWS_REGION"],
    )
    return session.client("dynamodb", endpoint_url=config.emulator_url)


def test_environment_chooses_models_and_the_stack_its_addresses(config: Config) -> None:
    chosen = {"DEFAULT_MODEL": "openai:own", "OPENAI_BASE_URL": "https://models.example.com/v1"}
    by_default, own = parameters(config, {}), parameters(config, chosen)
    assert by_default["DefaultModel"] == "offline"
    assert by_default["OpenAIBaseUrl"] == f"http://127.0.0.1:{config.ports.replay}/v1"
    assert own["DefaultModel"] == "openai:own"
    assert own["OpenAIBaseUrl"] == "https://models.example.com/v1"
    assert own["EmulatorUrl"] == by_default["EmulatorUrl"] == config.emulator_url


def test_only_a_change_is_deployed_again(config: Config) -> None:
    values = parameters(config, {})
    assert fingerprint(values) == fingerprint(dict(reversed(values.items())))
    assert fingerprint(values) != fingerprint({**values, "LogLevel": "DEBUG"})
