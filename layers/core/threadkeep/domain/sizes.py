"""How much fits one answer."""

from collections.abc import Sequence
from itertools import accumulate, takewhile

from pydantic import BaseModel


def json_bytes(item: BaseModel) -> int:
    """Return the size of an item in an answer."""
    return len(item.model_dump_json(exclude_none=True).encode())


def fitting(items: Sequence[BaseModel], most: int) -> int:
    """Return how many of the first items fit ``most`` bytes together."""
    totals = accumulate(json_bytes(item) for item in items)
    return sum(1 for _ in takewhile(lambda total: total <= most, totals))
