"""Bodies in S3, and the keys under which a conversation's are kept."""

from __future__ import annotations

import uuid
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cached_property
from itertools import batched
from threading import Lock
from typing import TYPE_CHECKING, Any
from urllib.parse import quote

from botocore.exceptions import BotoCoreError, ClientError

from threadkeep.errors import NotFoundError, UnavailableError

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from threadkeep.ports import Blobs

_MAX_DELETE = 1000
_CONNECT_SECONDS = 1.0
_READ_SECONDS = 10.0
_RETRIES = 3
_RETRY_AFTER_SECONDS = 1


class S3Blobs:
    """Bodies under ``u-{user}/`` of a bucket; ids are escaped, so that none can leave its folder.

    Args:
        bucket: Name of the bucket.
        endpoint: Address of the service; by default the environment's.

    Attributes:
        folder: What all names in the bucket start with.
    """

    folder = ""

    def __init__(self, bucket: str, *, endpoint: str | None = None) -> None:
        self.bucket = bucket
        self._endpoint = endpoint
        self._lock = Lock()

    def path(self, user_id: str, key: str) -> str:
        """Return the name of a user's object in the bucket."""
        return f"{self.folder}u-{quote(user_id, safe='')}/{key}"

    def put(self, user_id: str, key: str, body: bytes) -> None:
        """Store a body under the user's prefix."""
        with translated():
            self.client.put_object(Bucket=self.bucket, Key=self.path(user_id, key), Body=body)

    def get(self, user_id: str, key: str) -> bytes:
        """Read a body.

        Raises:
            NotFoundError: There is none.
        """
        with translated():
            answer = self.client.get_object(Bucket=self.bucket, Key=self.path(user_id, key))
            body: bytes = answer["Body"].read()
            return body

    def delete(self, user_id: str, keys: Sequence[str]) -> None:
        """Remove bodies; missing ones are no error."""
        self._delete([self.path(user_id, key) for key in keys])

    def delete_all(self, user_id: str, prefix: str) -> None:
        """Remove all of a user's bodies whose key starts with ``prefix``, which ends in ``/``."""
        if not prefix.endswith("/"):
            raise ValueError("a prefix must end in a slash: it could be the start of other names")
        while True:
            with translated():
                page = self.client.list_objects_v2(
                    Bucket=self.bucket, Prefix=self.path(user_id, prefix)
                )
            self._delete([entry["Key"] for entry in page.get("Contents", ())])
            if not page.get("IsTruncated"):
                return

    def _delete(self, paths: Sequence[str]) -> None:
        for chunk in batched(paths, _MAX_DELETE, strict=False):
            objects = [{"Key": path} for path in chunk]
            with translated():
                answer = self.client.delete_objects(
                    Bucket=self.bucket, Delete={"Objects": objects, "Quiet": True}
                )
            if answer.get("Errors"):
                raise _unavailable()

    @property
    def client(self) -> Any:
        """The botocore client, for its events."""
        with self._lock:
            return self._made

    @cached_property
    def _made(self) -> Any:
        import boto3
        from botocore.config import Config

        config = Config(
            signature_version="s3v4",
            connect_timeout=_CONNECT_SECONDS,
            read_timeout=_READ_SECONDS,
            retries={"mode": "standard", "total_max_attempts": _RETRIES},
        )
        return boto3.client("s3", endpoint_url=self._endpoint, config=config)


INLINE_BYTES = 300_000
"""A larger body does not go into a row: DynamoDB takes 400 KB with everything else in it."""


@dataclass(frozen=True)
class Stored:
    """Where a text is: in the row itself, or in a body under ``key``."""

    inline: str | None = None
    key: str | None = None


class ThreadBodies:
    """Bodies that belong to a conversation and go with its life.

    No two calls share a key: what fails later can be taken back without asking who else has it.

    Args:
        blobs: Where they are stored.
        user_id: Owner.
    """

    def __init__(self, blobs: Blobs, user_id: str) -> None:
        self._blobs = blobs
        self._user_id = user_id

    def put(self, conversation_id: str, life: str, name: str, body: bytes) -> str:
        """Store a body and return its key."""
        folder = thread_bodies(conversation_id, life)
        key = f"{folder}{quote(name, safe='')}-{uuid.uuid4().hex}"
        self._blobs.put(self._user_id, key, body)
        return key

    def put_text(self, conversation_id: str, life: str, name: str, text: str) -> Stored:
        """Store a text as a body if it is too large for a row."""
        body = text.encode()
        if len(body) <= INLINE_BYTES:
            return Stored(inline=text)
        return Stored(key=self.put(conversation_id, life, name, body))

    def text(self, stored: Stored) -> str:
        """Read a text.

        Raises:
            NotFoundError: It went with its conversation.
        """
        if stored.key:
            return self._blobs.get(self._user_id, stored.key).decode()
        return stored.inline or ""

    def discard(self, *bodies: str | None) -> None:
        """Take bodies back that nothing came to point at."""
        self._blobs.delete(self._user_id, [key for key in bodies if key])


def thread_bodies(conversation_id: str, life: str) -> str:
    """Return the prefix of all bodies of one life of a conversation."""
    return f"threads/c-{quote(conversation_id, safe='')}/l-{quote(life, safe='')}/"


@contextmanager
def translated() -> Iterator[None]:
    """Raise the service's own errors in place of those of S3."""
    try:
        yield
    except ClientError as error:
        code = error.response.get("Error", {}).get("Code", "")
        status = error.response.get("ResponseMetadata", {}).get("HTTPStatusCode", 0)
        if code == "NoSuchKey":
            raise NotFoundError("There is no such body.") from error
        if status >= 500 or code in ("SlowDown", "RequestTimeout"):
            raise _unavailable() from error
        raise
    except BotoCoreError as error:
        raise _unavailable() from error


def _unavailable() -> UnavailableError:
    return UnavailableError("Storage does not answer.", retry_after=_RETRY_AFTER_SECONDS)
