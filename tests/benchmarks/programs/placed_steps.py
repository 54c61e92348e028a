"""Measure the times of a plan's layers, and real steps of the placements found for it.

`python placed_steps.py PLAN TIMES LABEL=PLACED…`, where PLACED is a placement in JSON:
`micro_batches` and `layers`. Prints so many answers about times, and for each label as many seconds
of a step, each the fastest of some rounds, as the layers are timed. An answer and all steps are
measured right after one another, and every time in sessions of their own: what the host of a
virtual machine does with its processors lasts for seconds or minutes and then falls on both.

TensorFlow hands the gradient of max pooling to oneDNN only where its rewriting
(`mkl_layout_pass.cc`) comes upon the pooling before its gradient. In a loop it goes through the
nodes in an order that depends on their addresses in memory: in some 1 of 40 sessions it meets the
gradient first, leaves it to Eigen, and all steps of that session take 3 times as long, whatever is
placed."""

from __future__ import annotations

import json
import sys
import time
from dataclasses import replace
from pathlib import Path
from typing import Any

from gpu_studio.plan import (
    Distribution,
    Machine,
    Placed,
    Plan,
    load,
    logical_devices,
    with_absolute_files,
)
from gpu_studio.runs.questions.plan_question import times_question
from gpu_studio.trainer import environment
from gpu_studio.trainer.answers import layers

SECONDS_A_CALL = 0.15
WARM_STEPS = 6
ROUNDS = 9
"""As many as the layers are timed: the fastest of few would be slower than the fastest of many."""


def main(path: Path, repetitions: int, placements: dict[str, Any]) -> None:
    """Measure."""
    plan = with_absolute_files(load(path), path.parent)
    environment.settle(plan)
    about = times_question(plan, logical_devices(plan, Machine()))
    answers: list[Any] = []
    steps: dict[str, list[float]] = {label: [] for label in placements}
    for _ in range(repetitions):
        answers.append(layers.layer_times(about, lambda _text: None)[0])
        for label, document in placements.items():
            steps[label].append(Steps(placed(plan, document)).seconds())
    sys.stdout.write(json.dumps({"answers": answers, "steps": steps}) + "\n")


def placed(plan: Plan, document: Any) -> Plan:
    """The plan with its layers placed so."""
    layers = {name: (device,) for name, device in document["layers"].items()}
    return replace(
        plan, distribution=Distribution("placed", placed=Placed(document["micro_batches"], layers))
    )


class Steps:
    """The real steps of a placed plan, compiled and warm."""

    def __init__(self, plan: Plan) -> None:
        from gpu_studio.trainer import session

        self._made = session.build(plan, Path.cwd(), lambda _event: None)
        self._stream = self._made.training_stream(0, 0)
        self._train(WARM_STEPS)
        self._count = max(2, round(SECONDS_A_CALL * WARM_STEPS / self._train(WARM_STEPS)))

    def seconds(self) -> float:
        """The seconds of a step, by the fastest of some calls in a row."""
        return min(self._train(self._count) for _ in range(ROUNDS)) / self._count

    def _train(self, count: int) -> float:
        begin = time.perf_counter()
        self._made.program.train(self._stream, 0, count)
        return time.perf_counter() - begin


pairs = (word.partition("=") for word in sys.argv[3:])
main(
    Path(sys.argv[1]),
    int(sys.argv[2]),
    {label: json.loads(document) for label, _, document in pairs},
)
