"""The fake and the real memory store tell the same story of random operations."""

from __future__ import annotations

import random
from datetime import timedelta
from typing import TYPE_CHECKING, Any

import pytest

from tests.contract.memories import NOW, USER, commit, entity, relation, support
from tests.fakes.memory import FakeMemoryStore
from threadkeep.domain.changes import (
    CreateEntity,
    CreateRelation,
    DeleteRelation,
    UpdateEntity,
    UpdateRelation,
)
from threadkeep.domain.entities import EntityChanges, EntityDraft, EntityType, merge, replace
from threadkeep.domain.relations import RelationChanges, RelationType, close, settle
from threadkeep.domain.relations import replace as replace_relation
from threadkeep.errors import ConflictError
from threadkeep.ports import PageRequest
from threadkeep.storage.memory import DynamoMemoryStore

if TYPE_CHECKING:
    from collections.abc import Callable
    from datetime import datetime

    from threadkeep.domain.changes import Change
    from threadkeep.ports import MemoryStore
    from threadkeep.storage.table import Table

NAMES = ["Ann", "ann ", "Anna", "ＡＮＮ", "b#1", "b%", "王小明", "*", "ﬀ", "FF"]
TYPES = [EntityType.PERSON, EntityType.CONCEPT]
KINDS = [RelationType.KNOWS, RelationType.WORKS_AT]
OPERATIONS = 120
WHOLE = PageRequest(limit=100, with_total=True)


class Story:
    """Random operations, each decided on what the first store says and done to all of them."""

    def __init__(self, stores: list[MemoryStore], seed: int) -> None:
        self.stores = stores
        self.now: datetime = NOW
        self._random = random.Random(seed)
        self._numbers = iter(range(1, 10_000))

    def go_on(self) -> None:
        """Do one operation to every store; all agree on whether it is possible."""
        self.now += timedelta(minutes=self._random.randrange(3))
        acts: list[Callable[[], Callable[[MemoryStore], None] | None]] = [
            *(self._create, self._create, self._relate, self._relate, self._relate),
            *(self._edit, self._restate, self._end, self._end, self._delete, self._cut, self._use),
        ]
        act = self._random.choice(acts)
        doing = act()
        if doing is None:
            return
        ends = set()
        for store in self.stores:
            try:
                doing(store)
            except ConflictError:
                ends.add("conflict")
            else:
                ends.add("done")
        assert len(ends) == 1, f"{act.__name__}: {ends}"

    def _committing(self, *changes: Change) -> Callable[[MemoryStore], None]:
        return lambda store: commit(store, *changes, at=self.now)

    def _source(self) -> str:
        return f"c{self._random.randrange(3)}/m{self._random.randrange(4)}"

    def _pick(self, items: Any) -> Any:
        found = list(items)
        return self._random.choice(found) if found else None

    def _entity(self) -> Any:
        found = self.stores[0].list_entities(USER, WHOLE, sort="name", now=NOW.replace(year=1))
        picked = self._pick(found.items)
        return picked and self.stores[0].get_entity(USER, picked.id)

    def _relation(self) -> Any:
        edge = self._pick(self.stores[0].edges(USER, closed=True))
        return edge and self.stores[0].get_relation(USER, edge.relation_id)

    def _create(self) -> Any:
        expires = self._random.choice([None, None, self.now + timedelta(minutes=20)])
        made = entity(
            f"e{next(self._numbers)}",
            self._random.choice(NAMES),
            entity_type=self._random.choice(TYPES),
            at=self.now,
            expires_at=expires,
        )
        said = self._random.choice([None, support(self._source(), "quote", self.now)])
        return self._committing(CreateEntity(made, said))

    def _relate(self) -> Any:
        source, target = self._entity(), self._entity()
        if source is None or source.id == target.id:
            return None
        kind = self._random.choice(KINDS)
        valid_to = self._random.choice([None, None, self.now + timedelta(minutes=9)])
        made = relation(
            f"r{next(self._numbers)}", source.id, target.id, kind, at=self.now, valid_to=valid_to
        )
        changes: list[Change] = [CreateRelation(made, support(self._source()))]
        held_by = self.stores[0].find_relation(USER, source.id, kind, target.id)
        if held_by and self._random.random() < 0.5:
            held = self.stores[0].get_relations(USER, [held_by])[held_by]
            if held.is_current(self.now):
                changes.append(UpdateRelation(held, close(held, valid_to=self.now, now=self.now)))
            else:
                changes.append(UpdateRelation(held, settle(held, self.now)))
        return self._committing(*changes)

    def _edit(self) -> Any:
        before = self._entity()
        if before is None:
            return None
        changes = EntityChanges(
            name=self._random.choice(NAMES), description=self._random.choice(["x", "Roast"])
        )
        return self._committing(UpdateEntity(before, replace(before, changes, self.now)))

    def _restate(self) -> Any:
        before = self._entity()
        if before is None:
            return None
        draft = EntityDraft(name=before.name, entity_type=before.entity_type)
        said = support(self._source(), "again", self.now)
        return self._committing(UpdateEntity(before, merge(before, draft, self.now), said))

    def _end(self) -> Any:
        before = self._relation()
        if before is None:
            return None
        ends = self._random.choice([None, before.valid_from + timedelta(minutes=1),
                                    self.now + timedelta(minutes=5)])  # fmt: skip
        after = replace_relation(before, RelationChanges(valid_to=ends), self.now)
        return self._committing(UpdateRelation(before, after, support(self._source(), "over")))

    def _cut(self) -> Any:
        found = self._relation()
        return found and self._committing(DeleteRelation(found))

    def _delete(self) -> Any:
        found = self._entity()
        return found and (lambda store: store.delete_entity(USER, found, at=self.now))

    def _use(self) -> Any:
        ids = [f"e{self._random.randrange(20)}" for _ in range(3)]
        return lambda store: store.count_accesses(USER, ids, self.now)


def seen(store: MemoryStore, now: datetime) -> dict[str, Any]:
    """Read everything that a store can tell of a user."""
    story: dict[str, Any] = {}
    for sort in ("updated", "name"):
        listed = store.list_entities(USER, WHOLE, sort=sort, now=now)
        story[f"by {sort}"] = (list(listed.items), listed.total)
    for text in ("ann", "roast"):
        listed = store.list_entities(USER, PageRequest(), sort="name", now=now, text=text)
        story[f"text {text}"] = [item.id for item in listed.items]
    relations = store.list_relations(USER, WHOLE, now=now)
    story["relations"] = (list(relations.items), relations.total)
    story["edges"] = {edge.relation_id: edge for edge in store.edges(USER, closed=True)}
    ids = [f"e{n}" for n in range(1, 60)]
    story["entities"] = {i: found for i in ids if (found := store.get_entity(USER, i))}
    story["halves"] = {
        i: set(found) for i, found in store.halves_of(USER, ids, closed=True).items() if found
    }
    story["of one"] = {
        i: [item.id for item in store.list_relations(USER, WHOLE, now=now, entity_id=i).items]
        for i in list(story["entities"])[:3]
    }
    story["bodies"] = {i: store.get_relation(USER, i) for i in story["edges"]}
    story["histories"] = {
        i: list(store.history(USER, i, WHOLE).items) for i in [*story["entities"], *story["edges"]]
    }
    story["sources"] = {i: store.entity_sources(USER, i) for i in story["entities"]}
    story["names"] = {
        i: store.find_by_name(USER, found.entity_type, found.name_key)
        for i, found in story["entities"].items()
    }
    # The real store also marks a relation whose rows it could not delete at once
    story["marks"] = {mark.ref: mark for mark in store.pending(USER) if mark.ref[0] == "e"}
    return story


@pytest.mark.parametrize("seed", [1, 2])
def test_the_fake_tells_what_the_real_store_tells(table: Table, seed: int) -> None:
    fake, real = FakeMemoryStore(), DynamoMemoryStore(table)
    story = Story([fake, real], seed)
    told: set[str] = set()
    for number in range(OPERATIONS):
        story.go_on()
        if number % 20 == 19:
            tale = seen(real, story.now)
            assert seen(fake, story.now) == tale
            told |= {part for part, found in tale.items() if found}
    # The story was worth telling: at one time or another there was something of everything
    assert tale.keys() - told <= {"text ann", "text roast"}
    assert real.unfinished_deletions(USER) == frozenset()
