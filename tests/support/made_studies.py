"""Studies with their plan's file, and runs of them as a trainer leaves them, without training."""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from dataclasses import replace as with_changes
from pathlib import Path
from typing import Any

from made_runs import MIB
from msgspec.structs import replace

from gpu_studio.contract import events
from gpu_studio.contract.directory import RunDirectory
from gpu_studio.contract.events import DeviceMemory, DeviceTimes, Event
from gpu_studio.contract.files import append_line
from gpu_studio.lab.study import SUFFIX, Point, Study, dumps_study
from gpu_studio.lab.templates import study_from
from gpu_studio.plan import Machine, Plan, loads, save, with_absolute_files
from gpu_studio.plan.files import dumps
from gpu_studio.runs.labels import Labels, write_labels
from gpu_studio.runs.studies import TAG, StudyNote, write_note
from gpu_studio.runs.study_files import stamps_of
from gpu_studio.runs.study_shelf import OpenStudy, open_study

MACHINE = Machine(cpu_cores=4, memory_mib=8192)
PLAN = loads(
    """
version = 1
name = "digits"
[[devices.carve]]
device = "CPU:0"
slices_mib = [0, 0, 0, 0]
[model]
name = "mlp"
[data]
name = "digits"
[training]
epochs = 3
batch_size = 64
"""
)
BATCH = 240


def made_study(
    folder: Path, template: str = "scaling-strong", plan: Plan = PLAN, **changes: Any
) -> OpenStudy:
    """Write a plan and a study of it, from a template, and read them."""
    save(plan, folder / "digits.plan.toml")
    study: Study = study_from(template, plan, "digits.plan.toml", MACHINE)  # type: ignore[arg-type]
    path = folder / f"digits{SUFFIX}"
    path.write_text(dumps_study(with_changes(study, **changes)))
    return open_study(path)


def amdahl(devices: float, serial: float = 0.05, cost: float = 0.0002) -> float:
    """The seconds of a step on so many devices, of 10 ms on one."""
    return 0.01 * (serial + (1 - serial) / devices) + cost * (devices - 1)


def write_runs(
    runs: Path, opened: OpenStudy, *, most: int = 10_000, seconds: Mapping[str, float] | None = None
) -> list[RunDirectory]:
    """Write the first `most` runs of the study, in the order of its points.

    A step takes what `seconds` has for the label of a point, else what Amdahl's law says.
    """
    made: list[RunDirectory] = []
    for repeat in range(opened.study.repeats):
        for place, point in enumerate(opened.points):
            if len(made) < most:
                step = (seconds or {}).get(point.label) or amdahl(point.x or place + 1)
                made.append(write_run(runs, opened, point, repeat, step * (1 + 0.004 * repeat)))
    return made


def write_run(
    runs: Path,
    opened: OpenStudy,
    point: Point,
    repeat: int = 0,
    step_seconds: float = 0.01,
    *,
    failed: str = "",
    computing: Sequence[float] = (),
    ended: bool = True,
) -> RunDirectory:
    """Write one run, of which a step took so long; one that `failed` says why in these words."""
    run = RunDirectory.prepare(runs, point.plan.name)
    plan = with_absolute_files(point.plan, opened.folder)
    run.plan_file.write_text(dumps(plan))
    note = StudyNote(opened.study.name, point.key, repeat, str(opened.path), stamps_of(plan))
    write_note(run, note)
    write_labels(run, Labels(tags=(TAG,)))
    now = time.time()
    told = _events(run, point, step_seconds, computing)
    if failed:
        told = [*told[:1], events.Failed(message=failed, suggestions=[], traceback="")]
    for number, event in enumerate(told if ended else told[:-1]):
        line = events.encode(replace(event, seq=number, time=now + number * 0.01))
        append_line(run.events_file, line)
    return run.publish()


def _events(
    run: RunDirectory, point: Point, step_seconds: float, computing: Sequence[float]
) -> list[Event]:
    devices = int(point.x or 2)
    names = [f"CPU:{place}" for place in range(devices)]
    each = list(computing) or [step_seconds * 0.8] * devices
    found: list[Event] = [
        events.Started(
            run=run.id, plan=point.plan.name, pid=1, host="here", gpu_studio="0", python="3.11"
        ),
        events.StateChanged(state="running"),
        *_profile(names, step_seconds, each),
        events.Memory(
            devices=[
                DeviceMemory(device=name, current=MIB, peak=6 * MIB, source="allocator")
                for name in names
            ]
        ),
    ]
    for epoch in (1, 2, 3):
        found.append(
            events.Steps(
                epoch=epoch,
                first_step=20 * (epoch - 1),
                losses=[1.0 / epoch] * 20,
                samples=20 * BATCH,
                seconds=20 * step_seconds,
                input_seconds=0.8 * step_seconds,
            )
        )
        found.append(
            events.Epoch(
                epoch=epoch,
                step=20 * epoch,
                metrics={"loss": 1.0 / epoch, "val_loss": 1.1 / epoch},
                seconds=20 * step_seconds,
                samples_per_second=BATCH / step_seconds,
            )
        )
    found.append(
        events.Finished(
            reason="completed", seconds=60 * step_seconds + 1, epoch=3, step=60, metrics={}
        )
    )
    return found


def _profile(names: Sequence[str], seconds: float, computing: Sequence[float]) -> list[Event]:
    """What the profiler told; of one device alone nothing is profiled."""
    if len(names) < 2:
        return []
    times = [
        DeviceTimes(device=name, compute=took, communication=0.0, exposed=0.0, idle=0.0)
        for name, took in zip(names, computing, strict=True)
    ]
    return [
        events.Communication(
            step=1,
            steps=3,
            replicas=len(names),
            seconds=seconds,
            input_seconds=seconds * 0.04,
            compute=max(computing),
            exposed=min(seconds * 0.05 * (len(names) - 1), seconds * 0.15),
            devices=times,
        )
    ]
