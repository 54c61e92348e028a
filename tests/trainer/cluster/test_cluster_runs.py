"""Runs of several processes, for real: they train what one device trains, whatever happens.

At length: one, two and three workers with a convolution and a stream, twice, and resumed by fewer.
"""

from __future__ import annotations

import json
import os
import signal
from dataclasses import replace
from pathlib import Path

import numpy as np
import psutil
import pytest
import warm_members
from patience import PATIENCE_S
from training_runs import (
    PLAIN_STEPS,
    UNJUDGED,
    Finished,
    Running,
    running,
    small_plan,
    trained,
    until,
)
from written_code import Written

from gpu_studio.contract import cluster_file, events
from gpu_studio.plan import Plan
from gpu_studio.plan.values import Callback
from gpu_studio.runs.lineage import read_history
from gpu_studio.runs.resume import choose

pytestmark = pytest.mark.slow

# A batch of 50 divides neither the samples nor the replicas, and how many steps a call has is
# measured. Of the layers, one has statistics of the batch.
TRAINING = (
    "training.batch_size=50",
    "training.optimizer=adam",
    "training.epochs=4",
    'devices.carve=[{ device = "CPU:0", slices_mib = [0, 0] }]',
)
IN_THE_SECOND = 31
"""A step of the second epoch, of four."""
TRUSTED = "cluster.trusted_network=true"
CLUSTER = ("distribution.strategy=multi_worker", TRUSTED)
EQUAL, WEIGHTS = 1e-6, 1e-5
# Adam divides a gradient by its size: of one that is nothing but rounding it makes a whole step.


def plan(*settings: str) -> Plan:
    return small_plan(*TRAINING, *settings)


def assert_equal(run: Finished, reference: Finished) -> None:
    """Losses, metrics and weights are those of the other run, and every step is told once."""
    assert run.code == 0, run.log
    told = [step for each in run.of(events.Steps) for step in range(len(each.losses))]
    assert len(told) == len(run.losses), "a step was told twice"
    assert run.losses == pytest.approx(reference.losses, abs=EQUAL, rel=EQUAL)
    for mine, theirs in zip(run.epochs, reference.epochs, strict=True):
        assert mine == pytest.approx(theirs, abs=EQUAL, rel=EQUAL)
    ends = [each.one(events.Finished).metrics for each in (run, reference)]
    assert ends[0] == pytest.approx(ends[1], abs=EQUAL, rel=EQUAL)
    for name, weights in reference.weights().items():
        np.testing.assert_allclose(run.weights()[name], weights, rtol=0, atol=WEIGHTS)


def member(run: Running, index: int) -> int:
    """The process of a worker."""
    known = cluster_file.read(run.directory)
    assert known is not None
    return next(each.pid for each in known.members if each.index == index)


@pytest.fixture(scope="module")
def alone(tmp_path_factory: pytest.TempPathFactory) -> Finished:
    """What one device trains."""
    return trained(plan(), tmp_path_factory.mktemp("alone"))


def test_that_two_workers_train_as_one_device_also_where_one_of_them_is_killed(
    alone: Finished, tmp_path: Path
) -> None:
    go = tmp_path / "go"
    trainer = warm_members.command(**{str(go): IN_THE_SECOND})
    with running(plan(*CLUSTER), tmp_path / "runs", trainer=trainer) as run:
        run.wait_for(lambda: run.of(events.Checkpoint))
        os.kill(member(run, 1), signal.SIGKILL)
        go.touch()
        done = run.finish()
    assert_equal(done, alone)
    starts = done.of(events.ClusterStarted)
    assert [each.attempt for each in starts] == [0, 1]
    (warned,) = done.of(events.Warned)
    assert warned.message.startswith("Worker 1 was ended by SIGKILL. Now all 2 workers start again")
    assert starts[1].from_step > 0, "it went on from a checkpoint"
    last = done.of(events.Workers)[-1].workers
    assert [each.state for each in last] == ["ended", "ended"]
    assert all(each.compute > 0 for each in last)
    folder = done.directory.path / "workers"
    assert sorted(each.name for each in folder.iterdir()) == ["0-worker-1", "1-worker-1"]
    assert not (folder / "1-worker-1" / "checkpoints").exists()
    rows = done.directory.scalars_file.read_text().splitlines()
    assert len(rows) == len(set(rows)), "an epoch stands twice in the scalars"


CALLBACKS = """
import os
import keras

class Saving(keras.callbacks.Callback):
    def on_epoch_end(self, epoch, logs=None):
        self.model.save_weights(f"own-{os.getpid()}.weights.h5")
        open(f"called-{os.getpid()}", "w").close()

def make():
    best = keras.callbacks.ModelCheckpoint(f"best-{os.getpid()}.keras", monitor="loss")
    return [Saving(), best, keras.callbacks.CSVLogger(f"epochs-{os.getpid()}.csv")]
"""


def test_that_each_worker_calls_callbacks_and_one_writes_what_they_save(
    written: Written, tmp_path: Path
) -> None:
    callbacks = (Callback(f"{written(CALLBACKS)}:make"),)
    short = plan(*CLUSTER, *PLAIN_STEPS, *UNJUDGED, "training.epochs=1")
    made = replace(short, training=replace(short.training, callbacks=callbacks))
    with running(made, tmp_path / "runs", trainer=warm_members.command()) as run:
        done = run.finish()
    assert done.code == 0, done.log
    kinds = [each.name.partition("-")[0] for each in tmp_path.iterdir() if "-" in each.name]
    assert sorted(kinds) == ["best", "called", "called", "epochs", "own"]
    (said,) = [each.message for each in done.of(events.Log) if "calls Saving" in each.message]
    assert said.startswith("Each of 2 workers calls Saving of own.py:make: a file that its own")


LEAVING = """
import json
import os
import keras

class Leaving(keras.callbacks.Callback):
    def on_epoch_end(self, epoch, logs=None):
        if json.loads(os.environ["TF_CONFIG"])["task"]["index"] == 1:
            self.model.stop_training = True
"""


def test_that_workers_do_not_wait_for_one_that_a_callback_has_ended(
    written: Written, tmp_path: Path
) -> None:
    callbacks = (Callback(f"{written(LEAVING)}:Leaving"),)
    short = plan(*CLUSTER, *PLAIN_STEPS, *UNJUDGED)
    made = replace(short, training=replace(short.training, callbacks=callbacks))
    with running(made, tmp_path / "runs", trainer=warm_members.command()) as run:
        failed = run.finish().one(events.Failed)
    assert "worker 1 at step 36 (ended by a callback)" in failed.message
    assert failed.suggestions[0].startswith("Look for a callback of your own that does not do")


@pytest.mark.whole(__file__)
def test_that_a_cluster_pauses_and_stops_as_one_and_mirrored_goes_on_to_the_same(
    alone: Finished, tmp_path: Path
) -> None:
    trainer = warm_members.command(pausing=3, stopping=3 * IN_THE_SECOND)
    with running(plan(*CLUSTER, "training.steps_per_call=1"), tmp_path, trainer=trainer) as run:
        paused = run.pause_save_and_go_on()
        run.wait_for(lambda: len(run.of(events.Steps)) > paused + 3)
        os.kill(run.launched.process.pid, signal.SIGTERM)
        first = run.finish()
    stopped = first.one(events.Finished)
    assert stopped.reason == "stopped"
    assert not psutil.pid_exists(first.of(events.ClusterStarted)[0].workers[1].pid)
    mirrored = "distribution.strategy=mirrored"
    rest = trained(plan(mirrored), tmp_path, resume=choose(first.directory))
    assert rest.code == 0, rest.log
    losses = first.losses | rest.losses
    assert losses == pytest.approx(alone.losses, abs=EQUAL, rel=EQUAL)
    assert len(read_history(rest.directory).epochs.rows) == len(alone.epochs)


def test_that_the_workers_end_with_their_supervisor(tmp_path: Path) -> None:
    with running(plan(*CLUSTER, *PLAIN_STEPS, *UNJUDGED), tmp_path) as run:
        run.wait_for(lambda: run.of(events.ClusterStarted))
        pids = [each.pid for each in run.of(events.ClusterStarted)[0].workers]
        os.kill(pids[1], signal.SIGSTOP)  # also one that can do nothing for itself
        run.kill()
        until(lambda: not any(map(psutil.pid_exists, pids)), PATIENCE_S)
    assert not any(map(psutil.pid_exists, pids))


CNN = ("model.name=cnn", "training.epochs=3")
# Two hundred steps of Adam make more of a difference in the last bit than a plan of ninety.
SGD = ("training.optimizer=sgd", "training.learning_rate=0.01")
CASES = {
    "cnn": CNN,
    "cnn, four steps a call": (*CNN, "training.steps_per_call=4"),
    "parts of a sample or two": (*CNN, "training.epochs=1", "training.batch_size=7", *SGD),
}


@pytest.mark.whole(__file__)
@pytest.mark.parametrize("workers", [1, 2, 3])
@pytest.mark.parametrize("case", CASES)
def test_that_any_number_of_workers_trains_as_one_device(
    case: str, workers: int, tmp_path: Path
) -> None:
    settings = (*CASES[case], f"cluster.workers={workers}")
    reference = trained(plan(*CASES[case]), tmp_path)
    with running(plan(*CLUSTER, *settings), tmp_path) as run:
        assert_equal(run.finish(), reference)


@pytest.mark.whole(__file__)
def test_that_two_workers_twice_train_the_same_to_the_last_bit(tmp_path: Path) -> None:
    runs = []
    for _ in range(2):
        with running(plan(*CLUSTER, *CNN), tmp_path) as run:
            runs.append(run.finish())
    assert runs[0].losses == runs[1].losses
    for name, weights in runs[0].weights().items():
        np.testing.assert_array_equal(runs[1].weights()[name], weights)


@pytest.mark.whole(__file__)
def test_that_two_workers_go_on_where_three_have_stopped_and_to_mirrored_and_back(
    tmp_path: Path,
) -> None:
    short, whole = "training.epochs=1", trained(plan(*CNN, "training.epochs=4"), tmp_path)
    mirrored = ("distribution.strategy=mirrored",)
    ways = [(*CLUSTER, "cluster.workers=3"), CLUSTER, mirrored, CLUSTER]
    losses, before = {}, None
    for epochs, way in enumerate(ways, start=1):
        settings = (*CNN, short, f"training.epochs={epochs}", *way)
        resume = choose(before.directory) if before else None
        with running(plan(*settings), tmp_path, resume=resume) as run:
            before = run.finish()
        assert before.code == 0, before.log
        losses |= before.losses
    assert losses == pytest.approx(whole.losses, abs=EQUAL, rel=EQUAL)
    weights = before.weights()
    for name, expected in whole.weights().items():
        np.testing.assert_allclose(weights[name], expected, rtol=0, atol=WEIGHTS)


@pytest.mark.whole(__file__)
@pytest.mark.parametrize(("index", "number"), [(0, signal.SIGKILL), (1, signal.SIGSTOP)])
def test_that_nothing_is_lost_with_a_worker(
    alone: Finished, index: int, number: signal.Signals, tmp_path: Path
) -> None:
    with running(plan(*CLUSTER, "cluster.lost_after=5"), tmp_path) as run:
        run.wait_for(lambda: run.of(events.Checkpoint))
        os.kill(member(run, index), number)
        done = run.finish()
    assert_equal(done, alone)
    assert len(done.of(events.ClusterStarted)) == 2
    assert json.loads(done.directory.cluster_file.read_bytes())["attempt"] == 1
