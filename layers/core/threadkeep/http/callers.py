"""Who is calling, from claims that were verified."""

import json
import re
from collections.abc import Mapping
from typing import Any

from threadkeep.http.routes import Caller

ADMIN_GROUP = "admin"


def caller_from_claims(claims: Mapping[str, Any] | None) -> Caller | None:
    """Return the caller that claims name, or None if they name no user.

    An access or refresh token names none: only the id token is made for this API.
    """
    claims = claims or {}
    subject = claims.get("sub")
    if not isinstance(subject, str) or not subject.strip():
        return None
    if claims.get("token_use") != "id":
        return None
    return Caller(subject, ADMIN_GROUP in groups(claims.get("cognito:groups")))


def groups(claim: Any) -> frozenset[str]:
    """Return the exact group names of a ``cognito:groups`` claim.

    In a token it is a list; the gateway hands it on as text: ``a``, ``a,b``, ``[a b]`` or JSON.
    """
    if isinstance(claim, list | tuple):
        return frozenset(name for name in claim if isinstance(name, str))
    if not isinstance(claim, str):
        return frozenset()
    text = claim.strip()
    if text.startswith("[") and text.endswith("]"):
        try:
            return groups(json.loads(text))
        except ValueError:
            text = text[1:-1]
    return frozenset(re.split(r"[,\s]+", text.strip()))
