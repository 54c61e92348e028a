"""Training and validation batches that draw from the same random numbers are read in turn."""

from __future__ import annotations

from itertools import islice
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from written_code import Written

from gpu_studio.plan import Data
from gpu_studio.trainer.data import load_data

pytestmark = pytest.mark.slow

CODE = """
import keras
import numpy as np
import tensorflow as tf

drawn = []

def batch(who):
    drawn.append(who)
    return np.full((2, 1), np.random.random(), "float32"), np.zeros(2, "int32")

def made(who, most=10**9):
    for _ in range(most):
        yield batch(who)

def functions():
    return lambda: made("t"), lambda: made("v")

def ending():
    return lambda: made("t", 6), lambda: made("v")

def generators():
    return made("t"), made("v")

class Batches(keras.utils.PyDataset):
    def __init__(self, who):
        super().__init__()
        self.who = who

    def __len__(self):
        return 40

    def __getitem__(self, index):
        return batch(self.who)

def sequences():
    return Batches("t"), Batches("v")

def pipelines():
    kinds = tf.TensorSpec([2, 1], tf.float32), tf.TensorSpec([2], tf.int32)
    flow = lambda who: tf.data.Dataset.from_generator(lambda: made(who), output_signature=kinds)
    return flow("t").repeat(), flow("v").repeat()
"""
STEPS, HELD, EPOCHS = 3, 4, 4
IN_TURN = ("t" * STEPS + "v" * HELD) * EPOCHS


def read_in_epochs(path: Path, load: str, done: int = 0) -> tuple[str, list[list[Any]]]:
    """Who drew, one after another, and what came to train and to validate in each epoch.

    So many epochs were `done` before, as by a run that is resumed.
    """
    import sys

    import tensorflow as tf

    from gpu_studio.trainer.batches import Cut
    from gpu_studio.trainer.passes import Passes, SplitReading
    from gpu_studio.trainer.progress import TrainingProgress
    from gpu_studio.trainer.whole_batches import as_part

    found = load_data(Data(python=f"{path}:{load}"), 0, Path())
    drawn = sys.modules["own"].drawn
    drawn.clear()  # the first two are looked at beforehand
    strategy, cut, held = tf.distribute.get_strategy(), Cut(2, 2, 1), found.validation
    passes = Passes(strategy, found.train, cut, 0, STEPS)
    passes.take_turns(held)
    reading = SplitReading(strategy, held, cut, HELD)
    at = TrainingProgress(epoch=done, pass_steps=done * STEPS)

    def some(iterator: Any, many: int) -> list[float]:
        return [float(as_part(each)[0][0, 0]) for each in islice(iterator, many)]

    came = []
    while at.epoch < EPOCHS:
        at = passes.begun(at)
        trained = some(passes.steps_from(at), STEPS)
        at = at.after_steps(STEPS, 2 * STEPS)
        reading.begin(at.epoch)
        came.append([trained, some(reading.iterator, HELD)])
        at = at.after_epoch()
    return "".join(drawn), came


@pytest.mark.parametrize("load", ["functions", "ending", "sequences", "pipelines"])
def test_that_nothing_is_drawn_ahead_of_what_comes_before(load: str, written: Written) -> None:
    drawn, _ = read_in_epochs(written(CODE), load)
    assert drawn == IN_TURN


def test_that_what_generators_were_looked_at_for_is_not_drawn_again(written: Written) -> None:
    drawn, _ = read_in_epochs(written(CODE), "generators")
    assert drawn == "t" * (STEPS - 2) + "vv" + ("t" * STEPS + "vv") * (EPOCHS - 1)


@pytest.mark.parametrize("load", ["functions", "ending", "generators", "sequences"])
def test_that_nothing_is_validated_with_that_was_drawn_to_train(
    load: str, written: Written
) -> None:
    _, came = read_in_epochs(written(CODE), load)
    trained = {each for epoch, _ in came for each in epoch}
    validated = {each for _, epoch in came for each in epoch}
    assert len(trained) == STEPS * EPOCHS
    looked_at = 2  # which each epoch validates with where a generator cannot begin anew
    again = looked_at * (EPOCHS - 1) if load == "generators" else 0
    assert len(validated) == HELD * EPOCHS - again
    assert not trained & validated


@pytest.mark.parametrize("load", ["functions", "ending", "generators"])
def test_that_a_resumed_run_draws_what_one_without_a_stop_draws(
    load: str, written: Written
) -> None:
    path = written(CODE)
    _, whole = read_in_epochs(path, load)
    _, again = read_in_epochs(path, load, done=2)
    assert again == whole[2:]
    assert whole[0] != whole[1]


@pytest.mark.parametrize(
    ("between_processes", "done", "alike"),
    [
        (True, 0, 5),  # of six, the last of which is smaller
        (True, 2, 3),
        (True, 5, 1),
        (False, 0, 6),
    ],
)
def test_that_a_smaller_last_batch_is_a_call_of_its_own_between_processes(
    between_processes: bool, done: int, alike: int
) -> None:
    from gpu_studio.trainer.batches import Cut
    from gpu_studio.trainer.passes import Passes
    from gpu_studio.trainer.progress import TrainingProgress

    extended = SimpleNamespace(_in_multi_worker_mode=lambda: between_processes)
    split: Any = SimpleNamespace(stream=None)
    passes = Passes(SimpleNamespace(extended=extended), split, Cut(65, 12, 2), 0, 0)
    at = TrainingProgress().after_steps(done, 12 * done) if done else TrainingProgress()
    assert passes.alike(at, 6) == alike
    assert passes.alike(at, 1) == 1


@pytest.mark.parametrize(("gathers_rows", "alike"), [(True, 1), (False, 6)])
def test_that_batches_of_a_stream_that_look_up_rows_are_each_a_call_between_processes(
    gathers_rows: bool, alike: int
) -> None:
    from gpu_studio.trainer.batches import Cut
    from gpu_studio.trainer.passes import Passes
    from gpu_studio.trainer.progress import TrainingProgress

    extended = SimpleNamespace(_in_multi_worker_mode=lambda: True)
    split: Any = SimpleNamespace(stream=SimpleNamespace(shuffled=False))
    passes = Passes(SimpleNamespace(extended=extended), split, Cut(65, 12, 2), 0, 0)
    passes.gathers_rows = gathers_rows
    assert passes.alike(TrainingProgress(), 6) == alike
