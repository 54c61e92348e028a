"""What was found out about a loss that is not finite.

It names the layer that failed first, and says how large its gradient was one step before.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Literal

Cause = Literal["data", "weights", "output", "loss", "none"]


@dataclass(frozen=True, slots=True)
class StepExamination:
    """What was first not finite in a step, and in which layer."""

    cause: Cause
    layer: str | None = None


@dataclass(frozen=True, slots=True)
class NotFiniteFinding:
    """The findings about the step, which was reached by training again from step `since` on.

    `norms` are those of each layer's gradient one step before, as far as they are finite; empty
    where there was no such step.
    """

    since: int
    look: StepExamination
    norms: Mapping[str, float] = field(default_factory=dict)

    @property
    def words(self) -> str:
        """The findings in one or two sentences."""
        if self.look.cause == "none":
            return (
                f"Repeated from step {self.since} on, it was finite: the "
                "cause is not in the plan alone."
            )
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
        own = (
            f"; that of {mine} had {self.norms[mine]:.3g}"
            if mine in self.norms and mine != layer
            else ""
        )
        return (
            f"One step before, the largest gradient was that of {layer}, "
            f"with a norm of {norm:.3g}{own}."
        )
