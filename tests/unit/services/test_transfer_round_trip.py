"""Any memory survives an export and an import."""

from __future__ import annotations

from datetime import timedelta

from hypothesis import given, settings
from hypothesis import strategies as st

from tests.transfer_world import ALICE, BOB, TransferWorld, essence
from threadkeep.domain.changes import Origin
from threadkeep.domain.conversations import Role
from threadkeep.domain.entities import EntityType
from threadkeep.domain.relations import RelationChanges, RelationType

NAMES = st.text(min_size=1, max_size=12).filter(lambda name: bool(name.strip()))
JSON = st.recursive(
    st.none() | st.booleans() | st.integers(-(2**53), 2**53) | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=2) | st.dictionaries(st.text(max_size=3), inner),
    max_leaves=4,
)


@settings(max_examples=60, deadline=None)
@given(data=st.data())
def test_any_memory_survives_export_and_import(data: st.DataObject) -> None:
    # given a memory that was made up
    world = TransferWorld()
    kinds = st.sampled_from([kind.value for kind in EntityType])
    made: list[str] = []
    for _ in range(data.draw(st.integers(0, 6))):
        one = world.entity(
            data.draw(NAMES),
            ALICE,
            entity_type=data.draw(kinds),
            description=data.draw(st.text(max_size=30)),
            properties=data.draw(st.dictionaries(st.text(max_size=3), JSON, max_size=3)),
            importance=data.draw(st.none() | st.floats(0, 1)),
        )
        made.append(one.id)
    related: list[str] = []
    for _ in range(data.draw(st.integers(0, 8)) if len(set(made)) > 1 else 0):
        pair = st.lists(st.sampled_from(sorted(set(made))), min_size=2, max_size=2, unique=True)
        source, target = data.draw(pair)
        kind = data.draw(st.sampled_from(list(RelationType)))
        relation = world.relation(source, target, kind, ALICE)
        if data.draw(st.booleans()):
            ends = RelationChanges(valid_to=world.clock.now() + timedelta(milliseconds=1))
            world.product.relations.update(ALICE, relation.id, ends, Origin("user:alice"))
            world.clock.advance(seconds=1)
        related.append(relation.id)
    for number in range(data.draw(st.integers(0, 4)) if made else 0):
        world.support(ALICE, data.draw(st.sampled_from(made + related)), f"t{number}/m")
    for number in range(data.draw(st.integers(0, 2))):
        words = data.draw(st.lists(NAMES, min_size=1, max_size=4))
        world.say(ALICE, f"c{number}", *((Role.USER, word) for word in words))
    # when another user imports what was exported
    lines = world.export(ALICE)
    job = world.take(BOB, lines)
    # then both say the same
    assert job.errors == ()
    assert essence(world.export(BOB)) == essence(lines)
