"""One real training that meets one fault after another, and goes on through each.

In the end its folder is deleted.
"""

from __future__ import annotations

import shutil
from collections.abc import Callable, Iterator
from pathlib import Path

import fault_library
import psutil
import pytest
from fault_library import Faults
from fault_matrix import Fault
from fault_windows import taken
from nvml_library import compiler
from real_runs import eventually
from training_runs import Running, resting, running, small_plan

from gpu_studio.contract import events
from gpu_studio.hardware.accompanying import accompany
from gpu_studio.runs.lineage import read_history
from gpu_studio.runs.results.run_times import read_times

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(
        compiler() is None, reason="there is no C compiler for the library that brings the faults"
    ),
]

HOUR = 3600
ENDLESS = (
    "training.epochs=1000000",
    "training.checkpoint.every_epochs=0",
    "devices.carve=[]",
    "data.test_fraction=0.5",
)


@pytest.fixture(scope="module")
def faults(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Faults]:
    """The faults that the trainer of this file can meet."""
    folder = tmp_path_factory.mktemp("faults")
    made = Faults(fault_library.build(folder), folder / "control")
    yield made
    made.close()


@pytest.fixture(scope="module")
def live(faults: Faults, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Running]:
    """A real run that trains until it is ended."""
    runs = tmp_path_factory.mktemp("live") / "runs"
    # Its own Python: the faults come from a library that is loaded with it.
    trainer, variables = resting(warm=False), faults.environment
    with running(small_plan(*ENDLESS), runs, environment=variables, trainer=trainer) as run:
        run.wait_for(lambda: run.of(events.Steps))
        yield run


@pytest.fixture
def runs(live: Running) -> Path:
    """The folder that the window looks into: the live run's."""
    return live.directory.path.parent


def gapless(live: Running) -> int:
    """How many events there are, none of which is missing or cut."""
    told = live.read()
    assert [event.seq for event in told] == list(range(len(told)))
    return len(told)


def goes_on(live: Running) -> None:
    """Wait until the run has trained further."""
    seen = len(live.of(events.Steps))
    eventually(lambda: len(live.of(events.Steps)) > seen, "more steps")


def unwritten(live: Running) -> list[str]:
    return [
        warning.message
        for warning in live.of(events.Warned)
        if "could not be written" in warning.message
    ]


def writes_a_checkpoint(live: Running) -> None:
    """Ask for a checkpoint, and wait until it is whole."""
    seen = len(live.of(events.Checkpoint))
    live.send("checkpoint")
    eventually(lambda: len(live.of(events.Checkpoint)) > seen, "a checkpoint")


def is_deleted(folder: Path) -> bool:
    """Whether the folder is gone after another try: a trainer may make a file meanwhile."""
    shutil.rmtree(folder, ignore_errors=True)
    return not folder.exists()


def changed(folder: Path) -> Callable[[], bool]:
    """A condition: something was made in the folder and taken away again."""
    before = folder.stat().st_mtime_ns
    return lambda: folder.stat().st_mtime_ns != before and not list(folder.glob(".tmp-*"))


def test_that_a_full_disk_costs_one_checkpoint_and_no_event(
    live: Running, faults: Faults, fault: Fault
) -> None:
    fault.is_about(
        "disk full under events and checkpoints",
        "trains on; events wait for room; the checkpoint is told as unwritten",
    )
    before = gapless(live)
    tried = changed(live.directory.checkpoints)
    with faults.full(live.directory.path):
        live.send("checkpoint")
        eventually(tried, "the checkpoint to be tried")
        size = live.directory.events_file.stat().st_size
        refused = faults.refused
        eventually(lambda: faults.refused > refused + 3, "more to be written")
        assert live.directory.events_file.stat().st_size == size
    with fault.noticed():
        (message,) = eventually(lambda: unwritten(live), "the warning")
    assert "No space left on device" in message
    writes_a_checkpoint(live)
    fault.kept(before, gapless(live))


def test_that_a_folder_that_becomes_read_only_costs_one_checkpoint(
    live: Running, faults: Faults, fault: Fault
) -> None:
    fault.is_about(
        "run folder read-only under a live run", "trains on; the checkpoint is told as unwritten"
    )
    before, warned = gapless(live), len(unwritten(live))
    with faults.read_only(live.directory.path):
        live.send("checkpoint")
        with fault.noticed():
            eventually(lambda: len(unwritten(live)) > warned, "the warning")
        goes_on(live)
    assert "Read-only file system" in unwritten(live)[-1]
    writes_a_checkpoint(live)
    fault.kept(before, gapless(live))


def test_that_a_clock_that_is_set_loses_nothing_and_changes_no_time(
    live: Running, faults: Faults, fault: Fault
) -> None:
    fault.is_about(
        "clock set back, then on by a day, under a live run",
        "trains on; every time and duration stays sound",
    )
    before = gapless(live)
    for off in (-HOUR, 24 * HOUR, 0):
        newest = live.read()[-1].time
        faults.set_clock(off)
        with fault.noticed():
            eventually(
                lambda was=newest: abs(live.read()[-1].time - was) > HOUR / 2, "another time"
            )
        goes_on(live)
        trained = sum(len(each.losses) for each in live.of(events.Steps))
        earlier, history, times = (
            read(live.directory) for read in (read_times, read_history, read_times)
        )
        assert history.step >= trained
        assert history.seconds is not None
        axis = history.losses.column("time") - history.started.time
        assert 0 <= axis[0] <= axis[-1] <= history.seconds < HOUR / 2
        # The run goes on while its file is read three times.
        least, most = (sum(each.states.values()) for each in (earlier, times))
        assert least - 5 <= history.seconds <= most + 5
        assert times.call_seconds < times.seconds_in("running") < HOUR / 2
    fault.kept(before, gapless(live))


def test_that_a_killed_sampler_is_started_again_and_a_killed_recorder_harms_no_run(
    live: Running, fault: Fault
) -> None:
    fault.is_about(
        "sampler killed", "started again; the run's recording goes on; the run takes no notice"
    )
    before = gapless(live)
    recorder = accompany(live.directory.path)
    assert recorder is not None
    try:
        parent = psutil.Process(recorder.pid)
        record = live.directory.hardware_file
        eventually(lambda: record.exists() and record.stat().st_size > 0, "a recording")
        (sampler,) = parent.children()
        sampler.kill()
        size = record.stat().st_size
        with fault.noticed():
            eventually(
                lambda: [each for each in parent.children() if each.pid != sampler.pid],
                "another sampler",
            )
        eventually(lambda: record.stat().st_size > size, "more of the recording")
        (sampler,) = parent.children()
    finally:
        recorder.kill()
        recorder.wait()
    eventually(lambda: not sampler.is_running(), "the sampler to end with its recorder")
    goes_on(live)
    fault.kept(before, gapless(live))


def test_that_a_run_whose_folder_is_deleted_ends_by_itself_and_the_window_says_so(
    live: Running, fault: Fault, open_window, qtbot
) -> None:
    """The last of the file: after it there is no run any more."""
    fault.is_about(
        "run folder deleted under a live run",
        "the trainer ends by itself; the window says what happened",
    )
    window = open_window()
    shown = window.train_page.live_run
    qtbot.waitUntil(lambda: shown.state == "running" and shown.history.step > 0)
    seen = taken(shown)
    eventually(lambda: is_deleted(live.directory.path), "the end of the folder")
    with fault.noticed():
        qtbot.waitUntil(lambda: shown.state == "lost")
    qtbot.waitUntil(window.train_page.gone.isVisible)
    assert "The folder of this run is gone" in window.train_page.gone.words.text()
    assert not window.train_page.outcome.isVisible()
    eventually(lambda: live.launched.poll() is not None, "the trainer to end")
    assert live.launched.poll() == 1
    fault.kept(seen, taken(shown))
