"""Cursors: where a listing goes on, bound to the user and the query it was made for."""

import base64
import hashlib
import json
from collections.abc import Mapping
from typing import Any

from threadkeep.domain.types import dump_json
from threadkeep.errors import invalid_field

_MAX_CHARS = 8192


def seal(position: Mapping[str, str], *, user_id: str, route: str, filters: Any) -> str:
    """Make a cursor.

    Args:
        position: Where the next page starts.
        user_id: Owner of the listing.
        route: Which listing it is.
        filters: The listing's filters and order, as JSON values.

    Returns:
        Text that is safe in a URL.
    """
    body = dump_json([position, _binding(position, user_id, route, filters)])
    return base64.urlsafe_b64encode(body.encode()).rstrip(b"=").decode()


def unseal(cursor: str, *, user_id: str, route: str, filters: Any) -> dict[str, str]:
    """Return the position of a cursor that was made for this very listing.

    Raises:
        ValidationError: It was not (``invalid_cursor``).
    """
    invalid = invalid_field("cursor", "invalid_cursor", "The cursor is not one of this listing.")
    if len(cursor) > _MAX_CHARS:
        raise invalid
    try:
        raw = cursor.encode("ascii")
        body = base64.b64decode(raw + b"=" * (-len(raw) % 4), altchars=b"-_", validate=True)
        position, binding = json.loads(body)
        if binding != _binding(position, user_id, route, filters):
            raise invalid
        if not isinstance(position, dict) or not all(isinstance(v, str) for v in position.values()):
            raise invalid
        if cursor != seal(position, user_id=user_id, route=route, filters=filters):
            raise invalid
    except (ValueError, TypeError, RecursionError) as error:
        raise invalid from error
    return position


def _binding(position: Any, user_id: str, route: str, filters: Any) -> str:
    return hashlib.sha256(dump_json([position, user_id, route, filters]).encode()).hexdigest()
