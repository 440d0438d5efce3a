"""What can not be changed after the first deployment: keys, indexes, stream, what is kept."""

import tomllib
from collections.abc import Sequence
from typing import Any

import pytest

from tests.template.translation import ROOT, Document, read_source, resources_of
from threadkeep.storage.keys import KEY_SCHEMA, TTL

KEPT = [
    "AWS::DynamoDB::Table",
    "AWS::S3::Bucket",
    "AWS::Cognito::UserPool",
    "AWS::OpenSearchService::Domain",
]


@pytest.fixture
def table(translated: Document) -> Document:
    (found,) = resources_of(translated, "AWS::DynamoDB::Table").values()
    properties: Document = found["Properties"]
    return properties


def names(key_schema: Sequence[Document]) -> tuple[str, str]:
    partition, sort = key_schema
    assert (partition["KeyType"], sort["KeyType"]) == ("HASH", "RANGE")
    return partition["AttributeName"], sort["AttributeName"]


def test_keys_are_those_of_the_code(table: Document) -> None:
    # Given what storage/keys.py builds keys for
    expected: dict[str, Any] = KEY_SCHEMA
    # Then the template declares the same names, and every key attribute is text
    assert names(table["KeySchema"]) == expected["table"]
    local = {index["IndexName"]: index for index in table["LocalSecondaryIndexes"]}
    assert {name: names(index["KeySchema"]) for name, index in local.items()} == expected["local"]
    shared = {index["IndexName"]: index for index in table["GlobalSecondaryIndexes"]}
    assert {name: names(index["KeySchema"]) for name, index in shared.items()} == expected["global"]
    keys = {expected["table"], *expected["local"].values(), *expected["global"].values()}
    assert {(a["AttributeName"], a["AttributeType"]) for a in table["AttributeDefinitions"]} == {
        (name, "S") for pair in keys for name in pair
    }


def test_local_indexes_hold_what_the_code_reads_from_them(table: Document) -> None:
    for index in table["LocalSecondaryIndexes"]:
        projection = index["Projection"]
        assert projection["ProjectionType"] == "INCLUDE"
        assert set(projection["NonKeyAttributes"]) == set(KEY_SCHEMA["local_projection"])


def test_global_index_holds_keys_only(table: Document) -> None:
    projections = [index["Projection"] for index in table["GlobalSecondaryIndexes"]]
    assert projections == [{"ProjectionType": "KEYS_ONLY"}]


def test_table_is_backed_up_streamed_and_paid_by_request(table: Document) -> None:
    assert table["PointInTimeRecoverySpecification"] == {"PointInTimeRecoveryEnabled": True}
    assert table["StreamSpecification"] == {"StreamViewType": "NEW_AND_OLD_IMAGES"}
    assert table["TimeToLiveSpecification"] == {"AttributeName": TTL, "Enabled": True}
    assert table["BillingMode"] == "PAY_PER_REQUEST"


@pytest.mark.parametrize("kind", KEPT)
def test_user_data_outlives_its_stack(translated: Document, kind: str) -> None:
    found = resources_of(translated, kind)
    assert found
    for name, resource in found.items():
        kept = (resource.get("DeletionPolicy"), resource.get("UpdateReplacePolicy"))
        assert kept == ("Retain", "Retain"), name


def test_only_the_local_stage_allows_deletion(translated: Document, table: Document) -> None:
    (pool,) = resources_of(translated, "AWS::Cognito::UserPool").values()
    assert table["DeletionProtectionEnabled"] == {"Fn::If": ["IsLocal", False, True]}
    assert pool["Properties"]["DeletionProtection"] == {"Fn::If": ["IsLocal", "INACTIVE", "ACTIVE"]}
    assert translated["Conditions"]["IsLocal"] == {"Fn::Equals": [{"Ref": "Stage"}, "local"]}


def test_bucket_is_private_encrypted_and_takes_tls_only(translated: Document) -> None:
    (bucket,) = resources_of(translated, "AWS::S3::Bucket").values()
    assert set(bucket["Properties"]["PublicAccessBlockConfiguration"].values()) == {True}
    assert bucket["Properties"]["BucketEncryption"]
    (policy,) = resources_of(translated, "AWS::S3::BucketPolicy").values()
    (statement,) = policy["Properties"]["PolicyDocument"]["Statement"]
    assert (statement["Effect"], statement["Principal"]) == ("Deny", "*")
    assert statement["Condition"] == {"Bool": {"aws:SecureTransport": "false"}}


def test_users_are_made_by_administrators_and_the_client_has_no_secret(
    translated: Document,
) -> None:
    (pool,) = resources_of(translated, "AWS::Cognito::UserPool").values()
    assert pool["Properties"]["AdminCreateUserConfig"] == {"AllowAdminCreateUserOnly": True}
    (client,) = resources_of(translated, "AWS::Cognito::UserPoolClient").values()
    assert client["Properties"]["GenerateSecret"] is False
    assert client["Properties"]["AllowedOAuthFlows"] == ["code"]
    (condition, local, elsewhere) = client["Properties"]["ExplicitAuthFlows"]["Fn::If"]
    assert condition == "IsLocal"
    assert "ALLOW_USER_PASSWORD_AUTH" in local
    assert "ALLOW_USER_PASSWORD_AUTH" not in elsewhere


def test_search_domain_depends_on_its_own_parameter_only(translated: Document) -> None:
    # Switching the back end must never take a domain out of the stack
    (domain,) = resources_of(translated, "AWS::OpenSearchService::Domain").values()
    assert domain["Condition"] == "HasDomain"
    conditions = translated["Conditions"]
    assert conditions["HasDomain"] == {"Fn::Equals": [{"Ref": "OpenSearchDomain"}, "managed"]}
    properties = domain["Properties"]
    assert properties["EncryptionAtRestOptions"] == {"Enabled": True}
    assert properties["NodeToNodeEncryptionOptions"] == {"Enabled": True}
    assert properties["DomainEndpointOptions"]["EnforceHTTPS"] is True


def test_production_searches_a_domain_and_other_stages_their_table() -> None:
    stages = tomllib.loads((ROOT / "samconfig.toml").read_text())
    back_ends = {}
    for stage in ("local", "dev", "prod"):
        listed = stages[stage]["deploy"]["parameters"]["parameter_overrides"]
        values = dict(entry.split("=", 1) for entry in listed)
        back_ends[stage] = (values.get("SearchBackend"), values.get("OpenSearchDomain"))
    assert back_ends == {
        "local": (None, None),
        "dev": (None, None),
        "prod": ("opensearch", "managed"),
    }
    defaults = read_source()["Parameters"]
    assert defaults["SearchBackend"]["Default"] == "exact"
    assert defaults["OpenSearchDomain"]["Default"] == "none"
