"""How messages are cut into transactions, each of which leaves a valid transcript."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from threadkeep.domain.conversations import Role, rounds, size_of
from threadkeep.storage.blobs import INLINE_BYTES
from threadkeep.storage.transactions import MAX_ITEMS

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from threadkeep.domain.conversations import Message

CROWDED_BYTES = 16_000
"""The bound where a tool round would not fit one transaction otherwise."""

_HEAD_WRITES = 2
_CHUNK_BYTES = 3_500_000
_ROW_BYTES = 2_000
"""Room for what a row holds beside its body."""


@dataclass(frozen=True)
class Placed:
    """A message and where its body goes.

    Args:
        message: The message.
        size: Bytes of its body.
        spilled: Whether the body is stored apart from the row.
        indexed: Whether it becomes searchable, which takes a mark beside the row.
    """

    message: Message
    size: int
    spilled: bool
    indexed: bool

    @property
    def writes(self) -> int:
        """Rows that it takes."""
        return 2 if self.indexed else 1

    @property
    def row_bytes(self) -> int:
        """Bytes that it takes of a transaction."""
        return _ROW_BYTES + (0 if self.spilled else self.size)


def chunks(messages: Sequence[Message], *, index: bool) -> Iterator[list[Placed]]:
    """Cut messages into stretches that fit one transaction each and part no tool round.

    Args:
        messages: Messages in order, as ``require_appendable`` wants them.
        index: Whether the user's messages among them become searchable.
    """
    chunk: list[Placed] = []
    for one in rounds(messages):
        placed = _place(one, index, INLINE_BYTES)
        if not _fits(placed):
            placed = _place(one, index, CROWDED_BYTES)
        if chunk and not _fits([*chunk, *placed]):
            yield chunk
            chunk = []
        chunk = [*chunk, *placed]
    if chunk:
        yield chunk


def _place(messages: Sequence[Message], index: bool, most_bytes: int) -> list[Placed]:
    sizes = [size_of(message) for message in messages]
    return [
        Placed(message, size, size > most_bytes, index and message.role is Role.USER)
        for message, size in zip(messages, sizes, strict=True)
    ]


def _fits(placed: Sequence[Placed]) -> bool:
    return (
        sum(one.writes for one in placed) <= MAX_ITEMS - _HEAD_WRITES
        and sum(one.row_bytes for one in placed) <= _CHUNK_BYTES
    )
