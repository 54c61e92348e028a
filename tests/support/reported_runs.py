"""Runs with everything that a report contains: plans, figures of cards, predictions, placements."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import made_recordings as made
from made_runs import Script, make_run, tell

from gpu_studio import plan as plans
from gpu_studio.contract import events, samples
from gpu_studio.contract.directory import RunDirectory
from gpu_studio.contract.samples import Sample
from gpu_studio.runs.results import prediction
from gpu_studio.runs.results.prediction import Prediction
from gpu_studio.runs.results.run_figures import figures_of

EIGHT = made.cards("8xH100")
MIB = 1024 * 1024


def reported_run(runs: Path, settings: str = "", **script: Any) -> RunDirectory:
    """A run of 8 s on four of eight cards, one of them throttled from the fifth second on."""
    chosen: dict[str, Any] = {
        "ending": "completed",
        "epochs": 8,
        "trained": 8,
        "steps": 40,
        "call_seconds": 0.25,
    }
    told = Script(**chosen | {"identities": made.identities(EIGHT)} | script)
    run = make_run(runs, told)
    plan = plans.Plan(
        name=told.name, model=plans.ModelSettings(name="mlp"), data=plans.Data(name="digits")
    )
    plans.save(plans.with_settings(plan, settings.split()), run.plan_file)
    record(run)
    prediction.write(
        run, Prediction(bytes={"GPU:0": 600 * MIB, "GPU:1": 640 * MIB}, step_seconds=0.0255)
    )
    return run


def record(run: RunDirectory) -> None:
    """Write what a sampler would have written beside it, in the order of time."""
    spans = figures_of(run).times.spans
    first, seconds = spans[0].begin, round(spans[-1].end - spans[0].begin)
    made.append(run, samples.Cards(time=first, cards=list(EIGHT), driver="570.86", cuda="12.8"))
    for second in range(seconds + 1):
        made.append(run, made.fast(EIGHT, first + second, second))
        if second % 5 == 0:
            made.append(run, slow(first + second, second))


def slow(time: float, second: int) -> Sample:
    """What changes slowly: a counter that goes by 300 W, and a power cap on the first card."""
    cards = [
        samples.SlowFigures(
            card=facts.card,
            temperature_c=60 + second % 9,
            throttle=["power cap"] if place == 0 and second >= 5 else [],
            energy_j=1e6 + 300.0 * second,
        )
        for place, facts in enumerate(EIGHT)
    ]
    return samples.Slow(time=time, cards=cards)


def tell_placement(run: RunDirectory, *, elsewhere: bool = False) -> None:
    """Let a run tell where two layers were to be and where they ran."""
    asked = [
        events.AskedPlace(layer=f"dense_{place}", devices=[f"GPU:{place}"]) for place in range(2)
    ]
    wrong = "GPU:0" if elsewhere else "GPU:1"
    rows = [("dense_0", "forward", "GPU:0", 3), ("dense_1", "forward", wrong, 4)]
    across = events.Crossing(
        source="dense_0",
        target="dense_1",
        way="forward",
        from_device="GPU:0",
        to_device="GPU:1",
        tensors=1,
        bytes=4096,
    )
    timeline = events.Timeline(
        step=12,
        seconds=0.02,
        micro_batches=2,
        stages=[],
        tasks=[],
        busy={"GPU:0": 0.014, "GPU:1": 0.011},
    )
    tell(run, events.Placement(rows=rows, asked=asked, crossings=[across]), timeline)


def tell_communication(run: RunDirectory, **changed: Any) -> None:
    """Let a run report four profiled steps of 20 ms.

    Of these 12 are computing, 4 communication and 2 waiting for data.
    """
    devices = [
        events.DeviceTimes(
            device=f"GPU:{n}",
            compute=0.011,
            communication=0.006,
            exposed=0.005,
            idle=0.004,
            waiting=w,
        )
        for n, w in enumerate((0.001, 0.0))
    ]
    told = {"seconds": 0.02, "input_seconds": 0.002, "compute": 0.012, "exposed": 0.004} | changed
    tell(run, events.Communication(step=20, steps=4, replicas=2, devices=devices, **told))
