"""Entities by hand."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

import pytest

from tests.memory_world import HAND, USER, MemoryWorld
from threadkeep.domain.entities import Entity, EntityChanges, EntityDraft, EntityType, Provenance
from threadkeep.domain.limits import MAX_DESCRIPTION_BYTES
from threadkeep.domain.relations import RelationType
from threadkeep.errors import (
    ConflictError,
    NotFoundError,
    PreconditionFailedError,
    ThreadkeepError,
    ValidationError,
)
from threadkeep.ports import PageRequest
from threadkeep.services.memories import MAX_SHOWN_RELATIONS


@pytest.fixture
def world() -> MemoryWorld:
    return MemoryWorld()


def changed(world: MemoryWorld, entity: Entity, **fields: Any) -> Entity:
    """Replace fields of an entity."""
    changes = EntityChanges.model_validate(fields)
    return world.product.memories.update(USER, entity.id, changes, HAND)


def names(world: MemoryWorld, **options: Any) -> list[str]:
    """List names."""
    page = world.product.memories.list(USER, PageRequest(limit=100), **options)
    return [entity.name for entity in page.items]


def versions(world: MemoryWorld, entity: Entity) -> list[int]:
    """Return the versions in an entity's history, newest first."""
    entries = world.product.memories.history(USER, entity.id, PageRequest(limit=100)).items
    return [entry.version for entry in entries]


def code_of(raised: pytest.ExceptionInfo[Any]) -> str:
    """Return the code of a raised failure."""
    assert isinstance(raised.value, ThreadkeepError)
    return raised.value.code


def test_new_entity_is_manual_and_at_version_one(world: MemoryWorld) -> None:
    # when
    draft = EntityDraft(name="Acme", entity_type=EntityType.ORGANIZATION)
    entity, created = world.product.memories.create(USER, draft, HAND)
    # then
    assert created
    assert (entity.version, entity.provenance) == (1, Provenance.MANUAL)
    assert world.product.memories.get(USER, entity.id).name == "Acme"


def test_same_name_and_type_merge_into_one(world: MemoryWorld) -> None:
    # given
    first = world.entity("Acme Inc", description="Makes anvils.", properties={"a": 1, "b": 1})
    # when: the same name in another spelling
    second = world.entity(
        " ＡＣＭＥ  inc ", description="Makes anvils. Sells rockets.", properties={"b": 2, "c": 3}
    )
    # then
    assert second.id == first.id
    assert second.name == "Acme Inc"
    assert second.properties == {"a": 1, "b": 2, "c": 3}
    assert second.description == "Makes anvils. Sells rockets."
    assert second.version == 2


def test_same_name_of_another_type_is_another_entity(world: MemoryWorld) -> None:
    assert world.entity("Mercury").id != world.entity("Mercury", entity_type="goal").id


def test_importance_keeps_the_maximum(world: MemoryWorld) -> None:
    # given
    world.entity("Acme", importance=0.9)
    # then
    assert world.entity("Acme", importance=0.2).importance == 0.9


def test_identical_restatement_only_touches(world: MemoryWorld) -> None:
    """T01: the same statement twice is one entity, same version, nothing deleted."""
    # given
    fields: dict[str, Any] = {"description": "A dog.", "properties": {"legs": 4}, "importance": 0.4}
    first = world.entity("Rex", **fields)
    # when
    second = world.entity("Rex", **fields)
    # then
    same = {"touched_at": first.touched_at, "revision": first.revision}
    assert second.model_copy(update=same) == first
    assert second.touched_at > first.touched_at
    assert versions(world, first) == [1]
    assert names(world) == ["Rex"]


def test_merged_properties_over_the_limit_are_refused_and_change_nothing(
    world: MemoryWorld,
) -> None:
    # given
    before = world.entity("Acme", properties={"a": "x" * 9_000})
    # when
    with pytest.raises(ValidationError) as raised:
        world.entity("Acme", properties={"b": "x" * 9_000})
    # then
    assert code_of(raised) == "properties_too_large"
    assert world.product.memories.get(USER, before.id).version == 1


def test_merged_description_stays_within_its_limit(world: MemoryWorld) -> None:
    # given
    world.entity("Acme", description="First. " + "x" * (MAX_DESCRIPTION_BYTES - 10))
    # when
    merged = world.entity("Acme", description="One more sentence than fits.")
    # then
    assert len(merged.description.encode()) <= MAX_DESCRIPTION_BYTES
    assert merged.version == 1


@pytest.mark.parametrize(
    ("before", "after"),
    [(True, 1), (1, True), ([0], [{"b": [False]}]), ([{"b": 0}], [{"b": False}])],
)
def test_values_that_only_python_takes_as_equal_are_a_change(
    world: MemoryWorld, before: Any, after: Any
) -> None:
    # given
    entity = world.entity("Acme", properties={"a": before})
    # when
    written = changed(world, entity, properties={"a": after})
    # then
    read = world.product.memories.get(USER, entity.id)
    assert (written.version, repr(read.properties["a"])) == (2, repr(after))
    assert versions(world, entity) == [2, 1]


def test_number_written_otherwise_is_no_change(world: MemoryWorld) -> None:
    # given
    entity = world.entity("Acme", properties={"a": [1.0, {"b": 2}]})
    # then
    assert changed(world, entity, properties={"a": [1, {"b": 2.0}]}).version == 1


def test_put_replaces_named_fields_as_a_whole_and_clears(world: MemoryWorld) -> None:
    # given
    entity = world.entity("Acme", description="Makes anvils.", properties={"a": 1, "b": 2})
    # when
    replaced = changed(world, entity, properties={"c": 3})
    cleared = changed(world, entity, description=None)
    # then
    assert (replaced.properties, replaced.description) == ({"c": 3}, "Makes anvils.")
    assert (cleared.properties, cleared.description) == ({"c": 3}, "")
    assert versions(world, entity) == [3, 2, 1]


def test_put_of_what_is_there_makes_no_version(world: MemoryWorld) -> None:
    # given
    entity = world.entity("Acme", description="Makes anvils.")
    # then
    assert changed(world, entity, description="Makes anvils.").version == 1


def test_rename_moves_the_name(world: MemoryWorld) -> None:
    # given
    entity = world.entity("Acme")
    # when
    changed(world, entity, name="Globex")
    # then
    assert world.entity("Globex").id == entity.id
    assert world.entity("Acme").id != entity.id


def test_rename_to_another_spelling_of_its_own_name_is_fine(world: MemoryWorld) -> None:
    # given
    entity = world.entity("Acme")
    # then
    assert changed(world, entity, name="ACME").name == "ACME"


def test_rename_to_a_taken_name_is_refused(world: MemoryWorld) -> None:
    # given
    entity, other = world.entity("Acme"), world.entity("Globex")
    # when
    with pytest.raises(ConflictError) as raised:
        changed(world, entity, name="globex")
    # then
    assert code_of(raised) == "name_taken"
    assert raised.value.extra == {"entity_id": other.id}
    assert sorted(names(world)) == ["Acme", "Globex"]


def test_change_of_type_to_where_the_name_is_taken_is_refused(world: MemoryWorld) -> None:
    # given
    entity = world.entity("Acme")
    world.entity("Acme", entity_type="organization")
    # when
    with pytest.raises(ConflictError) as raised:
        changed(world, entity, entity_type=EntityType.ORGANIZATION)
    # then
    assert code_of(raised) == "name_taken"


def test_update_of_another_version_is_refused_with_the_current_one(world: MemoryWorld) -> None:
    """T11: of two updates that saw the same version one is refused."""
    # given
    entity = world.entity("Acme")
    update = world.product.memories.update
    # when
    update(USER, entity.id, EntityChanges(description="one"), HAND, (1,))
    with pytest.raises(PreconditionFailedError) as raised:
        update(USER, entity.id, EntityChanges(description="two"), HAND, (1,))
    # then
    assert raised.value.extra == {"current_version": 2}
    assert world.product.memories.get(USER, entity.id).description == "one"


def test_restatement_in_between_does_not_refuse_an_update(world: MemoryWorld) -> None:
    # given
    entity = world.entity("Acme")
    world.entity("Acme")
    # then
    updated = world.product.memories.update(
        USER, entity.id, EntityChanges(description="one"), HAND, (1,)
    )
    assert updated.version == 2


def test_deleted_entity_is_gone_with_its_relations_and_history(world: MemoryWorld) -> None:
    """T08: nothing of a deleted entity is left on any surface."""
    # given
    a, b = world.entity("A"), world.entity("B")
    edge = world.relation(a.id, b.id)
    # when
    world.product.memories.delete(USER, a.id)
    # then
    for read in (
        lambda: world.product.memories.get(USER, a.id),
        lambda: world.product.memories.history(USER, a.id, PageRequest()),
        lambda: world.product.relations.get(USER, edge.id),
    ):
        with pytest.raises(NotFoundError):
            read()
    assert names(world) == ["B"]
    assert world.product.memories.get(USER, b.id).incoming_relations == ()
    assert world.product.relations.list(USER, PageRequest()).items == []
    assert [entity.id for entity in world.graph(b.id).entities] == [b.id]


def test_name_of_a_deleted_entity_starts_anew(world: MemoryWorld) -> None:
    # given
    old = world.entity("Acme", properties={"a": 1})
    world.product.memories.delete(USER, old.id)
    # when
    new = world.entity("Acme")
    # then
    assert new.id != old.id
    assert (new.properties, new.version) == ({}, 1)


def test_delete_of_another_version_is_refused(world: MemoryWorld) -> None:
    # given
    entity = world.entity("Acme")
    # when
    with pytest.raises(PreconditionFailedError):
        world.product.memories.delete(USER, entity.id, (2,))
    # then
    assert names(world) == ["Acme"]


def test_second_delete_finds_nothing(world: MemoryWorld) -> None:
    # given
    entity = world.entity("Acme")
    world.product.memories.delete(USER, entity.id)
    # then
    with pytest.raises(NotFoundError):
        world.product.memories.delete(USER, entity.id)


def test_batch_delete_answers_for_each_id(world: MemoryWorld) -> None:
    # given
    gone, kept = world.entity("gone"), world.entity("kept")
    own = world.product.memories.own(USER, HAND)
    foreign = world.entity("foreign", user="u2")
    # when
    asked = [gone.id, "nothing", own.id, foreign.id, gone.id]
    results = world.product.memories.delete_many(USER, asked)
    # then
    assert [(one.id, one.deleted, one.code) for one in results] == [
        (gone.id, True, None),
        ("nothing", False, "not_found"),
        (own.id, False, "self_entity"),
        (foreign.id, False, "not_found"),
    ]
    assert sorted(names(world)) == sorted([kept.name, own.name])
    assert world.product.memories.get("u2", foreign.id).name == "foreign"


def test_expired_entity_is_nowhere(world: MemoryWorld) -> None:
    """T44: what has expired is not returned, though nothing has swept it."""
    # given
    past = world.clock.now() - timedelta(seconds=1)
    entity = world.entity("milk", expires_at=past)
    other = world.entity("shop")
    # then
    with pytest.raises(NotFoundError):
        world.product.memories.get(USER, entity.id)
    with pytest.raises(NotFoundError):
        changed(world, entity, description="fresh")
    with pytest.raises(NotFoundError):
        world.product.memories.delete(USER, entity.id)
    with pytest.raises(NotFoundError):
        world.relation(other.id, entity.id)
    assert names(world) == ["shop"]


def test_entity_expires_while_related(world: MemoryWorld) -> None:
    """T44: its relations go with it from the very second."""
    # given
    at = world.clock.now() + timedelta(hours=1)
    milk, shop = world.entity("milk", expires_at=at), world.entity("shop")
    edge = world.relation(shop.id, milk.id)
    assert len(world.product.memories.get(USER, shop.id).outgoing_relations) == 1
    # when
    world.clock.set(at)
    # then
    assert world.product.memories.get(USER, shop.id).outgoing_relations == ()
    with pytest.raises(NotFoundError):
        world.product.relations.get(USER, edge.id)
    assert world.graph(shop.id).relations == ()


def test_name_of_an_expired_entity_starts_anew(world: MemoryWorld) -> None:
    # given
    old = world.entity("milk", expires_at=world.clock.now(), properties={"fat": 3})
    # when
    new = world.entity("milk")
    renamed = changed(world, world.entity("butter", expires_at=None), name="cream")
    # then
    assert (new.id != old.id, new.properties) == (True, {})
    assert renamed.name == "cream"


def test_rename_takes_the_name_of_an_expired_entity(world: MemoryWorld) -> None:
    # given
    world.entity("milk", expires_at=world.clock.now())
    # then
    assert changed(world, world.entity("oat milk"), name="milk").name == "milk"


def test_own_entity_is_made_on_first_use_and_once(world: MemoryWorld) -> None:
    # when
    first, second = (world.product.memories.own(USER, HAND) for _ in range(2))
    # then
    assert (first.id, first.version) == (second.id, second.version)
    assert (first.name, first.entity_type, first.is_self) == ("You", EntityType.PERSON, True)
    assert world.product.memories.get(USER, "self").id == first.id


def test_reading_makes_no_own_entity(world: MemoryWorld) -> None:
    # when
    with pytest.raises(NotFoundError):
        world.product.memories.get(USER, "self")
    # then
    assert names(world) == []


def test_person_named_you_is_the_own_entity(world: MemoryWorld) -> None:
    # when
    stated = world.entity("you", entity_type="person", properties={"height": 180})
    # then
    assert stated.is_self
    assert world.product.memories.own(USER, HAND).properties == {"height": 180}
    assert not world.entity("you").is_self


def test_renamed_own_entity_is_still_found_as_you(world: MemoryWorld) -> None:
    # given
    own = world.product.memories.own(USER, HAND)
    # when
    changed(world, own, name="Alice")
    # then
    assert world.entity("You", entity_type="person").id == own.id
    assert world.entity("Alice", entity_type="person").id == own.id
    assert names(world) == ["Alice"]


def test_own_entity_can_not_be_deleted_retyped_or_expire(world: MemoryWorld) -> None:
    # given
    own = world.product.memories.own(USER, HAND)
    later = world.clock.now() + timedelta(days=1)
    # when
    codes = []
    for forbidden in (
        lambda: world.product.memories.delete(USER, own.id),
        lambda: changed(world, own, entity_type=EntityType.CUSTOM),
        lambda: changed(world, own, expires_at=later),
        lambda: world.entity("You", entity_type="person", expires_at=later),
    ):
        with pytest.raises(ThreadkeepError) as raised:
            forbidden()
        codes.append((raised.value.status, code_of(raised)))
    # then
    assert codes == [(409, "self_entity")] + [(422, "self_entity")] * 3
    assert world.product.memories.own(USER, HAND).version == 1


def test_name_you_is_kept_for_the_own_entity(world: MemoryWorld) -> None:
    # given
    dana = world.entity("Dana", entity_type="person")
    # when
    with pytest.raises(ConflictError) as raised:
        changed(world, dana, name="YOU")
    # then
    assert code_of(raised) == "name_reserved"


def test_two_users_share_nothing(world: MemoryWorld) -> None:
    """T55: the same name of two users makes two entities without a shared id."""
    # when
    mine, yours = world.entity("Acme"), world.entity("Acme", user="u10")
    # then
    assert mine.id != yours.id
    with pytest.raises(NotFoundError):
        world.product.memories.get(USER, yours.id)
    with pytest.raises(NotFoundError):
        world.product.memories.delete(USER, yours.id)
    assert world.product.memories.get("u10", yours.id).name == "Acme"


def test_property_named_user_id_is_just_a_property(world: MemoryWorld) -> None:
    """T09: no property chooses the owner."""
    # given
    entity = world.entity("Acme")
    # when
    changed(world, entity, properties={"user_id": "victim", "PK": "U#victim"})
    # then
    assert world.product.memories.get(USER, entity.id).properties["user_id"] == "victim"
    assert world.product.memories.list("victim", PageRequest()).items == []


def test_history_tells_who_changed_what(world: MemoryWorld) -> None:
    # given
    entity = world.entity("Acme")
    changed(world, entity, description="Makes anvils.")
    # when
    newest, oldest = world.product.memories.history(USER, entity.id, PageRequest()).items
    # then
    assert (newest.actor, newest.version, oldest.version) == ("user:u1", 2, 1)
    assert newest.before is not None
    assert newest.after is not None
    assert (newest.before["description"], newest.after["description"]) == ("", "Makes anvils.")
    assert oldest.before is None


def test_relations_come_newest_first_and_are_cut_at_a_bound(world: MemoryWorld) -> None:
    # given
    hub = world.entity("hub")
    for number in range(MAX_SHOWN_RELATIONS + 1):
        world.relation(hub.id, world.entity(f"n{number}").id)
    # when
    detail = world.product.memories.get(USER, hub.id)
    # then
    shown = [relation.id for relation in detail.outgoing_relations]
    assert len(shown) == MAX_SHOWN_RELATIONS
    assert shown == sorted(shown, reverse=True)
    assert detail.relations_truncated


def test_relations_are_shown_by_direction(world: MemoryWorld) -> None:
    # given
    a, b, c = (world.entity(name) for name in "abc")
    out = world.relation(a.id, b.id)
    into = world.relation(c.id, a.id, RelationType.USES)
    # when
    detail = world.product.memories.get(USER, a.id)
    # then
    assert [relation.id for relation in detail.outgoing_relations] == [out.id]
    assert [relation.id for relation in detail.incoming_relations] == [into.id]
    assert detail.relations_truncated is None


def test_create_takes_one_read_and_one_transaction(world: MemoryWorld) -> None:
    # given
    before = world.store.requests
    # when
    world.entity("Acme")
    # then
    assert world.store.requests - before == 2


def test_list_filters_by_type_and_text_and_sorts(world: MemoryWorld) -> None:
    # given
    world.entity("Zed", description="Likes Straße 5.")
    world.entity("acme", entity_type="organization")
    world.entity("Bob")
    # then
    assert names(world) == ["Bob", "acme", "Zed"]
    assert names(world, sort="name") == ["acme", "Bob", "Zed"]
    assert names(world, entity_type=EntityType.ORGANIZATION) == ["acme"]
    assert names(world, text="STRASSE") == ["Zed"]
    assert names(world, text="bo") == ["Bob"]
