"""What one told fact changes in the memory graph, decided on what is stored at the moment."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from threadkeep.domain import relations as relation_rules
from threadkeep.domain.changes import (
    CreateEntity,
    CreateRelation,
    Support,
    UpdateEntity,
    UpdateRelation,
)
from threadkeep.domain.entities import SELF_NAME, EntityChanges, EntityType, Evidence, Provenance
from threadkeep.domain.learning import Outcome, draft_of
from threadkeep.domain.names import name_key
from threadkeep.domain.relations import SINGLE_VALUED, Direction, RelationDraft
from threadkeep.domain.timeline import holds, place
from threadkeep.errors import ConflictError

if TYPE_CHECKING:
    from collections.abc import Mapping
    from datetime import datetime

    from threadkeep.domain.changes import Change
    from threadkeep.domain.conversations import Message
    from threadkeep.domain.entities import Entity
    from threadkeep.domain.extraction import ExtractedEntity, ExtractedRelation
    from threadkeep.domain.learning import Fact
    from threadkeep.domain.relations import Relation
    from threadkeep.ports import Ids, MemoryStore
    from threadkeep.services.statements import EntityStatements

SPEAKER = "user"
MAX_QUOTE_CHARS = 2_000


class RefusedError(Exception):
    """A fact that is not stored; the reason is for the job record.

    Args:
        reason: Stable snake_case word.
    """

    def __init__(self, reason: str) -> None:
        super().__init__(reason)
        self.reason = reason


class FactDecision:
    """The decision on one fact.

    Args:
        store: Where the graph is.
        statements: Decisions about single entities.
        ids: Ids of what is new.
        user_id: Owner of the graph.
        now: Time of the decision.
        turns: The user's turns by id.

    Attributes:
        changes: What to commit.
        source_id: The turn that told the fact, as ``conversation/message``.
    """

    def __init__(
        self,
        store: MemoryStore,
        statements: EntityStatements,
        ids: Ids,
        user_id: str,
        now: datetime,
        turns: Mapping[str, Message],
    ) -> None:
        self._store = store
        self._statements = statements
        self._ids = ids
        self._user_id = user_id
        self._turns = turns
        self.now = now
        self.changes: list[Change] = []
        self.source_id: str | None = None
        self._outcome = {"stored": 0, "merged": 0}
        self._targets: dict[str, Entity] = {}

    def decide(self, fact: Fact) -> Outcome:
        """Collect the changes that a fact leads to.

        Raises:
            RefusedError: It is not stored.
            ValidationError: What it would lead to breaks a limit.
            ConflictError: A name is taken, or another writer is at it.
        """
        turn = self._turns[fact.message_id]
        self.source_id = f"{turn.conversation_id}/{turn.id}"
        if fact.self_name is not None:
            self._name_self(fact.self_name, turn)
        elif fact.relation is None:
            for entity in fact.entities:
                self._state(entity)
        elif fact.relation.ends:
            self._end(fact, fact.relation)
        else:
            self._relate(fact, fact.relation)
        return Outcome(**self._outcome)

    def _name_self(self, name: str, turn: Message) -> None:
        own = self._statements.own(self._user_id, now=self.now)
        if own.result.name_key == name_key(name):
            self._outcome["merged"] += 1
            return
        if own.result.name != SELF_NAME:
            raise RefusedError("already_named")
        support = self._support(turn.id, name)
        if own.created:
            taken = self._store.find_by_name(self._user_id, EntityType.PERSON, name_key(name))
            if taken is not None:
                raise RefusedError("name_taken")
            self.changes.append(CreateEntity(own.result.model_copy(update={"name": name}), support))
        else:
            renamed = self._statements.replaced(
                self._user_id, own.result, EntityChanges(name=name), now=self.now
            )
            self.changes += [
                replace(change, support=support) if isinstance(change, UpdateEntity) else change
                for change in renamed.changes
            ]
        self._outcome["stored"] += 1

    def _state(self, entity: ExtractedEntity) -> tuple[Entity, bool]:
        """Create or merge an entity; return it and whether it is new."""
        decision = self._statements.state(
            self._user_id,
            draft_of(entity),
            now=self.now,
            provenance=Provenance.USER_STATED,
            support=self._support(entity.message_id, entity.quote),
            note=entity.note,
        )
        self.changes += decision.changes
        self._outcome["stored" if decision.created else "merged"] += 1
        return decision.result, decision.created

    def _end_of(self, ref: str, fact: Fact) -> tuple[Entity, bool]:
        entity = fact.entity(ref)
        if entity is not None:
            return self._state(entity)
        own = self._statements.own(self._user_id, now=self.now)
        self.changes += own.changes
        return own.result, own.created

    def _relate(self, fact: Fact, told: ExtractedRelation) -> None:
        source, source_is_new = self._end_of(told.source_ref, fact)
        target, _ = self._end_of(told.target_ref, fact)
        if source.id == target.id:
            raise RefusedError("self_relation")
        stated_at = self._turns[told.message_id].created_at
        begins = told.valid_from or stated_at
        at = max(stated_at, begins)
        known = [] if source_is_new else self._known(source.id, target.id, told)
        rivals = [r for r in known if r.target_entity_id != target.id and holds(r, at)]
        placement = place(
            known,
            target.id,
            told.relation_type,
            at,
            confirmed={relation.id: self._stated(relation) for relation in rivals},
            replaces=told.replaces,
        )
        draft = RelationDraft(
            source_entity_id=source.id,
            target_entity_id=target.id,
            relation_type=told.relation_type,
            description=told.description or None,
            valid_from=begins,
            valid_to=placement.valid_to,
        )
        support = self._support(told.message_id, told.quote)
        same = placement.merge_into
        if same is None:
            made = relation_rules.new_relation(draft, relation_id=self._ids.new(), now=self.now)
            self.changes.append(CreateRelation(made, support))
            self._outcome["stored"] += 1
        else:
            merged = relation_rules.merge(same, draft, self.now)
            self._update(same, merged, support)
            self._outcome["merged"] += 1
        for relation in placement.close:
            ends = begins if relation.valid_from < begins else at
            closed = relation_rules.close(relation, valid_to=ends, now=self.now)
            # A successor ends a relation of a single-valued type and says nothing for it.
            self._update(relation, closed, support if told.replaces else None)
        for relation in known:
            lapsed = not relation.is_closed and not relation.is_current(self.now)
            if lapsed and relation.target_entity_id == target.id and relation is not same:
                self.changes.append(
                    UpdateRelation(relation, relation_rules.settle(relation, self.now))
                )

    def _end(self, fact: Fact, told: ExtractedRelation) -> None:
        """Close the very relation whose end is told; what is unknown is not made up to end it."""
        stated_at = self._turns[told.message_id].created_at
        ends = told.valid_from or stated_at
        at = max(stated_at, ends)
        source_id = self._known_id(told.source_ref, fact)
        named = fact.entity(told.target_ref)
        known = self._known(source_id, None, told) if source_id else []
        ended = [r for r in known if holds(r, at) and self._is_target(r, named)]
        if not ended:
            raise RefusedError("nothing_to_end")
        if any(when > at for relation in ended for when in self._stated(relation)):
            raise RefusedError("stated_again_since")
        for relation in ended:
            closed = relation_rules.close(relation, valid_to=ends, now=self.now)
            self._update(relation, closed, self._support(told.message_id, told.quote))
            self._outcome["merged"] += 1

    def _known_id(self, ref: str, fact: Fact) -> str | None:
        entity = fact.entity(ref)
        if entity is None:
            return self._store.self_id(self._user_id)
        return self._store.find_by_name(self._user_id, entity.entity_type, name_key(entity.name))

    def _is_target(self, relation: Relation, named: ExtractedEntity | None) -> bool:
        """Tell whether a relation's target is the named one: its type may be told otherwise."""
        target = self._targets[relation.target_entity_id]
        return target.is_self if named is None else target.name_key == name_key(named.name)

    def _known(
        self, source_id: str, target_id: str | None, told: ExtractedRelation
    ) -> list[Relation]:
        """Read the relations of a source that matter: all of its type, or those to one target."""
        halves = self._store.halves(
            self._user_id,
            source_id,
            direction=Direction.OUTGOING,
            relation_types=[told.relation_type],
            closed=not told.ends,
        )
        all_matter = told.ends or told.replaces or told.relation_type in SINGLE_VALUED
        wanted = [h.relation_id for h in halves if all_matter or h.other_id == target_id]
        bodies = self._store.get_relations(self._user_id, wanted) if wanted else {}
        if len(bodies) < len(wanted):
            raise ConflictError("A relation was removed meanwhile.")
        targets = [bodies[relation_id].target_entity_id for relation_id in wanted]
        # A relation to an entity whose deletion is under way is as good as gone.
        self._targets = self._store.get_entities(self._user_id, targets) if targets else {}
        return [
            bodies[relation_id]
            for relation_id, target in zip(wanted, targets, strict=True)
            if target in self._targets
        ]

    def _stated(self, relation: Relation) -> list[datetime]:
        """Return when a relation was stated, as far as its newest sources tell."""
        found = self._store.get_relation(self._user_id, relation.id)
        if found is None:
            raise ConflictError("A relation was removed meanwhile.")
        return [source.date for source in found.sources] or [found.created_at]

    def _update(self, before: Relation, after: Relation, support: Support | None) -> None:
        if support is not None and support.source_id in self._store.relation_sources(
            self._user_id, before.id
        ):
            support = None
        if after is not before or support is not None:
            self.changes.append(UpdateRelation(before, after, support))

    def _support(self, message_id: str, quote: str) -> Support:
        turn = self._turns[message_id]
        source_id = f"{turn.conversation_id}/{turn.id}"
        evidence = Evidence(
            turn=source_id,
            speaker=SPEAKER,
            date=turn.created_at,
            quote=quote[:MAX_QUOTE_CHARS],
        )
        return Support(source_id, evidence)
