"""Many small trainings in one TensorFlow process, by a strategy or by Keras' own `fit`.

The process has two logical CPUs.

`python parity_jobs.py` reads a way and cases from stdin, and writes a result for each as JSON. The
way is "fit", or settings of `distribution`. A case is a `model` of parity_models, `settings` of the
plan, for `fit` the optimizer as Keras' `get` takes it, under `placed` its `micro_batches`; with
`resumed`, its last steps are trained by a session that takes over. With `targets`, a kind of
`parity_targets`, the data are an `.npz` file with these, the loss is `loss` and the metrics are
`metrics`, as Keras' `get` takes them. A result has the measures of
every epoch, of the test split, the losses of the `steps`, the `weights`, and what was `reported`;
or an `error`.

The reference shares nothing with the trainer but the data and the plan's order of the samples and
numbers of draws, which it computes by itself: an epoch's order is TensorFlow's stateless shuffle by
(seed, epoch); random states are [seed, 4096 · step], and in evaluation [seed, 4096 · (−1 − batch)].
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import traceback
from collections.abc import Callable, Collection, Iterator, Mapping
from pathlib import Path
from types import SimpleNamespace
from typing import Any

Case = Mapping[str, Any]
SEED = 3
BATCH, EPOCHS = 20, 2

PLAN = f"""
version = 1
[[devices.carve]]
device = "CPU:0"
slices_mib = [0, 0]
[data]
name = "synthetic"
options = {{ shape = [12], samples = 90, classes = 4 }}
validation_fraction = 0.0
test_fraction = 0.0
[training]
epochs = {EPOCHS}
batch_size = {BATCH}
seed = {SEED}
optimizer = "sgd"
learning_rate = 0.1
metrics = []
steps_per_call = 5
"""


CLOSE = 1e-5
TWO = 'distribution.devices=["CPU:0", "CPU:1"]'
WAYS: dict[str, Any] = {
    "none": [],
    "one_device": ["distribution.strategy=one_device", 'distribution.devices=["CPU:1"]'],
    "mirrored": ["distribution.strategy=mirrored", TWO],
    "central_storage": ["distribution.strategy=central_storage", TWO],
    "placed": ["distribution.strategy=placed"],
}
VALIDATED = ["data.validation_fraction=0.3"]
TESTED = [*VALIDATED, "data.test_fraction=0.2"]
WHOLE = "GPU_STUDIO_WHOLE_PARITY" in os.environ


class Trained(dict[str, dict[str, Any]]):
    """What became of every case in every way and by "fit".

    A way's cases are trained once it is asked for. What is `left_out`, `fit` does not train.
    """

    def __init__(
        self,
        folder: Path,
        cases: Callable[[str], Mapping[str, Case]],
        left_out: Collection[str] = (),
    ) -> None:
        super().__init__()
        self._folder, self._cases, self._left_out = folder, cases, left_out

    def __missing__(self, way: str) -> dict[str, Any]:
        cases = self._cases(way if way in WAYS else "none")
        if way not in WAYS:
            cases = {name: each for name, each in cases.items() if name not in self._left_out}
        self[way] = results(WAYS.get(way, "fit"), cases, self._folder)
        return self[way]


def results(way: Any, cases: Mapping[str, Case], folder: Path) -> dict[str, Any]:
    """The result of every case under one way, computed in one process."""
    import warm_python

    command = [*warm_python.command(str(Path(__file__))), "run"]
    environment = {
        **os.environ,
        "PYTHONPATH": os.pathsep.join(sys.path),
        "TF_CPP_MIN_LOG_LEVEL": "3",
    }
    done = subprocess.run(
        command,
        input=json.dumps([way, cases]),
        capture_output=True,
        text=True,
        cwd=folder,
        env=environment,
    )
    assert done.returncode == 0, done.stderr[-4000:]
    found: dict[str, Any] = json.loads(done.stdout.splitlines()[-1])
    return found


# In the process that trains


class Trainer:
    """Does cases with real sessions and the real loop.

    Only the devices are set up once for all of them.
    """

    def __init__(self, way: list[str]) -> None:
        from gpu_studio.plan import loads, with_settings
        from gpu_studio.trainer import devices, session, strategies

        self._session = session
        self._plan = with_settings(loads(PLAN), way)
        logical = devices.set_up(self._plan.devices)
        vars(session)["devices"].set_up = lambda _plan: logical
        spread = strategies.spread_over(self._plan.distribution, logical)
        # A strategy of TensorFlow's once a process; a placement is each plan's own.
        each = strategies.spread_over if spread.placement else lambda *_: spread
        vars(session)["strategies"].spread_over = each

    def do(self, case: Case) -> dict[str, Any]:
        from gpu_studio.trainer.errors import TrainerError

        told: list[Any] = []
        try:
            made = self._made(case, told)
        except TrainerError as error:
            return {"error": error.message}
        result = self._trained(made, told)
        return result | ({"resumed": self._resumed(case)} if case.get("resumed") else {})

    def _made(self, case: Case, told: list[Any]) -> Any:
        import parity_models

        from gpu_studio.plan import with_settings

        plan = with_settings(self._plan, _settings(case))
        vars(self._session)["build_model"] = lambda *_: parity_models.made(
            case["model"], plan.training.seed
        )
        if plan.distribution.strategy == "placed":
            plan = _placed(
                plan, parity_models.made(case["model"], SEED), case.get("micro_batches", 2)
            )
        return self._session.build(plan, Path.cwd(), told.append)

    def _trained(self, made: Any, told: list[Any]) -> dict[str, Any]:
        from gpu_studio.trainer.loop import Loop
        from gpu_studio.trainer.progress import Reached

        steps: list[float | None] = []
        telemetry: Any = SimpleNamespace(
            tell=told.append,
            epoch=told.append,
            steps=lambda event, _rate: steps.extend(event.losses),
        )
        control: Any = SimpleNamespace(
            take_checkpoint_wish=lambda: False, pausing=False, stopping=False
        )
        checkpoints: Any = SimpleNamespace(save=lambda _snapshot: None, wait=lambda: None)
        ended = Loop(made, control, telemetry, checkpoints, Reached()).run()
        return {
            "epochs": [each.metrics for each in told if hasattr(each, "samples_per_second")],
            "test": ended.metrics,
            "steps": steps,
            "weights": _weights(made),
            "told": [each.message for each in told if hasattr(each, "suggestion")],
        }

    def _resumed(self, case: Case) -> Any:
        """The losses of the second epoch, trained by another session than the first."""
        first, second = self._made(case, []), self._made(case, [])
        count = first.cut.steps()
        first.program.train(first.training_stream(0, 0), 0, count)
        second.restore(first.capture())
        return second.program.train(second.training_stream(1, 0), count, count).losses.tolist()


def _weights(made: Any) -> list[Any]:
    return [value.tolist() for name, value in made.capture().items() if name.startswith("model/")]


def _placed(plan: Any, model: Any, micro_batches: int) -> Any:
    """The plan with the layers that have weights on two devices in turn."""
    from dataclasses import replace

    from gpu_studio.plan import Placed
    from gpu_studio.trainer.model_layers import placeable_layers

    heavy = [each.path for each in placeable_layers(model) if each.layer.weights]
    layers = {path: (f"CPU:{(number + 1) % 2}",) for number, path in enumerate(heavy)}
    return replace(
        plan, distribution=replace(plan.distribution, placed=Placed(micro_batches, layers))
    )


class Fit:
    """Does cases by `fit` and `evaluate`."""

    def do(self, case: Case) -> dict[str, Any]:
        import keras
        import parity_models

        from gpu_studio.plan import loads, with_settings
        from gpu_studio.trainer.data import load_data

        dataset = load_data(with_settings(loads(PLAN), _settings(case)).data, SEED, Path.cwd())
        model = parity_models.made(case["model"], SEED)
        optimizer = keras.optimizers.get(
            case.get("fit", {"class_name": "SGD", "config": {"learning_rate": 0.1}})
        )
        logits = case["model"] != "softmax"
        loss = keras.losses.get(case["loss"]) if "loss" in case else None
        loss = loss or keras.losses.SparseCategoricalCrossentropy(from_logits=logits)
        metrics = [keras.metrics.get(each) for each in case.get("metrics", ())]
        model.compile(optimizer, loss, metrics=metrics, run_eagerly=True)
        validation = _samples(dataset.validation) if dataset.validation else None
        history = model.fit(
            _batches(*_samples(dataset.train)),
            epochs=EPOCHS,
            steps_per_epoch=-(-len(dataset.train) // BATCH),
            validation_data=validation,
            validation_batch_size=BATCH,
            callbacks=[_placing(_states(model))],
            verbose=0,
        ).history
        result = {
            "epochs": [
                {name: values[epoch] for name, values in history.items()} for epoch in range(EPOCHS)
            ],
            "weights": [value.tolist() for value in model.get_weights()],
        }
        if dataset.test is None:
            return {**result, "test": {}}
        callbacks = [_placing(_states(model))]
        tested = model.evaluate(*_samples(dataset.test), BATCH, callbacks=callbacks, verbose=0)
        names = ["loss", *(metric.name for metric in metrics)]
        measures = zip(names, keras.tree.flatten(tested), strict=False)
        return {**result, "test": {f"test_{name}": value for name, value in measures}}


def _settings(case: Case) -> list[str]:
    """The settings of a case; one with targets of its own has them in a file."""
    settings = list(case.get("settings", ()))
    if "targets" in case:
        import parity_targets

        path = Path.cwd() / f"{case['targets']}.npz"
        parity_targets.save(case["targets"], path)
        settings += ["data.name=", "data.options=", f"data.file={path}"]
    return settings


def _samples(split: Any) -> tuple[Any, Any]:
    """The samples of a split, and the targets as they were given."""
    return split.seen(slice(None)), split.y if split.rows is None else split.y[split.rows]


def _batches(x: Any, y: Any) -> Any:
    """The samples of every epoch in the plan's order."""
    import tensorflow as tf

    def each() -> Iterator[Any]:
        for epoch in range(EPOCHS):
            rows = tf.range(len(x), dtype="int64")
            order = tf.random.experimental.stateless_shuffle(rows, seed=[SEED, epoch]).numpy()
            for first in range(0, len(order), BATCH):
                some = order[first : first + BATCH]
                yield x[some], y[some]

    signature = tuple(tf.TensorSpec((None, *array.shape[1:]), array.dtype) for array in (x, y))
    return tf.data.Dataset.from_generator(each, output_signature=signature)


def _states(model: Any) -> list[tuple[Any, int]]:
    """Every random state and the seed that it starts from: its own, or the plan's."""
    from keras.src.random.seed_generator import global_seed_generator

    shared = global_seed_generator().state
    own = [
        each
        for each in model.variables
        if each.name == "seed_generator_state" and each is not shared
    ]
    return [*((each, int(each.numpy()[0])) for each in own), (shared, SEED)]


def _placing(random: list[tuple[Any, int]]) -> Any:
    import keras

    class Placing(keras.callbacks.Callback):  # type: ignore[misc]
        """Puts the random states where each step's begin."""

        step = 0

        def on_train_batch_begin(self, batch: int, logs: Any = None) -> None:
            self._place(self.step)
            self.step += 1

        def on_test_batch_begin(self, batch: int, logs: Any = None) -> None:
            self._place(-1 - batch)

        def _place(self, step: int) -> None:
            for state, seed in random:
                state.assign([seed, 4096 * step])

    return Placing()


def main() -> None:
    """Do the cases on stdin."""
    way, cases = json.load(sys.stdin)
    worker: Any = Fit() if way == "fit" else Trainer(way)
    print(json.dumps({name: _done(worker, case) for name, case in cases.items()}))


def _done(worker: Any, case: Case) -> dict[str, Any]:
    """What became of a case: a failure is the result of this one alone."""
    try:
        result: dict[str, Any] = worker.do(case)
    except Exception:  # noqa: BLE001 (whatever TensorFlow raises)
        return {"error": traceback.format_exc()}
    return result


if __name__ == "__main__":
    sys.path += os.environ["PYTHONPATH"].split(os.pathsep)
    main()
