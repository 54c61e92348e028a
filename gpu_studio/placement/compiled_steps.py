"""Steps that XLA compiles: when, what keeps it from that, and what is not predicted of them.

By the plan's `training.jit_compile`; or as the model was compiled, where that can be done. Keras'
`fit` does the latter by itself on a card ("auto"), and drops it where layers do not allow it.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace

from gpu_studio.placement.device_memory import PredictedMemory
from gpu_studio.plan import Caution, Plan, Problem, changing, listed, strategy_of

CHANGES = "what XLA changes"
"""What is not in the predicted memory of a step that XLA compiles."""
_BESIDE = (
    "; without what XLA changes, which joins operations and takes the memory of a step's "
    "temporary tensors in one piece: on a CPU up to 2.2 times as much was seen, on an H200 0.8 to "
    "1.2 times"
)


@dataclass(frozen=True, slots=True)
class XlaFacts:
    """What a model says of XLA: whether it was compiled with `jit_compile=True`, which is `asked`.

    Layers that `cannot` be compiled by it are named with their classes.
    """

    asked: bool = False
    cannot: tuple[str, ...] = ()

    def compiles(self, plan: Plan) -> bool:
        """Whether XLA compiles the steps of the plan, which has this model."""
        asked = plan.training.jit_compile or (self.asked and not self.cannot)
        return asked and strategy_of(plan).compiles_steps

    def problems(self, plan: Plan) -> Iterator[Problem]:
        """The plan asks for XLA, and layers do not allow it."""
        if not plan.training.jit_compile or not self.cannot:
            return
        do = "does" if len(self.cannot) == 1 else "do"
        advice = (
            f"{listed(self.cannot)} {do} not allow it, as Keras says (supports_jit): write false, "
            "or leave that to the data; LSTM and GRU allow it with use_cudnn=False"
        )
        yield Problem("training.jit_compile", "true", advice)

    def cautions(self, plan: Plan) -> Iterator[Caution]:
        """The model was compiled with XLA, and cannot be trained so."""
        if not self.asked or self.compiles(plan):
            return
        why = f"XLA compiles for one device, and the strategy is {strategy_of(plan).title}."
        if strategy_of(plan).compiles_steps:
            why = f"XLA cannot compile {listed(self.cannot)}: `fit` does without it, too."
        text = "The model is compiled with jit_compile, which has no effect on how steps run here."
        yield Caution("compiled with XLA", text, why)

    def might_compile(self, plan: Plan) -> Iterator[Caution]:
        """A model of the user's own whose steps a card would do sooner with XLA, as `fit` does.

        Beside `fit` as written, on an H200 (batches of 128 to 512, TensorFlow 2.21), runs without
        XLA took 1.5, 2.9 and 1.3 times as long (a convolutional model, a transformer, a dense one),
        and runs with it 0.53, 0.76 and 0.59 times.
        """
        own = plan.model.python or plan.model.file
        if not own or self.compiles(plan) or self.cannot or not strategy_of(plan).compiles_steps:
            return
        why = (
            "Keras' fit does, unless the model was compiled with jit_compile=False. On an H200 a "
            "step took 2.2 to 3.8 times as long without XLA as with it, in three models. The first "
            "step takes longer with it, and predicted memory is without what it changes."
        )
        mend = changing("Compile with XLA", "training", jit_compile=True)
        text = "XLA does not compile the training steps."
        yield Caution("not compiled with XLA", text, why, mend)

    def noted(
        self, memories: Mapping[str, PredictedMemory], plan: Plan
    ) -> dict[str, PredictedMemory]:
        """The memories, with what is not in them where XLA compiles the step."""
        if not self.compiles(plan):
            return dict(memories)
        return {name: _noted(each) for name, each in memories.items()}


def _noted(memory: PredictedMemory) -> PredictedMemory:
    without = f"{memory.without} and {CHANGES}" if memory.without else CHANGES
    return replace(memory, total_formula=memory.total_formula + _BESIDE, without=without)
