"""What was deleted is never found again, whatever the index still holds."""

from __future__ import annotations

import random

import pytest

from tests.search_world import HAND, DeafIndex, Memory
from tests.world import ALICE
from threadkeep.domain.entities import EntityChanges
from threadkeep.domain.retrieval import Mode

OPERATIONS = 3_400
"""For each mode; over ten thousand in all."""


@pytest.mark.parametrize("mode", list(Mode))
def test_index_that_never_forgets_shows_no_ghost(mode: Mode) -> None:
    """T08, T52, T82: what is deleted is gone from search at once, whatever the index says."""
    # GIVEN an index that lags for ever and forgets nothing
    rng = random.Random(str(mode))
    memory = Memory(DeafIndex)
    live: dict[str, str] = {}
    for step in range(OPERATIONS):
        # WHEN entities come, change and go, and are sometimes indexed
        match rng.randrange(5):
            case 0 | 1:
                entity = memory.learn(f"coffee {step}")
                live[entity.id] = entity.name
            case 2 if live:
                gone = rng.choice(list(live))
                memory.product.memories.delete(ALICE, gone)
                del live[gone]
            case 3 if live:
                kept = rng.choice(list(live))
                renamed = EntityChanges(name=f"coffee renamed {step}")
                memory.product.memories.update(ALICE, kept, renamed, HAND)
                live[kept] = f"coffee renamed {step}"
            case _:
                memory.index_all()
        # THEN search returns only what lives, as it is now
        if step % 10 == 0:
            found = memory.search("coffee", mode=mode, top_k=50)
            assert {hit.id: hit.name for hit in found.entities}.items() <= live.items()
            assert len(found.entities) == min(len(live), 50)
