"""What a chief gives its workers is a part of a step, whatever the data come as."""

from __future__ import annotations

from pathlib import Path

import pytest
from written_code import Written

from gpu_studio.plan import Data
from gpu_studio.trainer.data import load_data

pytestmark = pytest.mark.slow

PIPELINE = """
import numpy as np
import tensorflow as tf

def load():
    arrays = np.arange(30, dtype="float32").reshape(10, 3), np.arange(10)
    return tf.data.Dataset.from_tensor_slices(arrays).batch(4).unbatch().batch(4)
"""


def test_that_batches_of_a_pipeline_are_parts_and_say_which_of_them_is_the_last(
    written: Written,
) -> None:
    import tensorflow as tf

    from gpu_studio.trainer.batches import Cut
    from gpu_studio.trainer.passes import Passes
    from gpu_studio.trainer.progress import TrainingProgress
    from gpu_studio.trainer.served.program import facts_of, next_parts

    found = load_data(Data(python=f"{written(PIPELINE)}:load"), 0, Path())
    passes = Passes(tf.distribute.get_strategy(), found.train, Cut(4, 4, 1), 0, 0)
    stream = passes.steps_from(TrainingProgress())
    parts = [next_parts(stream, 1)[0] for _ in range(3)]
    assert [facts_of(each) for each in parts] == [(4, 0), (4, 0), (2, 1)]
    assert [each[1].numpy().tolist() for each in parts] == [[0, 1, 2, 3], [4, 5, 6, 7], [8, 9]]
    assert parts[2][3].numpy().tolist() == [0.5, 0.5], "each sample's weight in its batch"
