"""Many trainings in one TensorFlow process with four logical CPUs: jobs in, results out, as JSON.

`python placed_jobs.py` is the process; `answers` starts it, because pytest's own has made its
devices already. A job is a name and: `model` (of made_models; else the plan's), `settings` of the
plan, `layers`, `micro_batches`, `recompute`, `steps`, `first` and `offset` where it goes on from
the variables of the job `after`, `save` the model to a file, `evaluate` whether it is evaluated as
well (it is by default), `eager` whether it trains and evaluates without tracing graphs. A result
has `losses`, `evaluated`, `events`, `where` its variables are, `peak` memory and `kept` values, or
an `error`."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

Job = Mapping[str, Any]

PLAN = """
version = 1
[[devices.carve]]
device = "CPU:0"
slices_mib = [0, 0, 0, 0]
[model]
name = "mlp"
options = { hidden = [8, 8, 8] }
[data]
name = "synthetic"
options = { shape = [12], samples = 50, classes = 4 }
test_fraction = 0.0
[training]
batch_size = 13
metrics = []
"""


ONE_BY_ONE = {"TF_NUM_INTEROP_THREADS": "1"}
"""With this TensorFlow runs one operation of a graph after another."""


def answers(jobs: Mapping[str, Job], folder: Path, **variables: str) -> dict[str, Any]:
    """The result of every job, computed in one process with these environment variables."""
    import warm_python

    environment = {
        **os.environ,
        "TF_CPP_MIN_LOG_LEVEL": "3",
        "PYTHONPATH": os.pathsep.join(sys.path),
        **variables,
    }
    command = warm_python.command(__file__)
    done = subprocess.run(
        command, input=json.dumps(jobs), capture_output=True, text=True, cwd=folder, env=environment
    )
    assert done.returncode == 0, done.stderr[-4000:]
    results: dict[str, Any] = json.loads(done.stdout.splitlines()[-1])
    return results


class Worker:
    """Does the jobs, with real sessions; only the devices are set up once for all of them."""

    def __init__(self) -> None:
        from gpu_studio.plan import loads
        from gpu_studio.trainer import devices, session

        self._session, self._plan = session, loads(PLAN)
        logical = devices.set_up(self._plan)
        vars(session)["devices"].set_up = lambda *_: logical
        self._build_model = vars(session)["build_model"]
        self._captured: dict[str, Any] = {}

    def do(self, name: str, job: Job) -> dict[str, Any]:
        from gpu_studio.trainer.errors import TrainerError

        told: list[Any] = []
        try:
            made = self._made(job, told)
        except TrainerError as error:
            return {"error": error.message, "suggestions": list(error.suggestions)}
        if "after" in job:
            made.restore(self._captured[job["after"]])
        if "save" in job:
            made.model.save(job["save"])
        with _one_by_one() if job.get("eager") else _nothing():
            trained = self._trained(made, job, told)
        self._captured[name] = captured = made.capture()
        return {
            **trained,
            "shapes": {key: list(value.shape) for key, value in captured.items()},
            "kept": {
                key: value.tolist()
                for key, value in captured.items()
                if job.get("keep", "\0") in key
            },
            "where": [[v.path, v.value.device[-5:]] for v in made.program.storage],
            "events": [_plain(event) for event in told],
        }

    def _made(self, job: Job, told: list[Any]) -> Any:
        import made_models

        from gpu_studio.plan import with_settings

        maker = getattr(made_models, job.get("model", ""), None)
        vars(self._session)["build_model"] = (
            (lambda *_: _seeded(maker)) if maker else self._build_model
        )
        plan = with_settings(self._plan, job.get("settings", ()))
        return self._session.build(_placed(plan, job), Path.cwd(), told.append)

    def _trained(self, made: Any, job: Job, told: list[Any]) -> dict[str, Any]:
        import tensorflow as tf

        stream = made.training_stream(0, job.get("offset", 0))
        tf.config.experimental.reset_memory_stats("CPU:0")
        before = tf.config.experimental.get_memory_info("CPU:0")["current"]
        with _watched(made, told) if job.get("watched") else _nothing():
            losses = made.program.train(stream, job.get("first", 0), job.get("steps", 4)).losses
        peak = tf.config.experimental.get_memory_info("CPU:0")["peak"] - before
        return {"losses": losses.tolist(), "peak": peak} | (
            _evaluated(made) if job.get("evaluate", True) else {}
        )


def _evaluated(made: Any) -> dict[str, Any]:
    split = made.dataset.validation
    steps = made.cut_for(split).steps()
    call = made.program.evaluate(made.evaluation_stream(split), 0, steps)
    return {"evaluated": call.losses.tolist()}


def _seeded(maker: Any) -> Any:
    import keras

    keras.backend.clear_session()
    keras.utils.set_random_seed(0)
    return maker()


def _placed(plan: Any, job: Job) -> Any:
    from dataclasses import replace

    from gpu_studio.plan import Placed

    if "layers" not in job:
        return plan
    layers = {
        path: tuple(on) if isinstance(on, list) else (on,) for path, on in job["layers"].items()
    }
    placed = Placed(job.get("micro_batches", 1), layers, job.get("recompute", False))
    return replace(plan, distribution=replace(plan.distribution, strategy="placed", placed=placed))


def _watched(made: Any, told: list[Any]) -> Any:
    """The proof of a placed run, held against a model that was placed in another way."""
    from made_models import PLACES

    from gpu_studio.trainer.model_layers import placeable_layers
    from gpu_studio.trainer.placed.placing import LayerAssignment
    from gpu_studio.trainer.placed.proof import Proof

    found = placeable_layers(made.model)
    seats = [
        LayerAssignment(n, each.path, each.layer, (PLACES[n],), PLACES[n])
        for n, each in enumerate(found)
    ]
    proof = Proof(seats, told.append)

    @contextmanager
    def watching() -> Any:
        import tensorflow as tf

        with proof.watching():
            yield
        proof.report(tf.Graph(), 1.0)

    return watching()


def _nothing() -> Any:
    from contextlib import nullcontext

    return nullcontext()


@contextmanager
def _one_by_one() -> Iterator[None]:
    import tensorflow as tf

    tf.config.run_functions_eagerly(True)
    try:
        yield
    finally:
        tf.config.run_functions_eagerly(False)


def _plain(event: Any) -> dict[str, Any]:
    from gpu_studio.contract import events

    return events.as_dict(event)


def spread(paths: list[str], devices: int = 4) -> dict[str, str]:
    """As many layers on each device as on the others, in their order."""
    return {path: f"CPU:{number * devices // len(paths)}" for number, path in enumerate(paths)}


def main() -> None:
    """Do the jobs on stdin."""
    worker = Worker()
    results = {name: worker.do(name, job) for name, job in json.load(sys.stdin).items()}
    print(json.dumps(results))


if __name__ == "__main__":
    sys.path += os.environ["PYTHONPATH"].split(os.pathsep)
    main()
