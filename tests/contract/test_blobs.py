"""What every store of large bodies does."""

from collections.abc import Iterator

import pytest
from moto import mock_aws

from tests.contract.emulated import ROOT_USER
from tests.contract.stores import new_bucket
from tests.fakes.blobs import FakeBlobs
from threadkeep.errors import NotFoundError, UnavailableError
from threadkeep.ports import Blobs
from threadkeep.storage.blobs import S3Blobs, thread_bodies


@pytest.fixture(params=["fake", "emulator", "moto"])
def blobs(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> Iterator[Blobs]:
    """Every store of bodies in turn, empty; moto checks the shapes of the calls."""
    if request.param == "fake":
        yield FakeBlobs()
    elif request.param == "emulator":
        endpoint = request.getfixturevalue("emulator")
        yield S3Blobs(new_bucket(endpoint), endpoint=endpoint)
    else:
        for name, value in ROOT_USER.items():
            monkeypatch.setenv(name, value)
        with mock_aws():
            yield S3Blobs(new_bucket(None))


def test_body_reads_back_byte_by_byte(blobs: Blobs) -> None:
    # Given bodies, an empty one among them
    bodies = {"a/empty": b"", "a/all": bytes(range(256)) * 2000, "b": "☕".encode()}

    # When they are stored, one of them twice
    blobs.put("u1", "b", b"before")
    for key, body in bodies.items():
        blobs.put("u1", key, body)

    # Then they are as last stored
    assert {key: blobs.get("u1", key) for key in bodies} == bodies


def test_missing_body_is_not_found(blobs: Blobs) -> None:
    # Given a body of another user
    blobs.put("u10", "a", b"x")

    # When one is read that is not there
    # Then that is said
    for user, key in (("u1", "a"), ("u10", "b"), ("u", "10/a")):
        with pytest.raises(NotFoundError):
            blobs.get(user, key)


def test_no_id_leads_out_of_a_users_own(blobs: Blobs) -> None:
    # Given users and conversations with names that mean something in paths
    users = ["u1", "u10", "..", ".", "a/b", "a%2Fb", "u-u1", "ü"]
    places = [
        (user, f"{thread_bodies(name, 'l1')}m") for user in users for name in ("..", "c/1", "c")
    ]

    # When each stores a body
    for user, key in places:
        blobs.put(user, key, f"{user} {key}".encode())

    # Then each has its own, and what is removed of one is there of all others
    blobs.delete_all("..", thread_bodies("..", "l1"))
    for user, key in places:
        if (user, key) == ("..", f"{thread_bodies('..', 'l1')}m"):
            with pytest.raises(NotFoundError):
                blobs.get(user, key)
        else:
            assert blobs.get(user, key) == f"{user} {key}".encode()


def test_removed_bodies_are_gone_and_missing_ones_no_error(blobs: Blobs) -> None:
    # Given three bodies
    for key in ("a", "b", "c"):
        blobs.put("u1", key, b"x")

    # When two of them and one that never was are removed, and nothing
    blobs.delete("u1", ["a", "c", "never"])
    blobs.delete("u1", [])

    # Then the third is left
    assert blobs.get("u1", "b") == b"x"
    for key in ("a", "c"):
        with pytest.raises(NotFoundError):
            blobs.get("u1", key)


def test_all_bodies_of_a_folder_are_removed_and_no_others(blobs: Blobs) -> None:
    # Given bodies of two lives, of a conversation with a longer name, and of another user
    old, new = thread_bodies("c", "l1"), thread_bodies("c", "l10")
    kept = [("u1", f"{new}m"), ("u1", f"{thread_bodies('c1', 'l1')}m"), ("u10", f"{old}m")]
    gone = [("u1", f"{old}m{n}") for n in range(5)]
    for user, key in kept + gone:
        blobs.put(user, key, b"x")

    # When those of one life are removed, and again
    blobs.delete_all("u1", old)
    blobs.delete_all("u1", old)

    # Then they are gone and the others are there
    for user, key in gone:
        with pytest.raises(NotFoundError):
            blobs.get(user, key)
    for user, key in kept:
        assert blobs.get(user, key) == b"x"


def test_prefix_that_could_start_other_names_is_a_fault_of_the_caller(blobs: Blobs) -> None:
    # Given a prefix that does not end where a name ends
    # When all below it are to be removed
    # Then nothing is done
    with pytest.raises(ValueError, match="slash"):
        blobs.delete_all("u1", "threads/c-c/l-l1")


# What only a real store can get wrong


@pytest.mark.usefixtures("emulator")
def test_more_bodies_than_a_page_are_removed(emulator: str) -> None:
    # Given more bodies than one listing returns, which the test makes small
    blobs = S3Blobs(new_bucket(emulator), endpoint=emulator)
    for number in range(12):
        blobs.put("u1", f"f/{number}", b"x")
    blobs.client.meta.events.register(
        "provide-client-params.s3.ListObjectsV2", lambda params, **_: {**params, "MaxKeys": 5}
    )

    # When all are removed
    blobs.delete_all("u1", "f/")

    # Then none is left
    for number in range(12):
        with pytest.raises(NotFoundError):
            blobs.get("u1", f"f/{number}")


def test_service_that_does_not_answer_is_unavailable(emulator: str) -> None:
    # Given an address where nothing listens
    blobs = S3Blobs("bucket", endpoint="http://127.0.0.1:9")

    # When a body is read
    # Then the failure says that a retry may work
    with pytest.raises(UnavailableError) as failure:
        blobs.get("u1", "a")
    assert failure.value.retry_after is not None
    assert emulator
