"""In-memory blobs."""

from __future__ import annotations

from typing import TYPE_CHECKING

from threadkeep.errors import NotFoundError

if TYPE_CHECKING:
    from collections.abc import Sequence


class FakeBlobs:
    """Bodies in a dictionary by user and key."""

    def __init__(self) -> None:
        self.bodies: dict[tuple[str, str], bytes] = {}

    def put(self, user_id: str, key: str, body: bytes) -> None:
        """Store a body."""
        self.bodies[user_id, key] = body

    def get(self, user_id: str, key: str) -> bytes:
        """Read a body."""
        try:
            return self.bodies[user_id, key]
        except KeyError as error:
            raise NotFoundError("There is no such body.") from error

    def delete(self, user_id: str, keys: Sequence[str]) -> None:
        """Remove bodies."""
        for key in keys:
            self.bodies.pop((user_id, key), None)

    def delete_all(self, user_id: str, prefix: str) -> None:
        """Remove all bodies under a prefix."""
        if not prefix.endswith("/"):
            raise ValueError("a prefix must end in a slash: it could be the start of other names")
        found = [key for owner, key in self.bodies if owner == user_id and key.startswith(prefix)]
        self.delete(user_id, found)
