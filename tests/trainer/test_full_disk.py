"""A real trainer on a real disk that is full for a while."""

from __future__ import annotations

import psutil
import pytest
from patience import PATIENCE_S
from small_disks import SmallDisk
from training_runs import PLAIN_STEPS, UNJUDGED, Running, running, small_plan

from gpu_studio.contract import events, lock
from gpu_studio.runs.diagnosis import explain
from gpu_studio.runs.state import is_live, state_of
from gpu_studio.runs.stop import StopLadder

pytestmark = pytest.mark.slow
ENDLESS = (
    *PLAIN_STEPS,
    *UNJUDGED,
    "training.epochs=100000",
    "training.checkpoint.every_epochs=1",
    "model.options={ hidden = [4] }",
)

FULL_FOR_S = 1.0
"""Seconds of its own time that the trainer gets on the full disk.

Enough for several epochs with their checkpoints.
"""


def trainer_of(run: Running) -> psutil.Process:
    holder = lock.last_holder(run.directory.lock_file)
    assert holder is not None
    return psutil.Process(holder.pid)


def trained_for(run: Running) -> float:
    """The trainer's own seconds so far, however busy the machine is."""
    return float(trainer_of(run).cpu_times().user)


def test_that_a_run_goes_on_when_its_disk_was_full_and_ends_when_it_is_stopped_then(
    small_disk: SmallDisk,
) -> None:
    """A full disk once failed the run as out of memory, and `stop` could not stop it."""
    with running(small_plan(*ENDLESS), small_disk.path / "runs", warm=True) as run:
        run.wait_for(lambda: len(run.of(events.Epoch)) > 3)
        small_disk.fill()
        refused = len(run.of(events.Checkpoint))
        worked = trained_for(run)
        run.wait_for(lambda: trained_for(run) > worked + FULL_FOR_S)
        small_disk.clear()
        warned = run.wait_for(
            lambda: [each for each in run.of(events.Warned) if "No space left" in each.message]
        )
        run.wait_for(lambda: len(run.of(events.Checkpoint)) > refused)
        assert [event.seq for event in run.read()] == list(range(len(run.events)))
        assert all(each.message.startswith("The checkpoint") for each in warned)

        # Else it may give room back meanwhile: that of an old checkpoint, or of a part of one.
        trainer_of(run).suspend()
        small_disk.fill()
        ladder = StopLadder(run.directory)
        assert (ladder.stage, ladder.refusal) == ("terminated", "No space left on device")
        trainer_of(run).resume()
        run.launched.process.wait(PATIENCE_S)
    assert not is_live(run.directory)
    small_disk.clear()
    # The end of its last block may have had room for the last word.
    lost = "could not be written: No space left on device" in explain(run.directory).message
    assert state_of(run.directory) == ("lost" if lost else "stopped")
