"""Runs are seen as they begin, also in a folder that only the first of them makes."""

from __future__ import annotations

import shutil
from pathlib import Path

from made_runs import Script, make_run

from gpu_studio.contract import lock
from gpu_studio.ui.runs.live_watch import LiveWatch


def test_that_a_run_is_seen_in_a_folder_that_was_not_there_and_again_after_it_was_deleted(
    qtbot, tmp_path: Path
) -> None:
    runs = tmp_path / "made by" / "the first" / "runs"
    watch = LiveWatch(runs)
    watch.look()
    for name in ("first", "second"):
        made = make_run(tmp_path / "elsewhere", Script(name=name, epochs=2, trained=1))
        held = lock.take(made.lock_file)
        runs.mkdir(parents=True)
        with qtbot.waitSignal(watch.began) as begun:
            made.path.rename(runs / made.id)
        assert begun.args[0].id == made.id
        held.release()
        shutil.rmtree(runs.parent)
    watch.close()
    watch.deleteLater()
