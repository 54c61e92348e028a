"""Steps that XLA compiles: when, what keeps it from that, and what is not predicted of them.

By the plan's `training.jit_compile`, true or false. "auto" is what it is in Keras: as the model was
compiled, and else on a card where strategy and layers allow it. `fit` does no more than that
either: it compiles nothing on a CPU, and drops what layers do not allow.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace

from gpu_studio.placement.device_memory import PredictedMemory
from gpu_studio.plan import Caution, Plan, Problem, listed, strategy_of

CHANGES = "what XLA changes"
"""What is not in the predicted memory of a step that XLA compiles."""
MOST_BY_XLA = 1.16
"""The most that a step took on a card with XLA, in steps without it.

On an H200 (batches of 128 to 512, TensorFlow 2.21): a convolutional model 1,428 MiB for 1,412, a
transformer 1,679 for 2,046, a dense one 328 for 282.
"""
SMALL_FLOPS = 2**19
"""What a product with a weight of a small recurrent layer takes at most.

Of such layers of 8 to 64 units, XLA ran steps 1.2 to 2.8 times as fast on two cores of a CPU, with
batches of 16 to 256; wider ones 0.7 to 1.9 times.
"""
WORTH_COMPILING = 5_000
"""So many steps saved 4 to 13 seconds, and compiling them took one to three."""
_BESIDE = (
    "; without what XLA changes, which joins operations and takes the memory of a step's "
    "temporary tensors in one piece: on a CPU up to 2.2 times as much was seen, on an H200 0.82 to "
    "1.16 times"
)


@dataclass(frozen=True, slots=True)
class XlaFacts:
    """What a model says of XLA: `asked` is the `jit_compile` that it was compiled with.

    That is None where it was not compiled, or with "auto". Layers that `cannot` be compiled by XLA
    are named with their classes. `recurrent` is what one sample takes at most in a product with a
    weight, in FLOPs, of Keras' own layers, some of which are recurrent; None of other models.
    """

    asked: bool | None = None
    cannot: tuple[str, ...] = ()
    recurrent: int | None = None

    def compiles(self, plan: Plan, *, real: bool, varies: bool = False) -> bool:
        """Whether XLA compiles the steps of the plan, which has this model.

        `real` says that they run on a real card, `varies` that samples come in several shapes, for
        each of which it would have to compile them anew.
        """
        chosen = plan.training.jit_compile
        if chosen == "auto":
            chosen = not self.cannot and self.asked is not False
            chosen = chosen and (self.asked is True or (real and not varies))
        return chosen and strategy_of(plan).compiles_steps

    def would_gain(self, plan: Plan) -> bool:
        """Whether XLA would run the steps of the plan faster on a CPU, if it were asked to."""
        chosen = plan.training.jit_compile != "auto" or self.asked is not None
        if chosen or self.cannot or self.recurrent is None:
            return False
        small = self.recurrent * plan.training.batch_size <= SMALL_FLOPS
        return small and strategy_of(plan).compiles_steps

    def problems(self, plan: Plan) -> Iterator[Problem]:
        """The plan asks for XLA, and layers do not allow it."""
        if plan.training.jit_compile is not True or not self.cannot:
            return
        do = "does" if len(self.cannot) == 1 else "do"
        recurrent = any(each.endswith(("(LSTM)", "(GRU)")) for each in self.cannot)
        other = "give LSTM and GRU use_cudnn=False" if recurrent else "leave that to the data"
        advice = (
            f"{listed(self.cannot)} {do} not allow it, as Keras says (supports_jit): "
            f'write "auto", or {other}'
        )
        yield Problem("training.jit_compile", "true", advice)

    def cautions(self, plan: Plan) -> Iterator[Caution]:
        """The model was compiled with XLA, and cannot be trained so."""
        chosen, strategy = plan.training.jit_compile, strategy_of(plan)
        if not self.asked or chosen is True:
            return
        if chosen is False:
            why = "The plan's training.jit_compile is false, and counts for more."
        elif not strategy.compiles_steps:
            why = f"XLA compiles for one device, and the strategy is {strategy.title}."
        elif self.cannot:
            why = f"XLA cannot compile {listed(self.cannot)}: `fit` does without it, too."
        else:
            return
        text = "The model is compiled with jit_compile, which has no effect on how steps run here."
        yield Caution("compiled with XLA", text, why)


def noted(memories: Mapping[str, PredictedMemory]) -> dict[str, PredictedMemory]:
    """The memories of a step that XLA compiles, with what is not in them."""
    return {name: _noted(each) for name, each in memories.items()}


def _noted(memory: PredictedMemory) -> PredictedMemory:
    without = f"{memory.without} and {CHANGES}" if memory.without else CHANGES
    return replace(memory, total_formula=memory.total_formula + _BESIDE, without=without)
