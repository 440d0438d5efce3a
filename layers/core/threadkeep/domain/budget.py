"""How much of a model's window a request may take."""

from dataclasses import dataclass

UNKNOWN_WINDOW = 32_000
SAFETY = 1_000
MOST_RESERVED = 4_000
MOST_RECALL = 2_000
TRIGGER_MARGIN_PERCENT = 15


@dataclass(frozen=True)
class ModelLimits:
    """What is known of a model; None where unknown.

    Args:
        window: Tokens of a request and its answer together.
        max_output: Most tokens of an answer.
        input_price: US dollars for a million tokens of a request.
        output_price: US dollars for a million tokens of an answer.
    """

    window: int | None = None
    max_output: int | None = None
    input_price: float | None = None
    output_price: float | None = None


@dataclass(frozen=True)
class Budget:
    """How a model's window is divided, in tokens.

    Args:
        window: The whole window.
        output_reserve: Kept free for the answer.
        input_budget: Most that a request may hold; not positive for a model that is too small.
        trigger: A request strictly greater than this is compressed.
    """

    window: int
    output_reserve: int
    input_budget: int
    trigger: int

    @property
    def recall(self) -> int:
        """Most tokens of the recall block."""
        return min(MOST_RECALL, self.input_budget // 10)


def budget_of(limits: ModelLimits) -> Budget:
    """Divide a model's window (formula of the context engine, docs/architecture.md).

    The answer gets at most a third of the window, so that a small window still has room for a
    request.
    """
    window = limits.window or UNKNOWN_WINDOW
    reserve = min(MOST_RESERVED, window // 3)
    if limits.max_output is not None:
        reserve = min(reserve, limits.max_output)
    input_budget = window - reserve - SAFETY
    margin = max(window * TRIGGER_MARGIN_PERCENT // 100, reserve)
    return Budget(window, reserve, input_budget, min(window - margin, input_budget))
