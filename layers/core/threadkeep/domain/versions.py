"""Optimistic concurrency by version numbers."""

from collections.abc import Collection

from threadkeep.errors import PreconditionFailedError


def require_version(current: int, accepted: Collection[int] | None) -> None:
    """Check that a resource still has a version that the caller has seen.

    Args:
        current: The resource's version as read.
        accepted: Versions that the caller accepts; None for any.

    Raises:
        PreconditionFailedError: It has another version, named as ``current_version``.
    """
    if accepted is not None and current not in accepted:
        raise PreconditionFailedError(
            f"The current version is {current}.", extra={"current_version": current}
        )
