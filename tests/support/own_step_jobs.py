"""Trainings of models with steps of their own in one TensorFlow process, held against `fit`.

`python own_step_jobs.py` reads a way (see `parity_jobs`) and the cases from stdin. A case is a
`model` of `own_step_models` and its `settings`. A result is that of `parity_jobs`, and with the way
`none` that of plain `fit` too, under `fit`.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import traceback
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

if __name__ == "__main__":  # a warm process has another path
    sys.path += os.environ["PYTHONPATH"].split(os.pathsep)

import parity_jobs
from parity_jobs import SEED, WAYS, Case

SAMPLES, HELD_OUT, BATCH, EPOCHS = 49, 21, 16, 2
"""Of 49 samples, the last batch has a single one: of two replicas, one has nothing to do."""
TARGETS = ("distilled", "pairs", "spelled", "stepwise", "apart")
EVALUATED = ("distilled", "pairs", "spelled", "apart")
CLASS_WEIGHT = {"apart": {0: 2.0, 1: 1.0, 2: 0.5}}


def results(way: str, cases: Mapping[str, Case], folder: Path) -> dict[str, Any]:
    """The result of every case under one way, computed in one process."""
    import warm_python

    environment = {
        **os.environ,
        "PYTHONPATH": os.pathsep.join(sys.path),
        "TF_CPP_MIN_LOG_LEVEL": "3",
    }
    done = subprocess.run(
        [*warm_python.command(str(Path(__file__)))],
        input=json.dumps([way, cases]),
        capture_output=True,
        text=True,
        cwd=folder,
        env=environment,
    )
    assert done.returncode == 0, done.stderr[-4000:]
    found: dict[str, Any] = json.loads(done.stdout.splitlines()[-1])
    return found


class Trainer(parity_jobs.Trainer):
    """Does cases with real sessions and the real loop."""

    def _made(self, case: Case, told: list[Any]) -> Any:
        import own_step_models

        from gpu_studio.plan import with_settings

        settings = [f"training.batch_size={BATCH}", f"training.epochs={EPOCHS}"]
        weights = CLASS_WEIGHT.get(case["model"], {})
        settings += [f"training.class_weight.{each}={weight}" for each, weight in weights.items()]
        plan = with_settings(self._plan, [*settings, *case.get("settings", ())])
        vars(self._session)["build_model"] = lambda *_: own_step_models.made(case["model"], SEED)
        vars(self._session)["load_data"] = lambda *_: _dataset(case["model"])
        return self._session.build(plan, Path.cwd(), told.append)


def _dataset(model: str) -> Any:
    import own_step_models

    from gpu_studio.plan.targets import Target
    from gpu_studio.trainer.data import Dataset, Split

    def split(count: int, seed: int) -> Any:
        x, y = own_step_models.samples(count, seed)
        return Split(x, y if model in TARGETS else ())

    held_out = split(HELD_OUT, 1)
    return Dataset("made", split(SAMPLES, 0), held_out, None, Target((), False, 3, False))


def fitted(model: str) -> dict[str, Any]:
    """What `fit` makes of a model, given the samples in the plan's order."""
    import own_step_models
    import tensorflow as tf

    made = own_step_models.made(model, SEED)
    parity_jobs.mean_as_traced()
    made.run_eagerly = True  # spares the tracing
    count = 2 if model in TARGETS else 1
    given = own_step_models.samples(SAMPLES, 0)[:count]

    def batches() -> Iterator[Any]:
        for epoch in range(EPOCHS):
            rows = tf.range(SAMPLES, dtype="int64")
            order = tf.random.experimental.stateless_shuffle(rows, seed=[SEED, epoch]).numpy()
            for first in range(0, SAMPLES, BATCH):
                some = tuple(each[order[first : first + BATCH]] for each in given)
                yield some if count > 1 else some[0]

    specs = tuple(tf.TensorSpec((None, *each.shape[1:]), each.dtype) for each in given)
    data = tf.data.Dataset.from_generator(
        batches, output_signature=specs if count > 1 else specs[0]
    )
    history = made.fit(
        data,
        epochs=EPOCHS,
        steps_per_epoch=-(-SAMPLES // BATCH),
        validation_data=own_step_models.samples(HELD_OUT, 1) if model in EVALUATED else None,
        validation_batch_size=BATCH,
        class_weight=CLASS_WEIGHT.get(model),
        verbose=0,
    ).history
    epochs = [{name: each[epoch] for name, each in history.items()} for epoch in range(EPOCHS)]
    return {"epochs": epochs, "weights": [value.tolist() for value in made.get_weights()]}


def main() -> None:
    """Do the cases on stdin."""
    way, cases = json.load(sys.stdin)
    trainer = Trainer(WAYS[way])
    found = {name: _done(trainer, case) for name, case in cases.items()}
    if way == "none":
        models = dict.fromkeys(case["model"] for case in cases.values())
        found["fit"] = {model: fitted(model) for model in models}
    print(json.dumps(found))


def _done(trainer: Trainer, case: Case) -> dict[str, Any]:
    try:
        return trainer.do(case)
    except Exception:  # noqa: BLE001 (whatever TensorFlow raises)
        return {"error": traceback.format_exc()[-1500:]}


if __name__ == "__main__":
    main()
