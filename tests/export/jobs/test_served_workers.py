"""Coordinator, workers and servers of a script, as the processes that exported files start.

What was proven is not trained again (`proven.py`).
"""

from __future__ import annotations

import signal
import subprocess
from pathlib import Path

import psutil
import pytest
from patience import PATIENCE_S
from proven import Proof
from slurm_practice import practice_slurm
from training_runs import Finished, small_plan, trained, until
from worker_scripts import cluster, environment, losses_by_epoch, read, workers_of, write_job

from gpu_studio.export.jobs import SCRIPT
from gpu_studio.plan import save

pytestmark = [pytest.mark.slow, pytest.mark.processes]

CLOSE = 1e-6
# Neither the samples by the batch, nor the batch by the workers, is divided evenly.
COMMON = (
    "devices.carve=",
    "training.epochs=400",
    "training.batch_size=301",
    "data.test_fraction=0",
)
TOGETHER = ("distribution.strategy=parameter_server", "cluster.updates=sync")
EPOCHS = 6
MORE = 20
"""So many are trained where processes are killed meanwhile: the first are compared."""


@pytest.fixture(scope="module")
def alone(tmp_path_factory: pytest.TempPathFactory) -> Finished:
    """The run of the same plan in one process."""
    plan = small_plan(*COMMON, f"training.epochs={EPOCHS}")
    return trained(plan, tmp_path_factory.mktemp("alone"))


def check(output: str, alone: Finished, last: int) -> None:
    """Every measure of every epoch that was printed is that of one process."""
    printed = losses_by_epoch(output)
    assert sorted(printed) == list(range(1, last + 1)), output
    assert len(alone.epochs) == EPOCHS, alone.log
    for number, expected in enumerate(alone.epochs, start=1):
        assert printed[number] == pytest.approx(expected, abs=CLOSE, rel=CLOSE)


def of_kind(folder: Path, kind: str, number: int) -> list[psutil.Process]:
    """The processes of a kind and number, of those that the files in a folder have started."""
    return [
        each
        for each in workers_of(folder, number)
        if f'"type": "{kind}"' in each.environ().get("TF_CONFIG", "") and each.name() != "bash"
    ]


def test_that_a_lost_worker_comes_back_and_all_go_on_without_a_lost_server_to_the_same_losses(
    request: pytest.FixtureRequest, tmp_path: Path, proof: Proof
) -> None:
    launch = write_job("launch", small_plan(*COMMON, *TOGETHER), tmp_path, "launch.sh")
    if proof.holds([launch.read_text(), (tmp_path / SCRIPT).read_text()], tmp_path):
        return
    alone = request.getfixturevalue("alone")
    told = tmp_path / "told.txt"

    def epoch(number: int) -> bool:
        return f"epoch {number}/" in read(told) or started.poll() is not None

    with told.open("w") as file:
        started = subprocess.Popen(
            ["bash", launch, "--epochs", str(MORE)],
            env=environment(tmp_path),
            stdin=subprocess.DEVNULL,
            stdout=file,
            stderr=file,
        )
    try:
        until(lambda: epoch(2), PATIENCE_S)
        (worker,) = of_kind(tmp_path, "worker", 1)
        worker.kill()
        until(lambda: "Worker 1 starts again" in read(tmp_path / "worker-1.log"), PATIENCE_S)
        until(lambda: epoch(5), PATIENCE_S)
        (server,) = of_kind(tmp_path, "ps", 0)
        server.kill()
        until(lambda: started.poll() is not None, PATIENCE_S)
        assert started.poll() == 0, read(told)
    finally:
        started.send_signal(signal.SIGTERM)
        started.wait(PATIENCE_S)
    assert "All processes start again from what the coordinator kept." in read(told)
    for kind, count in (("chief", 1), ("worker", 2), ("ps", 1)):
        for number in range(count):
            assert of_kind(tmp_path, kind, number) == []
    check(read(told), alone, MORE)
    proof.keep()


@pytest.mark.whole("tests/export/jobs/test_workers.py")
def test_that_slurm_trains_with_servers_stops_and_goes_on_and_nothing_is_left(
    tmp_path: Path,
    alone: Finished,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    plan_file, runs = tmp_path / "small.plan.toml", tmp_path / "runs"
    served = ("distribution.strategy=parameter_server", "cluster.workers=1")
    slurm_s = 'cluster.slurm={ time = "5", partition = "debug" }'
    save(small_plan(*COMMON, *served, slurm_s), plan_file)
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
        # How many it trained until it stopped hangs on the machine.
        last = max(EPOCHS, max(losses_by_epoch(read(told))) + 1)
        more = ("--set", f"training.epochs={last}")
        code, second, said = cluster(
            runs, capsys, "submit", str(plan_file), "--detach", "--resume", *more
        )
        assert code == 0, said
        code, out, said = cluster(runs, capsys, "follow", second)
        assert code == 0, out
        assert f"Job {second} has ended well." in said
        for number in range(2):
            assert workers_of(told.parent, number) == []
    check(read(told) + read(runs / "small" / f"small-{second}.out"), alone, last)
