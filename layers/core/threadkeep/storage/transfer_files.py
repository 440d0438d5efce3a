"""The files of exports and imports in S3, apart from all else: the bucket forgets them."""

from __future__ import annotations

from typing import TYPE_CHECKING

from botocore.exceptions import ClientError

from threadkeep.errors import ConflictError, NotFoundError
from threadkeep.ports import StoredFile
from threadkeep.storage.blobs import S3Blobs, translated

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

_PIECE_BYTES = 8 * 1024 * 1024
"""S3 takes pieces of 5 MB and more, but for the last one."""

_MISSING = frozenset({"404", "NoSuchKey", "NotFound"})
_CHANGED = frozenset({"412", "PreconditionFailed"})


class S3TransferFiles(S3Blobs):
    """Files under ``transfers/u-{user}/``; the bucket's lifecycle removes them after a day.

    Args:
        bucket: Name of the bucket.
        endpoint: Address of the service; by default the environment's.
    """

    folder = "transfers/"

    def stat(self, user_id: str, key: str) -> StoredFile | None:
        """Return a file's size and identity, or None if there is none."""
        try:
            with translated():
                head = self.client.head_object(Bucket=self.bucket, Key=self.path(user_id, key))
        except NotFoundError:
            return None
        except ClientError as error:
            if error.response.get("Error", {}).get("Code") in _MISSING:
                return None
            raise
        return StoredFile(int(head["ContentLength"]), str(head["ETag"]))

    def read(self, user_id: str, key: str, *, start: int, length: int, etag: str) -> bytes:
        """Read a stretch of a file, as far as it goes.

        Raises:
            NotFoundError: There is none.
            ConflictError: It is another file than ``etag`` names (``upload_changed``).
        """
        try:
            with translated():
                answer = self.client.get_object(
                    Bucket=self.bucket,
                    Key=self.path(user_id, key),
                    Range=f"bytes={start}-{start + length - 1}",
                    IfMatch=etag,
                )
                body: bytes = answer["Body"].read()
        except ClientError as error:
            if error.response.get("Error", {}).get("Code") in _CHANGED:
                raise ConflictError("The file was replaced.", code="upload_changed") from error
            raise
        return body

    def join(self, user_id: str, key: str, parts: Sequence[str]) -> None:
        """Make one file of parts, in pieces that fit into memory."""
        pieces = self._pieces(user_id, parts)
        first = next(pieces, b"")
        if len(first) < _PIECE_BYTES:
            return self.put(user_id, key, first)
        place = {"Bucket": self.bucket, "Key": self.path(user_id, key)}
        with translated():
            upload = {**place, "UploadId": self.client.create_multipart_upload(**place)["UploadId"]}
        made = [self._send(upload, 1, first)]
        for number, piece in enumerate(pieces, 2):
            made.append(self._send(upload, number, piece))
        with translated():
            self.client.complete_multipart_upload(**upload, MultipartUpload={"Parts": made})
        return None

    def download_url(self, user_id: str, key: str, *, seconds: int, name: str) -> str:
        """Return an address from which anyone who has it can read a file for a while."""
        url: str = self.client.generate_presigned_url(
            "get_object",
            Params={
                "Bucket": self.bucket,
                "Key": self.path(user_id, key),
                "ResponseContentType": "application/x-ndjson",
                "ResponseContentDisposition": f'attachment; filename="{name}"',
            },
            ExpiresIn=seconds,
        )
        return url

    def upload_form(
        self, user_id: str, key: str, *, seconds: int, max_bytes: int
    ) -> tuple[str, dict[str, str]]:
        """Return where a file can be posted to for a while, and the fields to send with it."""
        form = self.client.generate_presigned_post(
            self.bucket,
            self.path(user_id, key),
            Conditions=[["content-length-range", 1, max_bytes]],
            ExpiresIn=seconds,
        )
        return form["url"], dict(form["fields"])

    def _pieces(self, user_id: str, parts: Sequence[str]) -> Iterator[bytes]:
        """Read parts one after the other, and cut them anew."""
        waiting = bytearray()
        for part in parts:
            waiting += self.get(user_id, part)
            while len(waiting) >= _PIECE_BYTES:
                yield bytes(waiting[:_PIECE_BYTES])
                del waiting[:_PIECE_BYTES]
        if waiting:
            yield bytes(waiting)

    def _send(self, upload: dict[str, str], number: int, piece: bytes) -> dict[str, object]:
        with translated():
            answer = self.client.upload_part(**upload, PartNumber=number, Body=piece)
        return {"PartNumber": number, "ETag": answer["ETag"]}
