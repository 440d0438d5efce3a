"""Bodies in S3, and the keys under which a conversation's are kept."""

from __future__ import annotations

from contextlib import contextmanager
from functools import cached_property
from itertools import batched
from threading import Lock
from typing import TYPE_CHECKING, Any
from urllib.parse import quote

from botocore.exceptions import BotoCoreError, ClientError

from threadkeep.errors import NotFoundError, UnavailableError

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

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
    """

    def __init__(self, bucket: str, *, endpoint: str | None = None) -> None:
        self._bucket = bucket
        self._endpoint = endpoint
        self._lock = Lock()

    def put(self, user_id: str, key: str, body: bytes) -> None:
        """Store a body under the user's prefix."""
        with _translated():
            self._client.put_object(Bucket=self._bucket, Key=_path(user_id, key), Body=body)

    def get(self, user_id: str, key: str) -> bytes:
        """Read a body.

        Raises:
            NotFoundError: There is none.
        """
        with _translated():
            answer = self._client.get_object(Bucket=self._bucket, Key=_path(user_id, key))
            body: bytes = answer["Body"].read()
            return body

    def delete(self, user_id: str, keys: Sequence[str]) -> None:
        """Remove bodies; missing ones are no error."""
        self._delete([_path(user_id, key) for key in keys])

    def delete_all(self, user_id: str, prefix: str) -> None:
        """Remove all of a user's bodies whose key starts with ``prefix``, which ends in ``/``."""
        if not prefix.endswith("/"):
            raise ValueError("a prefix must end in a slash: it could be the start of other names")
        while True:
            with _translated():
                page = self._client.list_objects_v2(
                    Bucket=self._bucket, Prefix=_path(user_id, prefix)
                )
            self._delete([entry["Key"] for entry in page.get("Contents", ())])
            if not page.get("IsTruncated"):
                return

    def _delete(self, paths: Sequence[str]) -> None:
        for chunk in batched(paths, _MAX_DELETE, strict=False):
            objects = [{"Key": path} for path in chunk]
            with _translated():
                answer = self._client.delete_objects(
                    Bucket=self._bucket, Delete={"Objects": objects, "Quiet": True}
                )
            if answer.get("Errors"):
                raise _unavailable()

    @property
    def _client(self) -> Any:
        with self._lock:
            return self._made

    @cached_property
    def _made(self) -> Any:
        import boto3
        from botocore.config import Config

        config = Config(
            connect_timeout=_CONNECT_SECONDS,
            read_timeout=_READ_SECONDS,
            retries={"mode": "standard", "total_max_attempts": _RETRIES},
        )
        return boto3.client("s3", endpoint_url=self._endpoint, config=config)


def thread_bodies(conversation_id: str, life: str) -> str:
    """Return the prefix of all bodies of one life of a conversation."""
    return f"threads/c-{quote(conversation_id, safe='')}/l-{quote(life, safe='')}/"


def thread_body(conversation_id: str, life: str, name: str) -> str:
    """Return the key of one body of a conversation."""
    return f"{thread_bodies(conversation_id, life)}{quote(name, safe='')}"


def _path(user_id: str, key: str) -> str:
    return f"u-{quote(user_id, safe='')}/{key}"


@contextmanager
def _translated() -> Iterator[None]:
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
