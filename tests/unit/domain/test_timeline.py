"""Where told relations belong in time."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from threadkeep.domain import relations as relation_rules
from threadkeep.domain.relations import Relation, RelationDraft, RelationType
from threadkeep.domain.timeline import place

NOW = datetime(2026, 1, 1, tzinfo=UTC)


def at(day: int) -> datetime:
    return NOW + timedelta(days=day)


class Told:
    """The relations of one source and type, told statement by statement as the service does."""

    def __init__(self, kind: RelationType) -> None:
        self.kind = kind
        self.known: dict[str, Relation] = {}
        self.stated: dict[str, list[datetime]] = {}

    def tell(self, target: str, day: int) -> Told:
        """Take a statement."""
        when = at(day)
        placement = place(list(self.known.values()), target, self.kind, when, confirmed=self.stated)
        draft = RelationDraft(
            source_entity_id="me",
            target_entity_id=target,
            relation_type=self.kind,
            valid_from=when,
            valid_to=placement.valid_to,
        )
        for ended in placement.close:
            self.known[ended.id] = relation_rules.close(ended, valid_to=when, now=at(99))
        into = placement.merge_into
        if into is None:
            changed = relation_rules.new_relation(draft, relation_id=f"{target}{day}", now=at(99))
        else:
            changed = relation_rules.merge(into, draft, at(99))
        self.known[changed.id] = changed
        self.stated.setdefault(changed.id, []).append(when)
        return self

    @property
    def current(self) -> list[str]:
        """Targets that hold now."""
        return sorted(r.target_entity_id for r in self.known.values() if r.valid_to is None)

    @property
    def timeline(self) -> list[tuple[str, datetime, datetime | None]]:
        """All relations with their times."""
        return sorted((r.target_entity_id, r.valid_from, r.valid_to) for r in self.known.values())


statements = st.lists(
    st.tuples(st.sampled_from("ABC"), st.integers(1, 9)), max_size=6, unique_by=lambda s: s[1]
)


@given(statements, st.data())
def test_latest_statement_of_a_single_valued_type_is_current_in_any_order(
    told: list[tuple[str, int]], data: st.DataObject
) -> None:
    works_at = Told(RelationType.WORKS_AT)
    for target, day in data.draw(st.permutations(told)):
        works_at.tell(target, day)
    assert works_at.current == ([max(told, key=lambda one: one[1])[0]] if told else [])


@given(st.lists(st.tuples(st.sampled_from("ABC"), st.integers(1, 9)), max_size=6), st.data())
def test_many_valued_type_keeps_all_in_any_order(
    told: list[tuple[str, int]], data: st.DataObject
) -> None:
    uses = Told(RelationType.USES)
    for target, day in data.draw(st.permutations(told)):
        uses.tell(target, day)
    first = {target: min(d for t, d in told if t == target) for target, _ in told}
    assert uses.timeline == sorted((target, at(day), None) for target, day in first.items())


def test_successor_ends_the_one_before_where_it_begins() -> None:
    works_at = Told(RelationType.WORKS_AT).tell("C", 5).tell("A", 1).tell("B", 3)
    assert works_at.timeline == [("A", at(1), at(3)), ("B", at(3), at(5)), ("C", at(5), None)]


@pytest.mark.parametrize(("others", "closed"), [("A", ["A1"]), ("AB", []), ("", [])])
def test_replacing_closes_the_only_other_one_and_none_of_several(
    others: str, closed: list[str]
) -> None:
    works_on = Told(RelationType.WORKS_ON)
    for day, target in enumerate(others, start=1):
        works_on.tell(target, day)
    known = list(works_on.known.values())
    placement = place(
        known, "Z", RelationType.WORKS_ON, at(9), confirmed=works_on.stated, replaces=True
    )
    assert [r.id for r in placement.close] == closed
