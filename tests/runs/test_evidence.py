"""Why a trainer is gone, with real trainers that are really killed.

The kernel's files are stand-ins.
"""

from __future__ import annotations

import os
import shlex

import pytest
from plan_samples import a_plan
from real_runs import PLAN, eventually, has_trained

from gpu_studio.contract import kernel, lock, samples
from gpu_studio.contract.directory import RunDirectory
from gpu_studio.contract.event_parts import SuggestedChange
from gpu_studio.contract.events import Failed, Layer, Model
from gpu_studio.plan import save, with_settings
from gpu_studio.runs.diagnosis import Explanation, explain
from gpu_studio.trainer.telemetry import EventWriter

REFUSED = (
    "W0000 00:00:1795224048.377882    3 bfc_allocator.cc:502] Allocator "
    "(bfc_cpu_allocator_for_gpu) ran out of memory "
    "trying to allocate 7.22MiB (rounded to 7571200)requested by op "
    "while/body/_1/while/cnn_1/pool_1/MaxPool2d\n"
    "Fatal Python error: Aborted\n"
)  # as TensorFlow 2.21 wrote it for a CNN on a CPU with a limit


@pytest.fixture
def computer(tmp_path, monkeypatch):
    """A computer of which the test says when it started and how many processes it killed."""

    class Computer:
        def says(self, boot: str, kills: int) -> None:
            (tmp_path / "boot_id").write_text(f"{boot}\n")
            (tmp_path / "vmstat").write_text(f"nr_free_pages 1\noom_kill {kills}\nswap_ra 0\n")

    monkeypatch.setattr(kernel, "BOOT_ID", tmp_path / "boot_id")
    monkeypatch.setattr(kernel, "COUNTERS", tmp_path / "vmstat")
    return Computer()


@pytest.fixture
def killed(start):
    """A trainer that was killed; the run and its exit code."""
    launched = start("--hold-at", "2", "--checkpoint-every", "1")
    eventually(has_trained(launched, 2))
    launched.process.kill()
    return launched.directory, launched.process.wait()


def sign_as(run: RunDirectory, boot: str, kills: int) -> None:
    """Have the run's trainer signed its lock on a computer that was in this state."""
    holder = lock.last_holder(run.lock_file)
    assert holder is not None
    run.lock_file.write_text(f"{holder.pid} {holder.host} {boot} {kills}\n")


def test_that_the_kernel_s_figures_are_read_or_said_not_to_be_there(computer, tmp_path):
    computer.says("b-1", 7)
    assert (kernel.boot_id(), kernel.memory_kills()) == ("b-1", 7)
    (tmp_path / "boot_id").unlink()
    (tmp_path / "vmstat").write_text("nr_free_pages 1\n")
    assert (kernel.boot_id(), kernel.memory_kills()) == ("", None)


def test_that_a_trainer_signs_with_the_start_of_its_computer(killed):
    holder = lock.last_holder(killed[0].lock_file)
    assert holder is not None
    assert holder.is_here
    assert (holder.boot, holder.memory_kills is None) == (
        kernel.boot_id(),
        kernel.memory_kills() is None,
    )


@pytest.mark.parametrize(
    ("signature", "pid"), [("12 host\n", 12), ("12 host - -\n", 12), ("", None), ("x y\n", None)]
)
def test_that_a_signature_of_an_older_version_is_read_and_garbage_is_none(tmp_path, signature, pid):
    path = tmp_path / "trainer.lock"
    path.write_text(signature)
    holder = lock.last_holder(path)
    assert (holder and (holder.pid, holder.boot, holder.memory_kills)) == (pid and (pid, "", None))


def test_that_a_trainer_whose_disk_took_no_last_events_leaves_word_of_it(tmp_path):
    run = RunDirectory.create(tmp_path, "x")
    held = lock.take(run.lock_file)
    held.leave_word("The last events of this run could not be written: No space left on device.")
    assert lock.last_holder(run.lock_file).pid == os.getpid()
    held.release()
    why = explain(run)
    assert why.message.endswith("could not be written: No space left on device.")
    assert any("df -h" in suggestion for suggestion in why.suggestions)


def test_that_a_restart_since_is_told_with_the_last_sign_of_life(killed, computer):
    run, _ = killed
    sign_as(run, "before", 0)
    computer.says("after", 0)
    why = explain(run)
    assert "the computer has been restarted since" in why.message
    assert "Its last sign of life is of 20" in why.message
    assert f"gpu-studio resume {run.id}" in why.suggestions[0]


def test_that_a_kill_for_want_of_memory_is_told_with_changes_that_need_less(killed, computer):
    run, code = killed
    sign_as(run, "same", 3)
    computer.says("same", 4)
    for exit_code in (None, code):
        why = explain(run, exit_code)
        assert why.message.startswith("The trainer was killed, most likely by the system")
        assert why.message.endswith("the out-of-memory killer has ended 1 process.")
        assert "training.batch_size" in [mend.field for mend in why.mends]
    os.utime(run.events_file, (1e9, 1e9))
    assert explain(run, code).message.startswith("The trainer was killed, perhaps by the system")
    computer.says("another", 9)
    assert "out-of-memory" not in explain(run).message
    computer.says("same", 3)
    assert explain(run, code).message == "The trainer was ended by SIGKILL."


@pytest.mark.parametrize("samples", [1, None])
def test_that_a_crash_after_a_refused_allocation_is_told_as_out_of_memory_with_its_layer(
    tmp_path, samples
):
    run = RunDirectory.create(tmp_path, "x")
    save(a_plan(), run.plan_file)
    layers = [
        Layer(name=name, kind="Dense", output_shape="1", parameters=1, bytes=4)
        for name in ("conv", "pool")
    ]
    writer = EventWriter(run.events_file)
    writer.write(
        Model(
            name="cnn", parameters=1, trainable=1, layers=layers, data="d", train_samples=samples,
            validation_samples=0, test_samples=0, epochs=1, steps_per_epoch=1, global_batch=1,
            replica_batches=[1], optimizer="sgd", loss="mse", precision="float32",
        )
    )  # fmt: skip
    writer.close()
    run.log_file.write_text(REFUSED)
    why = explain(run)
    assert why.message.startswith("Out of memory on the CPU, in the layer pool:")
    assert "7.22MiB" in why.message
    # Data that come in batches of their own are trained on as they come.
    smaller = ["training.batch_size"] if samples else []
    assert [each.field for each in why.mends] == [*smaller, "training.mixed_precision"]


def test_that_a_card_that_ended_the_trainer_is_told_as_that(tmp_path):
    run = RunDirectory.create(tmp_path, "x")
    run.log_file.write_text(
        "E cuda_event.cc:49] Error polling for event status: failed to query event: "
        "CUDA_ERROR_LAUNCH_FAILED\n"
        "F gpu_event_mgr.cc:203] Unexpected Event status: 1\nFatal Python error: Aborted\n"
    )  # https://github.com/tensorflow/tensorflow/issues/20356
    why = explain(run)
    assert why.message.startswith("A card failed while it trained: a computation on it crashed")


def test_that_a_folder_that_is_gone_is_said_to_be_gone(tmp_path):
    assert "no longer there" in explain(RunDirectory(tmp_path / "gone")).message


def test_that_the_driver_s_word_on_a_card_is_added_to_both_ways_to_fail(tmp_path):
    run = RunDirectory.create(tmp_path, "x")
    told = [
        samples.Happened(
            time=1.0, card="GPU-1", kind="xid", code=79, words="XID 79: it is off the bus"
        )
    ]
    run.hardware_file.write_bytes(b"cut\n" + b"".join(samples.encode(each) for each in told))
    run.log_file.write_text("F gpu_event_mgr.cc:203] Unexpected Event status: 1\n")
    assert explain(run).message.endswith("The driver reported it: XID 79: it is off the bus.")
    writer = EventWriter(run.events_file)
    writer.write(Failed(message="GPU:1 failed.", suggestions=[], kind="device_lost"))
    writer.close()
    said = "GPU:1 failed. The driver reported it: XID 79: it is off the bus."
    assert explain(run).message == said


def test_that_mends_are_settings_that_the_command_line_takes():
    carve = [{"device": "GPU:0", "slices_mib": [512, 1536]}]
    mends = (
        SuggestedChange(text="Halve", field="training.batch_size", value=16),
        SuggestedChange(text="Give", field="devices.carve", value=carve),
        SuggestedChange(text="Mixed", field="training.mixed_precision", value=True),
        SuggestedChange(text="Without", field="distribution.devices", value=["GPU:1"]),
    )
    settings = [shlex.split(line)[-1] for line in Explanation("x", mends=mends).settings]
    plan = with_settings(PLAN, settings)
    assert plan.training.batch_size == 16
    assert plan.devices.carve[0].slices_mib == (512, 1536)
    assert plan.training.mixed_precision
    assert plan.distribution.devices == ("GPU:1",)
