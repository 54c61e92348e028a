"""What a closer look at a step whose loss is not finite has found, and how that is said."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Literal

Cause = Literal["data", "weights", "output", "loss", "none"]


@dataclass(frozen=True, slots=True)
class Look:
    """What was first not finite in a step, and in which layer."""

    cause: Cause
    layer: str | None = None


@dataclass(frozen=True, slots=True)
class Finding:
    """The look at the step, which was reached by training once more from the step `since` on.

    `norms` are those of each layer's gradient one step before, as far as they are finite; empty where there was no such
    step.
    """

    since: int
    look: Look
    norms: Mapping[str, float] = field(default_factory=dict)

    @property
    def words(self) -> str:
        """What was found, in one or two sentences."""
        if self.look.cause == "none":
            return f"Repeated from step {self.since} on, it was finite: the cause is not in the plan alone."
        return " ".join(filter(None, (self._where(), self._gradient())))

    def _where(self) -> str:
        return {
            "data": "The samples of that step hold values that are not finite.",
            "weights": f"The first layer whose weights were no longer finite is {self.look.layer}.",
            "output": f"The first layer whose output is not finite is {self.look.layer}.",
            "loss": "Every layer's output is finite, but so large that the loss of it is not.",
            "none": "",
        }[self.look.cause]

    def _gradient(self) -> str:
        if not self.norms:
            return ""
        layer, norm = max(self.norms.items(), key=lambda item: item[1])
        mine = self.look.layer or ""
        own = f"; that of {mine} had {self.norms[mine]:.3g}" if mine in self.norms and mine != layer else ""
        return f"One step before, the largest gradient was that of {layer}, with a norm of {norm:.3g}{own}."
