"""Indexing without a stream."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Sequence

    from threadkeep.bootstrap import Bootstrap
    from threadkeep.ports import Pending


def index_pending(product: Bootstrap, user_id: str) -> Sequence[Pending]:
    """Index all that is marked for a user; return the marks that are left."""
    return product.indexing.index(user_id, product.memory_store.pending(user_id))
