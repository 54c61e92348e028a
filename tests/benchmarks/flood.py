"""The Train page under 1,000 steps a second on 16 devices, for ten minutes.

The real window shows it after a day of history.

Half a minute of that comes as time passes, half a minute more with a hand on mouse and keys, and
the rest as fast as the window takes it. What is measured is the window's process; the trainer
beside it only writes."""

from __future__ import annotations

import shutil
import time
from collections.abc import Iterator
from dataclasses import replace

from history_frame import percentile_95
from long_runs import Training, write_run
from measuring import Budget, Row
from workplace import Workplace

from gpu_studio.contract.directory import RunDirectory

PRELOADED = Training(8_640_000, per_call=10, epochs=10_000)
"""A day of ten calls a second, each of ten steps."""
QUIET_S, LIVE_S, HISTORY_S = 15, 30, 600
FRAME_MS, LAG_MS, IDLE_PERCENT, FLOOD_PERCENT, GROWN_MIB = 16.0, 50.0, 5.0, 30.0, 32.0
KEPT = Budget("at most", 1.0)


def rows(place: Workplace, times: int) -> Iterator[Row]:
    """A row for each of the budgets."""
    run = RunDirectory.create(place.folder / "flooded", "flood")
    # What is written faster than time passes shall not lie in the future.
    before = replace(PRELOADED, begin=time.time() - PRELOADED.seconds - 2 * HISTORY_S)
    write_run(run, before, ended=False, recorded=True)
    simulated = replace(place, environment={**place.environment, "GPU_STUDIO_SIMULATE": "16xH100"})
    words = (
        str(run.path.parent),
        str(run.path),
        str(before.steps),
        str(before.per_call),
        str(before.begin),
    )
    del times  # ten minutes of history once are enough
    told = simulated.program("flood_window.py", *words, str(QUIET_S), str(LIVE_S), str(HISTORY_S))
    shutil.rmtree(run.path)
    yield _row("window, nothing comes", "of a core", "%", [told["idle"]], IDLE_PERCENT)
    yield _row(
        "window, 1,000 steps/s, 16 devices", "of a core", "%", [told["flood"]], FLOOD_PERCENT
    )
    yield _row(
        "frame p95, 1,000 steps/s",
        "a frame at 60 Hz",
        "ms",
        [percentile_95(told["frames"])],
        FRAME_MS,
    )
    fast = percentile_95(told["hand_frames"])
    yield _row("frame p95, in use and at full speed", "a frame at 60 Hz", "ms", [fast], FRAME_MS)
    yield _row(
        "lag of mouse and keys, p95", "what is allowed", "ms", [percentile_95(told["lags"])], LAG_MS
    )
    yield _row("memory after ten minutes more", "flat", "MiB", [told["grown"]], GROWN_MIB)


def _row(what: str, against: str, unit: str, measured: list[float], allowed: float) -> Row:
    return Row(what, against, unit, KEPT, tuple(measured), (allowed,) * len(measured))
