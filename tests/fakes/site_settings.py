"""In-memory settings store."""

from __future__ import annotations

import copy
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence


class FakeSettingsStore:
    """Settings in a dictionary."""

    def __init__(self) -> None:
        self._values: dict[str, Any] = {}

    def all(self) -> Mapping[str, Any]:
        """Return the values that were set."""
        return copy.deepcopy(self._values)

    def put(self, key: str, value: Any) -> None:
        """Set a value."""
        self._values[key] = copy.deepcopy(value)

    def reset(self, keys: Sequence[str]) -> None:
        """Remove values."""
        for key in keys:
            self._values.pop(key, None)
