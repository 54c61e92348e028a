"""The model that a callback is given: the one that trains, which answers as in `fit`.

Whatever the strategy, `evaluate` and `predict` run on one device: Keras would share a batch among
the replicas, and under central storage count its last samples wrongly.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any

import keras
import tensorflow as tf
from keras.src.models.functional import Functional

from gpu_studio.plan import listed
from gpu_studio.trainer.keras_objects import Head
from gpu_studio.trainer.models.own_training import own_in_steps
from gpu_studio.trainer.placed import PlacedModel, PlacedProgram
from gpu_studio.trainer.session import Session


def answering(session: Session) -> Any:
    """Return the model of the session, ready for callbacks.

    A model of the user's own that is no graph is the only layer of one that trains: it is the one
    that they know.
    """
    model = session.model if own_in_steps(session.model) else _own(session.model)
    if not own_in_steps(model):
        model._distribute_strategy = None  # noqa: SLF001  (Keras asks nobody else)
        if not model.compiled or model.optimizer is not session.optimizer:
            _compile(model, session)
    model.stop_training = False
    if session.optimizer is not None:
        make_readable(session.optimizer)
    placed = _placed(session)
    if placed is not None and placed.wholes:
        _refuse_export(model, placed)
    return model


@contextmanager
def at_home(session: Session) -> Iterator[None]:
    """While entered, what a callback computes runs where the model is."""
    placed = _placed(session)
    if placed is None:
        with tf.device(session.spread.made_on):
            yield
    else:
        with placed.placed_calls():
            yield


def _placed(session: Session) -> PlacedModel | None:
    return session.program.placed if isinstance(session.program, PlacedProgram) else None


def _own(model: Any) -> Any:
    inner = [each for each in model.layers if not isinstance(each, keras.layers.InputLayer)]
    if len(inner) == 1 and isinstance(inner[0], keras.Model):
        return model if isinstance(inner[0], keras.Sequential | Functional) else inner[0]
    return model


class _HeadLoss(keras.losses.Loss):  # type: ignore[misc]  # Keras has no types
    """The loss of a head as `evaluate` takes it."""

    def __init__(self, head: Head) -> None:
        super().__init__(name=head.loss.name)
        self._judged = head.loss.judged

    def call(self, y_true: Any, y_pred: Any) -> Any:
        """Return the loss of each sample, of those that count."""
        losses, counted = self._judged(y_true, y_pred)
        return losses if counted is None else losses / tf.reduce_mean(counted)


def _compile(model: Any, session: Session) -> None:
    heads: Sequence[Head] = session.program.loss.heads
    losses: Any = dict.fromkeys(getattr(model, "output_names", ()))  # Keras wants all of them
    losses |= {head.name: _HeadLoss(head) for head in heads if head.learns}
    metrics: Any = {head.name: list(head.metrics) for head in heads}
    weights: Any = dict.fromkeys(losses, 1.0) | {head.name: head.weight for head in heads}
    if len(heads) == 1 and not heads[0].name:
        losses, metrics, weights = losses[""], metrics[""], None
    model.compile(
        optimizer=session.optimizer,
        loss=losses,
        metrics=metrics,
        loss_weights=weights,
        jit_compile=False,
        auto_scale_loss=False,
    )


def _refuse_export(model: Any, placed: PlacedModel) -> None:
    """Refuse what would need the parts of weights on several devices in one graph."""
    split = listed([seat.path for seat in placed.seats if seat.split])

    def refuse(*_given: Any, **_named: Any) -> Any:
        raise NotImplementedError(
            f"self.model.export cannot be used here: the weights of {split} are split over "
            "devices; save() and save_weights() can, and the run's own checkpoints hold all"
        )

    model.export = refuse


# Scripts have the function below as it stands, see `export.script_text`.


def make_readable(optimizer: Any) -> None:
    """Let `float(optimizer.learning_rate)` work where that is mirrored over devices."""
    kind: Any = type(optimizer.variables[0].value)
    if not hasattr(kind, "__float__"):
        kind.__float__ = lambda value: float(value.numpy())
        kind.__int__ = lambda value: int(value.numpy())
