"""The command line over the product on in-memory stores, on either back end."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from tests.search_world import Memory
from tests.world import ALICE, BOB
from threadkeep.cli import main
from threadkeep.domain.retrieval import Document, DocumentKind
from threadkeep.settings import Settings

if TYPE_CHECKING:
    from collections.abc import Iterator

    from threadkeep.bootstrap import Bootstrap


class TwoUsers:
    """Who has data: alice and bob."""

    def all(self) -> Iterator[str]:
        """Yield them."""
        yield from (ALICE, BOB)


@pytest.fixture
def memory() -> Memory:
    """A memory of two users with entities and turns, all indexed."""
    made = Memory(users=TwoUsers(), settings=Settings(table_name="t"))
    for user in (ALICE, BOB):
        for number in range(3):
            made.learn(f"thing {number}", user)
        agent = made.agent(user)
        for text in ("I had an espresso in Rome", "then tea", "and cake"):
            made.say(agent, text, f"talk-of-{user}", user=user)
    made.index_all(ALICE, BOB)
    return made


def run(product: Bootstrap, *words: str) -> int:
    """Run the command line."""
    return main(words, product)


def test_nothing_differs_after_indexing(memory: Memory, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(memory.product, "verify") == 0
    assert capsys.readouterr().out == "0 differences\n"


def test_what_differs_is_told_and_a_rebuild_makes_it_right(
    memory: Memory, capsys: pytest.CaptureFixture[str]
) -> None:
    # given an index that lost one entity and one turn of alice, is behind with another entity, and
    # has something that bob's table does not know
    held = dict(memory.index.refs(ALICE))
    entities = [ref for ref in held if "/" not in ref]
    turn = next(ref for ref in held if "/" in ref)
    rows = memory.index._rows
    for lost in (entities[0], turn):
        del rows._rows[ALICE][lost], rows._revisions[ALICE][lost]  # type: ignore[attr-defined]
    entity = memory.product.memories.get(ALICE, entities[1])
    stale = rows._rows[ALICE][entity.id].document  # type: ignore[attr-defined]
    object.__setattr__(stale, "revision", 0)
    now = memory.clock.now()
    ghost = Document(
        kind=DocumentKind.ENTITY, ref="ghost", revision=9, text="x", created_at=now, touched_at=now
    )
    memory.index.upsert(BOB, [ghost])
    # then verify tells each, of the right user
    assert run(memory.product, "verify") == 1
    assert sorted(capsys.readouterr().out.splitlines()) == sorted(
        [
            f"{ALICE}: {entities[0]} is missing in exact",
            f"{ALICE}: {turn} is missing in exact",
            f"{ALICE}: {entities[1]} is stale in exact",
            f"{BOB}: ghost is ghost in exact",
            "4 differences",
        ]
    )
    # and a rebuild of alice mends hers only, of all mends the rest
    assert run(memory.product, "rebuild", "--user", ALICE) == 0
    assert run(memory.product, "verify", "--user", ALICE) == 0
    assert run(memory.product, "verify", "--user", BOB) == 1
    assert run(memory.product, "rebuild", "--all") == 0
    capsys.readouterr()
    assert run(memory.product, "verify") == 0


def test_a_rebuild_after_a_change_of_embedder_makes_answers_exact_again(memory: Memory) -> None:
    """T67 on the exact back end: what is not embedded anew yet is found by its words."""
    # given rows whose vectors are of another embedder
    memory.index._generation = "another"
    memory.index._users.clear()
    before = memory.search("espresso", mode="hybrid")
    assert [turn.content for turn in before.episodes][:1] == ["I had an espresso in Rome"]
    assert not before.exact
    # when the index is rebuilt
    assert run(memory.product, "rebuild", "--user", ALICE) == 0
    # then nothing is missing and answers are exact
    assert memory.search("espresso", mode="hybrid").exact


def test_what_an_embedder_refuses_is_left_and_told(memory: Memory) -> None:
    """A rebuild while the embedder is out takes no vector away."""
    memory.embedder.is_out = True
    assert run(memory.product, "rebuild", "--user", ALICE) == 1
    memory.embedder.is_out = False
    memory.index._users.clear()
    (best, *_) = memory.search("espresso", recency_weight=0.0).episodes
    assert best.score > 0.1


def test_back_end_without_generations_says_so(
    memory: Memory, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(memory.product, "generations") == 2
    assert "SEARCH_BACKEND is exact" in capsys.readouterr().err
