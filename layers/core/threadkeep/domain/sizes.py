"""How much fits one answer."""

from collections.abc import Sequence
from itertools import accumulate, takewhile
from typing import Any

from pydantic_core import to_json


def json_bytes(item: Any) -> int:
    """Return the size of an item in an answer."""
    return len(to_json(item, exclude_none=True))


def fitting(items: Sequence[Any], most: int) -> int:
    """Return how many of the first items fit ``most`` bytes together."""
    totals = accumulate(json_bytes(item) for item in items)
    return sum(1 for _ in takewhile(lambda total: total <= most, totals))
