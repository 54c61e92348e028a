"""Facts of small plans, as TensorFlow would report them, for tests without TensorFlow.

`PYTHONPATH=. python tests/support/made_plan_facts.py > tests/support/fake_plan_answers.json` writes
the answers of the fake askers anew.
"""

from __future__ import annotations

import json
import sys

import msgspec

from gpu_studio.common.shown_values import DataSample, Value
from gpu_studio.placement.plan_facts import (
    DataFacts,
    GraphLayer,
    ModelFacts,
    ModelGraph,
    PlanFacts,
    encoded,
)
from gpu_studio.placement.step_memory import MemoryMoment, StepMemory
from gpu_studio.placement.work import LayerTime


def layer(
    name: str, *inputs: str, parameters: int = 0, kept: int = 0, output: int = 0
) -> GraphLayer:
    """A layer of float32 weights, all of them trained; `kept` and `output` are bytes a sample.

    Its output and the gradient of that pass.
    """
    return GraphLayer(
        name,
        "Dense",
        inputs,
        (output // 4,),
        parameters,
        parameters,
        4 * parameters,
        4 * parameters,
        output,
        kept,
        2.0 * parameters,
        4.0 * parameters,
        passing_bytes=2 * output,
    )


THREE_LAYERS = ModelGraph(
    "three",
    (
        layer("one", parameters=1000, kept=400, output=400),
        layer("two", "one", parameters=500, kept=200, output=200),
        layer("three", "two", parameters=100, output=40),
    ),
    (10,),
    (10,),
    40,
)
STEP = StepMemory((MemoryMoment(9000, 700, gradients=6400), MemoryMoment(1000, 1500, kept=600)))
MODEL = ModelFacts(
    graph=THREE_LAYERS,
    slots={"one": 8000, "two": 4000, "three": 800},
    shared_slots=12,
    state_bytes=16,
    steps={"CPU": STEP, "GPU": STEP},
)
DATA = DataFacts(
    "made",
    "classes",
    10,
    800,
    100,
    100,
    (10,),
    preview=(
        DataSample(values=(Value("0 0.5"), Value("3"))),
        DataSample(values=(Value("1 0.25"), Value("1"))),
    ),
)
FACTS = PlanFacts(DATA, MODEL)
TIME = LayerTime(
    forward_per_sample=1e-3 / 32, backward_per_sample=2e-3 / 32, update=1e-4, share=0.5
)
"""A layer takes 3 ms for a batch of 32, on half of the cores."""
ANSWERS = {
    "data": encoded(PlanFacts(DATA)),
    "refused": encoded(PlanFacts(data_error="There are 13 samples.", advice=("Give more.",))),
    "untrained": encoded(
        PlanFacts(
            data_error="What train.py gives call 2 of fit is known once call 1 has trained.",
            advice=("Train it.",),
            of_the_moment=True,
        )
    ),
    "model": encoded(MODEL),
    "times": {layer.name: msgspec.to_builtins(TIME) for layer in THREE_LAYERS.layers},
}
"""What the fake askers answer: `refused` for 13 samples, `untrained` for a later call of fit."""


if __name__ == "__main__":
    lines = (f"{json.dumps(name)}: {json.dumps(answer)}" for name, answer in ANSWERS.items())
    sys.stdout.write("{\n" + ",\n".join(lines) + "\n}\n")
