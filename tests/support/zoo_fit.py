"""Programs of the zoo by Keras' own `fit`, in a process that never imports the package.

`python zoo_fit.py FOLDER SETTINGS NAME…` writes FOLDER/NAME.json and NAME.npz: the measures of each
epoch, when each ended, and the weights; or an `error`. SETTINGS (JSON) change the training. Arrays
come in the plan's order, which this computes by itself: TensorFlow's stateless shuffle by (seed,
epoch). Random states begin each step where the trainer's do, as in `parity_jobs`. With the setting
`as_written`, all that is left out, and `fit` trains as it does in a script: to measure its speed.
"""

from __future__ import annotations

import importlib.util
import inspect
import json
import os
import random
import sys
import time
import traceback
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any

ORDER = 0x0DE2
"""Keeps the order of the batches of a `PyDataset` apart from other uses of the seed."""


def main(folder: Path, settings: Mapping[str, Any], names: list[str]) -> None:
    """Fit the programs."""
    import numpy as np
    from zoo_table import programs

    table = programs()
    for name in names:
        try:
            told, weights = fitted(table[name], settings)
            np.savez(folder / f"{name}.npz", *weights)
        except Exception:  # noqa: BLE001 (whatever a program raises)
            told = {"error": traceback.format_exc()}
        (folder / f"{name}.json").write_text(json.dumps(told))


def fitted(program: Any, settings: Mapping[str, Any]) -> tuple[Any, Any]:
    """Fit one, as its user would in a script."""
    import keras
    from keras.src.utils import naming

    module = _module(program)
    as_written = settings.get("as_written", False)
    keras.utils.set_random_seed(program.document()["training"]["seed"])  # as a script begins
    document = program.document(**{k: v for k, v in settings.items() if k != "as_written"})
    training = document["training"]
    data, validation, options = (_as_written if as_written else _data)(module.load(), document)
    naming.reset_uids()
    keras.utils.set_random_seed(training["seed"])
    model = getattr(module, program.reference or program.model)()
    plain = type(model).train_step is keras.Model.train_step
    if model.built and plain and not as_written:
        # Else `fit` traces its step twice: once to make the optimizer's variables, once to train.
        model.optimizer.build(model.trainable_variables)
    clock = _Clock.made(model, places=not as_written)
    callbacks = [clock, *_callbacks(training, module)]
    if "class_weight" in training:
        options["class_weight"] = {int(key): each for key, each in training["class_weight"].items()}
    history = model.fit(
        data,
        epochs=training["epochs"],
        validation_data=validation,
        callbacks=callbacks,
        verbose=0,
        **options,
    ).history
    ran = len(next(iter(history.values())))
    epochs = [{name: float(each[epoch]) for name, each in history.items()} for epoch in range(ran)]
    return {"epochs": epochs, "ends": clock.ends, "steps": clock.steps}, model.get_weights()


def _module(program: Any) -> Any:
    spec = importlib.util.spec_from_file_location(program.file.stem, program.file)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[program.file.stem] = module
    spec.loader.exec_module(module)
    return module


def _callbacks(training: Mapping[str, Any], module: Any) -> list[Any]:
    made = []
    for each in training.get("callbacks", ()):
        found = getattr(module, each["name"].rpartition(":")[2])()
        made += found if isinstance(found, list) else [found]
    return made


def _as_written(found: Any, document: Mapping[str, Any]) -> tuple[Any, Any, dict[str, Any]]:
    """What `fit` gets in a script: the data as they are."""
    import keras
    import tensorflow as tf

    training, held = document["training"], document["data"]["validation_fraction"]
    options = {key: training[key] for key in ("steps_per_epoch",) if key in training}
    streams = (tf.data.Dataset, keras.utils.PyDataset)
    if isinstance(found, streams) or inspect.isgenerator(found):
        return found, None, options
    if isinstance(found, tuple) and all(isinstance(each, streams) for each in found):
        return *found, options
    parts = keras.tree.map_structure(_readable, found if isinstance(found, tuple) else (found,))
    options |= {"batch_size": training["batch_size"], "validation_split": held}
    named = dict(zip(("y", "sample_weight"), parts[1:], strict=False))
    return parts[0], None, options | named


def _readable(array: Any) -> Any:
    """Texts as TensorFlow has them: `fit` takes no others."""
    import tensorflow as tf

    return tf.constant(array) if array.dtype.kind in "US" else array


def _data(found: Any, document: Mapping[str, Any]) -> tuple[Any, Any, dict[str, Any]]:
    """What `fit` gets to train on, to validate on, and its further arguments."""
    import keras
    import tensorflow as tf

    training, batch = document["training"], document["training"]["batch_size"]
    steps = {key: training[key] for key in ("steps_per_epoch",) if key in training}
    streams = (tf.data.Dataset, keras.utils.PyDataset)
    if isinstance(found, keras.utils.PyDataset):
        return _ordered(found, training), None, {"steps_per_epoch": len(found)}
    if isinstance(found, streams) or inspect.isgenerator(found):
        return found, None, steps
    if isinstance(found, tuple) and all(isinstance(each, streams) for each in found):
        return *found, steps
    rows = len(keras.tree.flatten(found)[0])
    held = document["data"]["validation_fraction"]
    kept = rows - (max(1, round(held * rows)) if held else 0)
    some, rest = (_taken(found, slice(kept)), _taken(found, slice(kept, None)))
    count = -(-kept // batch)
    data = _in_order(some, kept, training)
    # Evaluated in batches of the plan's, not of 32: the mean over batches of means depends on it.
    extra = {"validation_batch_size": batch} if held else {}
    return data, rest if held else None, {"steps_per_epoch": count, **extra}


def _ordered(files: Any, training: Mapping[str, Any]) -> Any:
    """The batches of a `PyDataset` in the plan's order, which `fit` would draw anew in each run."""
    import keras
    import numpy as np
    import tensorflow as tf

    def batches() -> Iterator[Any]:
        for epoch in range(training["epochs"]):
            generator = np.random.Generator(np.random.PCG64([ORDER, training["seed"], epoch]))
            for place in generator.permutation(len(files)):
                yield files[int(place)]

    def kind(array: Any) -> Any:
        return tf.TensorSpec((None, *array.shape[1:]), array.dtype)

    signature = keras.tree.map_structure(kind, files[0])
    return tf.data.Dataset.from_generator(batches, output_signature=signature)


def _taken(tree: Any, rows: Any) -> Any:
    import keras

    return keras.tree.map_structure(lambda array: array[rows], tree)


def _in_order(arrays: Any, rows: int, training: Mapping[str, Any]) -> Any:
    """The batches of all epochs, in the plan's order."""
    import keras
    import tensorflow as tf

    batch = training["batch_size"]

    def places() -> Iterator[Any]:
        for epoch in range(training["epochs"]):
            seeds = [training["seed"], epoch]
            order = tf.random.experimental.stateless_shuffle(tf.range(rows, dtype="int64"), seeds)
            for first in range(0, rows, batch):
                yield order[first : first + batch]

    held = keras.tree.map_structure(tf.constant, arrays)
    chosen = tf.data.Dataset.from_generator(
        places, output_signature=tf.TensorSpec((None,), tf.int64)
    )
    data = chosen.map(lambda some: keras.tree.map_structure(lambda a: tf.gather(a, some), held))
    return data.prefetch(8)


def _undrawn(find: Callable[[], Any]) -> Any:
    """Return what `find` gives, and let it draw nothing that layers built later would draw."""
    drawn = random.getstate()
    found = find()
    random.setstate(drawn)
    return found


class _Clock:
    """Made late, so that Keras is imported only in the process that fits."""

    @staticmethod
    def made(model: Any, *, places: bool) -> Any:
        import keras
        from parity_jobs import states_of

        steps = ("train_step", "test_step", "compute_loss", "compute_metrics")
        own = any(getattr(type(model), each) is not getattr(keras.Model, each) for each in steps)

        class Clock(keras.callbacks.Callback):  # type: ignore[misc]
            """Notes when epochs end, and puts the random states where each step's begin."""

            def __init__(self) -> None:
                super().__init__()
                self.ends, self.steps = list[float](), 0
                self.states: list[tuple[Any, int]] = []
                self.complete = False

            def on_train_batch_begin(self, batch: int, logs: Any = None) -> None:
                self._place(self.steps)
                self.steps += 1

            def on_test_batch_begin(self, batch: int, logs: Any = None) -> None:
                self._place(-1 - batch)

            def on_epoch_end(self, epoch: int, logs: Any = None) -> None:
                self.ends.append(time.monotonic())

            def _place(self, step: int) -> None:
                if own or not places:  # their steps go on drawing, here as there
                    return
                if not self.complete:  # Keras builds some models in their first step only
                    self.states, self.complete = _undrawn(lambda: states_of(model)), model.built
                for state, seed in self.states:
                    state.assign([seed, 4096 * step])

        return Clock()


if __name__ == "__main__":
    sys.path += os.environ["PYTHONPATH"].split(os.pathsep)
    main(Path(sys.argv[1]), json.loads(sys.argv[2]), sys.argv[3:])
