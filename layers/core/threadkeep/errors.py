"""Every failure that a caller can see, with its stable code and HTTP status.

``code`` is part of the public contract: clients branch on it, so it never changes its meaning. One
class per status family carries the status; the code says which rule was broken.
"""

from collections.abc import Mapping, Sequence
from typing import Any, ClassVar


class ThreadkeepError(Exception):
    """A failure with a stable ``code``, an HTTP ``status`` and a sentence for the caller.

    Args:
        detail: One sentence for the caller. Never contains another user's data or internals.
        code: Stable snake_case code; defaults to the class's own.
        fields: One entry per faulty field: ``{"field": "a.b.0", "code": …, "detail": …}``.
        extra: Further members of the problem document, such as ``current_version``.
        retry_after: Seconds after which a retry makes sense, sent as ``Retry-After``.
    """

    status: ClassVar[int] = 500
    code: str = "internal_error"
    title: ClassVar[str] = "Internal error"

    def __init__(
        self,
        detail: str = "",
        *,
        code: str | None = None,
        fields: Sequence[Mapping[str, str]] = (),
        extra: Mapping[str, Any] | None = None,
        retry_after: int | None = None,
    ) -> None:
        super().__init__(detail or self.title)
        self.detail = detail or self.title
        if code is not None:
            self.code = code
        self.fields = tuple(fields)
        self.extra = dict(extra or {})
        self.retry_after = retry_after


class BadRequestError(ThreadkeepError):
    """The request can not be understood at all, such as broken JSON."""

    status = 400
    code = "bad_request"
    title = "Bad request"


class UnauthorizedError(ThreadkeepError):
    """No user can be resolved from the request."""

    status = 401
    code = "unauthorized"
    title = "Sign in first"


class ForbiddenError(ThreadkeepError):
    """The user is known and may not do this."""

    status = 403
    code = "forbidden"
    title = "Not allowed"


class NotFoundError(ThreadkeepError):
    """No such thing for this user: unknown ids and someone else's ids look the same."""

    status = 404
    code = "not_found"
    title = "Not found"


class MethodNotAllowedError(ThreadkeepError):
    """The path exists, and not with this method.

    Args:
        methods: The methods it takes.
    """

    status = 405
    code = "method_not_allowed"
    title = "Method not allowed"

    def __init__(self, methods: Sequence[str]) -> None:
        super().__init__(f"This path takes {', '.join(methods)}.")
        self.methods = tuple(methods)


class ConflictError(ThreadkeepError):
    """The state does not allow this now, or concurrent writers kept winning."""

    status = 409
    code = "conflict"
    title = "Conflict"


class PreconditionFailedError(ThreadkeepError):
    """``If-Match`` names another version than the current one."""

    status = 412
    code = "precondition_failed"
    title = "The version has changed"


class PayloadTooLargeError(ThreadkeepError):
    """The body is larger than the service takes."""

    status = 413
    code = "payload_too_large"
    title = "Body too large"


class ValidationError(ThreadkeepError):
    """The request is well formed and breaks a rule; nothing was stored."""

    status = 422
    code = "validation_failed"
    title = "Invalid input"


class UnavailableError(ThreadkeepError):
    """A part that this request needs does not answer now; a retry may work."""

    status = 503
    code = "unavailable"
    title = "Temporarily unavailable"


class NotIndexedError(UnavailableError):
    """The index refused documents, while it took the others of their batch.

    Args:
        detail: What was refused and why.
        refs: The refused documents.
        retry_after: Seconds after which a retry makes sense.
    """

    code = "not_indexed"
    title = "Not indexed"

    def __init__(self, detail: str, *, refs: Sequence[str], retry_after: int | None = None) -> None:
        super().__init__(detail, retry_after=retry_after)
        self.refs = tuple(refs)


class StorageFullError(ThreadkeepError):
    """The user's partition has reached its size limit: deleting makes room, retrying does not."""

    status = 507
    code = "storage_full"
    title = "Storage full"


class MisconfiguredError(UnavailableError):
    """A setting is wrong or missing; the detail names it."""

    code = "misconfigured"
    title = "Service misconfigured"


class ModelError(UnavailableError):
    """The chat model or embedder failed or answered nonsense."""

    code = "model_unavailable"
    title = "Model unavailable"


class ModelThrottledError(ModelError):
    """The provider limits the rate of calls: nothing is wrong with the request, wait and retry."""

    code = "model_throttled"


def invalid_field(field: str, code: str, detail: str) -> ValidationError:
    """Return the failure of one field that breaks a rule with a code of its own."""
    return ValidationError(
        detail, code=code, fields=[{"field": field, "code": code, "detail": detail}]
    )
