"""Find out why a loss is not finite.

The steps before it are repeated from the newest finite weights, and the last one is examined. The
order of the samples is a function of the seed and the epoch, so the steps since a checkpoint, or
since the beginning, can be repeated. They are repeated by the same compiled function; only the last
two are examined, with a plain copy of the model.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any

import keras
import numpy as np
import tensorflow as tf

from gpu_studio.contract import RunDirectory, checkpoints
from gpu_studio.trainer import checkpoints as stored
from gpu_studio.trainer import keras_objects
from gpu_studio.trainer.data.trees import flat
from gpu_studio.trainer.errors import TrainerError
from gpu_studio.trainer.failures.failure_context import NotFiniteFinding, StepExamination
from gpu_studio.trainer.model_layers import placeable_layers, replaced_call
from gpu_studio.trainer.models import build_model
from gpu_studio.trainer.models.own_training import call_as_fit, own_in_steps
from gpu_studio.trainer.progress import CallLength, TrainingProgress
from gpu_studio.trainer.session import Session

PATIENCE_SECONDS = 30.0
Arrays = Mapping[str, np.ndarray]


def examine_steps(
    session: Session,
    run: RunDirectory,
    base: Path,
    step: int,
    hurried: Callable[[], bool] = lambda: False,
) -> NotFiniteFinding | None:
    """Examine `step`, whose loss was not finite.

    None if the steps before it take too long or come from a stream, or if somebody waits.
    Afterwards the session's variables have other values. Raises TrainerError and what TensorFlow
    raises.
    """
    training = session.plan.training
    apart = training.steps_per_epoch or training.initial_epoch  # passes that are no epochs
    if session.dataset.train.stream is not None or apart:
        return None  # the steps before it cannot be repeated from their numbers alone
    with tf.device(session.spread.made_on):
        return _examined(session, run, base, step, hurried)


def rate_as_compiled(session: Session) -> float | None:
    """Return the learning rate that the model was compiled with; None if the plan has the rate."""
    training = session.plan.training
    if training.schedule is not None or not keras_objects.keeps_optimizer(training, session.model):
        return None
    return session.rate


def _examined(
    session: Session, run: RunDirectory, base: Path, step: int, hurried: Callable[[], bool]
) -> NotFiniteFinding | None:
    if own_in_steps(session.model):
        return None  # what a step of its own computes is not known layer by layer
    copy = CopyOfModel(session, base)
    progress, arrays = _newest_sound(run, step) or (TrainingProgress(), copy.fresh())
    before = max(progress.step, step - 1)
    if not _repeat(session, arrays, progress, before, hurried):
        return None
    copy.take(session.capture())
    if before == step:
        return _finding(progress.step, copy.look(*_samples(session, progress, step)), {})
    norms = copy.gradient_norms(*_samples(session, progress, before))
    if not _repeat(session, session.capture(), _moved(session, progress, before), step, hurried):
        return None
    copy.take(session.capture())
    return _finding(progress.step, copy.look(*_samples(session, progress, step)), norms)


def _finding(since: int, look: StepExamination, norms: Mapping[str, float]) -> NotFiniteFinding:
    return NotFiniteFinding(
        since, look, {name: norm for name, norm in norms.items() if np.isfinite(norm)}
    )


def _newest_sound(run: RunDirectory, step: int) -> tuple[TrainingProgress, Arrays] | None:
    """Return the newest finite checkpoint before `step`; None means to start at the beginning.

    At least one step must be left to examine. A resumed run cannot be repeated from its beginning:
    there the checkpoint at `step` itself will do.
    """
    last = step if run.resume_file.exists() else step - 1
    for one in reversed([saved for saved in checkpoints(run) if saved.step <= last]):
        try:
            state, arrays = stored.read(run.checkpoints / one.name)
            progress = TrainingProgress.from_dict(state)
        except (TrainerError, KeyError, TypeError, ValueError):
            continue
        if not any(
            np.any(np.isnan(array)) for name, array in arrays.items() if name.startswith("model/")
        ):
            return progress, arrays
    return None


def _repeat(
    session: Session,
    arrays: Arrays,
    progress: TrainingProgress,
    step: int,
    hurried: Callable[[], bool],
) -> bool:
    """Train from `progress` to `step`; False if that would take too long, or somebody waits."""
    session.restore(arrays)
    stream = session.training_stream(progress.epoch, progress.samples)
    pace, now, end = (
        CallLength(session.plan.training.steps_per_call),
        progress.step,
        time.monotonic() + PATIENCE_SECONDS,
    )
    while now < step:
        if hurried() or time.monotonic() > end:
            return False
        count, began = pace.next(step - now), time.perf_counter()
        session.program.train(stream, now, count)
        pace.measured(count, time.perf_counter() - began)
        now += count
    return True


def _moved(session: Session, progress: TrainingProgress, step: int) -> TrainingProgress:
    """Return where in the data step number `step` begins, counting from `progress`."""
    cut, left = session.cut, step - progress.step
    in_epoch = cut.steps(progress.samples)
    if left < in_epoch:
        return TrainingProgress(progress.epoch, step, 0, progress.samples + left * cut.batch)
    epochs, rest = divmod(left - in_epoch, cut.steps())
    return TrainingProgress(progress.epoch + 1 + epochs, step, 0, rest * cut.batch)


def _samples(session: Session, progress: TrainingProgress, step: int) -> tuple[Any, Any, Any]:
    """The global batch of a step: samples, targets and the data's own weights."""
    at = _moved(session, progress, step)
    order = session.cut.order_of(at.epoch, session.plan.training.seed).numpy()
    rows = order[at.samples : at.samples + session.cut.batch]
    found: tuple[Any, Any, Any] = session.dataset.train.given(rows)
    return found


class CopyOfModel:
    """A copy of the run's model, with its initial weights."""

    def __init__(self, session: Session, base: Path) -> None:
        self._session = session
        plan = session.plan
        self.model = build_model(plan.model, session.dataset, base, plan.training.seed)
        self._layers = [each.layer for each in placeable_layers(self.model)]

    def fresh(self) -> dict[str, np.ndarray]:
        """The variables that the run began with, named as in its checkpoints."""
        plan, steps = self._session.plan, self._session.cut.steps()
        total = steps * plan.training.trained_epochs
        optimizer = keras_objects.make_optimizer(plan.training, steps, total, self.model)
        optimizer.build(self.model.trainable_variables)
        slots = [variable for variable in optimizer.variables if variable.name != "learning_rate"]
        values = [variable.numpy() for variable in (*self.model.weights, *slots)]
        return dict(zip(self._session.variables, values, strict=True))

    def take(self, arrays: Arrays) -> None:
        """Load these weights, named as in a checkpoint."""
        weights = [value for name, value in arrays.items() if name.startswith("model/")]
        for variable, value in zip(self.model.weights, weights, strict=True):
            variable.assign(value)

    def look(self, x: Any, y: Any, weights: Any = ()) -> StepExamination:
        """Find what is first not finite when these samples go through the model."""
        if not all(map(_is_finite, keras.tree.flatten((x, y, weights)))):
            return StepExamination("data")
        for layer in self._layers:
            # Infinite weights that nothing trains may be intended, as in a mask.
            if not all(map(_is_finite, layer.trainable_weights)) or any(
                map(_is_nan, layer.non_trainable_weights)
            ):
                return StepExamination("weights", layer.name)
        for part in self._parts(x, y, weights):
            layer, loss = self._forward(*part)
            if layer is not None:
                return StepExamination("output", layer)
            if not _is_finite(loss):
                return StepExamination("loss")
        return StepExamination("none")

    def gradient_norms(self, x: Any, y: Any, weights: Any = ()) -> dict[str, float]:
        """The norm of each layer's gradient over the whole batch."""
        totals: list[Any] = [None] * len(self.model.trainable_variables)
        for part in self._parts(x, y, weights):
            totals = [
                _sum(total, more)
                for total, more in zip(totals, self._gradients(part, _rows(x)), strict=True)
            ]
        squares = {
            id(variable): float(tf.reduce_sum(tf.square(tf.cast(total, tf.float64))))
            for variable, total in zip(self.model.trainable_variables, totals, strict=True)
            if total is not None
        }
        return {
            layer.name: sum(
                squares.get(id(variable), 0.0) for variable in layer.trainable_variables
            )
            ** 0.5
            for layer in self._layers
            if layer.trainable_variables
        }

    def _parts(self, *samples: Any) -> Iterator[Any]:
        """Cut the batch into parts as large as those that a device computed in training."""
        count = _rows(samples)
        rows = max(1, -(-count // self._session.cut.replicas))
        for first in range(0, count, rows):
            yield keras.tree.map_structure(
                lambda each, begin=first: each[begin : begin + rows], samples
            )

    def _forward(self, *part: Any) -> tuple[str | None, Any]:
        """Return the first layer whose output is not finite, and the mean loss."""
        bad: list[str] = []
        with self._watched(bad):
            losses = self._losses(*part)
        return (bad[0] if bad else None), tf.reduce_mean(losses)

    def _losses(self, x: Any, y: Any, weights: Any) -> Any:
        outputs = call_as_fit(self.model, x, training=True)
        return self._session.program.loss(y, outputs, *([weights] if flat(weights) else []))

    def _gradients(self, part: Any, samples: int) -> list[Any]:
        variables = self.model.trainable_variables
        with tf.GradientTape() as tape:
            loss = tf.reduce_sum(self._losses(*part)) / samples
        return [
            tf.convert_to_tensor(g) if g is not None else None
            for g in tape.gradient(loss, [v.value for v in variables])
        ]

    @contextmanager
    def _watched(self, bad: list[str]) -> Iterator[None]:
        with ExitStack() as stack:
            for layer in self._layers:
                stack.enter_context(replaced_call(layer, _watching(layer.name, bad)))
            yield


def _watching(name: str, bad: list[str]) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    def around(call: Callable[..., Any]) -> Callable[..., Any]:
        def watched(*args: Any, **kwargs: Any) -> Any:
            outputs = call(*args, **kwargs)
            if not all(
                _is_finite(each) for each in keras.tree.flatten(outputs) if tf.is_tensor(each)
            ):
                bad.append(name)
            return outputs

        return watched

    return around


def _rows(samples: Any) -> int:
    return len(keras.tree.flatten(samples)[0])


def _is_finite(values: Any) -> bool:
    array = np.asarray(values.numpy() if hasattr(values, "numpy") else values)
    return not np.issubdtype(array.dtype, np.inexact) or bool(np.all(np.isfinite(array)))


def _is_nan(variable: Any) -> bool:
    return bool(np.any(np.isnan(variable.numpy()))) if "float" in str(variable.dtype) else False


def _sum(total: Any, more: Any) -> Any:
    return more if total is None else total if more is None else total + more
