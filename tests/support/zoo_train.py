"""Train run directories one after another, in one process, by the trainer's own `train`.

`python zoo_train.py RUN…`. Only the devices are set up once for all of them. A placed plan without
layers gets the simplest placement: the first half of the layers with weights on the first device.
"""

from __future__ import annotations

import os
import sys
from dataclasses import replace
from pathlib import Path
from typing import Any


def main(runs: list[str]) -> None:
    """Train them."""
    from gpu_studio import plan as plans
    from gpu_studio.contract.directory import RunDirectory
    from gpu_studio.trainer import __main__ as trainer
    from gpu_studio.trainer import environment

    first = RunDirectory(Path(runs[0]))
    environment.settle(plans.load(first.plan_file))
    _set_up_once()
    for each in runs:
        run = RunDirectory(Path(each))
        _place(run)
        trainer.train(run)


def _set_up_once() -> None:
    from gpu_studio.trainer import devices

    real, done = devices.set_up, list[Any]()

    def set_up(settings: Any, *_others: Any) -> Any:
        done.extend(() if done else [real(settings)])
        return done[0]

    vars(devices)["set_up"] = set_up


def _place(run: Any) -> None:
    """Give a placed plan without layers a placement, if its model can be built at all."""
    from gpu_studio import plan as plans
    from gpu_studio.trainer import session
    from gpu_studio.trainer.model_layers import placeable_layers

    plan = plans.load(run.plan_file)
    placed = plan.distribution.placed
    if placed is None or placed.layers:
        return
    try:
        model = session.build(
            replace(plan, distribution=plans.Distribution()), Path.cwd(), lambda _event: None
        ).model
        heavy = [each.path for each in placeable_layers(model) if each.layer.weights]
    except Exception:  # noqa: BLE001 (the run itself will say what it is)
        heavy = []
    from zoo_table import halved  # found once `main` has said where

    distribution = replace(plan.distribution, placed=replace(placed, layers=halved(heavy)))
    plans.save(replace(plan, distribution=distribution), run.plan_file)


if __name__ == "__main__":
    sys.path += os.environ["PYTHONPATH"].split(os.pathsep)
    main(sys.argv[1:])
