"""The chat models that agents can name."""

from collections.abc import Mapping
from dataclasses import dataclass, field

from threadkeep.domain.budget import Budget, ModelLimits, budget_of
from threadkeep.domain.conversations import Usage

OFFLINE_MODEL = "offline"


@dataclass(frozen=True)
class Models:
    """The default model and the published ones, with what is known of their limits.

    Args:
        default: Model of an agent that names none.
        published: Limits by model id.
    """

    default: str = OFFLINE_MODEL
    published: Mapping[str, ModelLimits] = field(default_factory=dict)

    def knows(self, model_id: str) -> bool:
        """Tell whether an agent may name a model."""
        return model_id in (OFFLINE_MODEL, self.default) or model_id in self.published

    def first_known(self, *model_ids: str | None) -> str:
        """Return the first of several model ids that is known, else the default model."""
        return next((m for m in model_ids if m and self.knows(m)), self.default)

    def budget(self, model_id: str) -> Budget:
        """Return how a model's window is divided."""
        return budget_of(self.published.get(model_id, ModelLimits()))

    def cost(self, model_id: str, usage: Usage) -> float | None:
        """Return the price of a call in US dollars, or None where a price is not configured."""
        if model_id == OFFLINE_MODEL:
            return 0.0
        limits = self.published.get(model_id, ModelLimits())
        if limits.input_price is None or limits.output_price is None:
            return None
        price = usage.input_tokens * limits.input_price + usage.output_tokens * limits.output_price
        return price / 1_000_000
