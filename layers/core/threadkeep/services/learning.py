"""Learning: an extraction plan becomes entities and relations, each fact in one transaction."""

from __future__ import annotations

from typing import TYPE_CHECKING

from threadkeep.domain.changes import Commit, Origin, Step
from threadkeep.domain.extraction import Rejection
from threadkeep.domain.learning import Outcome, facts
from threadkeep.errors import ConflictError, ValidationError
from threadkeep.ports import PageRequest
from threadkeep.services.facts import FactDecision, RefusedError
from threadkeep.services.retry import on_conflict

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from threadkeep.domain.conversations import Message
    from threadkeep.domain.extraction import Job, Plan
    from threadkeep.domain.learning import Fact
    from threadkeep.ports import Clock, Ids, MemoryStore
    from threadkeep.services.statements import EntityStatements

ACTOR = "extraction"
LIFE_ENDED = "life_ended"


class Learning:
    """Applies plans: every fact takes effect once, whoever applies it and however often."""

    def __init__(
        self, store: MemoryStore, statements: EntityStatements, clock: Clock, ids: Ids
    ) -> None:
        self._store = store
        self._statements = statements
        self._clock = clock
        self._ids = ids

    def known_names(self, user_id: str, most: int) -> list[str]:
        """Return the names of the entities touched last, so that an extractor keeps to them."""
        page = self._store.list_entities(
            user_id, PageRequest(limit=most), sort="updated", now=self._clock.now()
        )
        return [entity.name for entity in page.items]

    def apply(
        self, user_id: str, job: Job, plan: Plan, turns: Mapping[str, Message]
    ) -> list[Outcome]:
        """Apply what of a plan was not applied yet, one transaction a fact.

        Args:
            user_id: Owner of the memory.
            job: The job that the plan is of.
            plan: Checked statements.
            turns: The user's turns that they come from, by id.

        Returns:
            What came of each fact, also of those that an earlier delivery applied.

        Raises:
            ConflictError: The conversation was deleted (``life_ended``), or others kept writing.
        """
        done = list(self._store.steps(user_id, job.id))
        pending = facts(plan.extraction, turns)
        while len(done) < len(pending):
            done = self._apply_next(user_id, job, pending, turns)
        return [Outcome.model_validate_json(outcome) for outcome in done]

    def _apply_next(
        self, user_id: str, job: Job, pending: Sequence[Fact], turns: Mapping[str, Message]
    ) -> list[str]:
        """Decide the next fact on what is stored now, and commit it unless its step was taken."""

        def attempt() -> list[str]:
            done = list(self._store.steps(user_id, job.id))
            if len(done) == len(pending):
                return done
            decision = FactDecision(
                self._store, self._statements, self._ids, user_id, self._clock.now(), turns
            )
            outcome = _decide(decision, pending[len(done)])
            self._store.commit(
                user_id,
                Commit(
                    origin=Origin(ACTOR, decision.source_id),
                    at=decision.now,
                    changes=tuple(decision.changes),
                    step=Step(job.id, job.conversation_id, job.life, len(done), outcome),
                ),
            )
            return [*done, outcome]

        return on_conflict(self._clock, attempt)


def _decide(decision: FactDecision, fact: Fact) -> str:
    try:
        return decision.decide(fact).model_dump_json()
    except RefusedError as error:
        reason = error.reason
    except (ValidationError, ConflictError) as error:
        if error.code in (ConflictError.code, LIFE_ENDED):
            raise
        reason = error.code
    decision.changes.clear()
    refused = Rejection(statement=fact.statement, message_id=fact.message_id, reason=reason)
    return Outcome(rejected=(refused,)).model_dump_json()
