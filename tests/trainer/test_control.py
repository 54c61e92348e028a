"""A running trainer does what it is asked, and tells so."""

from __future__ import annotations

import shutil
import signal
import subprocess
import sys
from pathlib import Path

import pytest
import warm_python
from patience import PATIENCE_S
from training_runs import PLAIN_STEPS, UNJUDGED, Finished, Running, running, small_plan

from gpu_studio.common.processes import signals_await_handlers
from gpu_studio.contract import RunDirectory, checkpoints, events
from gpu_studio.plan import with_settings
from gpu_studio.runs.diagnosis import explain
from gpu_studio.runs.state import is_live
from gpu_studio.runs.stop import StopLadder
from gpu_studio.trainer.control import Control

pytestmark = pytest.mark.slow

# It would train for hours: only what the test asks for can end it.
JUDGED = small_plan("training.epochs=100000", "training.checkpoint.every_epochs=0", *PLAIN_STEPS)
LONG = with_settings(JUDGED, UNJUDGED)


BEFORE_IT_STARTS = """
import sys
from pathlib import Path
from gpu_studio.contract.directory import RunDirectory, send
from gpu_studio.trainer.__main__ import leave, main

run = RunDirectory(Path(sys.argv[1]))
{}
send(run, "stop")
leave(main())
"""
"""A trainer to which something happens before it begins, and which is asked to stop then."""


def stopped_before_it_starts(runs: Path, happens: str = "") -> Finished:
    program = [*warm_python.command("-c"), BEFORE_IT_STARTS.format(happens)]
    with running(LONG, runs, trainer=program) as run:
        return run.finish()


def states(run: Running) -> list[str]:
    return [event.state for event in run.of(events.StateChanged)]


def steps(run: Running) -> int:
    return sum(len(event.losses) for event in run.of(events.Steps))


def test_that_pause_keeps_everything_and_resume_goes_on(tmp_path: Path) -> None:
    with running(LONG, tmp_path, warm=True) as run:
        run.wait_for(lambda: steps(run) > 20)
        run.send("pause")
        run.wait_for(lambda: states(run)[-1] == "paused")
        paused_at = steps(run)
        memory = len(run.of(events.Memory))
        run.wait_for(lambda: len(run.of(events.Memory)) >= memory + 2)
        assert steps(run) == paused_at
        run.send("resume")
        run.wait_for(lambda: steps(run) > paused_at)
        assert states(run) == ["starting", "running", "paused", "running"]
        run.send("stop")
        assert run.finish().one(events.Finished).reason == "stopped"


def test_that_a_checkpoint_is_written_when_asked_for_also_in_a_pause(tmp_path: Path) -> None:
    with running(LONG, tmp_path, warm=True) as run:
        run.wait_for(lambda: steps(run) > 20)
        run.send("checkpoint")
        run.wait_for(lambda: run.of(events.Checkpoint))
        run.send("pause")
        run.wait_for(lambda: states(run)[-1] == "paused")
        run.send("checkpoint")
        run.wait_for(lambda: len(run.of(events.Checkpoint)) == 2)
        assert states(run)[-1] == "paused"
        for event in run.of(events.Checkpoint):
            path = run.directory.checkpoints / event.name
            assert event.bytes == sum(file.stat().st_size for file in path.iterdir())
            assert {file.stat().st_mode & 0o777 for file in path.iterdir()} == {0o600}
        run.send("stop")
        assert run.finish().code == 0


@pytest.mark.parametrize("how", ["stop", "sigterm"])
def test_that_stop_checkpoints_and_evaluates_nothing_more(tmp_path: Path, how: str) -> None:
    with running(JUDGED, tmp_path, warm=True) as run:
        run.wait_for(lambda: steps(run) > 20)
        if how == "stop":
            run.send("stop")
        else:
            run.launched.process.send_signal(signal.SIGTERM)
        done = run.finish()
    assert done.code == 0
    end = done.one(events.Finished)
    assert (end.reason, end.metrics) == ("stopped", {})
    assert done.of(events.Checkpoint)[-1].step == end.step
    assert states_of(done.events)[-2:] == ["stopping", "stopped"]
    assert done.events[-1] == end


def states_of(told: list[events.Event]) -> list[str]:
    return [event.state for event in told if isinstance(event, events.StateChanged)]


def test_that_stop_ends_a_pause_and_saves_no_step_a_second_time(tmp_path: Path) -> None:
    with running(LONG, tmp_path, warm=True) as run:
        run.wait_for(lambda: steps(run) > 20)
        run.send("pause")
        run.wait_for(lambda: states(run)[-1] == "paused")
        run.send("checkpoint")
        run.wait_for(lambda: run.of(events.Checkpoint))
        run.send("stop")
        finished = run.finish()
    end = finished.one(events.Finished)
    assert (end.reason, end.step) == ("stopped", finished.one(events.Checkpoint).step)


def test_that_stop_now_writes_no_checkpoint(tmp_path: Path) -> None:
    with running(LONG, tmp_path, warm=True) as run:
        run.wait_for(lambda: steps(run) > 20)
        run.send("stop_now")
        done = run.finish()
    assert done.code == 0
    end = done.one(events.Finished)
    assert end.reason == "stopped_now"
    assert end.step > 0
    assert not done.of(events.Checkpoint)
    assert [event.seq for event in done.events] == list(range(len(done.events)))


def test_that_a_run_asked_to_stop_before_it_trains_stops(tmp_path: Path) -> None:
    done = stopped_before_it_starts(tmp_path)
    assert done.one(events.Finished).reason == "stopped"
    assert not done.of(events.Steps)


def test_that_hanging_up_the_terminal_does_not_end_a_run(tmp_path: Path) -> None:
    with running(LONG, tmp_path, warm=True) as run:
        run.wait_for(lambda: steps(run) > 20)
        run.launched.process.send_signal(signal.SIGHUP)
        run.launched.process.send_signal(signal.SIGINT)
        before = steps(run)
        run.wait_for(lambda: steps(run) > before + 50)
        run.send("stop_now")
        assert run.finish().code == 0


def test_that_a_stop_whose_checkpoint_the_disk_refuses_is_told_as_one_without(
    tmp_path: Path,
) -> None:
    # A file where their folder would be: every checkpoint is refused, from the first on.
    in_the_way = "run.checkpoints.is_dir() and run.checkpoints.rmdir()\nrun.checkpoints.touch()"
    done = stopped_before_it_starts(tmp_path, in_the_way)
    assert done.one(events.Finished).reason == "stopped_now"
    assert "could not be written" in done.of(events.Warned)[-1].message
    assert not done.of(events.Checkpoint)


def test_that_a_trainer_ends_whose_folder_was_deleted_but_for_what_it_wrote_meanwhile(
    tmp_path: Path,
) -> None:
    with running(LONG, tmp_path, warm=True) as run:
        run.wait_for(lambda: steps(run) > 0)
        written = run.directory.checkpoints
        for path in run.directory.path.iterdir():
            if path.is_file():
                path.unlink(missing_ok=True)
            elif path != written:
                shutil.rmtree(path, ignore_errors=True)
        assert written.is_dir()
        assert run.launched.process.wait(PATIENCE_S) == 1
    assert "no longer there" in explain(run.directory, 1).message


def test_that_a_run_whose_lock_was_removed_is_seen_again_and_stops(tmp_path: Path) -> None:
    """Nobody could see it, or stop it, and it trained on."""
    with running(LONG, tmp_path, warm=True) as run:
        run.wait_for(lambda: steps(run) > 0)
        run.directory.lock_file.unlink()
        run.wait_for(lambda: is_live(run.directory))
        ladder = StopLadder(run.directory)
        run.wait_for(lambda: ladder.advance() == "gone")
        assert run.finish().one(events.Finished).reason == "stopped"


def test_that_a_run_whose_folder_was_moved_is_heard_and_saved_where_it_is(tmp_path: Path) -> None:
    """A stop was heard by its signal only, after half a minute, and saved where nobody looks."""
    with running(LONG, tmp_path, warm=True) as run:
        run.wait_for(lambda: steps(run) > 0)
        before = run.directory.path
        moved = RunDirectory(before.rename(tmp_path / "moved"))
        ladder = StopLadder(moved, clock=lambda: 0.0)  # it never goes up a rung
        run.wait_for(lambda: ladder.advance() == "gone")
    assert checkpoints(moved)
    assert not before.exists()


def test_that_a_lock_that_was_moved_without_its_run_takes_nothing_with_it(tmp_path: Path) -> None:
    run = RunDirectory(tmp_path / "run")
    for folder in (run.path, tmp_path / "elsewhere"):
        folder.mkdir()
        lock = folder / "lock"
        assert Control(run, lambda: None, find=lambda lock=lock: lock).run.path == run.path
    (tmp_path / "elsewhere" / run.events_file.name).touch()
    assert Control(run, lambda: None, find=lambda: lock).run.path == tmp_path / "elsewhere"


IMPORTED = """
import sys
from pathlib import Path
from gpu_studio.contract import RunDirectory
from gpu_studio.trainer.control import Control
print("imported", flush=True)
sys.stdin.readline()
control = Control(RunDirectory(Path(sys.argv[1])), stop_now=lambda: None)
control.start()
print(control.stopping)
control.close()
"""


def test_that_a_stop_that_came_while_python_imported_is_heard_once_it_listens(
    tmp_path: Path,
) -> None:
    """What stands for a trainer elsewhere takes its signals by itself."""
    with signals_await_handlers():
        command = [sys.executable, "-c", IMPORTED, str(tmp_path)]
        process = subprocess.Popen(
            command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
        )
    with process:
        assert process.stdout is not None
        assert process.stdout.readline() == "imported\n"
        for each in (signal.SIGHUP, signal.SIGINT, signal.SIGTERM):
            process.send_signal(each)
        assert process.communicate("\n", PATIENCE_S) == ("True\n", None)
    assert process.returncode == 0


FORKS = """
import multiprocessing
import signal
import sys
from pathlib import Path
from gpu_studio.contract.directory import RunDirectory
from gpu_studio.trainer.control import Control

Control(RunDirectory(Path(sys.argv[1])), lambda: None).start()
child = multiprocessing.get_context("fork").Process(target=signal.pause)
child.start()
child.terminate()
child.join()
print(child.exitcode == -signal.SIGTERM)
"""


def test_that_a_process_forked_by_a_script_ends_by_its_terminate(tmp_path: Path) -> None:
    run = RunDirectory.create(tmp_path, "forks")
    command = [sys.executable, "-c", FORKS, str(run.path)]
    assert subprocess.run(command, capture_output=True, timeout=PATIENCE_S).stdout == b"True\n"
