"""Two hundred runs with planted pipes, devices, links and endless files, for all readers of runs.

Every command is run on every one of them in this process, and the window is opened on all at once.
What is measured is the slowest; a traceback, or a sound run that is not listed, is no result."""

from __future__ import annotations

import contextlib
import io
import json
import os
import sys
import time
from collections.abc import Iterator, Mapping
from pathlib import Path
from unittest import mock

from measuring import Budget, Row
from workplace import BenchmarkError, Workplace

sys.path.insert(0, str(Path(__file__).parents[1] / "support"))

import hostile_runs
from made_runs import Script, make_run

from gpu_studio.cli import main
from gpu_studio.contract.directory import RunDirectory

FOLDERS, SOUND, SEED = 200, 10, 12
ALLOWED_S = 2.0
KEPT = Budget("at most", 1.0)
WELL = (0, 1, 2, 3, 4)
"""Exit codes of a command that did, or said in words why not."""


def rows(place: Workplace, times: int) -> Iterator[Row]:
    """The slowest command about one run and about all, and the window's longest standstill."""
    del times  # two hundred folders once are enough
    runs = place.folder / "hostile"
    sound = [
        make_run(runs, Script(name="sound", epochs=1, steps=6, trained=1, ending="completed"))
        for _ in range(SOUND)
    ]
    hostile = dict(hostile_runs.hostile_runs(runs, FOLDERS, SEED))
    stood = place.program("hostile_window.py", str(runs))
    yield Row(
        "window stands still, 200 hostile runs",
        "what is allowed",
        "s",
        KEPT,
        (stood["longest"],),
        (ALLOWED_S,),
    )
    if stood["listed"] < SOUND:
        raise BenchmarkError(
            f"the window lists {stood['listed']} runs of {SOUND} sound ones and {FOLDERS} others"
        )
    with mock.patch.dict(os.environ, {**place.environment, "GPU_STUDIO_TRAINER": "true"}):
        once = [_timed(runs, words, hostile) for words in hostile_runs.about_all(place.folder)]
        _check_listed(runs, {run.id for run in sound})
        each = [
            _timed(runs, words, hostile)
            for run in hostile
            for words in hostile_runs.about_one(run.id, place.folder)
        ]
    yield Row(
        f"commands about all, {len(once)}, slowest",
        "what is allowed",
        "s",
        KEPT,
        (max(once),),
        (ALLOWED_S,),
    )
    yield Row(
        f"commands about one, {len(each)}, slowest",
        "what is allowed",
        "s",
        KEPT,
        (max(each),),
        (ALLOWED_S,),
    )


def _timed(runs: Path, words: list[str], hostile: Mapping[RunDirectory, str]) -> float:
    """The seconds that a command takes, of this thread alone.

    Others on the machine are not its fault.
    """
    began = time.perf_counter(), time.process_time()
    out, err = io.StringIO(), io.StringIO()
    with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
        code = main([words[0], "--runs-dir", str(runs), *words[1:]])
    if code not in WELL or "Traceback" in err.getvalue():
        odd = next((what for run, what in hostile.items() if run.id in words), "")
        raise BenchmarkError(
            f"{' '.join(words)} ended with {code} ({odd}):\n{err.getvalue()[-2000:]}"
        )
    waited, worked = time.perf_counter() - began[0], time.process_time() - began[1]
    return max(worked, waited) if waited > 2 * ALLOWED_S else worked


def _check_listed(runs: Path, sound: set[str]) -> None:
    out = io.StringIO()
    with contextlib.redirect_stdout(out), contextlib.redirect_stderr(io.StringIO()):
        main(["runs", "--runs-dir", str(runs), "list", "--json"])
    listed = {each["run"]: each["state"] for each in json.loads(out.getvalue())}
    if missing := {run for run in sound if listed.get(run) != "finished"}:
        raise BenchmarkError(
            f"of the sound runs these are not listed as they are: {sorted(missing)}"
        )
