"""The files that start the workers of a script, with real workers and a real Slurm."""

from __future__ import annotations

import signal
import subprocess

import pytest
from patience import PATIENCE_S
from slurm_practice import practice_slurm
from training_runs import Finished, small_plan, trained, until
from worker_scripts import cluster, environment, losses_by_epoch, read, workers_of, write_job

from gpu_studio.plan import Plan, save

pytestmark = [pytest.mark.slow, pytest.mark.processes]

CLOSE = 1e-6
# Nothing is divided evenly: neither the samples by the batch, nor the batch by the workers.
COMMON = (
    "devices.carve=",
    "training.epochs=400",
    "training.batch_size=301",
    'training.metrics=["accuracy", "auc"]',
    'training.phases=[{ after = 3, learning_rate = 0.002, frozen = ["dense"] }]',
)
EPOCHS = 6
MORE = 20
"""So many are trained, or more, where a worker is killed meanwhile: the first are compared."""


def plan_of(*settings: str) -> Plan:
    return small_plan(*COMMON, "distribution.strategy=multi_worker", *settings)


@pytest.fixture(scope="module")
def alone(tmp_path_factory: pytest.TempPathFactory) -> Finished:
    """The run of the same plan in one process."""
    plan = small_plan(*COMMON, f"training.epochs={EPOCHS}")
    return trained(plan, tmp_path_factory.mktemp("alone"))


def check(output: str, alone: Finished, last: int) -> None:
    """Every measure of every epoch that was printed is that of one process."""
    printed = losses_by_epoch(output)
    assert sorted(printed) == list(range(1, last + 1)), output
    assert alone.code == 0, alone.log
    for number, told in enumerate(alone.epochs, start=1):
        assert list(printed[number]) == list(told)
        for name, value in told.items():
            assert abs(printed[number][name] - value) <= CLOSE, (number, name)


@pytest.mark.whole(__file__)
def test_that_launch_commands_train_to_the_losses_of_one_process_though_a_worker_is_killed(
    tmp_path, alone
):
    launch = write_job("launch", plan_of("cluster.workers=2"), tmp_path, "launch.sh")
    told = tmp_path / "told.txt"
    with told.open("w") as file:
        started = subprocess.Popen(
            ["bash", launch, "--epochs", str(MORE)],
            env=environment(tmp_path),
            stdin=subprocess.DEVNULL,
            stdout=file,
            stderr=file,
        )
    try:
        until(lambda: "epoch 2/" in read(told) or started.poll() is not None, PATIENCE_S)
        (process,) = workers_of(tmp_path, 1)
        process.kill()
        until(lambda: started.poll() is not None, PATIENCE_S)
        assert started.poll() == 0, read(told)
    finally:
        started.send_signal(signal.SIGTERM)
        started.wait(PATIENCE_S)
    assert "All workers start again from what they kept." in read(told)
    assert read(told).count("worker 0 of 2 waits for the others") == 2
    check(read(told), alone, MORE)
    written = sorted(path.name for path in (tmp_path / "trained").iterdir())
    assert written[:2] == ["best.keras", f"epoch-{MORE - 2:05}.keras"]


@pytest.mark.whole(__file__)
def test_that_slurm_trains_stops_goes_on_with_more_and_starts_a_killed_task_again(
    tmp_path, alone, monkeypatch, capsys
):
    plan_file, runs = tmp_path / "small.plan.toml", tmp_path / "runs"
    save(plan_of('cluster.slurm={ time = "5", partition = "debug" }'), plan_file)
    for name, value in environment(tmp_path).items():
        monkeypatch.setenv(name, value)

    with practice_slurm(tmp_path / "slurm") as slurm:
        monkeypatch.setenv("SLURM_CONF", slurm.environment["SLURM_CONF"])
        code, first, said = cluster(runs, capsys, "submit", str(plan_file), "--detach")
        assert code == 0, said
        told = runs / "small" / f"small-{first}.out"
        until(lambda: "epoch 2/" in read(told), PATIENCE_S)
        assert cluster(runs, capsys, "stop", first)[0] == 0
        code, out, said = cluster(runs, capsys, "follow", first)
        assert (code, "--resume goes on" in out) == (3, True), out
        assert f"Job {first} has ended well." in said
        assert "gpu-studio cluster submit PLAN --resume" in said

        code, _, said = cluster(runs, capsys, "submit", str(plan_file), "--detach")
        assert (code, "--force" in said) == (2, True)
        # How many it trained until it stopped hangs on the machine.
        last = max(losses_by_epoch(read(told))) + MORE
        more = ("--set", "cluster.workers=3", f"training.epochs={last}")
        code, second, said = cluster(
            runs, capsys, "submit", str(plan_file), "--detach", "--resume", *more
        )
        assert code == 0, said
        told_later = runs / "small" / f"small-{second}.out"
        until(lambda: losses_by_epoch(read(told_later)) != {}, PATIENCE_S)
        (process,) = workers_of(told_later.parent, 2)
        process.kill()
        code, out, said = cluster(runs, capsys, "follow", second)
        assert code == 0, out
        assert "All workers start again from what they kept." in out
        assert "runs on n[0-1]" in said
    check(read(told) + read(told_later), alone, last)


def test_that_a_job_is_refused_before_it_is_submitted_where_it_could_not_run(
    tmp_path, monkeypatch, capsys
):
    plan_file = tmp_path / "small.plan.toml"
    save(plan_of('cluster.slurm={ time = "5", partition = "nowhere" }'), plan_file)
    with practice_slurm(tmp_path / "slurm") as slurm:
        monkeypatch.setenv("SLURM_CONF", slurm.environment["SLURM_CONF"])
        code, out, said = cluster(tmp_path / "runs", capsys, "submit", str(plan_file))
        assert (code, "Invalid partition name specified" in out) == (2, True)
        assert "Nothing is submitted" in said
        assert slurm.run("squeue", "-h") == ""
        code, _, said = cluster(tmp_path / "runs", capsys, "stop", "77")
        assert (code, "Invalid job id" in said) == (2, True)
