"""From asking a run to stop until its process is gone with its checkpoint written, against two seconds and one call."""

from __future__ import annotations

import time
from collections.abc import Iterator

from measuring import Budget, Row
from training import CASES, Case, plan_of
from workplace import PATIENCE_S, BenchmarkError, Workplace

from gpu_studio.runs import events
from gpu_studio.runs.commands import send
from gpu_studio.runs.launch import Launched, launch
from gpu_studio.runs.tail import Tail

BUDGET = Budget("at most", 1.0)
ALLOWED_S = 2.0
# Calls settle to their length within a few; then the stop falls somewhere into one.
CALLS_BEFORE = 12
POLL_S = 0.02


def rows(place: Workplace, times: int) -> Iterator[Row]:
    """A row for each model and strategy, in seconds."""
    for case in CASES:
        pairs = [stopped(place, case) for _ in range(times)]
        measured, reference = zip(*pairs, strict=True)
        yield Row(f"stop, {case}", "2 s and one call", "s", BUDGET, measured, reference)


def stopped(place: Workplace, case: Case) -> tuple[float, float]:
    """Start a long run and stop it under way; the seconds it took, and those it might have taken."""
    launched = launch(plan_of(case, epochs=10_000), place.runs, environment=dict(place.environment))
    try:
        call_s = _one_call(launched)
        asked = time.monotonic()
        send(launched.directory, "stop")
        launched.process.wait(PATIENCE_S)
        seconds = time.monotonic() - asked
    finally:
        launched.process.kill()
        launched.process.wait()
    if not any(launched.directory.checkpoints.glob("step-*")):
        raise BenchmarkError(f"{case}: the run was stopped, but there is no checkpoint")
    return seconds, ALLOWED_S + call_s


def _one_call(launched: Launched) -> float:
    """Wait until the run has settled; how long its latest call took."""
    tail, calls = Tail(launched.directory.events_file), list[float]()
    deadline = time.monotonic() + PATIENCE_S
    while len(calls) < CALLS_BEFORE:
        if launched.poll() is not None or time.monotonic() > deadline:
            raise BenchmarkError(f"{launched.directory.id} did not train: see {launched.directory.log_file}")
        calls += [event.seconds for event in tail.read() if isinstance(event, events.Steps)]
        time.sleep(POLL_S)
    return calls[-1]
