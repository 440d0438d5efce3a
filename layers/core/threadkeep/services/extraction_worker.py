"""Running extraction: from the turns after the watermark to facts in the graph."""

from __future__ import annotations

from datetime import timedelta
from typing import TYPE_CHECKING

from threadkeep.domain.extraction import Job, JobStatus, Plan
from threadkeep.domain.learning import Outcome, checked, cut_stretch
from threadkeep.errors import (
    ConflictError,
    ModelError,
    ModelThrottledError,
    NotFoundError,
)
from threadkeep.ports import PageRequest
from threadkeep.services.learning import LIFE_ENDED

if TYPE_CHECKING:
    from collections.abc import Sequence

    from threadkeep.domain.agents import AgentConfig
    from threadkeep.domain.conversations import Conversation, Message
    from threadkeep.domain.extraction import DueExtraction
    from threadkeep.domain.learning import Stretch
    from threadkeep.domain.models import Models
    from threadkeep.domain.site_settings import SiteSettings as SiteSettingsValues
    from threadkeep.ports import (
        Clock,
        ConversationStore,
        ExtractionQueue,
        ExtractionStore,
        Extractor,
    )
    from threadkeep.services.agents import Agents
    from threadkeep.services.extraction import Extraction
    from threadkeep.services.learning import Learning
    from threadkeep.services.site_settings import SiteSettings

RUN_SECONDS = 300
"""A row that is being worked on is due again after so long, no less than the function's timeout:
until then neither the sweep nor a second delivery asks a model for the same turns."""

MAX_ATTEMPTS = 3
RETRY_SECONDS = 10
THROTTLED_SECONDS = 60
KNOWN_NAMES = 50
PAGE = 100
ZONE = "UTC"
"""Until users have a time zone of their own."""


class ExtractionWorker:
    """Does what due rows ask for; safe to be called too often, too late and half-way."""

    def __init__(
        self,
        store: ExtractionStore,
        conversations: ConversationStore,
        agents: Agents,
        site_settings: SiteSettings,
        extractor: Extractor,
        learning: Learning,
        scheduling: Extraction,
        queue: ExtractionQueue,
        models: Models,
        clock: Clock,
    ) -> None:
        self._store = store
        self._conversations = conversations
        self._agents = agents
        self._site_settings = site_settings
        self._extractor = extractor
        self._learning = learning
        self._scheduling = scheduling
        self._queue = queue
        self._models = models
        self._clock = clock

    def run(self, message: DueExtraction) -> None:
        """Handle one queue message.

        A message is dropped when its row has gone or a later turn has replaced it, and sent again
        when it comes too early, or while another worker has the row. Then the turns after the
        watermark are learned from, stretch by stretch: the plan of a stretch is stored first, then
        applied fact by fact, then the watermark moves. Whatever breaks off in between is taken up
        by the next delivery.

        Args:
            message: The row as it was when the message was sent.

        Raises:
            UnavailableError: A store does not answer; the message must come again.
        """
        row = self._store.get_due(message.user_id, message.conversation_id)
        if row is None or (row.life, row.generation) != (message.life, message.generation):
            return
        delay = self._scheduling.delay_of(row)
        if delay > 0:
            self._queue.send(row, delay_seconds=delay)
            return
        if not self._scheduling.put_off(row, self._clock.now() + timedelta(seconds=RUN_SECONDS)):
            return
        try:
            if not self._learn(row):
                return
        except ConflictError as error:
            if error.code != LIFE_ENDED:
                raise
        self._store.clear_due(row)

    def _learn(self, row: DueExtraction) -> bool:
        """Learn from all that waits; False if the row has to wait for another try."""
        site = self._site_settings.current()
        agent = self._agent(row)
        while agent is not None and self._scheduling.learns(agent, site):
            conversation = self._conversations.get(row.user_id, row.conversation_id)
            if conversation is None or conversation.life != row.life:
                return True
            watermark = conversation.extracted_seq
            stretch = cut_stretch(self._messages(conversation, row.user_id), after_seq=watermark)
            if stretch.to_seq == watermark:
                return True
            if not self._learn_stretch(row, agent, site, conversation, stretch):
                return False
        return True

    def _learn_stretch(
        self,
        row: DueExtraction,
        agent: AgentConfig,
        site: SiteSettingsValues,
        conversation: Conversation,
        stretch: Stretch,
    ) -> bool:
        to_seq = stretch.to_seq
        if stretch.turns:
            job = self._job(row, conversation, stretch)
            plan = self._store.get_plan(row.user_id, job.id)
            if plan is None:
                model_id = self._models.first_known(site.memory_extraction_model_id, agent.model_id)
                try:
                    plan = self._plan(row, agent, job, stretch, model_id)
                except ModelError as error:
                    self._failed(row, job, error)
                    return False
            outcomes = self._learning.apply(row.user_id, job, plan, stretch.turns)
            self._finish(row.user_id, job, plan, outcomes)
            to_seq = plan.to_seq
        self._conversations.advance_extracted(
            row.user_id,
            row.conversation_id,
            row.life,
            from_seq=conversation.extracted_seq,
            to_seq=to_seq,
        )
        return True

    def _job(self, row: DueExtraction, conversation: Conversation, stretch: Stretch) -> Job:
        """Return the job of a stretch: every delivery finds the same one.

        It has the unique part of the id of the first turn that it covers.
        """
        job_id = next(iter(stretch.turns)).rpartition("-")[2]
        job = self._store.get_job(row.user_id, job_id)
        if job is None or job.status is JobStatus.FAILED:
            job = Job(
                id=job_id,
                conversation_id=row.conversation_id,
                life=row.life,
                status=JobStatus.RUNNING,
                from_seq=conversation.extracted_seq + 1,
                to_seq=stretch.to_seq,
                created_at=self._clock.now() if job is None else job.created_at,
            )
            self._store.put_job(row.user_id, job)
        return job

    def _plan(
        self,
        row: DueExtraction,
        agent: AgentConfig,
        job: Job,
        stretch: Stretch,
        model_id: str,
    ) -> Plan:
        """Ask the extractor, check what it says, and store the plan before anything is applied."""
        statements, usage = self._extractor.extract(
            model_id,
            stretch.messages,
            instructions=agent.memory_config.custom_instructions,
            zone=ZONE,
            known_names=self._learning.known_names(row.user_id, KNOWN_NAMES),
        )
        least = agent.memory_config.least_importance
        plan = Plan(
            to_seq=stretch.to_seq,
            extraction=checked(statements, stretch.turns, least),
            model_id=model_id,
            prompt_hash=self._extractor.prompt_hash,
            usage=usage,
        )
        return self._store.save_plan(row.user_id, job.id, plan)

    def _finish(self, user_id: str, job: Job, plan: Plan, outcomes: Sequence[Outcome]) -> None:
        """Write the job's record, the same whoever finishes it."""
        if job.status is JobStatus.DONE:
            return
        refused = tuple(one for outcome in outcomes for one in outcome.rejected)
        done = job.model_copy(
            update={
                "status": JobStatus.DONE,
                "model_id": plan.model_id,
                "prompt_hash": plan.prompt_hash,
                "usage": plan.usage,
                "to_seq": plan.to_seq,
                "stored": sum(outcome.stored for outcome in outcomes),
                "merged": sum(outcome.merged for outcome in outcomes),
                "rejected": (*plan.extraction.rejected, *refused),
                "finished_at": self._clock.now(),
            }
        )
        self._store.put_job(user_id, done)

    def _failed(self, row: DueExtraction, job: Job, error: ModelError) -> None:
        """Try again later; give up after three failures. Throttling is no failure."""
        now = self._clock.now()
        if isinstance(error, ModelThrottledError):
            self._again(row, max(THROTTLED_SECONDS, error.retry_after or 0))
            return
        failed = job.model_copy(update={"attempts": job.attempts + 1, "reason": error.detail})
        if failed.attempts < MAX_ATTEMPTS:
            self._store.put_job(row.user_id, failed)
            self._again(row, RETRY_SECONDS * failed.attempts)
            return
        self._queue.dead_letter(row, error.detail)
        self._store.put_job(
            row.user_id,
            failed.model_copy(update={"status": JobStatus.FAILED, "finished_at": now}),
        )
        # The turns stay after the watermark: the conversation's next turn tries them once more.
        self._store.clear_due(row)

    def _again(self, row: DueExtraction, seconds: int) -> None:
        if self._scheduling.put_off(row, self._clock.now() + timedelta(seconds=seconds)):
            self._queue.send(row, delay_seconds=seconds)

    def _agent(self, row: DueExtraction) -> AgentConfig | None:
        """Return the agent as it is now; None if it is gone: then nobody asks for its memory."""
        try:
            return self._agents.live(row.user_id, row.agent_id)
        except (NotFoundError, ConflictError):
            return None

    def _messages(self, conversation: Conversation, user_id: str) -> list[Message]:
        """Read the watermark's message and those after it, as many as a stretch can take."""
        page = self._conversations.messages(
            user_id,
            conversation.id,
            PageRequest(limit=PAGE),
            after_seq=max(0, conversation.extracted_seq - 1),
        )
        return list(page.items)
