"""A run that cannot go on says why, and what to try."""

from __future__ import annotations

import dataclasses
import os
import signal
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
import warm_python
from fault_matrix import Fault
from made_images import two_classes
from patience import PATIENCE_S
from training_runs import Finished, running, small_plan, trained

from gpu_studio.contract import events
from gpu_studio.plan import Data, Plan, with_settings
from gpu_studio.runs.diagnosis import explain
from gpu_studio.runs.state import state_of

pytestmark = pytest.mark.slow


def failure(run: Finished) -> events.Failed:
    assert run.code == 1, run.log
    assert run.events[-1] == run.one(events.Failed)
    return run.one(events.Failed)


def test_that_out_of_memory_says_where_how_much_and_what_to_try(tmp_path: Path) -> None:
    """A real allocator's limit, and a real ResourceExhaustedError.

    The host's arena, because there is no card.
    """
    limit = {"TF_CPU_ALLOCATOR_USE_BFC": "true", "TF_CPU_BFC_MEM_LIMIT_IN_MB": "64"}
    plan = small_plan("model.options={ hidden = [8192, 8192] }", "distribution.strategy=mirrored")
    failed = failure(trained(plan, tmp_path, environment=limit))
    assert failed.message.startswith("Out of memory on CPU:")
    assert "MiB" in failed.message
    assert failed.device
    assert failed.device.startswith("CPU:")
    assert len(failed.suggestions) >= 3
    assert "ResourceExhausted" in failed.traceback


def test_that_a_diverging_loss_ends_the_run_before_a_checkpoint_takes_it_in(
    tmp_path: Path, fault: Fault
) -> None:
    fault.is_about(
        "loss not finite",
        "failed before a checkpoint takes it in; names the step, the layer, its gradient",
    )
    diverging = ("training.optimizer=sgd", "training.learning_rate=1e30", "training.epochs=3")
    plan = small_plan(*diverging, "training.checkpoint.every_steps=1")
    run = trained(plan, tmp_path)
    failed = failure(run)
    assert "diverged" in failed.message
    assert any("learning_rate" in advice for advice in failed.suggestions)
    assert (failed.kind, failed.layer) == ("not_finite", "outputs")
    assert "The first layer whose output is not finite is outputs." in failed.message
    assert "the largest gradient was that of dense, with a norm of" in failed.message
    assert [mend.field for mend in failed.mends] == [
        "training.learning_rate",
        "training.options.global_clipnorm",
    ]
    assert None in run.losses.values()
    (bad,) = [each for each in run.of(events.Steps) if None in each.losses]
    fault.seconds = run.events[-1].time - bad.time
    fault.kept(bad.seq + 1, len(run.events))
    for path in run.directory.checkpoints.glob("step-*"):
        with np.load(path / "weights.npz", allow_pickle=False) as archive:
            assert np.isfinite(archive["tally/loss"])


def test_that_a_device_that_is_not_there_is_named(tmp_path: Path) -> None:
    plan = small_plan('distribution.devices=["GPU:0"]', "distribution.strategy=one_device")
    failed = failure(trained(plan, tmp_path))
    assert "GPU:0" in failed.message
    assert any("CPU:0" in advice for advice in failed.suggestions)


def test_that_data_that_cannot_be_trained_on_are_named(tmp_path: Path) -> None:
    data = tmp_path / "data.npz"
    np.savez(data, x=np.full((20, 4), np.nan, np.float32), y=np.arange(20) % 2)
    failed = failure(trained(small_plan_with_file(data), tmp_path / "runs"))
    assert data.name in failed.message
    assert failed.suggestions


BEGINNING_WITHOUT = """
import sys
import time
from pathlib import Path
from gpu_studio.trainer.__main__ import leave, main

data = Path(sys.argv.pop(1))
while data.exists():
    time.sleep(0.01)
leave(main())
"""


def beginning_without(data: Path) -> list[str]:
    """A trainer that begins once the data are no longer where they were at its launch."""
    return [*warm_python.command("-c"), BEGINNING_WITHOUT, str(data)]


def test_that_data_that_moved_since_the_launch_are_named_with_what_is_near(
    tmp_path: Path, fault: Fault
) -> None:
    fault.is_about(
        "data missing once the trainer looks for them",
        "failed; names the file, where it was, what is near",
    )
    data = tmp_path / "mine.npz"
    np.savez(data, x=np.zeros((20, 4), np.float32), y=np.arange(20) % 2)
    plan, trainer = small_plan_with_file(data), beginning_without(data)
    with running(plan, tmp_path / "runs", trainer=trainer) as run:
        moved = data.rename(tmp_path / "mine-2.npz")
        with fault.noticed():
            failed = failure(run.finish())
    assert failed.kind == "data"
    assert failed.message == f"There is no data file {data}; did you mean {moved}?"
    assert failed.suggestions
    assert [event.seq for event in run.events] == list(range(len(run.events)))


def test_that_a_folder_of_images_that_moved_since_the_launch_is_named_with_what_is_near(
    tmp_path: Path, fault: Fault
) -> None:
    fault.is_about(
        "images missing once the trainer looks for them",
        "failed; names the folder, and what is near",
    )
    folder = two_classes(tmp_path / "pets")
    plan = dataclasses.replace(small_plan(), data=Data(folder=str(folder)))
    with running(plan, tmp_path / "runs", trainer=beginning_without(folder)) as run:
        moved = folder.rename(tmp_path / "pets-2")
        with fault.noticed():
            failed = failure(run.finish())
    assert failed.kind == "data"
    assert failed.message == f"The folder of images {folder} is not there; did you mean {moved}?"
    assert [log.message for log in run.of(events.Log)] == [f"Reading the images in {folder}."]


def test_that_early_stopping_by_validation_samples_that_the_data_do_not_bring_is_refused(
    tmp_path: Path,
) -> None:
    """No plan can tell whether they do: only a look into the file."""
    data = tmp_path / "data.npz"
    np.savez(data, x=np.zeros((20, 4), np.float32), y=np.arange(20) % 2)
    rule = 'training.early_stopping={ monitor = "val_accuracy" }'
    plan = with_settings(small_plan_with_file(data), ("data.validation_fraction=0", rule))
    failed = failure(trained(plan, tmp_path / "runs"))
    assert failed.message == (
        "training.early_stopping.monitor is val_accuracy, but nothing is validated: data.npz "
        "brings no validation samples, and data.validation_fraction is 0."
    )
    assert failed.suggestions == ["Set data.validation_fraction above 0.", "Or monitor accuracy."]


def small_plan_with_file(path: Path) -> Plan:
    return dataclasses.replace(small_plan(), data=Data(file=str(path)))


def test_that_an_unknown_option_of_the_optimizer_is_named(tmp_path: Path) -> None:
    failed = failure(
        trained(
            small_plan("training.optimizer=sgd", "training.options={ momentun = 0.9 }"), tmp_path
        )
    )
    assert "momentun" in failed.message
    assert "momentum" in " ".join([failed.message, *failed.suggestions])


def test_that_a_crash_of_the_interpreter_is_explained_from_the_log(tmp_path: Path) -> None:
    with running(small_plan("training.epochs=100000"), tmp_path, warm=True) as run:
        run.wait_for(lambda: run.of(events.Checkpoint))
        os.kill(run.launched.process.pid, signal.SIGSEGV)
        done = run.finish()
    assert done.code == -signal.SIGSEGV
    assert state_of(done.directory) == "lost"
    explanation = explain(done.directory)
    assert "segmentation fault" in explanation.message
    assert any("resume" in advice.lower() for advice in explanation.suggestions)


def test_that_a_plan_broken_after_the_launch_is_refused_in_words(tmp_path: Path) -> None:
    first = trained(small_plan("training.epochs=1"), tmp_path)
    broken = tmp_path / "broken"
    broken.mkdir()
    (broken / "plan.toml").write_text(
        first.directory.plan_file.read_text() + "\n[trainnig]\nepochs = 1\n"
    )
    ended = subprocess.run(
        [sys.executable, "-m", "gpu_studio.trainer", str(broken)],
        capture_output=True,
        timeout=PATIENCE_S,
    )
    assert ended.returncode == 1
    last = (broken / "events.jsonl").read_bytes().splitlines()[-1]
    told = events.decode(last)
    assert isinstance(told, events.Failed)
    assert "trainnig" in told.message
    assert "training" in told.message
