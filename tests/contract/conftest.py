"""Fixtures of the contract suites."""

import os

import pytest


@pytest.fixture(scope="session")
def opensearch_url() -> str:
    """Address of a real OpenSearch; required in CI, elsewhere its tests are skipped without one."""
    url = os.environ.get("OPENSEARCH_URL")
    if url:
        return url
    if os.environ.get("CI") == "true":
        pytest.fail("OPENSEARCH_URL is not set, and CI requires the tests on a real OpenSearch")
    pytest.skip(
        "OPENSEARCH_URL is not set; `python -m local.opensearch start` starts one and prints it"
    )
