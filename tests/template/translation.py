"""The template as CloudFormation gets it: what SAM's own transform makes of template.yaml."""

import copy
import json
from pathlib import Path
from typing import Any

import boto3
import cfnlint.api
from cfnlint.config import ManualArgs
from samtranslator.parser.parser import Parser
from samtranslator.translator.translator import Translator
from samtranslator.yaml_helper import yaml_parse

ROOT = Path(__file__).resolve().parent.parent.parent
TEMPLATE = ROOT / "template.yaml"

type Document = dict[str, Any]


def read_source() -> Document:
    """Return template.yaml with its intrinsic functions in their long form."""
    source: Document = yaml_parse(TEMPLATE.read_text())
    return source


def translate(source: Document) -> Document:
    """Return what AWS deploys for a source template.

    Local folders are replaced by an S3 address, as `sam package` does.

    Raises:
        InvalidDocumentException: SAM refuses the template.
    """
    packaged = copy.deepcopy(source)
    for resource in packaged["Resources"].values():
        for local_folder in ("CodeUri", "ContentUri"):
            if local_folder in resource.get("Properties", {}):
                resource["Properties"][local_folder] = "s3://bucket/key"
    session = boto3.Session(region_name="us-east-1")
    translator = Translator({}, Parser(), boto_session=session)
    translated: Document = json.loads(json.dumps(translator.translate(packaged, {})))
    return translated


def lint(template: str | Document) -> list[str]:
    """Return what cfn-lint finds in a template, given as text or as a document."""
    text = template if isinstance(template, str) else json.dumps(template)
    return [str(match) for match in cfnlint.api.lint(text, config=ManualArgs())]


def resources_of(document: Document, kind: str) -> dict[str, Document]:
    """Return the resources of a type, by logical id."""
    return {
        name: resource
        for name, resource in document["Resources"].items()
        if resource["Type"] == kind
    }
