"""Each function: its log group, its dead letters, its rights, and all that it imports."""

import json
import subprocess
import sys
from collections.abc import Iterator
from importlib.metadata import distribution
from pathlib import Path

import pytest

from tests.template.policies import Grants, grants
from tests.template.translation import ROOT, Document, read_source, resources_of

FUNCTIONS = sorted(resources_of(read_source(), "AWS::Serverless::Function"))
LAYERS = {"DepsLayer": "deps", "SearchLayer": "search", "OfflineLayer": "offline"}
# What nothing but an ARN pattern can name: the models that an agent may choose, in any Region; the
# indexes of the stage's generations.
PATTERNS = {
    "arn:${AWS::Partition}:bedrock:*::foundation-model/*",
    "arn:${AWS::Partition}:bedrock:${AWS::Region}:${AWS::AccountId}:inference-profile/*",
    "${OpenAIApiKeySecret}",
    "SearchDomain/threadkeep-${Stage}*",
}
# IAM knows no resource for it.
NOT_RESTRICTABLE = {"dynamodb:ListStreams"}


@pytest.fixture
def granted(translated: Document) -> dict[str, Grants]:
    return grants(translated)


def test_every_function_logs_to_a_group_that_forgets(translated: Document) -> None:
    for name, function in resources_of(translated, "AWS::Lambda::Function").items():
        group = translated["Resources"][function["Properties"]["LoggingConfig"]["LogGroup"]["Ref"]]
        assert group["Type"] == "AWS::Logs::LogGroup", name
        assert group["Properties"]["RetentionInDays"] == {"Ref": "LogRetentionDays"}, name


def queue_of(translated: Document, mapping: Document) -> Document | None:
    """Return the queue that feeds an event source mapping, or None if it is a stream."""
    name, attribute = mapping["Properties"]["EventSourceArn"]["Fn::GetAtt"]
    source: Document = translated["Resources"][name]
    if source["Type"] == "AWS::SQS::Queue":
        return source
    assert (source["Type"], attribute) == ("AWS::DynamoDB::Table", "StreamArn")
    return None


def test_every_queue_that_feeds_a_function_has_dead_letters(translated: Document) -> None:
    mappings = resources_of(translated, "AWS::Lambda::EventSourceMapping")
    queues = {name: queue_of(translated, mapping) for name, mapping in mappings.items()}
    assert any(queues.values())
    for name, queue in queues.items():
        if queue is None:
            continue
        redrive = queue["Properties"]["RedrivePolicy"]
        letters = translated["Resources"][redrive["deadLetterTargetArn"]["Fn::GetAtt"][0]]
        assert letters["Type"] == "AWS::SQS::Queue", name
        assert redrive["maxReceiveCount"] >= 5, "fewer, and throttling alone fills it"


def test_every_stream_that_feeds_a_function_keeps_what_fails(translated: Document) -> None:
    for name, mapping in resources_of(translated, "AWS::Lambda::EventSourceMapping").items():
        if queue_of(translated, mapping) is not None:
            continue
        properties = mapping["Properties"]
        # A record that never succeeds must not stop the shard, nor vanish
        assert properties["MaximumRetryAttempts"] > 0, name
        assert properties["BisectBatchOnFunctionError"], name
        assert properties["DestinationConfig"]["OnFailure"]["Destination"], name


def test_every_batch_reports_which_items_failed(translated: Document) -> None:
    for name, mapping in resources_of(translated, "AWS::Lambda::EventSourceMapping").items():
        assert mapping["Properties"]["FunctionResponseTypes"] == ["ReportBatchItemFailures"], name


def test_queue_waits_six_times_its_function(translated: Document) -> None:
    # https://docs.aws.amazon.com/lambda/latest/dg/services-sqs-configure.html
    for name, mapping in resources_of(translated, "AWS::Lambda::EventSourceMapping").items():
        queue = queue_of(translated, mapping)
        if queue is not None:
            function = translated["Resources"][mapping["Properties"]["FunctionName"]["Ref"]]
            timeout = function["Properties"]["Timeout"]
            assert queue["Properties"]["VisibilityTimeout"] >= 6 * timeout, name


def test_every_scheduled_run_that_fails_is_kept(translated: Document) -> None:
    configured = {
        resource["Properties"]["FunctionName"]["Ref"]: resource["Properties"]
        for resource in resources_of(translated, "AWS::Lambda::EventInvokeConfig").values()
    }
    rules = resources_of(translated, "AWS::Events::Rule")
    assert rules
    for name, rule in rules.items():
        for target in rule["Properties"]["Targets"]:
            # Both when it could not be started and when it ran and failed
            assert target["DeadLetterConfig"]["Arn"], name
            function = target["Arn"]["Fn::GetAtt"][0]
            assert configured[function]["DestinationConfig"]["OnFailure"]["Destination"], name


def test_rights_name_their_resources(granted: dict[str, Grants]) -> None:
    for function, rights in granted.items():
        for action, resource in rights:
            assert "*" not in action, (function, action)
            if action in NOT_RESTRICTABLE:
                continue
            named = resource.removesuffix("/index/*").removesuffix("/*").removesuffix("/stream")
            assert named.isalnum() or resource in PATTERNS, (function, action, resource)


def test_only_chat_and_extraction_touch_the_queue(granted: dict[str, Grants]) -> None:
    senders = {
        function
        for function, rights in granted.items()
        if ("sqs:SendMessage", "ExtractionQueue") in rights
    }
    assert senders == {"ChatFunction", "ExtractionFunction"}


def test_console_may_only_log(granted: dict[str, Grants]) -> None:
    assert {action for action, _ in granted["ConsoleFunction"]} == {
        "logs:CreateLogStream",
        "logs:PutLogEvents",
    }


@pytest.mark.parametrize("function", FUNCTIONS)
def test_function_imports_with_its_layers_only(function: str, tmp_path: Path) -> None:
    # Given the folders that Lambda would put on the path, and nothing of this environment
    properties = read_source()["Resources"][function]["Properties"]
    layers = [_layer_name(layer) for layer in properties.get("Layers", [])]
    paths = [str(ROOT / properties["CodeUri"])]
    if "CoreLayer" in layers:
        paths.append(str(ROOT / "layers/core"))
    for layer in filter(LAYERS.get, layers):
        folder = tmp_path / layer
        folder.mkdir()
        for entry in _files_of(ROOT / "layers" / LAYERS[layer] / "requirements.txt"):
            target = folder / entry.name
            if not target.exists():
                target.symlink_to(entry)
        paths.append(str(folder))
    handlers = properties.get("Handler", "app.lambda_handler")
    handler = handlers["Fn::If"][1] if isinstance(handlers, dict) else handlers
    module, name = handler.split(".")
    # When the handler is imported without any setting in the environment
    code = f"import sys; sys.path[:0] = {json.dumps(paths)}; import {module}; {module}.{name}"
    run = subprocess.run(
        [sys.executable, "-I", "-S", "-c", code],
        cwd=tmp_path,
        env={},
        capture_output=True,
        text=True,
        check=False,
    )
    # Then it is there
    assert run.returncode == 0, run.stderr


def _layer_name(layer: Document) -> str:
    reference = layer["Fn::If"][1] if "Fn::If" in layer else layer
    if reference == {"Ref": "AWS::NoValue"}:
        return ""
    return str(reference["Ref"])


def _files_of(requirements: Path) -> Iterator[Path]:
    """Yield the top-level modules and packages of what a layer installs."""
    for pin in requirements.read_text().split():
        for file in distribution(pin.split("==")[0]).files or []:
            top = file.parts[0]
            if not top.startswith("..") and top != "__pycache__" and not top.endswith(".pth"):
                yield (
                    Path(str(file.locate())).parents[len(file.parts) - 2]
                    if len(file.parts) > 1
                    else Path(str(file.locate()))
                )
