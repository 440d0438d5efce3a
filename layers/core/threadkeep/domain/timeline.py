"""Where on the time axis a told relation belongs."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from threadkeep.domain.relations import SINGLE_VALUED

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from datetime import datetime

    from threadkeep.domain.relations import Relation, RelationType


@dataclass(frozen=True)
class Placement:
    """Where a told fact belongs among the known relations of its source and type.

    Args:
        merge_into: The relation that says the same, if any.
        close: Relations that the fact ends.
        valid_to: Where a new relation ends already, since something later is known.
    """

    merge_into: Relation | None = None
    close: tuple[Relation, ...] = ()
    valid_to: datetime | None = None


def place(
    known: Sequence[Relation],
    target_id: str,
    relation_type: RelationType,
    at: datetime,
    *,
    confirmed: Mapping[str, Sequence[datetime]],
    replaces: bool = False,
) -> Placement:
    """Find the place of the statement, made at ``at``, that a relation holds.

    What is current afterwards is the same in whatever order statements of different times arrive:
    of a single-valued type the target of the latest statement. Relations of other types are closed
    only by what the turn says about them: with ``replaces``, the only other one that holds.

    Args:
        known: All relations of the source and type, current and closed.
        target_id: The statement's target.
        relation_type: Its type.
        at: When it was made; for one about the future, when it begins to hold.
        confirmed: When the relations to other targets that hold at ``at`` were stated, by id.
        replaces: Whether the turn says that it takes the place of an earlier one.
    """
    single = relation_type in SINGLE_VALUED
    same = [r for r in known if r.target_entity_id == target_id]
    holding = next((r for r in same if holds(r, at)), None)
    if holding is not None:
        return Placement(merge_into=holding)
    rivals = [r for r in known if r.target_entity_id != target_id and holds(r, at)]
    later = {r.id: [when for when in confirmed.get(r.id, ()) if when > at] for r in rivals}
    older = tuple(r for r in rivals if not later[r.id])
    close = older if single or (replaces and len(rivals) == 1) else ()
    contenders = known if single else same
    begins = [r.valid_from for r in contenders if r.valid_from > at]
    if single:
        begins += [when for whens in later.values() for when in whens]
    following = [r for r in same if begins and r.valid_from == min(begins)]
    if following:
        return Placement(merge_into=following[0], close=close)
    return Placement(close=close, valid_to=min(begins, default=None))


def holds(relation: Relation, at: datetime) -> bool:
    """Tell whether a relation is true at a moment, by what is known now."""
    return relation.valid_from <= at and (relation.valid_to is None or at < relation.valid_to)
