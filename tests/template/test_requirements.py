"""Layers install what the lock pins, and no file names the host it came from."""

import re
import tomllib
from pathlib import Path

import pytest

from tests.template.policies import grants
from tests.template.translation import ROOT, Document

LAYERS = sorted(path.parent.name for path in (ROOT / "layers").glob("*/requirements.txt"))


def pins(path: Path) -> dict[str, str]:
    return dict(re.findall(r"^([\w.-]+)==([^\s;\\]+)", path.read_text(), re.MULTILINE))


@pytest.mark.parametrize("layer", LAYERS)
def test_layer_pins_what_the_lock_pins(layer: str) -> None:
    locked = pins(ROOT / "requirements.lock")
    of_layer = pins(ROOT / "layers" / layer / "requirements.txt")
    assert of_layer
    assert {name: locked.get(name) for name in of_layer} == of_layer


@pytest.mark.parametrize("layer", LAYERS)
def test_layer_holds_what_its_group_names(layer: str) -> None:
    groups = tomllib.loads((ROOT / "pyproject.toml").read_text())["dependency-groups"]
    named = {re.split(r"[^\w-]", wanted)[0] for wanted in groups[layer]}
    assert named <= set(pins(ROOT / "layers" / layer / "requirements.txt"))


def test_no_package_is_in_two_layers() -> None:
    found = [
        name for layer in LAYERS for name in pins(ROOT / "layers" / layer / "requirements.txt")
    ]
    assert sorted(found) == sorted(set(found))


def test_locks_name_no_host() -> None:
    for path in [ROOT / "requirements.lock", *(ROOT / "local").glob("tools-*.txt")]:
        assert "://" not in path.read_text(), path.name


def test_layer_keeps_every_service_that_a_role_allows(translated: Document) -> None:
    # Given the services of which the layer keeps botocore's description
    makefile = (ROOT / "layers/deps/Makefile").read_text()
    kept = set(re.findall(r"^SERVICES := (.+)$", makefile, re.MULTILINE)[0].split())
    # Then each service that a function may call is one of them; the engine has its own client
    allowed = {
        action.split(":")[0] for rights in grants(translated).values() for action, _ in rights
    }
    clients = {
        "bedrock-runtime" if name == "bedrock" else name for name in allowed - {"logs", "es"}
    }
    assert kept == clients
