"""Failures as ``application/problem+json`` (RFC 9457)."""

from typing import Any

from threadkeep.errors import MethodNotAllowedError, ThreadkeepError

CONTENT_TYPE = "application/problem+json"


def problem(error: ThreadkeepError, request_id: str) -> dict[str, Any]:
    """Return the problem document of a failure."""
    document: dict[str, Any] = {
        "type": f"urn:threadkeep:problem:{error.code}",
        "title": error.title,
        "status": error.status,
        "detail": error.detail,
        "code": error.code,
        "request_id": request_id,
    }
    if error.fields:
        document["errors"] = [dict(field) for field in error.fields]
    return {**error.extra, **document}


def headers(error: ThreadkeepError) -> dict[str, str]:
    """Return the headers that go with a failure."""
    extra = {"content-type": CONTENT_TYPE}
    if error.retry_after is not None:
        extra["retry-after"] = str(error.retry_after)
    if error.status == 401:
        extra["www-authenticate"] = "Bearer"
    if isinstance(error, MethodNotAllowedError):
        extra["allow"] = ", ".join(error.methods)
    return extra
