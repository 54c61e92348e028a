"""How long each layer of a plan takes, as *Place for me* is told, and how long real steps of its placements take.

`python placed_steps.py PLAN ROUNDS LABEL=PLACED…`, where PLACED is a placement in JSON: `micro_batches` and `layers`.
Prints two answers about times, of before and after, and for each label the seconds of a step, measured in turn.
Each placement is built twice, as the layers are timed in two sessions. TensorFlow hands the gradient of max pooling to
oneDNN only where its rewriting (`mkl_layout_pass.cc`) comes upon the pooling before its gradient. In a loop it goes
through the nodes in an order that depends on their addresses in memory: in some 1 of 40 sessions it meets the gradient
first, leaves it to Eigen, and all steps of that session take 3 times as long, whatever is placed.
"""

from __future__ import annotations

import json
import os
import sys
import time
from dataclasses import replace
from pathlib import Path
from typing import Any

from gpu_studio.plan import Distribution, Machine, Placed, Plan, load, logical_devices
from gpu_studio.runs.questions.times_question import times_question
from gpu_studio.trainer import environment
from gpu_studio.trainer.answers import times

SECONDS_A_CALL = 0.15
WARM_STEPS = 6
SESSIONS = 2


def main(path: Path, rounds: int, placements: dict[str, Any]) -> None:
    """Measure."""
    plan = load(path)
    for name, value in environment.settings_for(plan, os.environ).items():
        os.environ.pop(name, None) if value is None else os.environ.update({name: value})
    about = times_question(plan, path.parent, logical_devices(plan, Machine()))
    before, _ = times.answer(about, lambda _text: None)
    seconds = [row for _ in range(SESSIONS) for row in in_turn(plan, rounds, placements)]
    measured = dict(zip(placements, zip(*seconds, strict=True), strict=True))
    after, _ = times.answer(about, lambda _text: None)
    sys.stdout.write(json.dumps({"answers": [before, after], "steps": measured}) + "\n")


def in_turn(plan: Plan, rounds: int, placements: dict[str, Any]) -> list[list[float]]:
    """For each round the seconds of a step of each placement."""
    steps = [Steps(placed(plan, document)) for document in placements.values()]
    return [[each.seconds() for each in steps] for _ in range(rounds)]


def placed(plan: Plan, document: Any) -> Plan:
    """The plan with its layers placed so."""
    layers = {name: (device,) for name, device in document["layers"].items()}
    return replace(plan, distribution=Distribution("placed", placed=Placed(document["micro_batches"], layers)))


class Steps:
    """The real steps of a placed plan, compiled and warm."""

    def __init__(self, plan: Plan) -> None:
        from gpu_studio.trainer import session

        self._made = session.build(plan, Path.cwd(), lambda _event: None)
        self._stream = self._made.training_stream(0, 0)
        self._train(WARM_STEPS)
        self._count = max(2, round(SECONDS_A_CALL * WARM_STEPS / self._train(WARM_STEPS)))

    def seconds(self) -> float:
        """The seconds of one step, of some in one call."""
        return self._train(self._count) / self._count

    def _train(self, count: int) -> float:
        begin = time.perf_counter()
        self._made.program.train(self._stream, 0, count)
        return time.perf_counter() - begin


pairs = (word.partition("=") for word in sys.argv[3:])
main(Path(sys.argv[1]), int(sys.argv[2]), {label: json.loads(document) for label, _, document in pairs})
