"""Runs with parameter servers, for real: together they train what one device trains, and alone each
sample once an epoch, whoever is lost."""

from __future__ import annotations

import os
import signal
from pathlib import Path
from typing import Any

import psutil
import pytest
import warm_members
from training_runs import PLAIN_STEPS, Finished, Running, running, small_plan, trained
from written_code import Written

from gpu_studio.contract import cluster_file, events
from gpu_studio.contract.event_parts import WorkerShare
from gpu_studio.plan import Plan
from gpu_studio.runs.resume import choose

pytestmark = pytest.mark.slow

# A batch of 50 divides neither the samples nor the workers.
TRAINING = ("training.batch_size=50", "training.optimizer=adam", "training.epochs=3")
SERVED = ("distribution.strategy=parameter_server", "cluster.trusted_network=true")
LEFT_OUT = 'training.loss={ name = "sparse_categorical_crossentropy", ignore_class = 3 }'
"""A mean over what counts in the whole batch, of which each worker has a part."""
EQUAL = 1e-6
SAMPLES = 1455


def plan(*settings: str) -> Plan:
    return small_plan(*TRAINING, *settings)


def member(run: Running, title: str) -> int:
    """The process with this name."""
    known = cluster_file.read(run.directory)
    assert known is not None
    return next(each.pid for each in known.members if each.title == title)


def done_by(run: Running, index: int) -> WorkerShare:
    """What a worker has done so far."""
    states: list[Any] = run.of(events.Workers)[-1].workers
    state = next(each for each in states if (each.role, each.index) == ("worker", index))
    return state.share or WorkerShare(index=index)


def told_once(run: Finished) -> None:
    """Each step is told once, and an epoch has each sample once."""
    steps = run.of(events.Steps)
    firsts = [each.first_step for each in steps]
    assert firsts == [0, *(each.first_step + len(each.losses) for each in steps)][:-1]
    for number in range(1, len(run.of(events.Epoch)) + 1):
        assert sum(each.samples for each in steps if each.epoch == number) == SAMPLES


def test_that_workers_together_train_as_one_device_and_stop_and_one_device_goes_on(
    tmp_path: Path,
) -> None:
    alone = trained(plan(LEFT_OUT), tmp_path)
    together = (LEFT_OUT, "cluster.updates=sync", "cluster.servers=2", "training.steps_per_call=1")
    trainer = warm_members.command(pausing=3, stopping=2 * SAMPLES // 50)
    with running(plan(*SERVED, *together), tmp_path, trainer=trainer) as run:
        run.pause_save_and_go_on()
        run.wait_for(lambda: run.of(events.Epoch))
        os.kill(run.launched.process.pid, signal.SIGTERM)
        first = run.finish()
    assert first.one(events.Finished).reason == "stopped", first.log
    told_once(first)
    states = first.of(events.Workers)[-1].workers
    assert [each.state for each in states] == ["ended"] * 5
    assert all(each.memory for each in states if each.role == "server"), "both hold variables"
    assert not any(
        psutil.pid_exists(each.pid) for each in first.of(events.ClusterStarted)[0].workers
    )
    rest = trained(plan(LEFT_OUT), tmp_path, resume=choose(first.directory))
    assert rest.code == 0, rest.log
    assert first.losses | rest.losses == pytest.approx(alone.losses, abs=EQUAL, rel=EQUAL)
    assert rest.epochs[-1] == pytest.approx(alone.epochs[-1], abs=EQUAL, rel=EQUAL)


READING = """
import keras

def build(input_shape, outputs):
    recurrent = [keras.layers.Reshape((4, -1)), keras.layers.LSTM(4), keras.layers.Dense(outputs)]
    return keras.Sequential([keras.Input(input_shape), *recurrent])
"""


def test_that_a_worker_alone_says_nothing_of_draws_where_no_layer_draws(
    written: Written, tmp_path: Path
) -> None:
    own = ("model.name=", "model.options={}", f'model.python="{written(READING)}:build"')
    short = (*SERVED, *PLAIN_STEPS, "training.epochs=1", "cluster.updates=async")
    with running(plan(*own, *short), tmp_path / "runs", trainer=warm_members.command()) as run:
        done = run.finish()
    assert done.code == 0, done.of(events.Failed)
    assert not [each.message for each in done.of(events.Log) if "draw" in each.message]


@pytest.mark.whole(__file__)
def test_that_alone_each_sample_is_trained_once_an_epoch_whoever_is_lost(tmp_path: Path) -> None:
    endless = ("training.batch_size=20", "training.epochs=2000", "cluster.updates=async")
    settings = (*SERVED, *endless, *PLAIN_STEPS)
    with running(plan(*settings), tmp_path, trainer=warm_members.command()) as run:
        run.wait_for(lambda: run.of(events.Checkpoint))
        os.kill(member(run, "worker 1"), signal.SIGKILL)
        run.wait_for(lambda: len(run.of(events.ClusterStarted)) == 2)
        known = done_by(run, 1).steps
        run.wait_for(lambda: done_by(run, 1).steps > known + 5)  # it came back
        os.kill(member(run, "server 0"), signal.SIGKILL)
        run.wait_for(lambda: run.of(events.ClusterStarted)[-1].attempt == 1)
        epochs = len(run.of(events.Epoch))
        run.wait_for(lambda: len(run.of(events.Epoch)) > epochs)
        run.wait_for(lambda: all(done_by(run, index).steps for index in range(2)))
        os.kill(run.launched.process.pid, signal.SIGTERM)
        done = run.finish()
    assert done.one(events.Finished).reason == "stopped", done.log
    told_once(done)
    # A step may have been made twice, of which it is warned, too.
    told = [each.message for each in done.of(events.Warned)]
    worker, server = [each for each in told if "was ended by" in each]
    assert worker.startswith("Worker 1 was ended by SIGKILL. The others go on with its work")
    assert server.startswith("Server 0 was ended by SIGKILL. Now the chief, all workers and all")
    assert done.of(events.ClusterStarted)[-1].from_step > 0, "it went on from a checkpoint"
    shares = [each.share for each in done.of(events.Workers)[-1].workers if each.share]
    assert all(share.steps > 0 and share.lag_most >= 0 for share in shares)
