"""The logs of a model's own steps by name, of which a run shows, keeps and tells all."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from typing import Any, NamedTuple

import keras
import numpy as np
import tensorflow as tf

from gpu_studio.contract import Log, Warned
from gpu_studio.trainer.curves import MOST, logged, words_of
from gpu_studio.trainer.errors import UserCodeError
from gpu_studio.trainer.meters import Call, Deltas, Tally
from gpu_studio.trainer.models.own_training import (
    COMPUTE_LOSS,
    TRAIN_STEP,
    is_own,
    own_in_steps,
    speaks_of_replicas,
)
from gpu_studio.trainer.user_code.telling import beginning, kind_in_words, root_words


def logs_of(model: keras.Model, kind: str, returned: Any) -> dict[str, Any]:
    """Return what the step `kind` has returned, as `fit` reports it. Raises UserCodeError."""
    file, line = beginning(getattr(model, kind))
    step, begins = f"{type(model).__name__}.{kind}", f"It begins in line {line} of {file}."
    if not isinstance(returned, Mapping) or not returned:
        raise UserCodeError(
            f"{step} returns {kind_in_words(returned)} where its logs are needed, numbers by name.",
            ["Let it end with: return {m.name: m.result() for m in self.metrics}.", begins],
        )
    return _flat(returned)


def _flat(logs: Mapping[str, Any]) -> dict[str, Any]:
    """Return the logs without the names of the dictionaries in them."""
    found: dict[str, Any] = {}
    for name, value in logs.items():
        found |= _flat(value) if isinstance(value, Mapping) else {name: value}
    return found


class Entry(NamedTuple):
    """A log of a step, and the shape in which it is kept.

    Of an array whose size only a batch tells, or of very many numbers, that is its mean.
    """

    name: str
    shape: tuple[int, ...] = ()
    is_mean: bool = False

    @property
    def size(self) -> int:
        """How many numbers are kept of it."""
        return int(np.prod(self.shape))


def entry_of(name: str, value: Any) -> Entry:
    """Return how a log is kept, of which a step has returned `value`."""
    shape = tf.convert_to_tensor(value).shape
    size = shape.num_elements()
    is_mean = size is None or size > MOST
    return Entry(name, () if is_mean else tuple(shape), is_mean)


def numbers(value: Any, entry: Entry) -> Any:
    """Return the numbers that are kept of a log, as float32 of shape (size,)."""
    value = tf.cast(tf.convert_to_tensor(value), tf.float32)
    return tf.reshape(tf.reduce_mean(value) if entry.is_mean else value, (entry.size,))


def events_of_arrays(model: keras.Model, kind: str, entries: Sequence[Entry]) -> Iterator[Log]:
    """Say what is shown of the logs of a step that are arrays."""
    for each in entries:
        if each.is_mean:
            yield Log(
                message=f"{type(model).__name__}.{kind} returns {each.name} as an array, whose "
                "mean is shown, and handed to callbacks."
            )
        elif each.size != 1:
            yield Log(message=words_of(each.name, np.zeros(each.shape)))


def _parts(entries: Sequence[Entry], logs: np.ndarray) -> list[np.ndarray]:
    """Return the numbers of each log, along the last axis of `logs`."""
    ends = np.cumsum([each.size for each in entries])
    return np.split(logs, ends[:-1], axis=-1)


def shown_losses(entries: Sequence[Entry], logs: np.ndarray) -> np.ndarray:
    """Return what stands for the loss in each step: `loss`, else the first whose name has it.

    `logs` has shape (steps, numbers). What is not finite in any loss is not finite here.
    """
    found = [place for place, each in enumerate(entries) if "loss" in each.name] or [0]
    means = np.stack([part.mean(axis=-1) for part in _parts(entries, logs)], axis=-1)
    losses = means[:, sorted(found, key=lambda place: entries[place].name != "loss")]
    wrong = np.where(np.isfinite(losses), 0, losses).sum(axis=1)
    shown: np.ndarray = losses[:, 0] + wrong
    return shown


class LoggedCall(Call):
    """A call whose `deltas` are the kind of its steps, and the logs of the last."""

    def followed_by(self, other: Call) -> Call:
        """Join this call and a call of later steps into one."""
        return LoggedCall(
            np.concatenate([self.losses, other.losses]),
            other.deltas,
            self.input_seconds + other.input_seconds,
            self.aside_seconds + other.aside_seconds,
            np.concatenate([self.batches, other.batches]),
            self.exchange_seconds + other.exchange_seconds,
        )


class LogTally(Tally):
    """The logs of a pass over a split: those of its last step."""

    def __init__(self, entries: Mapping[str, Sequence[Entry]]) -> None:
        """`entries` are the logs that each kind of step returns."""
        self._entries = entries
        self._kind, self._logs = TRAIN_STEP, np.zeros(0)
        self.samples = 0

    def add(self, loss: float, samples: int, deltas: Deltas) -> None:  # noqa: ARG002
        """Take the logs of a call, and count its samples."""
        self.samples += samples
        [[self._kind, self._logs]] = deltas

    def results(self) -> dict[str, Any]:
        """Return every log by name: a number, or an array of several."""
        entries = self._entries[self._kind]
        pairs = zip(entries, _parts(entries, self._logs), strict=True)
        return logged({each.name: part.reshape(each.shape) for each, part in pairs})

    def arrays(self) -> dict[str, np.ndarray]:
        """Return the tally as named arrays, for a checkpoint."""
        return {"logs": self._logs}

    def restore(self, arrays: dict[str, np.ndarray]) -> bool:
        """Continue from `arrays()`. Those of other logs change nothing; then return False."""
        logs = arrays.get("logs", np.zeros(0))
        if len(logs) != sum(each.size for each in self._entries.get(TRAIN_STEP, ())):
            return False
        self._logs = logs
        return True


@contextmanager
def watched_loss(model: keras.Model, shapes: set[tuple[int | None, ...]]) -> Iterator[None]:
    """While entered, note in `shapes` what shapes the model's own `compute_loss` returns."""
    if not is_own(model, COMPUTE_LOSS):
        yield
        return
    compute = model.compute_loss

    def noted(*given: Any, **named: Any) -> Any:
        loss = compute(*given, **named)
        shapes.add(tuple(getattr(loss, "shape", ())))
        return loss

    model.__dict__[COMPUTE_LOSS] = noted
    try:
        yield
    finally:
        del model.__dict__[COMPUTE_LOSS]


def several_losses(model: keras.Model, shapes: set[tuple[int | None, ...]]) -> Iterator[Warned]:
    """Warn where the model's own `compute_loss` returns more than one number."""
    for shape in filter(None, shapes):
        shown = ", ".join("samples" if axis is None else str(axis) for axis in shape)
        file, line = beginning(model.compute_loss)
        yield Warned(
            message=f"{type(model).__name__}.compute_loss returns numbers of shape ({shown}), and "
            "one is needed. As in fit their sum is trained on, so that a larger batch learns "
            "faster, and their mean is shown.",
            suggestion="Let it end with: return keras.ops.mean(loss). It begins in line "
            f"{line} of {file}.",
        )


def not_evaluated(model: keras.Model, error: Exception) -> Warned:
    """Say that Keras' own `test_step` fails for a model with a `train_step` of its own."""
    kind, said = type(model).__name__, root_words(error).rstrip(".")
    return Warned(
        message=f"{kind} has its own train_step but no test_step, and Keras' own cannot evaluate "
        f"it ({said}): nothing is validated or tested.",
        suggestion=f"Give {kind} a method test_step(self, data) that returns its logs. Or set "
        "data.validation_fraction to 0, so that all samples are trained on.",
    )


def named_as_metrics(model: keras.Model, logs: Mapping[str, Any]) -> Iterator[Warned]:
    """Say where `fit` shows a metric that nothing updates in place of what the step returns.

    It shows the model's metrics where the logs have their very names. `logs` are the logs with the
    metric whose result each of them is, or None.
    """
    found: dict[str, Any] = {}
    with suppress(Exception):  # a metric of one's own need not have a result so early
        found = _flat(model.get_metrics_result())
    others = [name for name, metric in logs.items() if metric is None]
    if not others or found.keys() != logs.keys():
        return
    kind, name = type(model).__name__, others[0]
    yield Warned(
        message=f"{kind}.{TRAIN_STEP} returns {name}, and the model has a metric of that name, "
        "which fit would show in its place. Shown here is what the step returns, of the last "
        "batch of each epoch.",
        suggestion=f"Let the step update that metric, and return its result as {name}.",
    )


def warnings_on(model: keras.Model, replicas: int, step: Any) -> Iterator[Warned]:
    """Yield what is to be known of a model's own step; `step` is the graph of it."""
    kind = type(model).__name__
    if {operation.type for operation in step.get_operations()} & _UNSAVED:
        yield Warned(
            message=f"{kind} draws random numbers by tf.random, whose state TensorFlow cannot "
            "save: after a resume it draws others than the run would have drawn.",
            suggestion="Draw by keras.random with a keras.random.SeedGenerator of the model.",
        )
    own = own_in_steps(model)
    if replicas > 1 and own != ["compute_metrics"]:
        yield _shared(kind, own[0], replicas, speaks_of_replicas(model))


def _shared(kind: str, own: str, replicas: int, by_itself: bool) -> Warned:
    calls = f"Each of {replicas} replicas calls {kind}.{own} with its part of a batch."
    if by_itself:
        return Warned(
            message=f"{calls} It asks for replicas itself: their gradients are added up.",
            suggestion="Let its own losses be divided by the number of replicas, as Keras' are.",
        )
    return Warned(
        message=f"{calls} Gradients are averaged by samples: a loss that is a mean over the "
        "samples trains as on one device; one that compares samples compares those of a part.",
        suggestion=f"A sum over the batch of its own would count 1/{replicas}: write it as a mean. "
        "Keras' losses are right with any reduction.",
    )


_UNSAVED = frozenset(
    {
        "Multinomial",
        "ParameterizedTruncatedNormal",
        "RandomGamma",
        "RandomPoissonV2",
        "RandomShuffle",
        "RandomStandardNormal",
        "RandomUniform",
        "RandomUniformInt",
        "TruncatedNormal",
    }
)
"""Operations that draw from a state which only TensorFlow's kernel has."""
