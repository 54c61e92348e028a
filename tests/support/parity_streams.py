"""Streams of every kind, trained in one TensorFlow process by a strategy or by Keras' own `fit`.

`python parity_streams.py` reads a way ("fit", or settings of `distribution`) and the names of cases
from stdin, and writes a result for each as JSON: the measures of every `epochs`, the `weights` and
what was `told`. A case is a function of `STREAMS`, which is the user's file for the trainer; the
reference imports it and hands what it returns to `fit`. The process has two logical CPUs.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

CLOSE = 1e-5
EPOCHS = 3
SEED = 3

STREAMS = """
import keras
import numpy as np
import tensorflow as tf

draw = np.random.default_rng(5)
X = draw.normal(size=(90, 12)).astype("float32")
Y = (X[:, :4].argmax(axis=1)).astype("int64")
W = draw.uniform(0.2, 2.0, size=90).astype("float32")
SIZES = (20, 7, 20, 1, 20, 22)

def build():
    keras.utils.set_random_seed(3)
    layers = [keras.layers.Dense(16, "tanh", name="a"), keras.layers.Dense(4, name="b")]
    return keras.Sequential([keras.Input((12,)), *layers])

def known():
    data = tf.data.Dataset.from_tensor_slices((X, Y))
    return data.batch(20), data.take(30).batch(8)

def unknown():
    return known()[0].filter(lambda x, y: True), known()[1].filter(lambda x, y: True)

def shuffled():
    data = tf.data.Dataset.from_tensor_slices((X, Y))
    return data.shuffle(90, seed=4, reshuffle_each_iteration=False).batch(20)

def single():
    return tf.data.Dataset.from_tensor_slices((X, Y))

def weighted():
    data = tf.data.Dataset.from_tensor_slices((X, Y, W))
    return data.batch(20), data.take(30).batch(8)

def endless():
    data = known()[0].repeat()
    return data, known()[1].repeat()

def ended():
    return known()[0]

def generated():
    begun = 0
    for size in SIZES:
        yield X[begun:begun + size], Y[begun:begun + size]
        begun += size

def generator():
    return generated, (X[:30], Y[:30])

def drawn():
    # Draws what it gives anew in each pass, from NumPy's own numbers.
    order = np.random.permutation(90)
    for begun in range(0, 90, 20):
        some = order[begun:begun + 20]
        yield X[some] + np.random.normal(size=X[some].shape), Y[some]

def reshuffled():
    data = tf.data.Dataset.from_tensor_slices((X, Y))
    return data.shuffle(90).batch(20)

class Pictures(keras.utils.PyDataset):
    def __init__(self, order, **options):
        super().__init__(**options)
        self.order, self.ends = list(order), 0

    def __len__(self):
        return 5

    def __getitem__(self, index):
        rows = slice(20 * self.order[index], 20 * self.order[index] + 20)
        return X[rows] + 0.1 * self.ends, Y[rows]

    def on_epoch_end(self):
        self.ends += 1  # as often in training and in validation
        self.order = self.order[1:] + self.order[:1]

def sequence():
    return Pictures(range(5), workers=3), Pictures(range(5))
"""
SETTINGS: Mapping[str, list[str]] = {
    "endless": ["training.steps_per_epoch=3", "training.validation_steps=2"],
    "ended": ["training.steps_per_epoch=3"],
    "single": ["training.batch_size=16"],
}
CASES = (
    *("known", "unknown", "shuffled", "single", "weighted", "endless", "ended"),
    *("generated", "generator", "sequence"),
)

ON_A_CARD = " on a card"
"""The end of the name of a case whose device passes for a real card."""
RESUMED = {"drawn": 8, "sequence": 12}
if "GPU_STUDIO_WHOLE_PARITY" in os.environ:
    RESUMED |= {"reshuffled": 7, "endless": 5, "ended": 4, "single": 9}
"""Cases that are stopped after so many steps, and resumed by another session."""

PLAN = f"""
version = 1
[[devices.carve]]
device = "CPU:0"
slices_mib = [0, 0]
[model]
python = "streams.py:build"
[training]
epochs = {EPOCHS}
batch_size = 32
seed = {SEED}
optimizer = "adam"
learning_rate = 0.02
metrics = ["sparse_categorical_accuracy"]
steps_per_call = 2
loss = "sparse_categorical_crossentropy"
"""


def results(way: Any, cases: Mapping[str, Any] | tuple[str, ...], folder: Path) -> dict[str, Any]:
    """The result of each case under one way, computed in one process in `folder`."""
    import warm_python

    (folder / "streams.py").write_text(STREAMS)
    done = subprocess.run(
        [*warm_python.command(str(Path(__file__))), "run"],
        input=json.dumps([way, list(cases)]),
        capture_output=True,
        text=True,
        cwd=folder,
        env={**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)},
    )
    assert done.returncode == 0, done.stderr[-4000:]
    found: dict[str, Any] = json.loads(done.stdout.splitlines()[-1])
    return found


# In the process that trains


def trained(way: list[str]) -> Any:
    """Return what trains a case with a real session and the real loop."""
    from parity_jobs import Trainer

    from gpu_studio.contract.consent import allow_file
    from gpu_studio.plan import loads, with_settings
    from gpu_studio.trainer.checkpoints import read, write_whole
    from gpu_studio.trainer.training import progress_in

    path = Path("streams.py").resolve()
    allow_file(path, path.read_bytes())

    class Streaming(Trainer):
        def __init__(self) -> None:
            super().__init__(way)
            self._plan = with_settings(loads(PLAN), way)

        def _made(self, case: Any, told: list[Any]) -> Any:
            from parity_jobs import _placed

            settings = [f"data.python=streams.py:{case}", *SETTINGS.get(case, [])]
            plan = with_settings(self._plan, settings)
            if plan.distribution.strategy == "placed":
                plan = _placed(plan, built(path), 2)
            return self._session.build(plan, path.parent, told.append)

        def do(self, case: Any) -> dict[str, Any]:
            told: list[Any] = []
            self._pass_for_card(case.endswith(ON_A_CARD), None)
            case = case.removesuffix(ON_A_CARD)
            result = self._trained(self._made(case, told), told, {})
            if case in RESUMED:
                result["resumed"] = self._resumed(case)
            return result

        def _resumed(self, case: Any) -> list[float]:
            """The losses of the steps that a second session trains, from a checkpoint on."""
            saved: list[Any] = []
            self._trained(self._made(case, []), [], {}, until=RESUMED[case], saved=saved)
            folder, snapshot = Path.cwd() / "checkpoint", saved[-1]
            state = {**snapshot.progress.as_dict(), "best_value": None, **snapshot.identity}
            write_whole(folder, state, snapshot.arrays)
            made = self._made(case, [])
            assert progress_in(read(folder)[0], made)[0] == snapshot.progress
            again: list[float] = self._trained(made, [], {}, stored=read(folder))["steps"]
            return again

    return Streaming().do


def built(path: Path) -> Any:
    """The model of the user's file, which runs here as it stands."""
    return namespace(path)["build"]()


def namespace(path: Path) -> dict[str, Any]:
    """What the user's file holds."""
    found: dict[str, Any] = {}
    exec(compile(path.read_text(), str(path), "exec"), found)
    return found


def fitted(case: str) -> dict[str, Any]:
    """Train a case by `fit`, eagerly: that spares the tracing."""
    import keras
    import numpy as np
    from parity_jobs import mean_as_traced

    mean_as_traced()
    own = namespace(Path("streams.py"))
    model, found = own["build"](), own[case]()
    train, held = found if isinstance(found, tuple) else (found, None)
    settings = [each.removeprefix("training.").split("=") for each in SETTINGS.get(case, [])]
    options = {name: int(value) for name, value in settings}
    if case == "single":
        train = train.batch(options.pop("batch_size"))
    if case == "sequence":
        # `fit` draws the order of the batches; the plan's follows from seed and pass.
        train = _in_order(train)
    if case in ("generated", "generator"):
        train, options = _repeated(own["generated"]), {"steps_per_epoch": len(own["SIZES"])}
    loss = keras.losses.SparseCategoricalCrossentropy(from_logits=True)
    metrics = ["sparse_categorical_accuracy"]
    model.compile(keras.optimizers.Adam(0.02), loss, metrics=metrics, run_eagerly=True)
    history = model.fit(
        train, epochs=EPOCHS, validation_data=held, shuffle=False, verbose=0, **options
    ).history
    return {
        "epochs": [
            {name: each[epoch] for name, each in history.items()} for epoch in range(EPOCHS)
        ],
        "weights": [np.asarray(value).tolist() for value in model.get_weights()],
    }


def _repeated(generated: Any) -> Any:
    while True:
        yield from generated()


def _in_order(train: Any) -> Any:
    """Give the batches of pass after pass in the plan's order."""
    import keras
    import numpy as np

    class Ordered(keras.utils.PyDataset):  # type: ignore[misc]
        def __init__(self) -> None:
            super().__init__()
            self.number = -1  # `fit` tells the end of a pass before the first

        def __len__(self) -> int:
            return 5

        def __getitem__(self, index: int) -> Any:
            seeds = [0x0DE2, SEED, max(self.number, 0)]
            order = np.random.Generator(np.random.PCG64(seeds)).permutation(5)
            return train[int(order[index])]

        def on_epoch_end(self) -> None:
            self.number += 1
            train.on_epoch_end()

    return Ordered()


def main() -> None:
    way, cases = json.loads(sys.stdin.read())
    do = fitted if way == "fit" else trained(way)
    print(json.dumps({case: do(case) for case in cases}))


if __name__ == "__main__":
    sys.path += os.environ["PYTHONPATH"].split(os.pathsep)
    main()
