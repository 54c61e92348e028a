"""From asking a run to stop until its process is gone, with its checkpoint written.

Against two seconds and one call.
"""

from __future__ import annotations

import time
from collections.abc import Iterator
from zipfile import BadZipFile

import numpy as np
from measuring import Budget, Row
from training import CASES, Case, plan_of
from workplace import PATIENCE_S, BenchmarkError, Workplace

from gpu_studio.contract import events
from gpu_studio.contract.directory import WEIGHTS_FILE, RunDirectory, checkpoints, send
from gpu_studio.contract.events import decode
from gpu_studio.contract.files import Tail
from gpu_studio.plan import AbsolutePlan
from gpu_studio.runs.launch import Launched, launch
from gpu_studio.runs.state import terminal_event

BUDGET = Budget("at most", 1.0)
ALLOWED_S = 2.0
# Calls settle to their length within a few; then the stop falls somewhere into one.
CALLS_BEFORE = 12
POLL_S = 0.02


def rows(place: Workplace, times: int) -> Iterator[Row]:
    """Two rows for each model and strategy, in seconds: the median of its stops, and the slowest.

    By default there are 52 stops. A checkpoint that does not hold what was trained is no result:
    the benchmark fails.
    """
    for case in CASES:
        pairs = [stopped(place, case) for _ in range(4 * times + 1)]
        measured, reference = zip(*pairs, strict=True)
        yield Row(
            f"stop, {case}, of {len(pairs)}", "2 s and one call", "s", BUDGET, measured, reference
        )
        slowest = max(pairs, key=lambda pair: pair[0] / pair[1])
        yield Row(
            f"stop, {case}, slowest", "2 s and one call", "s", BUDGET, slowest[:1], slowest[1:]
        )


def stopped(place: Workplace, case: Case) -> tuple[float, float]:
    """Start a long run and stop it under way.

    The seconds it took, and those it might have taken.
    """
    plan = AbsolutePlan(plan_of(case, epochs=10_000))
    launched = launch(plan, place.runs, environment=dict(place.environment))
    try:
        call_s = _one_call(launched)
        asked = time.monotonic()
        send(launched.directory, "stop")
        launched.process.wait(PATIENCE_S)
        seconds = time.monotonic() - asked
    finally:
        launched.process.kill()
        launched.process.wait()
    check(launched.directory)
    return seconds, ALLOWED_S + call_s


def check(run: RunDirectory) -> None:
    """Open the checkpoint that the stop has left, and read all of it.

    Raises BenchmarkError if it is not whole.
    """
    told = terminal_event(run)
    saved = checkpoints(run)
    if (
        not isinstance(told, events.Finished)
        or told.reason != "stopped"
        or not saved
        or saved[-1].step != told.step
    ):
        raise BenchmarkError(
            f"{run.id} was stopped, but has no checkpoint of its last step: {told}"
        )
    try:
        with np.load(saved[-1].path / WEIGHTS_FILE, allow_pickle=False) as arrays:
            finite = [bool(np.isfinite(arrays[name]).all()) for name in arrays.files]
    except (OSError, ValueError, BadZipFile) as error:
        raise BenchmarkError(f"the checkpoint of {run.id} cannot be read: {error}") from error
    if not finite or not all(finite):
        raise BenchmarkError(
            f"the checkpoint of {run.id} holds {len(finite)} arrays, and not all are numbers"
        )


def _one_call(launched: Launched) -> float:
    """Wait until the run has settled; how long its latest call took."""
    tail, calls = Tail(launched.directory.events_file, decode), list[float]()
    deadline = time.monotonic() + PATIENCE_S
    while len(calls) < CALLS_BEFORE:
        if launched.poll() is not None or time.monotonic() > deadline:
            raise BenchmarkError(
                f"{launched.directory.id} did not train: see {launched.directory.log_file}"
            )
        calls += [event.seconds for event in tail.read() if isinstance(event, events.Steps)]
        time.sleep(POLL_S)
    return calls[-1]
