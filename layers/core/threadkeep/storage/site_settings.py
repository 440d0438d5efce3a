"""Site settings in DynamoDB."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from pynamodb.attributes import UnicodeAttribute

from threadkeep.storage import keys
from threadkeep.storage.items import Item, JsonAttribute

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from threadkeep.storage.table import Table


class SettingItem(Item, discriminator="K"):
    """One setting that was set."""

    key = UnicodeAttribute()
    value = JsonAttribute(null=True)


class DynamoSettingsStore:
    """Settings in a partition of their own, one row each.

    Args:
        table: The table.
    """

    def __init__(self, table: Table) -> None:
        self._table = table

    def all(self) -> Mapping[str, Any]:
        """Return the values that were set, by key, in one query."""
        rows = self._table.query(keys.SETTINGS)
        return {row.key: row.value for row in rows if isinstance(row, SettingItem)}

    def put(self, key: str, value: Any) -> None:
        """Set a value."""
        self._table.put(SettingItem(keys.SETTINGS, keys.setting(key), key=key, value=value))

    def reset(self, names: Sequence[str]) -> None:
        """Remove values, so that the defaults hold again."""
        self._table.batch_write(deletes=[(keys.SETTINGS, keys.setting(name)) for name in names])
