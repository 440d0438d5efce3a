"""`sam local invoke` of one function with one of the events, on the data of the running stack."""

import json
import shutil
import subprocess
from pathlib import Path

from local.config import ROOT, STAGE, Config, LocalStackError
from local.deploy import SAM, SAMCONFIG, STACK_NAME
from local.emulator import Clients, root_environment
from local.stack import Stack


def invoke(config: Config, event: Path) -> None:
    """Run the function that an event is for in a container; print what it answers.

    Args:
        config: The stack whose settings and data it uses.
        event: A file of events/, whose name starts with its function's: ``accounts_settings.json``.

    Raises:
        LocalStackError: There is no Docker, no such event, or no running stack.
    """
    docker = shutil.which("docker")
    if not docker or subprocess.run([docker, "info"], capture_output=True, check=False).returncode:
        raise LocalStackError(
            "missing: Docker (`sam local` runs in containers; `make run` does not)"
        )
    if not event.is_file():
        raise LocalStackError(f"there is no {event}: make sam-local EVENT=events/NAME.json")
    stack = Stack(config)
    stack.attach()
    function = event.stem.split("_")[0]
    environment = {
        **deployed_environment(stack.clients, f"{STACK_NAME}-{function}"),
        "AWS_ENDPOINT_URL": config.emulator_url,
    }
    variables = config.directory / "sam-local.json"
    variables.write_text(json.dumps({"Parameters": environment}))
    command = [str(SAM / "sam"), "local", "invoke", f"{function.capitalize()}Function"]
    command += ["--config-file", str(SAMCONFIG), "--config-env", STAGE]
    command += ["--template-file", str(config.build / "template.yaml")]
    command += ["--event", str(event), "--env-vars", str(variables)]
    subprocess.run(command, cwd=ROOT, env=root_environment(config), check=False)


def deployed_environment(clients: Clients, function: str) -> dict[str, str]:
    """Return the environment variables of a deployed function."""
    deployed = clients.functions.get_function_configuration(FunctionName=function)
    return dict(deployed["Environment"]["Variables"])
