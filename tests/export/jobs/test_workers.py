"""The files that start the workers of a script, with real workers and a real Slurm."""

from __future__ import annotations

import os
import signal
import subprocess
from collections.abc import Mapping
from pathlib import Path

import pytest
from slurm_practice import practice_slurm
from training_runs import Finished, small_plan, trained, until
from worker_scripts import losses_by_epoch, warm_interpreter, workers_of, write_job

from gpu_studio.plan import Plan

pytestmark = [pytest.mark.slow, pytest.mark.processes, pytest.mark.timeout(400)]

PATIENCE = 180.0
CLOSE = 1e-6
# Nothing is divided evenly: neither the samples by the batch, nor the batch by the workers.
COMMON = (
    "devices.carve=",
    "training.epochs=40",
    "training.batch_size=301",
    'training.metrics=["accuracy", "auc"]',
)
EPOCHS = 6


def plan_of(*settings: str) -> Plan:
    return small_plan(*COMMON, "distribution.strategy=multi_worker", *settings)


@pytest.fixture(scope="module")
def alone(tmp_path_factory: pytest.TempPathFactory) -> Finished:
    """The run of the same plan in one process."""
    plan = small_plan(*COMMON, f"training.epochs={EPOCHS}")
    return trained(plan, tmp_path_factory.mktemp("alone"))


def check(output: str, alone: Finished) -> None:
    """Every measure of every epoch that was printed is that of one process."""
    printed = losses_by_epoch(output)
    assert sorted(printed) == list(range(1, EPOCHS + 1)), output
    assert alone.code == 0, alone.log
    for number, told in enumerate(alone.epochs, start=1):
        assert list(printed[number]) == list(told)
        for name, value in told.items():
            assert abs(printed[number][name] - value) <= CLOSE, (number, name)


def read(path: Path) -> str:
    return path.read_text() if path.exists() else ""


def environment(folder: Path) -> Mapping[str, str]:
    """What the workers get; a killed one leaves temporary files of TensorFlow behind."""
    python = str(warm_interpreter(folder))
    (folder / "tmp").mkdir()
    own = {"PYTHON": python, "TF_CPP_MIN_LOG_LEVEL": "3", "TMPDIR": str(folder / "tmp")}
    return {**os.environ, **own}


def test_that_launch_commands_train_to_the_losses_of_one_process_though_a_worker_is_killed(
    tmp_path, alone
):
    launch = write_job("launch", plan_of("cluster.workers=2"), tmp_path, "launch.sh")
    told = tmp_path / "told.txt"
    with told.open("w") as file:
        started = subprocess.Popen(
            ["bash", launch, "--epochs", str(EPOCHS)],
            env=environment(tmp_path),
            stdin=subprocess.DEVNULL,
            stdout=file,
            stderr=file,
        )
    try:
        until(lambda: "epoch 2/" in read(told) or started.poll() is not None, PATIENCE)
        for process in workers_of(started.pid, 1):
            process.kill()
        until(lambda: started.poll() is not None, PATIENCE)
        assert started.poll() == 0, read(told)
    finally:
        started.send_signal(signal.SIGTERM)
        started.wait(PATIENCE)
    assert "All workers start again from what they kept." in read(told)
    assert read(told).count("worker 0 of 2 waits for the others") == 2
    check(read(told), alone)
    written = sorted(path.name for path in (tmp_path / "trained").iterdir())
    assert written[:2] == ["best.keras", "epoch-00004.keras"]


def test_that_slurm_trains_stops_by_a_signal_goes_on_with_more_and_starts_a_killed_task_again(
    tmp_path, alone
):
    plan = plan_of("cluster.workers=2", 'cluster.slurm={ time = "5", partition = "debug" }')
    write_job("sbatch", plan, tmp_path, "job.sbatch")
    with practice_slurm(tmp_path / "slurm", environment=environment(tmp_path)) as slurm:
        wanted = ("sbatch", "--parsable", "--export=ALL")
        words = ("--epochs", str(EPOCHS))

        def submitted(*more: str) -> tuple[str, Path]:
            job = slurm.run(*wanted, *more, folder=tmp_path)
            return job, tmp_path / f"small-{job}.out"

        first, told = submitted("job.sbatch", "--epochs", "40")
        until(lambda: "epoch 2/" in read(told), PATIENCE)
        slurm.run("scancel", "--signal=USR1", first)
        assert slurm.ended(first, PATIENCE) == "COMPLETED", read(told)
        assert "--resume goes on" in read(told)

        second, told_later = submitted("--ntasks=3", "job.sbatch", "--resume", *words)
        until(lambda: losses_by_epoch(read(told_later)) != {}, PATIENCE)
        for daemon in slurm.daemons.values():
            for process in workers_of(daemon.pid, 2):
                process.kill()
        assert slurm.ended(second, PATIENCE) == "COMPLETED", read(told_later)
    check(read(told) + read(told_later), alone)
