"""Indexing into several generations, and what happens to what one of them refuses."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tests.fakes.embedder import HashingEmbedder
from tests.fakes.repairs import FakeRepairQueue
from tests.fakes.vector_rows import FakeVectorRows
from tests.search_world import Memory
from tests.world import ALICE
from threadkeep.bootstrap import Bootstrap
from threadkeep.domain.retrieval import SearchQuery
from threadkeep.errors import NotIndexedError, UnavailableError
from threadkeep.ports import Generation
from threadkeep.search.exact import ExactIndex

if TYPE_CHECKING:
    from collections.abc import Sequence

    from threadkeep.domain.retrieval import Document


QUERY = SearchQuery(query="tea")


class PickyIndex(ExactIndex):
    """An index that refuses what speaks of poison, and can be out.

    Attributes:
        is_out: Whether it fails.
    """

    is_out = False

    def upsert(self, user_id: str, documents: Sequence[Document]) -> None:
        """Store what is fit."""
        if self.is_out:
            raise UnavailableError("out", code="search_unavailable")
        fit = [each for each in documents if "poison" not in each.text]
        super().upsert(user_id, fit)
        if len(fit) < len(documents):
            refused = tuple(each.ref for each in documents if each not in fit)
            raise NotIndexedError("refused", refs=refused)


class TwoGenerations:
    """An old generation that serves, and a new one with another embedder that is picky."""

    def __init__(self, memory: Memory) -> None:
        embedder = HashingEmbedder(memory.embedder.dimension + 8)
        self.old = Generation("old", memory.index, memory.embedder)
        self.picky = PickyIndex(FakeVectorRows(), embedder.dimension, memory.clock)
        self.new = Generation("new", self.picky, embedder)

    def serving(self) -> Generation:
        """Return the old one."""
        return self.old

    def written(self) -> Sequence[Generation]:
        """Return both."""
        return [self.old, self.new]

    def sweep(self) -> int:
        """Do nothing."""
        return 0


class Both:
    """A memory whose changes go to two generations."""

    def __init__(self) -> None:
        self.memory = Memory()
        self.generations = TwoGenerations(self.memory)
        self.repairs = FakeRepairQueue()
        parts = {k: v for k, v in self.memory.parts.items() if k != "retrieval"}
        self.product = Bootstrap(**parts, generations=self.generations, repair_queue=self.repairs)

    def marked(self) -> list[str]:
        """Return the refs that wait to be indexed."""
        return [mark.ref for mark in self.memory.memory.pending(ALICE)]

    def held(self, name: str) -> set[str]:
        """Return the refs that a generation holds."""
        generation = {"old": self.generations.old, "new": self.generations.new}[name]
        return {ref for ref, _ in generation.index.refs(ALICE)}

    def follow(self) -> dict[str, int]:
        """Feed all marks to the indexer."""
        marks = [(ALICE, mark) for mark in self.memory.memory.pending(ALICE)]
        return self.product.index_feed.follow(marks)


def test_changes_go_to_every_generation_with_vectors_of_its_own() -> None:
    both = Both()
    kept, gone = both.memory.learn("tea"), both.memory.learn("coffee")
    both.follow()
    both.memory.product.memories.delete(ALICE, gone.id)
    both.follow()
    assert both.held("old") == both.held("new") == {kept.id}
    assert both.marked() == []
    assert both.product.retrieval.search(ALICE, QUERY).entities[0].id == kept.id


def test_what_one_generation_refuses_alone_waits_and_is_found_meanwhile() -> None:
    both = Both()
    fine, bad = both.memory.learn("tea"), both.memory.learn("poison")
    assert both.follow() == {"indexed": 1, "queued": 1}
    assert both.repairs.sent == [(ALICE, (bad.id,))]
    assert both.held("old") == {fine.id, bad.id}
    assert both.held("new") == {fine.id}
    assert both.marked() == [bad.id]


def test_generation_that_is_out_keeps_all_marks() -> None:
    both = Both()
    one = both.memory.learn("tea")
    both.generations.picky.is_out = True
    assert both.follow() == {"indexed": 0, "queued": 1}
    assert both.marked() == [one.id]
    both.generations.picky.is_out = False
    assert both.follow() == {"indexed": 1, "queued": 0}
    assert both.marked() == []
