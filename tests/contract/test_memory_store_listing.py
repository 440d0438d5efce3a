"""What every memory store promises about its listings."""

from __future__ import annotations

import random
from typing import TYPE_CHECKING

import pytest

from tests.contract.memories import (
    NOW,
    USER,
    commit,
    create,
    entity,
    later,
    relation,
    stored,
    stored_relation,
    support,
    updated,
)
from threadkeep.domain.changes import CreateEntity, UpdateEntity
from threadkeep.domain.entities import EntityDraft, EntityType, merge
from threadkeep.domain.relations import RelationChanges, RelationType, close, replace
from threadkeep.errors import ValidationError
from threadkeep.ports import Page, PageRequest

if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Literal

    from threadkeep.domain.entities import Entity
    from threadkeep.domain.relations import Relation
    from threadkeep.ports import MemoryStore

    type Read = Callable[[PageRequest], Page[str]]

NAMES = [
    "zoë",
    "Ann",
    "ann b",
    "Ann!",
    "Anna",
    "b#1",
    "b%2",
    "b/3",
    "b",
    "ß",
    "王小明",
    "🦊",
    " x ",
]


def names(store: MemoryStore, page: PageRequest, **wanted: object) -> list[str]:
    """List names, by name."""
    answer = store.list_entities(USER, page, **({"sort": "name", "now": NOW} | wanted))  # type: ignore[arg-type]
    return [item.name for item in answer.items]


def test_entities_are_listed_by_name_key(memory_store: MemoryStore) -> None:
    shuffled = random.Random(1).sample(NAMES, len(NAMES))
    create(memory_store, *(entity(f"e{n}", name) for n, name in enumerate(shuffled)))
    assert names(memory_store, PageRequest(limit=100)) == [
        "Ann", "ann b", "Ann!", "Anna", "b", "b#1", "b%2", "b/3", "ß", " x ", "zoë", "王小明", "🦊",
    ]  # fmt: skip


def test_names_that_differ_in_type_only_are_listed_by_id(memory_store: MemoryStore) -> None:
    create(memory_store, entity("b", "Ann", entity_type=EntityType.PERSON), entity("a", "ann"))
    assert names(memory_store, PageRequest()) == ["ann", "Ann"]


def test_entities_are_listed_newest_touched_first(memory_store: MemoryStore) -> None:
    # Given entities touched in another order than they were made in, two of them at once
    create(memory_store, *(entity(f"e{n}", at=later(hours=n % 3)) for n in range(6)))
    before = stored(memory_store, "e0")
    draft = EntityDraft(name="e0", entity_type=EntityType.CONCEPT)
    commit(memory_store, UpdateEntity(before, merge(before, draft, later(hours=9))))
    # Then the touched one moves to the front, and ids decide between equals
    listed = memory_store.list_entities(USER, PageRequest(), sort="updated", now=later(hours=9))
    assert [item.id for item in listed.items] == ["e0", "e5", "e2", "e4", "e1", "e3"]


@pytest.mark.parametrize("sort", ["updated", "name"])
@pytest.mark.parametrize("with_total", [False, True])
def test_pages_make_up_the_whole_list(
    memory_store: MemoryStore, sort: Literal["updated", "name"], *, with_total: bool
) -> None:
    create(memory_store, *(entity(f"e{n:02d}", at=later(minutes=n // 4)) for n in range(23)))
    create(memory_store, relation("r", "e00", "e01"))

    def read(page: PageRequest) -> Page[str]:
        answer = memory_store.list_entities(USER, page, sort=sort, now=NOW)
        return _ids(answer)

    _check_pages(read, 23, with_total=with_total)


def _check_pages(read: Read, count: int, *, with_total: bool) -> None:
    """Check that pages by cursor and by number each make up the list that one read gives."""
    whole = read(PageRequest(limit=100, with_total=with_total))
    assert (len(set(whole.items)), whole.next_position) == (count, None)
    assert whole.total == (count if with_total else None)
    by_cursor: list[str] = []
    position = None
    for _ in range(count):
        page = read(PageRequest(limit=5, position=position, with_total=with_total))
        assert page.total == whole.total
        by_cursor += page.items
        position = page.next_position
        if position is None:
            break
        assert all(isinstance(value, str) for value in position.values())
        assert not any(USER in value for value in position.values())
    by_number = [
        item
        for skip in range(0, count + 5, 5)
        for item in read(PageRequest(limit=5, skip=skip, with_total=with_total)).items
    ]
    assert by_cursor == by_number == list(whole.items)
    # A page that ends with the list leads nowhere
    assert read(PageRequest(limit=count)).next_position is None
    assert read(PageRequest(limit=count - 1)).next_position is not None


def _ids(page: Page[Entity] | Page[Relation]) -> Page[str]:
    return Page([item.id for item in page.items], page.next_position, page.total)


def test_what_expired_is_neither_listed_nor_counted(memory_store: MemoryStore) -> None:
    create(
        memory_store,
        entity("past", expires_at=later(microseconds=-1)),
        entity("now", expires_at=NOW),
        entity("next", expires_at=later(microseconds=1)),
        entity("ancient", expires_at=NOW.replace(year=987)),
        entity("never"),
    )
    for sort in ("updated", "name"):
        listed = memory_store.list_entities(USER, PageRequest(with_total=True), sort=sort, now=NOW)
        assert ({item.id for item in listed.items}, listed.total) == ({"next", "never"}, 2)
    assert names(memory_store, PageRequest(), now=later(days=1)) == ["never"]
    # Whoever reads by id decides on expiry
    assert memory_store.get_entities(USER, ["past"]).keys() == {"past"}


def test_entities_are_listed_by_type(memory_store: MemoryStore) -> None:
    create(
        memory_store,
        *(entity(f"c{n}") for n in range(30)),
        entity("p1", entity_type=EntityType.PERSON),
        entity("p2", entity_type=EntityType.PERSON, expires_at=NOW),
    )
    page = PageRequest(limit=2, with_total=True)
    listed = memory_store.list_entities(
        USER, page, sort="name", now=NOW, entity_type=EntityType.PERSON
    )
    assert ([item.id for item in listed.items], listed.total) == (["p1"], 1)
    assert names(memory_store, PageRequest(limit=2), entity_type=EntityType.GOAL) == []
    assert names(memory_store, PageRequest(limit=1), entity_type=EntityType.PERSON) == ["p1"]


def test_text_is_found_folded_in_name_and_description(memory_store: MemoryStore) -> None:
    create(
        memory_store,
        entity("a", "Dark Roast Coffee"),
        entity("b", "tea", description="No ＤＡＲＫ\n roast, ever. 100% #1"),
        entity("c", "dark chocolate"),
        entity("d", "Straße", description="dark  roast", expires_at=NOW),
    )
    for text, found in [
        ("dark roast", {"Dark Roast Coffee", "tea"}),
        ("DARK  ROAST", {"Dark Roast Coffee", "tea"}),
        ("dark", {"Dark Roast Coffee", "tea", "dark chocolate"}),
        ("100% #", {"tea"}),
        ("roast dark", set()),
        ("*", set()),
    ]:
        listed = memory_store.list_entities(
            USER, PageRequest(with_total=True), sort="updated", now=NOW, text=text
        )
        assert ({item.name for item in listed.items}, listed.total) == (found, len(found)), text


def test_text_is_looked_for_page_by_page(memory_store: MemoryStore) -> None:
    create(memory_store, *(entity(f"e{n:03d}", f"{n:03d} {'even' if n % 2 == 0 else 'odd'}")
                           for n in range(130)))  # fmt: skip

    def read(page: PageRequest) -> Page[str]:
        return _ids(memory_store.list_entities(USER, page, sort="name", now=NOW, text="EVEN"))

    _check_pages(read, 65, with_total=False)


def test_a_listed_entity_has_its_counts_and_no_evidence(memory_store: MemoryStore) -> None:
    commit(memory_store, CreateEntity(entity("a"), support("c/m", "quote")))
    memory_store.count_accesses(USER, ["a"], later(hours=1))
    (listed,) = memory_store.list_entities(USER, PageRequest(), sort="name", now=NOW).items
    assert listed == stored(memory_store, "a").model_copy(update={"evidence": ()})
    assert (listed.access_count, listed.sources_count) == (1, 1)


@pytest.mark.parametrize("with_total", [False, True])
@pytest.mark.parametrize("entity_id", [None, "hub"])
def test_pages_make_up_the_list_of_relations(
    memory_store: MemoryStore, entity_id: str | None, *, with_total: bool
) -> None:
    create(memory_store, entity("hub"), *(entity(f"e{n}") for n in range(23)))
    for n in range(23):
        ends = ("hub", f"e{n}") if n % 2 else (f"e{n}", "hub")
        create(memory_store, relation(f"r{n}", *ends, at=later(minutes=n // 4)))

    def read(page: PageRequest) -> Page[str]:
        return _ids(memory_store.list_relations(USER, page, now=NOW, entity_id=entity_id))

    _check_pages(read, 23, with_total=with_total)


def test_relations_are_listed_newest_updated_first(memory_store: MemoryStore) -> None:
    create(memory_store, *map(entity, "abc"))
    create(memory_store, relation("r", "a", "b"), relation("s", "b", "c", at=later(hours=1)))
    before = stored_relation(memory_store, "r")
    after = replace(before, RelationChanges(description="x"), later(hours=2))
    commit(memory_store, updated(before, after, support=support("c/m", "quote")))
    for entity_id in (None, "b"):
        listed = memory_store.list_relations(USER, PageRequest(), now=NOW, entity_id=entity_id)
        assert [item.id for item in listed.items] == ["r", "s"]
        assert listed.items[0] == stored_relation(memory_store, "r").model_copy(
            update={"sources": ()}
        )


def test_relations_are_listed_and_counted_while_current_and_both_ends_live(
    memory_store: MemoryStore,
) -> None:
    # Given relations of which one is closed, one lapsed, and two have an end that is not live
    create(memory_store, *map(entity, "abcd"), entity("expired", expires_at=NOW))
    create(
        memory_store,
        relation("r", "a", "b"),
        relation("uses", "a", "b", RelationType.USES),
        relation("closed", "b", "a"),
        relation("lapsed", "a", "c", at=later(days=-2), valid_to=later(days=-1)),
        relation("dead", "a", "d"),
        relation("dim", "expired", "a"),
    )
    before = stored_relation(memory_store, "closed")
    commit(memory_store, updated(before, close(before, valid_to=NOW, now=NOW)))
    memory_store.delete_entity(USER, stored(memory_store, "d"), at=NOW)

    # Then each listing shows and counts the others only
    def listed(
        limit: int = 20, *, with_total: bool = True, **wanted: object
    ) -> tuple[set[str], int | None]:
        page = PageRequest(limit=limit, with_total=with_total)
        answer = memory_store.list_relations(USER, page, now=NOW, **wanted)  # type: ignore[arg-type]
        return {item.id for item in answer.items}, answer.total

    assert listed() == ({"r", "uses"}, 2)
    assert listed(with_total=False) == ({"r", "uses"}, None)
    assert listed(entity_id="a") == listed(entity_id="b") == ({"r", "uses"}, 2)
    assert listed(entity_id="c") == listed(entity_id="d") == listed(entity_id="x") == (set(), 0)
    assert listed(entity_id="expired") == (set(), 0)
    assert listed(relation_type=RelationType.USES) == ({"uses"}, 1)
    assert listed(entity_id="b", relation_type=RelationType.KNOWS) == ({"r"}, 1)
    assert listed(limit=1)[1] == 2


@pytest.mark.parametrize(
    "position",
    [
        {},
        {"SK": "E#a"},
        {"SK": "E#a", "L1": "E#1", "PK": "U#u10"},
        {"SK": "N#self", "L1": "N#1"},
        {"SK": "E#\ud800", "L1": "E#\ud800"},
        {"elsewhere": "x"},
    ],
)
def test_a_position_of_no_page_is_refused(
    memory_store: MemoryStore, position: dict[str, str]
) -> None:
    create(memory_store, entity("a"), entity("b"), relation("r", "a", "b"))
    page = PageRequest(position=position)
    reads: list[Callable[[], object]] = [
        lambda: memory_store.list_entities(USER, page, sort="updated", now=NOW),
        lambda: memory_store.list_entities(USER, page, sort="name", now=NOW),
        lambda: memory_store.list_relations(USER, page, now=NOW),
        lambda: memory_store.list_relations(USER, page, now=NOW, entity_id="a"),
        lambda: memory_store.history(USER, "a", page),
    ]
    for read in reads:
        with pytest.raises(ValidationError) as refused:
            read()
        assert refused.value.code == "invalid_cursor"
