"""Relations by hand: unique while current, closed instead of lost, single-valued by type."""

from __future__ import annotations

from datetime import timedelta
from typing import TYPE_CHECKING, Any

import pytest

from tests.memory_world import HAND, USER, MemoryWorld
from threadkeep.domain.changes import Commit, Support
from threadkeep.domain.relations import RelationChanges, RelationDraft, RelationType
from threadkeep.errors import (
    ConflictError,
    NotFoundError,
    PreconditionFailedError,
    ValidationError,
)
from threadkeep.ports import PageRequest

if TYPE_CHECKING:
    from threadkeep.domain.relations import Relation

WORKS_AT, KNOWS, USES = RelationType.WORKS_AT, RelationType.KNOWS, RelationType.USES


class People(MemoryWorld):
    """Three people and two employers."""

    def __init__(self) -> None:
        super().__init__()
        self.mia, self.lee, self.noor = (
            self.entity(name, entity_type="person").id for name in ("Mia", "Lee", "Noor")
        )
        self.acme, self.globex, self.initech = (
            self.entity(name, entity_type="organization").id
            for name in ("Acme", "Globex", "Initech")
        )

    def current(self, **filters: Any) -> list[tuple[str, RelationType, str]]:
        """List current relations."""
        page = self.product.relations.list(USER, PageRequest(limit=100), **filters)
        return [(r.source_entity_id, r.relation_type, r.target_entity_id) for r in page.items]

    def read(self, relation: Relation) -> Relation:
        """Read a relation again."""
        return self.product.relations.get(USER, relation.id)

    def change(self, relation: Relation, **fields: Any) -> Relation:
        """Replace fields of a relation."""
        changes = RelationChanges.model_validate(fields)
        return self.product.relations.update(USER, relation.id, changes, HAND)


@pytest.fixture
def world() -> People:
    return People()


def test_same_ends_and_type_merge_into_one(world: People) -> None:
    # given
    first = world.relation(world.mia, world.lee, KNOWS, properties={"a": 1, "b": 1})
    # when
    second = world.relation(
        world.mia, world.lee, KNOWS, properties={"b": 2}, description="Friends."
    )
    # then
    assert (second.id, second.version) == (first.id, 2)
    assert (second.properties, second.description) == ({"a": 1, "b": 2}, "Friends.")
    assert world.current() == [(world.mia, KNOWS, world.lee)]


def test_identical_restatement_changes_nothing(world: People) -> None:
    # given
    first = world.relation(world.mia, world.lee, KNOWS, description="Friends.")
    # then
    assert world.relation(world.mia, world.lee, KNOWS, description="Friends.") == first


def test_direction_and_type_tell_relations_apart(world: People) -> None:
    # when
    ids = {
        world.relation(world.mia, world.lee, KNOWS).id,
        world.relation(world.lee, world.mia, KNOWS).id,
        world.relation(world.mia, world.lee, USES).id,
    }
    # then
    assert len(ids) == 3


def test_relation_to_itself_is_refused(world: People) -> None:
    # when
    with pytest.raises(ValidationError) as raised:
        world.relation(world.mia, world.mia)
    # then
    assert raised.value.code == "self_relation"


def test_unknown_foreign_and_deleted_ends_look_the_same(world: People) -> None:
    # given
    foreign = world.entity("foreign", user="u2").id
    gone = world.entity("gone").id
    world.product.memories.delete(USER, gone)
    # when
    details = []
    for end in ("nothing", foreign, gone):
        with pytest.raises(NotFoundError) as raised:
            world.relation(world.mia, end)
        details.append((raised.value.detail, raised.value.fields))
    # then
    assert details[0] == details[1] == details[2]


def test_self_stands_for_the_own_entity(world: People) -> None:
    # when
    relation = world.relation("self", world.acme, WORKS_AT)
    # then
    assert relation.source_entity_id == world.product.memories.own(USER, HAND).id


def test_touching_a_relation_does_not_touch_its_ends(world: People) -> None:
    # given
    before = world.product.memories.get(USER, world.mia)
    # when
    world.relation(world.mia, world.lee, KNOWS)
    # then
    after = world.product.memories.get(USER, world.mia)
    assert (after.touched_at, after.version) == (before.touched_at, before.version)


def test_new_employer_closes_the_old_one_and_deletes_nothing(world: People) -> None:
    # given
    old = world.relation(world.mia, world.acme, WORKS_AT)
    # when
    new = world.relation(world.mia, world.globex, WORKS_AT)
    # then
    closed = world.read(old)
    assert closed.valid_to == new.valid_from
    assert closed.version == 2
    assert world.current() == [(world.mia, WORKS_AT, world.globex)]


def test_many_valued_relations_do_not_close_each_other(world: People) -> None:
    """T21: a fact about someone else, or another value, retires nothing."""
    # given
    first = world.relation(world.mia, world.acme, USES)
    # when
    world.relation(world.mia, world.globex, USES)
    world.relation(world.lee, world.initech, USES)
    world.relation(world.lee, world.initech, WORKS_AT)
    # then
    assert world.read(first).valid_to is None


def test_employer_of_one_person_does_not_close_that_of_another(world: People) -> None:
    # given
    first = world.relation(world.mia, world.acme, WORKS_AT)
    # when
    world.relation(world.lee, world.globex, WORKS_AT)
    # then
    assert world.read(first).valid_to is None


def test_old_employer_ends_when_the_new_one_began(world: People) -> None:
    # given
    start = world.clock.now()
    old = world.relation(world.mia, world.acme, WORKS_AT, valid_from=start - timedelta(days=900))
    # when
    moved = start - timedelta(days=30)
    world.relation(world.mia, world.globex, WORKS_AT, valid_from=moved)
    # then
    assert world.read(old).valid_to == moved


def test_new_employer_of_tomorrow_closes_the_old_one_today(world: People) -> None:
    # given
    old = world.relation(world.mia, world.acme, WORKS_AT)
    # when
    later = world.clock.now() + timedelta(days=1)
    world.relation(world.mia, world.globex, WORKS_AT, valid_from=later)
    # then
    assert world.current() == [(world.mia, WORKS_AT, world.globex)]
    assert world.read(old).valid_to is not None


def test_plan_that_is_overtaken_never_was_true(world: People) -> None:
    # given
    later = world.clock.now() + timedelta(days=30)
    planned = world.relation(world.mia, world.acme, WORKS_AT, valid_from=later)
    # when
    world.relation(world.mia, world.globex, WORKS_AT)
    # then
    assert world.current() == [(world.mia, WORKS_AT, world.globex)]
    overtaken = world.read(planned)
    assert overtaken.valid_from == overtaken.valid_to


def test_back_at_the_first_employer_is_a_new_relation(world: People) -> None:
    # given
    first = world.relation(world.mia, world.acme, WORKS_AT)
    world.relation(world.mia, world.globex, WORKS_AT)
    # when
    again = world.relation(world.mia, world.acme, WORKS_AT)
    # then
    assert again.id != first.id
    assert world.current() == [(world.mia, WORKS_AT, world.acme)]
    assert world.read(first).valid_to is not None


def test_past_employer_closes_nothing(world: People) -> None:
    # given
    now = world.clock.now()
    current = world.relation(world.mia, world.acme, WORKS_AT)
    # when
    past: dict[str, Any] = {
        "valid_from": now - timedelta(days=900),
        "valid_to": now - timedelta(days=500),
    }
    told = world.relation(world.mia, world.globex, WORKS_AT, **past)
    told_again = world.relation(world.mia, world.globex, WORKS_AT, **past)
    # then
    assert told_again == told
    assert world.current() == [(world.mia, WORKS_AT, world.acme)]
    assert world.read(current).valid_to is None


def test_earlier_stretch_of_the_same_relation_is_one_of_its_own(world: People) -> None:
    # given
    now = world.clock.now()
    current = world.relation(world.mia, world.acme, WORKS_AT, valid_from=now - timedelta(days=10))
    # when
    past: dict[str, Any] = {
        "valid_from": now - timedelta(days=900),
        "valid_to": now - timedelta(days=500),
    }
    earlier = world.relation(world.mia, world.acme, WORKS_AT, **past)
    # then
    assert earlier.id != current.id
    assert world.read(current).valid_to is None


def test_past_relation_without_a_beginning_is_refused(world: People) -> None:
    # when
    with pytest.raises(ValidationError) as raised:
        world.relation(world.mia, world.acme, WORKS_AT, valid_to=world.clock.now())
    # then
    assert raised.value.code == "valid_from_missing"


def test_stated_end_closes_the_current_relation(world: People) -> None:
    # given
    relation = world.relation(world.mia, world.acme, WORKS_AT)
    # when
    ended = world.relation(world.mia, world.acme, WORKS_AT, valid_to=world.clock.now())
    # then
    assert (ended.id, ended.version) == (relation.id, 2)
    assert world.current() == []


def test_end_that_lies_ahead_passes_by_itself_and_makes_room(world: People) -> None:
    # given
    end = world.clock.now() + timedelta(days=1)
    first = world.relation(world.mia, world.lee, KNOWS, valid_to=end)
    assert world.current() == [(world.mia, KNOWS, world.lee)]
    # when
    world.clock.set(end)
    assert world.current() == []
    second = world.relation(world.mia, world.lee, KNOWS)
    # then
    assert second.id != first.id
    assert world.read(first).version == 1
    assert world.current() == [(world.mia, KNOWS, world.lee)]


def test_put_closes_and_opens_again(world: People) -> None:
    # given
    relation = world.relation(world.mia, world.lee, KNOWS)
    # when
    closed = world.change(relation, valid_to=world.clock.now())
    assert world.current() == []
    opened = world.change(relation, valid_to=None)
    # then
    assert (closed.version, opened.version) == (2, 3)
    assert world.current() == [(world.mia, KNOWS, world.lee)]


def test_reopening_beside_a_current_twin_is_refused(world: People) -> None:
    # given
    first = world.relation(world.mia, world.lee, KNOWS)
    world.change(first, valid_to=world.clock.now())
    second = world.relation(world.mia, world.lee, KNOWS)
    # when
    with pytest.raises(ConflictError) as raised:
        world.change(first, valid_to=None)
    # then
    assert (raised.value.code, raised.value.extra) == (
        "relation_exists",
        {"relation_id": second.id},
    )


def test_reopening_an_employer_closes_the_other(world: People) -> None:
    # given
    first = world.relation(world.mia, world.acme, WORKS_AT)
    world.relation(world.mia, world.globex, WORKS_AT)
    # when
    world.change(first, valid_to=None)
    # then
    assert world.current() == [(world.mia, WORKS_AT, world.acme)]


def test_put_that_would_end_before_it_starts_is_refused(world: People) -> None:
    # given
    relation = world.relation(world.mia, world.lee, KNOWS)
    # when
    with pytest.raises(ValidationError) as raised:
        world.change(relation, valid_to=relation.valid_from)
    # then
    assert raised.value.code == "invalid_interval"
    assert world.read(relation).version == 1


def test_put_of_what_is_there_makes_no_version(world: People) -> None:
    # given
    relation = world.relation(world.mia, world.lee, KNOWS, description="Friends.")
    # then
    assert world.change(relation, description="Friends.") == relation


def test_true_in_place_of_one_is_a_change(world: People) -> None:
    # given
    relation = world.relation(world.mia, world.lee, KNOWS, properties={"a": 1})
    # when
    world.change(relation, properties={"a": True})
    # then
    read = world.read(relation)
    assert (read.version, read.properties["a"] is True) == (2, True)


def test_update_and_delete_of_another_version_are_refused(world: People) -> None:
    # given
    relation = world.relation(world.mia, world.lee, KNOWS)
    relations = world.product.relations
    # when
    with pytest.raises(PreconditionFailedError):
        relations.update(USER, relation.id, RelationChanges(description="x"), HAND, (2,))
    with pytest.raises(PreconditionFailedError):
        relations.delete(USER, relation.id, HAND, (2,))
    # then
    assert world.read(relation).version == 1


def test_deleted_relation_is_gone_and_its_ends_stay(world: People) -> None:
    # given
    relation = world.relation(world.mia, world.lee, KNOWS)
    # when
    world.product.relations.delete(USER, relation.id, HAND)
    # then
    with pytest.raises(NotFoundError):
        world.read(relation)
    assert world.current() == []
    assert world.relation(world.mia, world.lee, KNOWS).id != relation.id


def test_list_matches_either_end_and_type(world: People) -> None:
    # given
    world.relation(world.mia, world.lee, KNOWS)
    world.relation(world.lee, world.noor, KNOWS)
    world.relation(world.noor, world.acme, WORKS_AT)
    # then
    assert world.current(entity_id=world.lee) == [
        (world.lee, KNOWS, world.noor),
        (world.mia, KNOWS, world.lee),
    ]
    assert world.current(relation_type=WORKS_AT) == [(world.noor, WORKS_AT, world.acme)]
    assert world.current(entity_id=world.mia, relation_type=WORKS_AT) == []


def test_list_takes_self_for_the_own_entity(world: People) -> None:
    # given
    assert world.current(entity_id="self") == []
    own = world.relation("self", world.acme, WORKS_AT)
    # then
    assert world.current(entity_id="self") == [(own.source_entity_id, WORKS_AT, world.acme)]


def test_relation_of_someone_else_is_not_there(world: People) -> None:
    # given
    a, b = (world.entity(name, user="u10").id for name in "ab")
    foreign = world.relation(a, b, KNOWS, user="u10")
    # then
    with pytest.raises(NotFoundError):
        world.read(foreign)
    with pytest.raises(NotFoundError):
        world.change(foreign, description="mine")
    with pytest.raises(NotFoundError):
        world.product.relations.delete(USER, foreign.id, HAND)


def test_each_source_counts_once(world: People) -> None:
    # given
    draft = RelationDraft(
        source_entity_id=world.mia, target_entity_id=world.lee, relation_type=KNOWS
    )
    statements = world.product.relation_statements
    # when: two turns say it, one of them twice
    for turn in ("t/1", "t/2", "t/1"):
        now = world.clock.now()
        decision = statements.state(USER, draft, now=now, support=Support(turn))
        if decision.changes:
            world.store.commit(USER, Commit(HAND, now, decision.changes))
    # then
    assert decision.result.sources_count == 2
    assert world.store.relation_sources(USER, decision.result.id) == {"t/1", "t/2"}
