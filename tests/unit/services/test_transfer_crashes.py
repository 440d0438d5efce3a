"""Each line counts once, wherever a worker dies and whoever else works at the same job."""

from __future__ import annotations

from datetime import timedelta
from functools import partial
from typing import TYPE_CHECKING, Any

import pytest

from tests.crashes import Crash, Crashes
from tests.transfer_world import ALICE, BOB, TransferWorld, entity, essence, filled
from threadkeep.domain.changes import Origin

if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Literal


def run_with_crashes(world: TransferWorld, crashes: Crashes, user: str, job_id: str) -> None:
    """Deliver a job until it is through, as often as its worker dies."""
    for _ in range(20):
        if world.done(user, job_id):
            return
        try:
            world.deliver(user, job_id)
        except Crash:
            crashes.restart()
            world.clock.advance(minutes=5)
    raise AssertionError("the job never ends")


@pytest.mark.parametrize("side", ["before", "after"])
def test_import_is_exact_wherever_the_worker_dies(side: Literal["before", "after"]) -> None:
    # given a file, and what it leads to
    lines = filled(TransferWorld()).export(ALICE)
    clean = TransferWorld()
    calm = clean.take(BOB, lines)
    expected = clean.export(BOB)
    at = 0
    while True:
        # when the worker dies at one of its calls
        at += 1
        crashes = Crashes(at, side)
        world = TransferWorld(crashes)
        job_id = world.upload(BOB, lines)
        run_with_crashes(world, crashes, BOB, job_id)
        # then the memory is as if it had not
        happened = crashes.happened
        crashes.restart()
        job = world.job(BOB, job_id)
        assert essence(world.export(BOB)) == essence(expected), at
        assert (job.counts, job.rejected, job.lines) == (calm.counts, 0, calm.lines), at
        assert world.conversations.indexed(BOB, "talk-1") == clean.conversations.indexed(
            BOB, "talk-1"
        )
        if not happened:
            break
    assert at > 50


@pytest.mark.parametrize("side", ["before", "after"])
def test_export_is_whole_wherever_the_worker_dies(side: Literal["before", "after"]) -> None:
    expected = filled(TransferWorld()).export(ALICE)
    at = 0
    while True:
        at += 1
        crashes = Crashes(at, side)
        world = filled(TransferWorld(crashes))
        job = world.product.transfers.start_export(ALICE, Origin("user:alice"))
        run_with_crashes(world, crashes, ALICE, job.id)
        assert essence(world.exported(ALICE, job.id)) == essence(expected)
        if not crashes.happened:
            break
    assert at > 20


class Meanwhile(Crashes):
    """Has something else happen before a chosen call."""

    def __init__(self, at: int) -> None:
        super().__init__()
        self._call = at
        self.happens: Callable[[], None] = lambda: None

    def call(self, method: Any, args: Any, options: Any) -> Any:
        """Make a call, after what happens meanwhile."""
        self.calls += 1
        if self.calls == self._call:
            self.happens()
        return method(*args, **options)


def test_two_workers_at_one_import_take_each_line_once() -> None:
    # given a file, and what it leads to
    lines = filled(TransferWorld()).export(ALICE)
    clean = TransferWorld()
    calm = clean.take(BOB, lines)
    at = 0
    while True:
        # when the message is delivered to another worker between any two calls of the first
        at += 1
        meanwhile = Meanwhile(at)
        world = TransferWorld(meanwhile)
        job_id = world.upload(BOB, lines)
        other = world.product.transfer_worker
        until = world.clock.now() + timedelta(hours=1)
        meanwhile.happens = partial(other.run, BOB, job_id, until=until)
        world.deliver(BOB, job_id)
        world.clock.advance(minutes=5)
        world.finish(BOB, job_id)
        # then all is there once
        assert world.job(BOB, job_id).counts == calm.counts, at
        assert essence(world.export(BOB)) == essence(clean.export(BOB)), at
        if meanwhile.calls < at:
            break
    assert at > 50


def test_change_after_a_line_was_taken_is_not_undone_by_a_redelivery() -> None:
    # given an import that died after it merged its first line
    world = TransferWorld()
    made = world.entity("Acme", ALICE, properties={"size": 1})
    job_id = world.upload(ALICE, [entity("Acme", properties={"size": 2}), entity("b")])
    world.deliver(ALICE, job_id, slice_seconds=0)
    assert world.product.memories.get(ALICE, made.id).properties == {"size": 2}
    # when the user changes it, and the message comes again, twice
    world.entity("Acme", ALICE, properties={"size": 3})
    world.deliver(ALICE, job_id)
    world.deliver(ALICE, job_id)
    # then
    assert world.product.memories.get(ALICE, made.id).properties == {"size": 3}
