"""The template passes SAM's transform and cfn-lint, and mistakes in it do not."""

import copy
from collections.abc import Callable

import pytest
from samtranslator.model.exceptions import InvalidDocumentException

from tests.template.translation import TEMPLATE, Document, lint, translate


def test_source_has_no_findings() -> None:
    assert lint(TEMPLATE.read_text()) == []


def test_translated_template_has_no_findings(translated: Document) -> None:
    assert lint(translated) == []


def event_of(template: Document, function: str, event: str) -> Document:
    found: Document = template["Resources"][function]["Properties"]["Events"][event]
    return found


def misspell_event_property(template: Document) -> None:
    properties = event_of(template, "ExtractionFunction", "Jobs")["Properties"]
    properties["BatchSise"] = properties.pop("BatchSize")


def misspell_event_type(template: Document) -> None:
    event_of(template, "MemoriesFunction", "GetMemory")["Type"] = "Apii"


def misspell_function_property(template: Document) -> None:
    properties = template["Resources"]["GraphFunction"]["Properties"]
    properties["MemorySise"] = properties.pop("MemorySize")


def name_missing_resource_in_event(template: Document) -> None:
    properties = event_of(template, "ExtractionFunction", "Jobs")["Properties"]
    properties["Queue"] = {"Fn::GetAtt": ["ExtractionQueueue", "Arn"]}


def give_wrong_type(template: Document) -> None:
    template["Resources"]["ChatFunction"]["Properties"]["Timeout"] = "long"


@pytest.mark.parametrize(
    ("mistake", "named"),
    [
        (misspell_event_property, "BatchSise"),
        (misspell_event_type, "Apii"),
        (misspell_function_property, "MemorySise"),
        (name_missing_resource_in_event, "ExtractionQueueue"),
        (give_wrong_type, "long"),
    ],
)
def test_mistake_is_found_and_named(
    source: Document, mistake: Callable[[Document], None], named: str
) -> None:
    # Given a template that passes
    template = copy.deepcopy(source)
    # When it gets a mistake that `sam validate --lint` lets through
    mistake(template)
    # Then the transform refuses it, or the result has findings
    try:
        findings = lint(translate(template))
    except InvalidDocumentException as error:
        findings = [cause.message for cause in error.causes]
    assert any(named in finding for finding in findings)
