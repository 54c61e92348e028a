"""Scripts of plans with later phases, optimizers and schedules of one's own, and parts of passes.

Each trains to the measures of the run of the same plan, where the package cannot be imported: all
runs in one process, and all scripts in another. Scripts that were proven are not trained again,
while they are the same (`proven.py`).
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import script_jobs
import zoo_runs
from exported_scripts import check_scripts, epochs_in
from made_images import bmp
from proven import Proof
from training_runs import small_plan

from gpu_studio.contract.consent import allow_file
from gpu_studio.export import python_script
from gpu_studio.placement.compiled_steps import XlaFacts
from gpu_studio.placement.plan_facts import (
    UNKNOWN_LENGTH,
    ArrayFacts,
    DataFacts,
    GraphLayer,
    Learnt,
    ModelFacts,
    ModelGraph,
)
from gpu_studio.plan import Plan

CLOSE = 1e-5
BY_XLA, WITHOUT = "by XLA if it can", "XLA could not compile"
OWN = """
import itertools

import keras
import numpy as np
import tensorflow as tf


def rate_of_epoch(epoch, start=0.05):
    return start / (1 + epoch)


def falling(total_steps, learning_rate):
    return keras.optimizers.schedules.PolynomialDecay(learning_rate, total_steps)


def make(learning_rate, momentum):
    return keras.optimizers.SGD(learning_rate, momentum=momentum, global_clipnorm=0.5)


def scaling(learning_rate):
    optimizer = keras.optimizers.SGD(learning_rate)
    return keras.optimizers.LossScaleOptimizer(optimizer, initial_scale=8.0)


def told(steps_per_epoch):
    assert steps_per_epoch in (None, 6)  # of a stream of unknown length, and of a known one
    return Reading()


class Reading(keras.callbacks.Callback):
    def on_epoch_end(self, epoch, logs=None):
        optimizer = self.model.optimizer
        assert int(optimizer.iterations) > 0 < float(optimizer.learning_rate)


def load(seed):
    x = np.random.default_rng(seed).normal(size=(90, 6)).astype("float32")
    return x, x[:, :1] * x[:, 1:2]


def batches(seed):
    x, y = load(seed)

    def noisy():
        for at in range(0, 90, 9):
            yield x[at : at + 9] + 0.1 * np.random.normal(size=(9, 6)), y[at : at + 9]

    return noisy, Rows(x, y)


def rows(seed):
    x, y = load(seed)
    return lambda: ([x[row], y[row, 0]] for row in np.random.permutation(90))


def pictures(seed):
    x = np.random.default_rng(seed).random(size=(90, 6, 6, 1)).astype("float32")
    return x, np.uint8(3 * x[..., 0] ** 2)


def of_pixels():
    inputs = keras.Input((6, 6, 1))
    x = keras.layers.Conv2D(4, 1, activation="relu")(inputs)
    return keras.Model(inputs, keras.layers.Conv2D(3, 1)(x))


class Rows(keras.utils.PyDataset):
    def __init__(self, x, y):
        super().__init__()
        self.x, self.y, self.order = x, y, np.arange(90)

    def __len__(self):
        return 6

    def __getitem__(self, at):
        rows = self.order[15 * at : 15 * at + 15]
        return self.x[rows] + 0.1 * np.random.normal(size=(15, 6)), self.y[rows]

    def on_epoch_end(self):
        np.random.shuffle(self.order)


def stream(seed):
    x, y = load(seed)
    held = ((x[at : at + 9], y[at : at + 9]) for at in itertools.cycle(range(0, 81, 9)))
    return Rows(x, y), held


def build():
    inputs = keras.Input((6,))
    x = keras.layers.Dense(8, "relu", name="first")(inputs)
    x = keras.layers.LayerNormalization(name="norm")(x)
    outputs = keras.layers.Dense(1, name="last")(x)
    model = keras.Model(inputs, outputs)
    model.compile(
        keras.optimizers.Adam(0.01, gradient_accumulation_steps=2), "mse", metrics=["mae"]
    )
    return model


class Shrinking(keras.callbacks.Callback):
    def on_epoch_end(self, epoch, logs=None):
        first = self.model.get_layer("first")
        assert [each.shape for each in first.get_weights()] == [(6, 8), (8,)]
        largest = max(abs(each).max() for each in self.model.get_weights())
        self.model.set_weights([0.9 * each / largest for each in self.model.get_weights()])
        assert [tuple(each.shape) for each in first.weights] == [(6, 8), (8,)]
        first.kernel.assign(0.5 * np.asarray(first.kernel))
        first.set_weights([each + 0.01 for each in first.get_weights()])
        self.model.save_weights("kept.weights.h5")
        before = self.model.get_weights()
        self.model.set_weights([0 * each for each in before])
        self.model.load_weights("kept.weights.h5")
        assert all((a == b).all() for a, b in zip(before, self.model.get_weights()))


class Spelled(keras.layers.Layer):
    def call(self, inputs):
        words = tf.strings.as_string(inputs)  # which XLA cannot
        return inputs + 0 * tf.cast(tf.strings.length(words), inputs.dtype)


def spelled():
    inputs = keras.Input((6,))
    x = Spelled()(keras.layers.Dense(8, "relu", name="first")(inputs))
    model = keras.Model(inputs, keras.layers.Dense(1, name="last")(x))
    model.compile("sgd", "mse", metrics=["mae"], jit_compile=True)
    return model
"""
OWN += """

def steep(y, outputs):
    ids = keras.ops.one_hot(keras.ops.cast(keras.ops.reshape(y, (-1,)), "int32"), 3)
    return -keras.ops.mean(ids * keras.ops.log_softmax(outputs), axis=-1)


def highest(y, outputs):
    return keras.ops.max(outputs, axis=-1)


class Small(keras.layers.Layer):
    def call(self, inputs):
        self.add_loss(0.01 * keras.ops.sum(inputs**2, axis=-1))
        return inputs


class Centred(keras.layers.Layer):
    def build(self, shape):
        of_state = {"trainable": False, "initializer": "zeros"}
        self.mean = self.add_weight(shape=(shape[-1],), **of_state)
        self.seen = self.add_weight(shape=(), aggregation="sum", **of_state)
        self.begun = self.add_weight(shape=(), trainable=False, initializer=endless)

    def call(self, inputs, training=False):
        known = keras.ops.where(keras.ops.isfinite(self.begun), self.begun, 0.0)
        outputs = (inputs - self.mean) * (1 + 0.01 * self.seen + 0.1 * known)
        if training:
            mean = keras.ops.mean(inputs, axis=0)
            self.mean.assign(0.5 * self.mean + 0.5 * mean)
            rows = keras.ops.cast(keras.ops.shape(inputs)[0], "float32")
            self.seen.assign(self.seen + rows)
            self.begun.assign(keras.ops.mean(mean))
        return outputs


def endless(shape, dtype=None):
    return keras.ops.full(shape, -np.inf, dtype)


def bounded(classes):
    inputs = keras.Input((12,))
    bound = keras.constraints.MaxNorm(0.7)
    x = keras.layers.Dense(9, "tanh", kernel_constraint=bound, name="first")(inputs)
    bound = keras.constraints.UnitNorm()
    outputs = keras.layers.Dense(classes, kernel_constraint=bound, name="last")(x)
    return keras.Model(inputs, outputs)


class Batches(keras.metrics.Sum):
    def update_state(self, y, outputs, sample_weight=None):
        return super().update_state(1.0)


def two():
    inputs = {"a": keras.Input((4,), name="a"), "b": keras.Input((3,), name="b")}
    x = keras.layers.Concatenate()([keras.layers.Dense(6, "relu")(inputs["a"]), inputs["b"]])
    x = Centred()(Small()(x))
    outputs = {
        "p": keras.layers.Dense(1, name="p")(x),
        "q": keras.layers.Dense(3, "softmax", name="q")(x),
    }
    model = keras.Model(inputs, outputs)
    losses = {
        "p": keras.losses.MeanSquaredError(reduction="sum"),
        "q": keras.losses.SparseCategoricalCrossentropy(ignore_class=0),
    }
    model.compile("adam", losses, metrics={"p": Batches("batches"), "q": "accuracy"})
    return model


def mixed():
    inputs = {"photo": keras.Input((4, 4, 3), name="photo"), "a": keras.Input((1,), name="a")}
    x = keras.layers.Concatenate()([keras.layers.Flatten()(inputs["photo"]), inputs["a"]])
    model = keras.Model(inputs, keras.layers.Dense(3, "softmax", name="k")(x))
    model.compile("adam", "sparse_categorical_crossentropy", weighted_metrics=["accuracy"])
    return model


def three():
    inputs = keras.Input((2,))
    x = keras.layers.Dense(6, "relu")(inputs)
    outputs = {name: keras.layers.Dense(1, name=name)(x) for name in ("u", "v")}
    model = keras.Model(inputs, outputs)
    model.compile("adam", "mse", metrics={"u": "mae"}, run_eagerly=True)
    return model
"""
MIRRORED = ('distribution.strategy="mirrored"', 'distribution.devices=["CPU:0", "CPU:1"]')
CENTRAL = ('distribution.strategy="central_storage"', MIRRORED[1])
# Of a script only what it prints of its epochs is held against the run: nothing is tested.
SYNTHETIC = (
    "data.test_fraction=0",
    "data.name=synthetic",
    "data.options={ shape = [12], samples = 150, classes = 3 }",
    "model.options={ hidden = [16] }",
    "training.epochs=4",
    "training.batch_size=32",
)
PHASES = (
    'model.frozen=["dense*"]',
    (
        "training.phases=[{ after = 1, learning_rate = 0.02 }, "
        '{ after = 3, learning_rate = 0.01, frozen = ["outputs"] }]'
    ),
)
FITTED = ("data.name=", "data.options={}", "model.name=", "model.options={}")
LATER = (
    'training.optimizer="compiled"',
    'training.loss="compiled"',
    'training.metrics=["compiled"]',
    'training.phases=[{ after = 2, learning_rate = 0.02, frozen = ["first", "norm"] }]',
)
AS_THEY_COME = (
    "training.shuffle=false",
    "training.validation_freq=3",
    "training.early_stopping={ patience = 1, restore_best = true }",
)
CASES: dict[str, tuple[str, ...]] = {
    "phases of an own optimizer": (
        *SYNTHETIC,
        *PHASES,
        'training.optimizer="OWN:make"',
        "training.options={ momentum = 0.9 }",
    ),
    "an own optimizer that scales losses, mirrored": (
        *SYNTHETIC,
        *MIRRORED,
        'training.optimizer="OWN:scaling"',
    ),
    "an own schedule over parts of passes": (
        *SYNTHETIC,
        'training.schedule.name="OWN:falling"',
        "training.steps_per_epoch=3",
        "training.validation_steps=1",
    ),
    "an own model's bounded phases over parts of passes": (
        *SYNTHETIC,
        "model.name=",
        "model.options={}",
        'model.python="OWN:bounded"',
        'model.frozen=["first"]',
        "training.steps_per_epoch=3",
        "training.validation_steps=1",
        "training.phases=[{ after = 1, learning_rate = 0.02, frozen = ['last'] }]",
    ),
    "accumulated phases, mirrored": (
        *SYNTHETIC,
        *PHASES,
        *MIRRORED,
        "training.optimizer=adam",
        (
            "training.options={ gradient_accumulation_steps = 2, global_clipnorm = 0.5, "
            "use_ema = true, ema_overwrite_frequency = 2 }"
        ),
    ),
    "fitted phases of streams, mirrored": (
        *SYNTHETIC,
        *FITTED,
        *LATER,
        *MIRRORED,
        "training.validation_steps=3",
        "training.schedule.name=exponential",
        'training.callbacks=[{ name = "OWN:told" }]',
    ),
    "fitted batches of unknown number": (
        *SYNTHETIC,
        *FITTED,
        'training.optimizer="OWN:make"',
        "training.options={ momentum = 0.9 }",
        'training.callbacks=[{ name = "OWN:told" }]',
        'training.loss="compiled"',
        'training.metrics=["compiled"]',
    ),
    "fitted rows of unknown number, mirrored": (
        *SYNTHETIC,
        *FITTED,
        *MIRRORED,
        *LATER[:3],
    ),
    "fitted pixels": (
        *SYNTHETIC,
        *FITTED,
        'training.optimizer="OWN:make"',
        "training.options={ momentum = 0.9 }",
        'training.callbacks=[{ name = "terminate_on_nan" }]',
        'training.loss="categorical_focal_crossentropy"',
        'training.metrics=["auc", "mean_iou", "f1_score", "accuracy"]',
    ),
    "fitted parts of passes, by XLA if it can": (
        *SYNTHETIC,
        *FITTED,
        'training.loss="compiled"',
        'training.metrics=["compiled"]',
        'training.optimizer="OWN:make"',
        "training.options={ momentum = 0.9 }",
        'training.schedule.name="OWN:rate_of_epoch"',
        "training.steps_per_epoch=2",
        "training.epochs=3",
        'training.phases=[{ after = 2, learning_rate = 0.02, frozen = ["first"] }]',
    ),
}
PLATEAU = (
    "training.callbacks=[{ name = 'reduce_lr_on_plateau', "
    "options = { monitor = 'loss', patience = 1, min_delta = 10.0 } }]"
)
OWN_MODEL = (
    "data.name=",
    "model.name=",
    "model.options={}",
    'training.optimizer="compiled"',
    'training.loss="compiled"',
    'training.metrics=["compiled"]',
    "training.epochs=3",
    "training.batch_size=20",
)
CASES |= {
    "fitted, half as compiled": (
        *SYNTHETIC,
        *FITTED,
        'training.optimizer="compiled"',
        'training.loss="huber"',
        'training.metrics=["mse", "compiled"]',
        'training.schedule.name="OWN:rate_of_epoch"',
    ),
    "built in, callbacks and phases of an own optimizer, mirrored": (
        *SYNTHETIC,
        *PHASES,
        *MIRRORED,
        PLATEAU,
        'training.optimizer="OWN:make"',
        "training.options={ momentum = 0.9 }",
    ),
    "built in, rates in a table, and a class left out of the loss, mirrored": (
        *SYNTHETIC,
        *MIRRORED,
        'training.loss={ name = "sparse_categorical_crossentropy", ignore_class = 1 }',
        'training.metrics=["mean_iou", "accuracy"]',
        (
            "training.callbacks=[{ name = 'learning_rate_scheduler', "
            "options = { rates = { 0 = 0.05, 2 = 0.01 } } }]"
        ),
    ),
    "built in, a rate of the epoch, an own loss and weights of classes": (
        *SYNTHETIC,
        'training.schedule.name="OWN:rate_of_epoch"',
        'training.loss="OWN:steep"',
        'training.metrics=["OWN:highest", "accuracy", "auc"]',
        "training.class_weight={ 0 = 1.0, 2 = 3.0 }",
        *AS_THEY_COME,
    ),
}
CENTRAL_CASES: dict[str, tuple[str, ...]] = {
    "built in, accumulated": (
        *SYNTHETIC,
        *CENTRAL,
        'training.optimizer="nadam"',
        "training.options={ gradient_accumulation_steps = 2, global_clipnorm = 0.5 }",
    ),
    "built in, averaged": (
        *SYNTHETIC,
        *CENTRAL,
        'training.optimizer="muon"',
        "training.options={ use_ema = true, ema_overwrite_frequency = 2, weight_decay = 0.1 }",
    ),
    "built in, averaged at the end": (
        *SYNTHETIC,
        *CENTRAL,
        "training.options={ use_ema = true }",
        "training.early_stopping={ patience = 9, restore_best = true }",
    ),
    "decayed": (
        *SYNTHETIC,
        *CENTRAL,
        'training.optimizer="adamw"',
        "training.options={ weight_decay = 0.1 }",
    ),
}
PLACED = ("distribution.strategy=placed", "distribution.placed.recompute=true")
PLACED_CASES: dict[str, tuple[str, ...]] = {
    "recomputed, a rate of the epoch": (
        *SYNTHETIC,
        *PLACED,
        'training.schedule.name="OWN:rate_of_epoch"',
        *AS_THEY_COME,
        "model.options={ hidden = [16, 12], dropout = 0.3 }",
        'distribution.placed.layers={ dense = "CPU:0", dense_1 = "CPU:1" }',
    ),
    "normalised, split convolutions, recomputed in parts": (
        *SYNTHETIC,
        *PLACED,
        "data.options={ shape = [8, 8, 3], samples = 150, classes = 3 }",
        "model.name=cifar_cnn",
        "model.options={}",
        "distribution.placed.micro_batches=2",
        'training.optimizer="adam"',
        'distribution.placed.layers={ conv1 = ["CPU:0", "CPU:1"], conv2 = "CPU:1" }',
    ),
    "split, frozen and recomputed in parts": (
        *SYNTHETIC,
        *PHASES,
        *PLACED,
        "model.options={ hidden = [15, 12], dropout = 0.3 }",
        "distribution.placed.micro_batches=2",
        'training.optimizer="adam"',
        (
            'distribution.placed.layers={ dense = ["CPU:0", "CPU:1"], dense_1 = "CPU:1", '
            'outputs = ["CPU:1", "CPU:0"] }'
        ),
    ),
    "fitted, split and recomputed, with a callback that reads and writes weights": (
        *SYNTHETIC,
        *FITTED,
        *LATER,
        *PLACED,
        "training.early_stopping={ patience = 9, restore_best = true }",
        'training.callbacks=[{ name = "OWN:Shrinking" }]',
        'distribution.placed.layers={ first = ["CPU:1", "CPU:0"], last = "CPU:0" }',
    ),
}
WORKERS = (
    "accumulated phases, mirrored",
    "fitted phases of streams, mirrored",
    "fitted rows of unknown number, mirrored",
    "two targets of a table, eagerly, mirrored",
    "an own model's bounded phases over parts of passes",
    "built in, a rate of the epoch, an own loss and weights of classes",
)
"""Cases that are trained over two workers as well: to the same measures."""
OVER_WORKERS = ('distribution.strategy="multi_worker"', 'distribution.devices=["CPU:0"]')
OF_FILES: dict[str, tuple[str, ...]] = {
    "two inputs of a file, mirrored": (
        *OWN_MODEL,
        *MIRRORED,
        'data.file="HERE/two.npz"',
        "data.split=ordered",
        'model.python="OWN:two"',
    ),
    "two targets of a table, eagerly, mirrored": (
        *OWN_MODEL,
        *MIRRORED,
        'data.table="HERE/two.csv"',
        "data.test_fraction=0",  # 81 samples: of the last batch, of one, a replica gets none
        'data.options={ inputs = ["a", "b"], targets = ["u", "v"], weight = "w" }',
        'model.python="OWN:three"',
    ),
}
OF_FILES["two targets of a table, half as compiled"] = (
    *OWN_MODEL,
    'data.table="HERE/two.csv"',
    "data.test_fraction=0",
    "data.split=grouped",
    "data.groups=g",
    'data.options={ inputs = ["a", "b"], targets = ["u", "v"], weight = "w" }',
    'model.python="OWN:three"',
    "training.schedule=cosine",
    'training.outputs={ v = { loss = "mae", metrics = ["mse"] }, u = { loss_weight = 0.3 } }',
)
OF_FILES["two targets of a table, of which one is only measured"] = (
    *OF_FILES["two targets of a table, half as compiled"][:-2],
    'training.optimizer="OWN:make"',
    "training.options={ momentum = 0.9 }",
    'training.outputs={ u = { loss = "none" } }',
)
for name in ("images and a column of a table, by classes", "the same, left in their files"):
    OF_FILES[name] = (
        *OWN_MODEL,
        'data.table="HERE/two.csv"',
        "data.test_fraction=0",
        "data.split=stratified",
        (
            'data.options={ images = "photo", inputs = ["a"], targets = ["k"], weight = "w", '
            "size = [4, 4] }"
        ),
        'model.python="OWN:mixed"',
    )
SEEN = DataFacts("load", "values", None, 90, x_shape=(6,), y_shape=(1,), arrays=("x", "y"))
STREAMED = replace(SEEN, streamed="6 batches of 15", arrays=())
OF_BUILD = tuple(
    GraphLayer(name, kind, inputs=of)
    for name, kind, of in (
        ("first", "Dense", ()),
        ("norm", "LayerNormalization", ("first",)),
        ("last", "Dense", ("norm",)),
    )
)
BUILT = ModelFacts(
    learnt=Learnt("values", True, "mean_squared_error", ("mae",), compiled=True),
    conditional=True,
    graph=ModelGraph("build", OF_BUILD, (6,), (1,)),
)
PICTURES = replace(
    SEEN, task="classes", classes=3, x_shape=(6, 6, 1), y_shape=(6, 6), y_dtype="int32"
)
OF_PIXELS = ModelFacts(
    graph=ModelGraph("of_pixels", (), (6, 6, 1), (6, 6, 3)),
    learnt=Learnt("classes", True, "sparse_categorical_crossentropy", ("accuracy",)),
)
LOADS = {"rows": "rows", "streams": "stream", "unknown": "batches", "pixels": "pictures"}
BUILDS = {BY_XLA: "spelled", "pixels": "of_pixels"}
MADE = DataFacts("synthetic", "classes", 3, 150, x_shape=(12,))
BUILT_IN = ModelFacts(
    graph=ModelGraph("mlp", (), (12,), (3,)),
    learnt=Learnt("classes", True, "sparse_categorical_crossentropy", ("accuracy",)),
)
COMPILED = Learnt("values", True, "mse", ("mae",), compiled=True)


FITTED = {case: of for case, of in CASES.items() if case.startswith("fitted")}
GROUPS = {
    "fitted": FITTED,
    "by a loop": {case: of for case, of in CASES.items() if case not in FITTED},
    "of files": OF_FILES,
    "central": CENTRAL_CASES,
    "placed": PLACED_CASES,
}
"""Those of a group are under one strategy besides none: a process has no second one."""


def several(*names: str, targets: tuple[str, ...]) -> DataFacts:
    """Data with these inputs and these targets, of which each sample has a weight."""
    return replace(
        SEEN,
        inputs=tuple(ArrayFacts((each,)) for each in names) or (ArrayFacts((), (2,)),),
        targets=tuple(ArrayFacts((each,)) for each in targets),
        weights=() if names else (ArrayFacts(),),
    )


def outputs(*names: str) -> ModelFacts:
    """A compiled model with these outputs."""
    found = tuple(ArrayFacts(name=each) for each in names)
    return ModelFacts(outputs=found, learners=dict.fromkeys(names, COMPILED))


FACTS = {
    "two inputs of a file, mirrored": (several("a", "b", targets=("p", "q")), outputs("p", "q")),
    "two targets of a table, eagerly, mirrored": (several(targets=("u", "v")), outputs("u", "v")),
    "two targets of a table, half as compiled": (several(targets=("u", "v")), outputs("u", "v")),
    "two targets of a table, of which one is only measured": (
        several(targets=("u", "v")),
        replace(outputs("u", "v"), learners={"v": COMPILED}),
    ),
}


_PHOTO, _A = ArrayFacts(("photo",), (4, 4, 3), scaled=True), ArrayFacts(("a",), (1,))
_MIXED = replace(
    SEEN,
    inputs=(_A, _PHOTO),
    targets=(ArrayFacts((), (), "int32", ids=3),),
    weights=(ArrayFacts(),),
)
_OF_CLASSES = ModelFacts(learnt=Learnt("classes", False, "", ("accuracy",), compiled=True))
FACTS |= {
    "images and a column of a table, by classes": (_MIXED, _OF_CLASSES),
    "the same, left in their files": (replace(_MIXED, in_memory=False), _OF_CLASSES),
}


def write_files(folder: Path) -> None:
    """Write the files of data."""
    random = np.random.default_rng(4)
    a, b = (random.normal(size=(90, axes)).astype("float32").round(3) for axes in (4, 3))
    targets = {"y/p": a[:, :1], "y/q": random.integers(0, 3, 90)}
    np.savez(folder / "two.npz", **{"x/a": a, "x/b": b}, **targets)
    rows = [",".join(f"{each:.3f}" for each in (*a[k], 1 + k % 3, k // 7)) for k in range(90)]
    rows = [f"{row},{k % 9}.bmp,{int(k % 5 > 1) + k % 2}" for k, row in enumerate(rows)]
    (folder / "two.csv").write_text("\n".join(["a,b,u,v,w,g,photo,k", *rows]))
    for number in range(9):
        picture = random.integers(0, 256, (5, 6, 3), np.uint8)
        (folder / f"{number}.bmp").write_bytes(bmp(picture))


def plan_of(case: str, own: Path, *more: str) -> Plan:
    settings = [
        each.replace("OWN", str(own)).replace("HERE", str(own.parent))
        for each in (CASES | OF_FILES | CENTRAL_CASES | PLACED_CASES)[case]
    ]
    if case.startswith("fitted"):
        build = next((each for word, each in BUILDS.items() if word in case), "build")
        load = next((each for word, each in LOADS.items() if word in case), "load")
        settings += [f'data.python="{own}:{load}"', f'model.python="{own}:{build}"']
    return small_plan(*settings, "training.checkpoint.every_epochs=0", *more)


def script_of(case: str, own: Path, *more: str) -> str:
    facts = (SEEN, BUILT) if case.startswith("fitted") else FACTS.get(case, (None, None))
    if case.startswith("built in"):
        facts = MADE, BUILT_IN
    if "streams" in case:
        facts = STREAMED, BUILT
    if "unknown" in case:
        what = "samples, one by one" if "rows" in case else "batches of 9"
        facts = replace(STREAMED, streamed=f"{what}, {UNKNOWN_LENGTH}"), BUILT
    if "pixels" in case:
        facts = PICTURES, OF_PIXELS
    if BY_XLA in case:
        facts = SEEN, replace(BUILT, xla=XlaFacts(asked=True), conditional=False)
    return python_script(plan_of(case, own, *more), None, own.parent, *facts)


@pytest.mark.slow
@pytest.mark.parametrize("cases", GROUPS.values(), ids=GROUPS)
def test_that_these_scripts_train_as_the_runs_do(
    cases: dict[str, Any], tmp_path: Path, proof: Proof
) -> None:
    own = tmp_path / "own.py"
    own.write_text(OWN)
    allow_file(own, own.read_bytes())
    write_files(tmp_path)
    over_workers = [case for case in WORKERS if case in cases]
    texts = [script_of(case, own) for case in cases]
    shared = [script_of(case, own, *OVER_WORKERS) for case in over_workers]
    if proof.holds([*texts, *shared], tmp_path):
        return
    runs = zoo_runs.trained_plans({case: plan_of(case, own) for case in cases}, tmp_path)
    check(cases, printed_by_scripts(texts, tmp_path), runs)
    if shared:
        check(over_workers, printed_by_scripts(shared, tmp_path, workers=2), runs)
    proof.keep()


def printed_by_scripts(texts: Sequence[str], folder: Path, workers: int = 1) -> list[str]:
    """What scripts with these texts print."""
    scripts = [folder / f"script_{place}.py" for place in range(len(texts))]
    for path, text in zip(scripts, texts, strict=True):
        path.write_text(text)
    return script_jobs.printed_by(scripts, folder, workers=workers)


def check(cases: Iterable[str], printed: Sequence[str], runs: Mapping[str, Any]) -> None:
    """What was printed of each case is what its run measured."""
    for case, said in zip(cases, printed, strict=True):
        told = epochs_in(said)
        without = said.count(WITHOUT), sum(WITHOUT in each for each in runs[case].warned)
        assert without == ((1, 1) if BY_XLA in case else (0, 0)), case
        assert not runs[case].refused + runs[case].crashed, case
        assert len(told) == len(runs[case].epochs) > 2, f"{case}: {said[-3000:]}"
        for mine, wanted in zip(told, runs[case].epochs, strict=True):
            mine.pop("learning_rate", None)  # which a callback of Keras' adds to what `fit` tells
            assert mine.keys() == wanted.keys(), case
            assert mine == pytest.approx(wanted, rel=CLOSE, abs=CLOSE), case


@pytest.mark.slow
def test_that_these_scripts_are_formatted_and_free_of_mistakes(tmp_path: Path) -> None:
    write_files(tmp_path)
    for place, case in enumerate(CASES | OF_FILES | CENTRAL_CASES | PLACED_CASES):
        own = (tmp_path if case in OF_FILES else Path("/own")) / "own.py"
        (tmp_path / f"{place}.py").write_text(script_of(case, own))
    for place, case in enumerate(each for each in WORKERS if each in CASES):
        script = script_of(case, Path("/own/own.py"), *OVER_WORKERS)
        (tmp_path / f"workers_{place}.py").write_text(script)
    check_scripts(tmp_path, str(tmp_path))
