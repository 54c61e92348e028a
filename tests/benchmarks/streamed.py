"""Six gibibytes of samples trained by processes that are given two gibibytes of memory together.

The kernel holds the limit: command, trainer and sampler are in a control group of their own, which
only root can make. What is over the limit would be killed.
"""

from __future__ import annotations

import os
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from measuring import Budget, Row
from workplace import PATIENCE_S, BenchmarkError, Workplace

from gpu_studio.contract.consent import allow_folder
from gpu_studio.contract.directory import RunDirectory
from gpu_studio.contract.events import Finished
from gpu_studio.runs.diagnosis import explain
from gpu_studio.runs.state import terminal_event

MIB = 2**20
LIMIT, SAMPLES, BATCH = 2048 * MIB, 6144, 16
GROUPS = Path("/sys/fs/cgroup")
POLL_S = 0.05
WITHIN = Budget("at most", 1.0)
PLAN = """
version = 1
name = "{name}"
[model]
python = "model.py:make_model"
[data]
python = "data.py:{name}"
[training]
epochs = 1
batch_size = {batch}
steps_per_epoch = {steps}
loss = "mean_squared_error"
learning_rate = 1e-6
"""
MODEL = """
import keras


def make_model():
    return keras.Sequential(
        [
            keras.Input((512, 512, 1)),
            keras.layers.AveragePooling2D(64),
            keras.layers.Flatten(),
            keras.layers.Dense(1),
        ]
    )
"""
DATA = f"""
import keras
import numpy as np
import tensorflow as tf

SAMPLES, BATCH = {SAMPLES}, {BATCH}
SHAPE = (BATCH, 512, 512, 1)


def batches():
    rng = np.random.default_rng(0)
    for _ in range(SAMPLES // BATCH):
        x = rng.random(SHAPE, "float32")
        yield x, x.mean(axis=(1, 2, 3))


class Files(keras.utils.PyDataset):
    def __len__(self):
        return SAMPLES // BATCH

    def __getitem__(self, place):
        x = np.random.default_rng(place).random(SHAPE, "float32")
        return x, x.mean(axis=(1, 2, 3))


def generator():
    return batches()


def pydataset():
    return Files()


def dataset():
    def sample(seed):
        x = tf.random.stateless_uniform(SHAPE[1:], (seed, 1))
        return x, tf.reduce_mean(x)

    return tf.data.Dataset.range(SAMPLES).map(sample).batch(BATCH).prefetch(2)
"""


@dataclass(frozen=True)
class Group:
    """A control group with a limit of memory, in either version of the kernel's interface."""

    folder: Path
    limit: str
    peak: str

    def peak_bytes(self) -> int:
        """The most memory that its processes held at once, pages of files included."""
        return int((self.folder / self.peak).read_text())

    def busy(self) -> bool:
        """Whether a process is still in it: the kernel takes a moment to forget the last."""
        return bool((self.folder / "cgroup.procs").read_text())

    def enter(self) -> None:
        """Put this process into the group, and with it what it starts."""
        (self.folder / "cgroup.procs").write_text(str(os.getpid()))


def rows(place: Workplace, times: int) -> Iterator[Row]:
    """The most memory held while six gibibytes were trained, against the limit."""
    del times  # the kernel holds the limit: once is enough
    (place.folder / "model.py").write_text(MODEL)
    (place.folder / "data.py").write_text(DATA)
    with place.entered():
        allow_folder(place.folder)
    for name in ("generator", "pydataset", "dataset"):
        with _group() as group:
            _train(place, name, group)
            held = group.peak_bytes() / MIB
        what = f"6 GiB from a {name}: memory of all processes, most"
        yield Row(what, "the limit", "MiB", WITHIN, (held,), (LIMIT / MIB,))


def _train(place: Workplace, name: str, group: Group) -> None:
    plan = place.folder / f"{name}.plan.toml"
    plan.write_text(PLAN.format(name=name, batch=BATCH, steps=SAMPLES // BATCH))
    runs = place.folder / f"runs-{name}"
    done = subprocess.run(
        [sys.executable, "-P", "-m", "gpu_studio", "--runs-dir", str(runs), "train", str(plan)],
        env=dict(place.environment),
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        timeout=2 * PATIENCE_S,
        check=False,
        preexec_fn=group.enter,
    )
    for folder in runs.glob("2*"):
        run = RunDirectory(folder)
        end = terminal_event(run)
        if isinstance(end, Finished) and end.reason == "completed":
            return
        raise BenchmarkError(f"{name} was not trained: {explain(run).message}")
    raise BenchmarkError(f"{name} was not trained: {done.stderr[-2000:]}")


@contextmanager
def _group() -> Iterator[Group]:
    """A group with the limit, removed in the end.

    Raises BenchmarkError where none can be made.
    """
    name = f"gpu-studio-bench-{os.getpid()}"
    first = Group(GROUPS / "memory" / name, "memory.limit_in_bytes", "memory.max_usage_in_bytes")
    second = Group(GROUPS / name, "memory.max", "memory.peak")
    group = first if first.folder.parent.is_dir() else second
    try:
        group.folder.mkdir()
        (group.folder / group.limit).write_text(str(LIMIT))
    except OSError as error:
        raise BenchmarkError(f"no control group with a limit can be made: {error}") from error
    try:
        yield group
    finally:
        end = time.monotonic() + PATIENCE_S
        while group.busy() and time.monotonic() < end:
            time.sleep(POLL_S)
        group.folder.rmdir()
