"""Which process reports the end of a run, and which ends are still to be reported."""

from __future__ import annotations

import os
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
from made_runs import Script, make_run
from patience import PATIENCE_S

from gpu_studio.contract import lock
from gpu_studio.contract.directory import RunDirectory
from gpu_studio.runs.end_reports import (
    NEWS_SECONDS,
    is_reported,
    mark_followed,
    mark_reported,
    take_telling,
    unreported,
)


@pytest.fixture
def runs(tmp_path: Path) -> Path:
    """A folder of runs."""
    path = tmp_path / "runs"
    path.mkdir()
    return path


def test_that_the_ends_of_the_last_day_are_news_unless_somebody_was_told_or_cannot_be_noted(
    runs,
) -> None:
    made = [
        make_run(runs, Script(name=name, epochs=2, trained=2, ending="completed"))
        for name in "abcde"
    ]
    fresh, old, told, shut, live = made
    os.utime(old.events_file, (old.events_file.stat().st_mtime - NEWS_SECONDS - 60,) * 2)
    mark_followed(told)
    assert (told.reported_file.exists(), is_reported(told)) == (True, False)
    shut.path.chmod(0o500)
    held = lock.take(live.lock_file)
    assert {run.id for run in unreported(runs)} == {
        fresh.id,
        *([shut.id] if os.access(shut.path, os.W_OK) else []),
    }
    held.release()
    shut.path.chmod(0o700)
    mark_reported(fresh)
    assert fresh not in unreported(runs)
    assert fresh.reported_file.stat().st_mode & 0o777 == 0o600
    mark_reported(told)
    assert is_reported(told)
    mark_reported(RunDirectory(runs / "gone"))
    assert unreported(runs / "nowhere") == []


def test_that_one_at_a_time_tells_and_none_holds_the_others_up_once_it_is_killed(runs) -> None:
    with ThreadPoolExecutor(8) as pool:
        taken = [each for each in pool.map(lambda _: take_telling(runs), range(8)) if each]
    assert len(taken) == 1
    taken[0].release()
    code = (
        "from pathlib import Path; from gpu_studio.runs.end_reports import *; held = "
        f"take_telling(Path({str(runs)!r}))"
    )
    with subprocess.Popen(
        [sys.executable, "-c", f"{code}; print(bool(held), flush=True); input()"],
        stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True,
    ) as other:  # fmt: skip
        assert other.stdout is not None
        assert other.stdout.readline() == "True\n"
        assert take_telling(runs) is None
        other.kill()
        other.wait(PATIENCE_S)
    free = take_telling(runs)
    assert free is not None
    free.release()
    with pytest.raises(OSError, match="No such file"):
        take_telling(runs / "nowhere")
