"""How a model of the user's own wants to be trained, which here is the plan's affair."""

from __future__ import annotations

from typing import Any

import keras

from gpu_studio.trainer.errors import ModelError

_STEPS = (
    "train_step",
    "test_step",
    "compute_loss",
    "fit",
    "train_on_batch",
    "make_train_function",
    "make_test_function",
)
"""What Keras trains and evaluates by. Training here calls the model and none of them."""


def check_steps(source: str, made: keras.Model) -> None:
    """Raises ModelError if the model that `source` made has steps of its own, or nothing to be called by."""
    own = [name for name in _STEPS if _is_own(made, name)]
    kind = type(made).__name__
    if own:
        raise ModelError(
            f"{source} returns a {kind} with its own {own[0]}, which GPU Studio would never call: it trains the "
            "model's outputs with the plan's loss and optimizer, so something else would be trained than was written.",
            [
                "Train it with Keras' own fit, in a script.",
                f"If the plan's loss is what it is to learn by, take {' and '.join(own)} out of it.",
                "What its layers give to add_loss is part of the loss here, too.",
            ],
        )
    if _has_no_call(made):
        raise ModelError(
            f"{source} returns a {kind} that has no method call, so there is nothing that makes outputs of samples.",
            [
                f"Give {kind} a method call(self, inputs) that returns the outputs.",
                "Or build the model as keras.Model(inputs, outputs).",
                "A model of several networks that train each other, such as a GAN, needs a script of its own.",
            ],
        )


def compiled_with(model: keras.Model) -> str:
    """By which optimizer and loss the model was compiled, in words; empty if it was not."""
    # A model that is no graph became the only layer of one of the same name.
    inner = model.layers[-1] if model.layers else model
    own = inner if isinstance(inner, keras.Model) and inner.name == model.name else model
    if not getattr(own, "compiled", False):
        return ""
    return " and ".join(filter(None, [type(own.optimizer).__name__, _named(own.loss)]))


def _is_own(made: keras.Model, name: str) -> bool:
    found = getattr(made, name, None)
    return getattr(found, "__func__", found) is not getattr(keras.Model, name)


def _has_no_call(made: keras.Model) -> bool:
    return getattr(type(made), "call", None) is keras.Model.call


def _named(loss: Any) -> str:
    if loss is None or isinstance(loss, str):
        return loss or ""
    return str(getattr(loss, "__name__", type(loss).__name__))
