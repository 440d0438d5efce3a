"""Deciding again on conflicts."""

from __future__ import annotations

import pytest

from tests.fakes.clock import FakeClock
from threadkeep.errors import ConflictError
from threadkeep.services.retry import PATIENCE, on_conflict


class Flaky:
    """Fails a number of times, then answers."""

    def __init__(self, failures: int, code: str | None = None) -> None:
        self.failures = failures
        self.code = code
        self.tries = 0

    def __call__(self) -> str:
        self.tries += 1
        if self.tries <= self.failures:
            raise ConflictError(code=self.code)
        return "done"


def test_conflict_is_tried_again_until_it_works() -> None:
    # given
    attempt = Flaky(failures=5)
    # when
    answer = on_conflict(FakeClock(), attempt)
    # then
    assert (answer, attempt.tries) == ("done", 6)


def test_patience_ends_after_ten_seconds_with_advice_to_retry() -> None:
    # given
    clock = FakeClock()
    # when
    with pytest.raises(ConflictError) as raised:
        on_conflict(clock, Flaky(failures=10_000))
    # then
    assert (raised.value.code, raised.value.retry_after) == ("conflict", 1)
    assert PATIENCE.total_seconds() <= sum(clock.slept) <= PATIENCE.total_seconds() + 1


def test_decision_with_a_code_of_its_own_is_not_retried() -> None:
    # given
    attempt = Flaky(failures=1, code="name_taken")
    # when
    with pytest.raises(ConflictError):
        on_conflict(FakeClock(), attempt)
    # then
    assert attempt.tries == 1


def test_waits_are_jittered_within_a_doubling_bound() -> None:
    # given
    clock = FakeClock()
    # when
    on_conflict(clock, Flaky(failures=12))
    # then
    bounds = [min(0.02 * 2**number, 1.0) for number in range(12)]
    assert all(0 <= wait <= bound for wait, bound in zip(clock.slept, bounds, strict=True))
    assert len(set(clock.slept)) == len(clock.slept)
