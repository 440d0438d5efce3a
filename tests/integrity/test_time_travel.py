"""``as_of`` and ``known_at`` against snapshots that were taken along the way."""

from __future__ import annotations

import random
from contextlib import suppress
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import Any

import pytest

from tests.memory_world import HAND, USER, MemoryWorld
from threadkeep.domain.entities import EntityChanges
from threadkeep.domain.graph import GraphQuery
from threadkeep.domain.relations import RelationChanges, RelationType
from threadkeep.errors import ThreadkeepError

type Content = tuple[str, str, dict[str, Any]]


@dataclass(frozen=True)
class Fact:
    """A relation as it was known."""

    source: str
    target: str
    valid_from: datetime
    valid_to: datetime | None
    description: str

    def holds(self, as_of: datetime) -> bool:
        """Tell whether it was true."""
        return self.valid_from <= as_of and (self.valid_to is None or as_of < self.valid_to)


@dataclass
class Script:
    """A random life of a memory, photographed after each step.

    Attributes:
        moments: When photographs were taken.
        entities: What was known of entities, for each photograph.
        facts: What was known of relations, for each photograph.
    """

    seed: int
    world: MemoryWorld = field(default_factory=MemoryWorld)
    moments: list[datetime] = field(default_factory=list)
    entities: list[dict[str, Content]] = field(default_factory=list)
    facts: list[dict[str, Fact]] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.rng = random.Random(self.seed)
        self.entity_ids: list[str] = []
        self.relation_ids: set[str] = set()

    def play(self, steps: int) -> None:
        """Change something, let time pass, take a photograph; over and over."""
        acts = [self.create, self.create, self.relate, self.relate, self.relate]
        acts += [self.edit, self.edit_relation, self.delete, self.delete_relation]
        for number in range(steps):
            # What is refused (a taken name, something deleted) changes nothing, and is a step too.
            with suppress(ThreadkeepError):
                act = self.create if number < 5 else self.rng.choice(acts)
                act()
            self.photograph()
            self.world.clock.advance(hours=self.rng.randint(1, 48))

    def create(self) -> None:
        """Create or restate an entity."""
        entity = self.world.entity(
            f"e{self.rng.randint(0, 12)}",
            description=self.rng.choice(["", "A.", "B.", "C."]),
            properties={"n": self.rng.randint(0, 3)},
        )
        if entity.id not in self.entity_ids:
            self.entity_ids.append(entity.id)

    def edit(self) -> None:
        """Rename or describe an entity."""
        changes = EntityChanges.model_validate(
            self.rng.choice(
                [
                    {"description": self.rng.choice(["X", "Y", ""])},
                    {"name": f"e{self.rng.randint(0, 20)}"},
                    {"properties": {"k": self.rng.randint(0, 5)}},
                ]
            )
        )
        self.world.product.memories.update(USER, self.rng.choice(self.entity_ids), changes, HAND)

    def delete(self) -> None:
        """Delete an entity, now and then."""
        if self.rng.random() < 0.1:
            self.world.product.memories.delete(USER, self.rng.choice(self.entity_ids))

    def relate(self) -> None:
        """State a relation, of now, of the past or with an end ahead."""
        if len(self.entity_ids) < 2:
            return
        source, target = self.rng.sample(self.entity_ids, 2)
        relation = self.world.relation(
            source,
            target,
            self.rng.choice([RelationType.WORKS_AT, RelationType.KNOWS, RelationType.LOCATED_IN]),
            description=self.rng.choice(["", "P.", "Q."]),
            **self.times(),
        )
        self.relation_ids.add(relation.id)

    def edit_relation(self) -> None:
        """Close, move, open again or describe a relation."""
        if not self.relation_ids:
            return
        changes = {**self.times(), "description": self.rng.choice(["R", "S"])}
        if self.rng.random() < 0.3:
            changes["valid_to"] = None
        self.world.product.relations.update(
            USER,
            self.rng.choice(sorted(self.relation_ids)),
            RelationChanges.model_validate(changes),
            HAND,
        )

    def delete_relation(self) -> None:
        """Delete a relation, now and then."""
        if self.relation_ids and self.rng.random() < 0.1:
            gone = self.rng.choice(sorted(self.relation_ids))
            self.world.product.relations.delete(USER, gone, HAND)

    def times(self) -> dict[str, Any]:
        """Return an interval, or parts of one."""
        now = self.world.clock.now()
        start = now + timedelta(days=self.rng.randint(-40, 10))
        end = now + timedelta(days=self.rng.randint(-20, 30))
        return self.rng.choice(
            [
                {},
                {"valid_from": start},
                {"valid_to": end} if end > now else {},
                {"valid_from": min(start, end - timedelta(days=1)), "valid_to": end},
            ]
        )

    def photograph(self) -> None:
        """Keep all that is known now."""
        entities: dict[str, Content] = {}
        facts: dict[str, Fact] = {}
        for entity_id in self.entity_ids:
            try:
                entity = self.world.product.memories.get(USER, entity_id)
            except ThreadkeepError:
                continue
            entities[entity_id] = (entity.name, entity.description, entity.properties)
        # Closing another relation is a side effect, so all are looked at each time.
        for relation_id in self.relation_ids:
            try:
                relation = self.world.product.relations.get(USER, relation_id)
            except ThreadkeepError:
                continue
            facts[relation_id] = Fact(
                relation.source_entity_id,
                relation.target_entity_id,
                relation.valid_from,
                relation.valid_to,
                relation.description,
            )
        self.moments.append(self.world.clock.now())
        self.entities.append(entities)
        self.facts.append(facts)

    def expected(
        self, as_of: datetime, known_at: datetime
    ) -> tuple[dict[str, Content], dict[str, Fact]]:
        """Return what was true by what was known, but for what was deleted since."""
        taken = [number for number, at in enumerate(self.moments) if at <= known_at]
        if not taken:
            return {}, {}
        entities, facts = self.entities[taken[-1]], self.facts[taken[-1]]
        return (
            {i: content for i, content in entities.items() if i in self.entities[-1]},
            {i: fact for i, fact in facts.items() if i in self.facts[-1] and fact.holds(as_of)},
        )


@pytest.mark.parametrize("seed", range(4))
def test_history_answers_as_the_snapshots_do(seed: int) -> None:
    """T28: what was known and true at any moment, and nothing that was deleted."""
    # given
    script = Script(seed)
    script.play(steps=120)
    start, end = script.moments[0] - timedelta(days=60), script.moments[-1] + timedelta(days=20)
    graph = script.world.product.graph
    seen = 0
    for _ in range(250):
        # when: known_at falls between two photographs, never within a step
        as_of = start + (end - start) * script.rng.random()
        known_at = script.rng.choice(script.moments) + timedelta(minutes=script.rng.randint(0, 30))
        query = GraphQuery(as_of=as_of, known_at=known_at)
        whole, _ = graph.whole(USER, query)
        # then
        entities, facts = script.expected(as_of, known_at)
        assert {e.id: (e.name, e.description, e.properties) for e in whole.entities} == entities
        shown = {
            r.id: Fact(
                r.source_entity_id, r.target_entity_id, r.valid_from, r.valid_to, r.description
            )
            for r in whole.relations
        }
        assert shown == facts
        seen += len(shown)
        # and a walk from any entity sees the same around it
        if entities:
            at = script.rng.choice(sorted(entities))
            query = query.model_copy(update={"entity_ids": (at,), "max_nodes": 100})
            around = graph.traverse(USER, query)
            assert {r.id for r in around.relations} == {
                i for i, fact in facts.items() if at in (fact.source, fact.target)
            }
    assert seen > 100
