"""Training steps that XLA compiles: by the plan, as the model was compiled, or where `fit` would.

One step is one compiled function, as in Keras' `fit`: the forward pass, the gradients and the
update. The loop over the steps of a call, the reading of data and evaluation stay as they are. XLA
compiles anew for each shape of a batch: once for whole ones, once for a smaller last one.

Sums are rounded in another order: losses agree to a millionth or so. Random numbers follow from
(seed, step) as ever, but XLA makes others of the same seed. So a run with "auto" goes on after a
resume as it began, which its checkpoints say.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal, TypeVar

import keras
import tensorflow as tf
from tensorflow.python.framework.config import is_op_determinism_enabled

from gpu_studio.common.practice import CARDS_FILE, library
from gpu_studio.contract import Warned, events
from gpu_studio.placement.compiled_steps import XlaFacts
from gpu_studio.plan import Plan
from gpu_studio.trainer.errors import PlanRefused
from gpu_studio.trainer.keras_objects.as_compiled import compiled_model
from gpu_studio.trainer.meters import Call
from gpu_studio.trainer.model_layers import loops_of_keras
from gpu_studio.trainer.program import Program
from gpu_studio.trainer.user_code.telling import uncompiled_words
from gpu_studio.trainer.whole_batches import Held

XLA = "xla"
"""What a checkpoint calls whether XLA compiles the steps of its run."""
AUTO: Literal["auto"] = "auto"
Result = TypeVar("Result")
By = bool | Literal["auto"]
"""Whether XLA compiles the steps; with "auto" they go on without it where it cannot."""
_AS_IT_BEGAN = (
    "The training steps go on without XLA, as they began: training.jit_compile = true has it "
    "compile them from here on."
)
MANY_SIZES = 4
"""So many sizes of batches, each of which is compiled, are worth a word."""

# Else `compile` writes down what Keras makes of "auto": True where there is a card. None says in
# Keras that nothing was chosen yet.
keras.Model._resolve_auto_jit_compile = lambda _model: None  # noqa: SLF001


def xla_facts(model: Any) -> XlaFacts:
    """Return what the model says of XLA."""
    settings = getattr(compiled_model(model), "_compile_config", None)
    asked = settings.config.get("jit_compile") if settings is not None else None
    if is_op_determinism_enabled():  # which not all of XLA's operations are: Keras' own rule
        asked = False
    layers = list(model._flatten_layers())  # noqa: SLF001
    found = (f"{each.name} ({type(each).__name__})" for each in layers if not each.supports_jit)
    chosen = None if asked is None else bool(asked)
    return XlaFacts(chosen, tuple(dict.fromkeys(found)), _of_recurrent(layers))


def _of_recurrent(layers: Sequence[Any]) -> int | None:
    """Return `XlaFacts.recurrent` of a model with these layers."""
    weights = [(each, weight.shape) for each in layers for weight in _weights_of(each)]
    convolves = any(len(shape) > 2 for _, shape in weights)
    if convolves or not loops_of_keras(layers):
        return None
    products = (2 * _places(each) * math.prod(shape) for each, shape in weights if len(shape) > 1)
    return max(products, default=None)


def _weights_of(layer: Any) -> list[Any]:
    """Return the weights of a layer that multiplies by them, without those of layers in it."""
    inner = next(iter(layer._flatten_layers(include_self=False)), None)  # noqa: SLF001
    looks_up = isinstance(layer, keras.layers.Embedding)
    return [] if inner is not None or looks_up else layer.weights


def _places(layer: Any) -> int:
    """How often a sample meets the layer's weights: those of a dense one, at each time step."""
    try:
        return math.prod(size or 1 for size in layer.output.shape[1:-1])
    except (AttributeError, ValueError):  # as of the cell of a recurrent layer
        return 1


@dataclass(frozen=True, slots=True)
class RunsOn:
    """The kind of device that steps run on; `varies` is as in `XlaFacts.compiles`."""

    kind: Literal["CPU", "card", "practice card"]
    varies: bool = False


def runs_on(names: Sequence[str], stream: Any) -> RunsOn:
    """Return what steps on the first of these devices run on, with the data's stream, if any."""
    varies = stream is not None and stream.varies
    if not names[0].startswith("GPU"):
        return RunsOn("CPU", varies)
    return RunsOn("card" if library(CARDS_FILE) is None else "practice card", varies)


def compiles(
    plan: Plan,
    model: Any,
    here: RunsOn,
    tell: Callable[[events.Event], object],
    before: Mapping[str, Any] | None = None,
) -> By:
    """Return whether XLA compiles the steps, and tell of it.

    `before` is the state of the checkpoint that the run goes on from. Raises PlanRefused for a plan
    that asks for what cannot be.
    """
    xla, chosen = xla_facts(model), plan.training.jit_compile
    for problem in xla.problems(plan):
        raise PlanRefused(str(problem))
    for note in xla.cautions(plan):
        tell(Warned(message=note.text, suggestion=note.why))
    by = xla.compiles(plan, real=here.kind == "card", varies=here.varies)
    words = _words(xla, plan, here, compiled=by)
    if by and here.kind == "practice card":
        by = False
    elif by and chosen == AUTO and before is not None and not _began(before, xla, plan):
        by, words = False, _AS_IT_BEGAN
    tell(events.Xla(compiles=by, words=words))
    return AUTO if by and chosen == AUTO else by


def _began(before: Mapping[str, Any], xla: XlaFacts, plan: Plan) -> bool:
    """Whether XLA compiled the steps of the run: before there was "auto", as its model asked."""
    return bool(before.get(XLA, xla.compiles(plan, real=False)))


def _words(xla: XlaFacts, plan: Plan, here: RunsOn, *, compiled: bool) -> str:
    """What is worth saying of it; nothing where nobody would expect XLA."""
    if compiled and here.kind == "practice card":
        return "XLA compiles nothing for practice cards: the training steps run without it."
    if compiled:
        asked = ", as the model was compiled" if xla.asked else ", as fit does on a card"
        by = asked if plan.training.jit_compile == AUTO else ""
        each = (
            ", which come in several shapes: training.jit_compile = false leaves that out"
            if here.varies
            else ""
        )
        return f"XLA compiles each training step{by}: once for each shape of a batch{each}."
    if here.kind == "card" and xla.compiles(plan, real=True):
        return (
            "The training steps run without XLA: the data come in several shapes, and it would "
            "compile them anew for each. training.jit_compile = true has it do so."
        )
    return ""


# This is also written into exported scripts, as it is.


def or_without_xla(
    step: Callable[[], Result], without: Callable[[], Result]
) -> tuple[Result, tf.errors.OpError | None]:
    """Return what a first step by XLA gives, or without where it cannot compile that.

    And why it could not, else None. What cannot be compiled has changed nothing, so
    that the same batch can be trained on. Where memory ran out, XLA is not to blame.
    """
    try:
        return step(), None
    except tf.errors.ResourceExhaustedError:
        raise
    except tf.errors.OpError as error:
        return without(), error


class CompiledProgram(Program):
    """A program whose steps of training XLA may compile.

    Where that is left to it ("auto"), the first batch is read before its step is tried: what cannot
    be compiled has changed nothing, and the same batch is trained on without XLA.
    """

    _gives_way = _is_sure = False
    _sizes: frozenset[int] = frozenset()

    def _compile(self, by: By) -> None:
        self.by_xla, self._gives_way = bool(by), by == AUTO

    def begin_with(self, optimizer: Any) -> None:
        """As of `Program`."""
        self._is_sure = False
        super().begin_with(optimizer)

    def _without_xla(self) -> None:
        """Make the step anew, as TensorFlow's own."""
        raise NotImplementedError

    def _call(self, stream: Any, first_step: int, count: int) -> Call:
        if not self.by_xla:
            return super()._call(stream, first_step, count)
        call = self._tried(stream, first_step, count)
        self._note_sizes(call)
        return call

    def _tried(self, stream: Any, first_step: int, count: int) -> Call:
        if self._is_sure or not self._gives_way:
            return super()._call(stream, first_step, count)
        held, kind = Held(stream.get_next()), Held(stream.element_spec)

        def step() -> Call:
            return self._call_with(held, kind, first_step)

        def without() -> Call:
            self._without_xla()
            return step()

        call, error = or_without_xla(step, without)
        if error is not None:
            self._tell_without(error)
        self._is_sure = True
        if count == 1 or call.over:
            return call
        return call.followed_by(super()._call(stream, first_step + 1, count - 1))

    def _tell_without(self, error: BaseException) -> None:
        said = "XLA could not compile the training step, which goes on without it: "
        self.noticed += [
            events.Xla(compiles=False),
            Warned(
                message=f"{said}{uncompiled_words(error)}",
                suggestion="Set training.jit_compile to false to leave the attempt out.",
            ),
        ]

    def _note_sizes(self, call: Call) -> None:
        before, self._sizes = self._sizes, self._sizes | {int(each[0]) for each in call.batches}
        if len(before) < MANY_SIZES <= len(self._sizes):
            many = len(self._sizes)
            said = f"Batches came in {many} sizes, for each of which XLA compiled the step anew."
            advice = "Set training.jit_compile to false, or let batches have one size."
            self.noticed.append(Warned(message=said, suggestion=advice))


class XlaProgram(CompiledProgram):
    """A program for one device whose training steps XLA compiles."""

    def __init__(self, *given: Any, compiled: By) -> None:
        """All but `compiled` is as of `Program`."""
        self._compile(compiled)
        super().__init__(*given)

    def begin_with(self, optimizer: Any) -> None:
        """As of `Program`."""
        self._whole_step = self._compiled()
        super().begin_with(optimizer)

    def _compiled(self) -> Any:
        step = super()._train_step
        return tf.function(step, autograph=False, jit_compile=True, reduce_retracing=True)

    def _without_xla(self) -> None:
        self.by_xla = False
        self._train = tf.function(self._train_steps, autograph=False)

    def _try_again(self, stream: Any, step: Any) -> None:
        self._whole_step = self._compiled()  # else the step would not be traced once more
        super()._try_again(stream, step)

    def _train_step(self, batch: Any, step: Any) -> tuple[Any, Any, list[Any]]:
        if not self.by_xla:
            return super()._train_step(batch, step)
        loss, added, _ = self._whole_step(batch, step)
        return loss, added, []
