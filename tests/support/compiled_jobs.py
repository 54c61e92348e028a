"""Models that their users compiled, trained in one TensorFlow process by a strategy or by `fit`.

`python compiled_jobs.py` reads a way and cases from stdin as parity_jobs does, whose results these
are. A case is the `function` of `CODE` that makes the model, `settings` of the plan,
`class_weight`, and what `fit` is `asked` besides: then it gets the arrays as they are.
"""

from __future__ import annotations

import json
import os
import runpy
import sys
from pathlib import Path
from typing import Any

if __name__ == "__main__":
    sys.path += os.environ["PYTHONPATH"].split(os.pathsep)

import parity_jobs
from parity_jobs import BATCH, EPOCHS, PLAN, SEED, Case

FILE = "models.py"
CODE = """
import keras
from keras import ops

def net(activation="softmax"):
    made = iter(range(9))
    def dense(units, **more):
        start = keras.initializers.GlorotUniform(seed=next(made))
        return keras.layers.Dense(units, kernel_initializer=start, **more)
    x = keras.Input((12,))
    h = dense(16, activation="tanh", name="first")(x)
    return keras.Model(x, dense(4, activation=activation, name="last")(h))


def focal(y_true, y_pred, gamma=2.0):
    share = ops.sum(ops.one_hot(ops.cast(y_true, "int32"), 4) * y_pred, axis=-1)
    return -((1 - share) ** gamma) * ops.log(share + 1e-7)


def make_focal(gamma):
    return lambda y_true, y_pred: focal(y_true, y_pred, gamma)


class Smoothed(keras.losses.Loss):
    def __init__(self, smoothing=0.1, **more):
        super().__init__(**more)
        self.smoothing = smoothing

    def call(self, y_true, y_pred):
        wanted = ops.one_hot(ops.cast(y_true, "int32"), 4)
        return keras.losses.categorical_crossentropy(
            wanted, y_pred, label_smoothing=self.smoothing
        )


def overlap(y_true, y_pred):
    wanted = ops.one_hot(ops.cast(y_true, "int32"), 4)
    return 1 - 2 * ops.sum(wanted * y_pred) / (ops.sum(wanted) + ops.sum(y_pred))


class Sure(keras.metrics.Metric):
    def __init__(self, least=0.5, **more):
        super().__init__(**more)
        self.least = least
        self.sure = self.add_weight(name="sure", initializer="zeros")
        self.all = self.add_weight(name="all", initializer="zeros")

    def update_state(self, y_true, y_pred, sample_weight=None):
        sure = ops.cast(ops.max(y_pred, axis=-1) > self.least, "float32")
        if sample_weight is not None:
            sure = sure * ops.cast(sample_weight, "float32")
        self.sure.assign_add(ops.sum(sure))
        self.all.assign_add(ops.cast(ops.shape(y_pred)[0], "float32"))

    def result(self):
        return self.sure / self.all


class Highest(keras.metrics.Metric):
    def __init__(self, **more):
        super().__init__(**more)
        self.highest = self.add_weight(name="highest", initializer="zeros")

    def update_state(self, y_true, y_pred, sample_weight=None):
        self.highest.assign(ops.maximum(self.highest, ops.max(y_pred)))

    def result(self):
        return self.highest + 0


def entropy(y_true, y_pred):
    return -ops.sum(y_pred * ops.log(y_pred + 1e-7), axis=-1)


def sgd():
    model = net()
    rate = keras.optimizers.schedules.ExponentialDecay(0.3, 3, 0.8)
    model.compile(
        keras.optimizers.SGD(rate, momentum=0.9, nesterov=True),
        "sparse_categorical_crossentropy",
        metrics=["accuracy", keras.metrics.SparseTopKCategoricalAccuracy(2, name="second")],
    )
    return model


def adam():
    model = net()
    model.compile(
        keras.optimizers.Adam(0.02, clipnorm=0.05, weight_decay=0.01),
        focal, metrics=[entropy, Sure(0.4, name="sure")],
    )
    return model


def smoothed():
    model = net()
    model.compile("rmsprop", Smoothed(0.2), loss_weights=0.5, metrics=["acc"])
    return model


def summed():
    model = net("linear")
    model.compile(
        keras.optimizers.SGD(0.01),
        keras.losses.SparseCategoricalCrossentropy(from_logits=True, reduction="sum"),
        weighted_metrics=["accuracy"], metrics=["accuracy"],
    )
    return model


def apart():
    model = net()
    model.compile(
        keras.optimizers.SGD(0.01),
        keras.losses.SparseCategoricalCrossentropy(reduction=None), metrics=["accuracy"],
    )
    return model


def in_dictionary():
    made = net()
    model = keras.Model(made.inputs, {"kind": made.outputs[0]})  # whose targets are an array
    model.compile(
        keras.optimizers.SGD(0.3), "sparse_categorical_crossentropy", metrics=["accuracy"]
    )
    return model


def overlapping():
    model = net()
    model.compile(keras.optimizers.SGD(0.5), overlap)
    return model


def averaged():
    model = net()
    model.compile(
        keras.optimizers.SGD(0.3, use_ema=True, ema_momentum=0.9, loss_scale_factor=64.0),
        "sparse_categorical_crossentropy", metrics=[Highest(name="highest")],
    )
    return model


def by_reference():
    model = net()
    model.compile(
        keras.optimizers.SGD(0.2, momentum=0.5),
        lambda y, p: focal(y, p, 3.0), metrics=[Sure(0.3), entropy],
    )
    return model


def optimizer(learning_rate, momentum):
    return keras.optimizers.SGD(learning_rate, momentum=momentum)


class Warm(keras.optimizers.schedules.LearningRateSchedule):
    def __init__(self, after, steps):
        self.after, self.steps = after, steps

    def __call__(self, step):
        step = ops.cast(step, "float32")
        warm = 0.02 * (step + 1)
        return ops.where(step < self.steps, warm, self.after(step - self.steps))


def warm(learning_rate, total_steps, steps):
    return Warm(keras.optimizers.schedules.CosineDecay(learning_rate, total_steps), steps)


def halving(step, learning_rate):
    return learning_rate * 0.5 ** (step // 3)


class Halving(keras.optimizers.schedules.LearningRateSchedule):
    def __call__(self, step):
        return 0.4 * 0.5 ** ops.floor(ops.cast(step, "float32") / 3)


def warmed():
    model = net()
    model.compile(keras.optimizers.Adam(warm(0.4, 6, 3)), "sparse_categorical_crossentropy")
    return model


def halved():
    model = net()
    model.compile(keras.optimizers.SGD(Halving()), "sparse_categorical_crossentropy")
    return model


def ema():
    model = net()
    model.compile(
        keras.optimizers.SGD(0.3, use_ema=True, ema_momentum=0.9, loss_scale_factor=64.0),
        "sparse_categorical_crossentropy",
    )
    return model


def scaled(initial_scale=2.0**20):
    x = keras.Input((12,))
    start = keras.initializers.GlorotUniform(seed=1)
    h = keras.layers.Dense(
        16, "relu", kernel_initializer=start, dtype="mixed_float16", name="first"
    )(x)
    start = keras.initializers.GlorotUniform(seed=2)
    model = keras.Model(x, keras.layers.Dense(4, "softmax", kernel_initializer=start)(h))
    # The first gradients are too large for 16 bits: their steps are left out.
    optimizer = keras.optimizers.LossScaleOptimizer(
        keras.optimizers.SGD(0.2, momentum=0.9), initial_scale=initial_scale, dynamic_growth_steps=2
    )
    model.compile(optimizer, "sparse_categorical_crossentropy")
    return model


def scaled_little():
    return scaled(2.0**8)


def plain():
    return net()


def partly():
    model = net()
    # Three, for `fit` takes apart a target of as many samples as there are outputs.
    hidden = [keras.layers.Identity(name=name)(model.layers[1].output) for name in "ab"]
    made = keras.Model(model.inputs, [model.outputs[0], *hidden])
    made.compile("sgd", ["sparse_categorical_crossentropy", None, None])
    return made


def two_data(seed):
    import numpy as np
    draw = np.random.default_rng(seed)
    x = draw.normal(size=(90, 12)).astype("float32")
    return x, {"kind": np.argmax(x[:, :4], axis=1), "size": x[:, :1] * 2}


def gaps_data(seed):
    import numpy as np
    x, y = two_data(seed)
    return x, y | {"size": np.where(np.arange(90)[:, None] % 3, y["size"], np.nan)}


def where_known(y_true, y_pred):
    known = ops.logical_not(ops.isnan(y_true))
    apart = ops.where(known, y_true, 0.0) - y_pred
    return ops.mean(ops.where(known, ops.square(apart), 0.0), axis=-1)


def gaps():
    model = two()
    losses = {"kind": "sparse_categorical_crossentropy", "size": where_known}
    model.compile("sgd", losses, metrics={"size": [where_known]})
    return model


def watched():
    model = two(dict)
    losses = {"kind": "sparse_categorical_crossentropy", "size": None}
    model.compile("sgd", losses, metrics={"kind": ["accuracy"], "size": ["mae"]})
    return model


def two(ends=list):
    x = keras.Input((12,))
    start = lambda seed: keras.initializers.GlorotUniform(seed=seed)
    h = keras.layers.Dense(8, "tanh", kernel_initializer=start(1), name="first")(x)
    kind = keras.layers.Dense(4, "softmax", kernel_initializer=start(2), name="kind")(h)
    size = keras.layers.Dense(1, kernel_initializer=start(3), name="size")(h)
    # In a list, outputs are in another order than their names.
    model = keras.Model(x, [size, kind] if ends is list else {"kind": kind, "size": size})
    model.compile(
        keras.optimizers.Adam(0.01),
        loss={"kind": "sparse_categorical_crossentropy", "size": keras.losses.Huber(0.5)},
        loss_weights={"kind": 1.0, "size": 0.2},
        metrics={"kind": ["accuracy"], "size": ["mae", "mse"]},
    )
    return model
"""


def written(folder: Path) -> Path:
    """The file with `CODE` in this folder, which its user has allowed."""
    from gpu_studio.contract.consent import allow_file

    path = folder / FILE
    path.write_text(CODE)
    allow_file(path, path.read_bytes())
    return path


class Trainer(parity_jobs.Trainer):
    """Does cases by the strategy of a way."""

    def _made(self, case: Case, told: list[Any]) -> Any:
        from dataclasses import replace

        from gpu_studio.plan import Placed, with_settings
        from gpu_studio.plan.references import with_absolute_files

        plan = with_settings(
            self._plan,
            [
                f"model.python={FILE}:{case.get('trained', case['function'])}",
                "training.optimizer=auto",
                'training.metrics=["auto"]',
                *case.get("settings", ()),
            ],
        )
        if plan.distribution.strategy == "placed":
            layers = dict.fromkeys(case.get("layers", ("first",)), ("CPU:1",))
            placed = Placed(case.get("micro_batches", 2), layers)
            plan = replace(plan, distribution=replace(plan.distribution, placed=placed))
        return self._session.build(with_absolute_files(plan, Path.cwd()), Path.cwd(), told.append)


class Fit:
    """Does cases by `fit` and `evaluate`."""

    def do(self, case: Case) -> dict[str, Any]:
        from gpu_studio.plan import loads, with_settings
        from gpu_studio.plan.references import with_absolute_files
        from gpu_studio.trainer.data import load_data

        settings = [each for each in case.get("settings", ()) if each.startswith("data")]
        plan = with_absolute_files(with_settings(loads(PLAN), settings), Path.cwd())
        dataset = load_data(plan.data, SEED, Path.cwd())
        model = runpy.run_path(FILE)[case["function"]]()
        parity_jobs.mean_as_traced()
        # Spares the tracing. In 16 bits a graph, which joins a product, bias and activation, rounds
        # once where single operations round after each, on processors that compute in 16 bits.
        model.run_eagerly = all(layer.compute_dtype != "float16" for layer in model.layers)
        x, y = parity_jobs._samples(dataset.train)
        weight = {int(each): value for each, value in case.get("class_weight", {}).items()}
        data: dict[str, Any] = {"x": x, "y": y, "batch_size": BATCH}
        if "asked" not in case:
            batches = parity_jobs._batches((x, y), EPOCHS)
            data = {"x": batches, "steps_per_epoch": -(-len(x) // BATCH)}
        history = model.fit(
            **data,
            epochs=EPOCHS,
            validation_data=parity_jobs.validation_batches(
                parity_jobs._samples(dataset.validation)
            ),
            class_weight=weight or None,
            verbose=0,
            **case.get("asked", {}),
        ).history
        tested = model.evaluate(
            *parity_jobs._samples(dataset.test), BATCH, verbose=0, return_dict=True
        )
        return {
            "epochs": [_told(history, epoch) for epoch in range(EPOCHS)],
            "test": {f"test_{name}": value for name, value in tested.items()},
            "weights": [value.tolist() for value in model.get_weights()],
        }


def _told(history: dict[str, Any], epoch: int) -> dict[str, float]:
    """What was measured in an epoch: `fit` may validate in the last ones only."""
    places = {name: epoch - EPOCHS + len(values) for name, values in history.items()}
    return {name: history[name][place] for name, place in places.items() if place >= 0}


if __name__ == "__main__":
    way, cases = json.load(sys.stdin)
    written(Path.cwd())
    worker: Any = Fit() if way == "fit" else Trainer(way)
    print(json.dumps({name: parity_jobs._done(worker, each) for name, each in cases.items()}))
