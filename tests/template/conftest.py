"""The template, translated once."""

import pytest

from tests.template.translation import Document, read_source, translate


@pytest.fixture(scope="session")
def source() -> Document:
    """template.yaml as written. Copy it before changing it."""
    return read_source()


@pytest.fixture(scope="session")
def translated(source: Document) -> Document:
    """What AWS deploys. Copy it before changing it."""
    return translate(source)
