"""Training steps that XLA compiles, where the plan or the model's own `compile` asks for it.

One step is one compiled function, as in Keras' `fit`: the forward pass, the gradients and the
update. The loop over the steps of a call, the reading of data and evaluation stay as they are. XLA
compiles anew for each shape of a batch: once for whole ones, once for a smaller last one.

Sums are rounded in another order: losses agree to a millionth or so. Random numbers follow from
(seed, step) as ever, but XLA makes others of the same seed.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from typing import Any

import keras
import tensorflow as tf

from gpu_studio.common.practice import PRACTICE
from gpu_studio.contract import Log, Warned
from gpu_studio.placement.compiled_steps import XlaFacts
from gpu_studio.plan import Plan
from gpu_studio.trainer.errors import PlanRefused
from gpu_studio.trainer.keras_objects.as_compiled import compiled_model
from gpu_studio.trainer.program import Program

# Else `compile` writes down what Keras makes of "auto": True where there is a card.
keras.Model._resolve_auto_jit_compile = lambda _model: False  # noqa: SLF001


def xla_facts(model: Any) -> XlaFacts:
    """Return what the model says of XLA."""
    settings = getattr(compiled_model(model), "_compile_config", None)
    asked = settings is not None and settings.config.get("jit_compile") is True
    layers = model._flatten_layers()  # noqa: SLF001
    found = (f"{each.name} ({type(each).__name__})" for each in layers if not each.supports_jit)
    return XlaFacts(asked, tuple(dict.fromkeys(found)))


def compiles(plan: Plan, model: Any, tell: Callable[[Any], object]) -> bool:
    """Return whether XLA compiles the steps; tell of it. Raises PlanRefused where it cannot."""
    xla = xla_facts(model)
    for problem in xla.problems(plan):
        raise PlanRefused(str(problem))
    for note in xla.cautions(plan):
        tell(Warned(message=note.text, suggestion=note.why))
    compiled = xla.compiles(plan)
    if compiled:
        by = "" if plan.training.jit_compile else ", as the model was compiled"
        but = " Practice cards run steps without it." if os.environ.get(PRACTICE) else ""
        said = f"XLA compiles each training step{by}: once for each shape of a batch.{but}"
        tell(Log(message=said))
    return compiled


class XlaProgram(Program):
    """A program for one device whose training steps XLA compiles."""

    def begin_with(self, optimizer: Any) -> None:
        """As of `Program`."""
        self._whole_step = self._compiled()
        super().begin_with(optimizer)

    def _compiled(self) -> Any:
        step = super()._train_step
        return tf.function(step, autograph=False, jit_compile=True, reduce_retracing=True)

    def _try_again(self, stream: Any, step: Any) -> None:
        self._whole_step = self._compiled()  # else the step would not be traced once more
        super()._try_again(stream, step)

    def _train_step(self, batch: Any, step: Any) -> tuple[Any, Any, list[Any]]:
        loss, added, _ = self._whole_step(batch, step)
        return loss, added, []
