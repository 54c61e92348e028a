"""How the outputs of a script's model meet the targets: by what is known before it runs."""

from __future__ import annotations

from dataclasses import dataclass

from gpu_studio.placement.plan_facts import ModelFacts
from gpu_studio.plan import Plan, Shape, Target, kind_of
from gpu_studio.plan.keras_objects import Kind

BY_FIT = (
    "A script does so by Keras' fit, where model and data both come from Python functions "
    "(model.python and data.python)."
)
"""What the second form of a script needs, for what the loop of the first form cannot do."""


class ExportError(Exception):
    """A plan that cannot be written as a script: why, and what to do, in words."""


class UnseenError(ExportError):
    """The data must be looked at first, or the model: where the text depends on it `of_model`."""

    def __init__(self, text: str, *, of_model: bool = False) -> None:
        super().__init__(text)
        self.of_model = of_model


@dataclass(frozen=True, slots=True)
class Met:
    """The kind of learning, one sample's outputs, and whether they are logits.

    Of a model of one's own stands here what it was `as_built`; of one that nobody has looked at, an
    assumption that the script checks.
    """

    kind: Kind
    shape: Shape
    logits: bool = True
    as_built: bool = False

    @property
    def units(self) -> int:
        """The length of the last axis."""
        return self.shape[-1] or 1 if self.shape else 1

    @property
    def rank(self) -> int:
        """The axes of one sample's outputs; a single number counts as a row."""
        return max(1, len(self.shape))


def met_of(plan: Plan, target: Target, built: ModelFacts | None) -> Met:
    """Return how they meet. Raises ExportError where that is not known."""
    if plan.model.name is not None:
        return _built_in(plan, target)
    if built is not None and built.own_steps:
        raise ExportError(
            f"The model has its own {built.own_steps[0]}, which no loop in a script calls. {BY_FIT}"
        )
    if built is not None and len(built.outputs) > 1:
        raise ExportError(
            f"The model has {len(built.outputs)} outputs, and the loop of a script trains one. "
            f"{BY_FIT}"
        )
    if built is None or built.learnt is None or built.graph is None:
        return _assumed(plan, target)
    learnt, shape = built.learnt, built.graph.output_shape
    if learnt.compiled:
        raise ExportError(
            "The model is trained as it was compiled: name optimizer, loss and metrics in the plan "
            f"for the loop of a script. {BY_FIT}"
        )
    if learnt.masked:
        raise ExportError(
            "The model masks some of its outputs, and the loop of a script would count them in its "
            f"loss. {BY_FIT}"
        )
    return Met(learnt.kind, shape, learnt.logits, as_built=True)


def _built_in(plan: Plan, target: Target) -> Met:
    if target.ids is None and target.shape not in ((), (1,)):
        raise UnseenError(
            "What the targets are (one-hot, labels or values) is known once they have been read, "
            "and a script depends on it: export when the Plan page shows the data."
        )
    if not target.measured and target.shape == ():
        return Met("classes", (None,))
    kind = kind_of(target, (target.outputs,), plan.training.loss.name)
    return Met(kind or "values", (target.outputs,), as_built=True)


def _assumed(plan: Plan, target: Target) -> Met:
    """Return what a model gives of which nothing is known. The script checks it."""
    if target.shape not in ((), (1,)):
        raise UnseenError(
            f"How {plan.model.python or plan.model.file} meets its targets is known once it has "
            "been built, and a script depends on it: allow the file if it is Python, and export "
            "when the Plan page shows the model."
        )
    kind: Kind = "values" if target.measured else "classes"
    return Met(kind, (1,) if target.measured else (None,))
