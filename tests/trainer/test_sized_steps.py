"""Steps that know how many samples a batch has train what others train, and only where it pays."""

from __future__ import annotations

from pathlib import Path
from typing import Any
from unittest.mock import Mock

import pytest
from training_runs import UNJUDGED, Finished, as_compiled, running, small_plan, trained

from gpu_studio.contract import events
from gpu_studio.contract.consent import allow_file
from gpu_studio.plan import Plan, Training, with_settings
from gpu_studio.runs.resume import choose

pytestmark = pytest.mark.slow

LONG, SHORT = 126, 60
"""Epochs of four batches: only the steps of the longer run are many enough to know their size."""
SIZES = (12, 12, 5, 12, 12, 12, 4)
"""The samples of the batches of a pass."""
STREAM = """
import keras
import tensorflow as tf
from keras import layers


def load():
    x = tf.random.stateless_uniform((45, 6), (1, 2), 0, 12, tf.int32)
    rows = tf.data.Dataset.from_tensor_slices((x, x[:, 0] % 3))
    whole, odd = rows.take(24).batch(12), rows.skip(24).take(5).batch(5)
    return whole.concatenate(odd).concatenate(rows.take(40).batch(12)).repeat()


def build():
    model = keras.Sequential([
        keras.Input((6,)),
        layers.Embedding(12, 4),
        layers.GRU(5, dropout=0.2),
        layers.Dense(3, activation="softmax"),
    ])
    model.compile("rmsprop", "sparse_categorical_crossentropy", metrics=["accuracy"])
    return model
"""


@pytest.fixture(scope="module")
def kept(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
    """The file of the user, and later the longer run, for all tests."""
    own = tmp_path_factory.mktemp("own") / "own.py"
    own.write_text(STREAM)
    return {"own": own}


@pytest.fixture
def plan(kept: dict[str, Any]) -> Plan:
    """A plan of the longer run."""
    own = kept["own"]
    allow_file(own, own.read_bytes())
    return small_plan(
        *as_compiled(own),
        *UNJUDGED,
        f"training.epochs={LONG}",
        "training.steps_per_epoch=4",
        "training.steps_per_call=4",
        "training.checkpoint={ every_epochs = 0, every_steps = 100 }",
    )


@pytest.fixture
def whole(plan: Plan, kept: dict[str, Any]) -> Finished:
    """The longer run, which knows the size of a batch."""
    if "run" not in kept:
        kept["run"] = trained(plan, kept["own"].parent / "runs")
    run: Finished = kept["run"]
    assert run.code == 0, run.log
    return run


def test_that_batches_of_other_sizes_between_train_as_in_a_run_that_knows_no_size(
    plan: Plan, whole: Finished, tmp_path: Path
) -> None:
    short = trained(with_settings(plan, [f"training.epochs={SHORT}"]), tmp_path)
    assert short.code == 0, short.log
    assert sorted(whole.losses) == list(range(4 * LONG))
    wanted = {step: loss for step, loss in whole.losses.items() if step in short.losses}
    assert short.losses == pytest.approx(wanted, rel=1e-6)
    for mine, its in zip(whole.epochs, short.epochs, strict=False):
        assert mine == pytest.approx(its, rel=1e-6)
    samples = sum(each.samples for each in whole.of(events.Steps))
    assert samples == 4 * LONG // len(SIZES) * sum(SIZES)


@pytest.mark.whole(__file__)
def test_that_a_run_killed_between_them_goes_on_to_the_same_bits(
    plan: Plan, whole: Finished, tmp_path: Path
) -> None:
    with running(plan, tmp_path, hold_at=333) as run:
        run.wait_until_held()
        run.kill()
        first = run.finish()
    again = trained(plan, tmp_path, resume=choose(first.directory))
    assert min(again.losses) == 300
    kept = {step: loss for step, loss in first.losses.items() if step < 300}
    assert kept | again.losses == whole.losses


def layers_of(name: str) -> list[Any]:
    import keras

    class Own(keras.layers.Layer):
        def call(self, x: Any) -> Any:
            return x

    layers = keras.layers
    return {
        "recurrent": [layers.LSTM(3)],
        "in both directions": [layers.Bidirectional(layers.GRU(3)), layers.Dropout(0.1)],
        "unrolled": [layers.GRU(3, unroll=True)],
        "without loops": [layers.Flatten(), layers.Dense(2)],
        "own layer": [layers.GRU(3), Own()],
        "own function": [layers.GRU(3), layers.Lambda(lambda x: 2 * x)],
    }[name]


@pytest.mark.parametrize(
    ("name", "size"),
    [
        ("recurrent", 10),
        ("in both directions", 10),
        ("unrolled", None),
        ("without loops", None),
        ("own layer", None),
        ("own function", None),
    ],
)
def test_that_steps_know_a_size_where_a_model_has_loops_and_no_code_of_its_author(
    name: str, size: int | None
) -> None:
    import keras

    model = keras.Sequential([keras.Input((4, 2)), *layers_of(name)])
    split: Any = Mock(stream=None, __len__=lambda _self: 100)
    assert size_of(model, split) == size


def size_of(model: Any, split: Any, steps: int = 10, epochs: int = 50) -> int | None:
    from gpu_studio.trainer.sized_steps import size_of_steps

    return size_of_steps(model, split, Training(epochs=epochs, batch_size=10), steps)


@pytest.mark.parametrize(
    ("samples", "steps", "epochs", "size"),
    [
        (100, 10, 49, None),
        (95, 10, 50, 10),
        (65, 7, 100, None),
        (70, 7, 100, 10),
    ],
)
def test_that_of_short_runs_and_of_short_passes_that_end_with_a_smaller_batch_none_is_known(
    samples: int, steps: int, epochs: int, size: int | None
) -> None:
    import keras

    model = keras.Sequential([keras.Input((4, 2)), keras.layers.GRU(3)])
    split: Any = Mock(stream=None, __len__=lambda _self: samples)
    assert size_of(model, split, steps, epochs) == size


@pytest.mark.parametrize(
    ("rows", "length", "size"),
    [((), None, 10), ((16, 16), None, 16), ((16, 9), None, None), ((16, 16), 7, None)],
)
def test_that_the_first_batches_of_a_stream_say_its_size(
    rows: tuple[int, ...], length: int | None, size: int | None
) -> None:
    import keras
    import tensorflow as tf

    model = keras.Sequential([keras.Input((4, 2)), keras.layers.GRU(3)])
    stream = Mock(rows=rows, batch=rows[0] if rows else None, steps=lambda _size: length)
    stream.spec = tf.TensorSpec((None, 4, 2))
    assert size_of(model, Mock(stream=stream)) == size
    stream.spec = tf.TensorSpec(None)
    assert size_of(model, Mock(stream=stream)) is None
