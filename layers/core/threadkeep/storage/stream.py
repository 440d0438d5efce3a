"""Reading the table's stream: which marks a change brought."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from threadkeep.storage import keys
from threadkeep.storage.items import Item, PendingItem

if TYPE_CHECKING:
    from collections.abc import Mapping

    from threadkeep.ports import Pending


def read_mark(change: Mapping[str, Any]) -> tuple[str, Pending] | None:
    """Read the mark that a stream record's ``dynamodb`` member brings.

    Returns:
        ``(user_id, mark)``, or None for a removed mark and for rows of any other kind: the event
        source filters them out, and a filter that is missing must not break the function.
    """
    image = change.get("NewImage")
    if not image or not image[keys.SORT_KEY]["S"].startswith(keys.PENDING):
        return None
    item = Item.from_raw_data(image)
    if not isinstance(item, PendingItem):
        return None
    return keys.owner(item.pk), item.to_domain()
