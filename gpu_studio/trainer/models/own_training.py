"""Models that bring methods of their own for what Keras does in a step: which, and with what."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager, suppress
from types import CodeType
from typing import Any

import keras
import tensorflow as tf
from keras.src import backend

from gpu_studio.plan import Named, Training
from gpu_studio.trainer.data.values import type_name
from gpu_studio.trainer.errors import ModelError, PlanRefused
from gpu_studio.trainer.keras_objects.named import construct, keras_class
from gpu_studio.trainer.user_code.telling import beginning

TRAIN_STEP, TEST_STEP, COMPUTE_LOSS = "train_step", "test_step", "compute_loss"
_AUTO = "auto"
_IN_STEPS = (TRAIN_STEP, TEST_STEP, COMPUTE_LOSS, "compute_metrics")
_AROUND_STEPS = ("fit", "train_on_batch", "make_train_function", "make_test_function")
"""The methods that call the steps. A run has a loop of its own, and calls none of them."""


def own_in_steps(model: keras.Model) -> list[str]:
    """Return which of the methods that a step consists of are the model's own."""
    return [name for name in _IN_STEPS if is_own(model, name)]


def refuse_beside_own_steps(training: Training, source: str, own: str, *, placed: bool) -> None:
    """Raises PlanRefused for what a model's `own` step leaves no room for."""
    if training.phases:
        raise PlanRefused(
            f"A phase of training.phases begins with a new optimizer, and {source} has its own "
            f"{own}, which decides by itself what optimizer it uses.",
            ["Leave training.phases out.", "Train a second plan that begins with its weights."],
        )
    if placed:
        raise PlanRefused(
            f"{source} has its own {own}, but only Keras' default step can be placed: what a step "
            "of its own computes belongs to no layer.",
            ["Choose another strategy, such as mirrored, which copies the whole model."],
        )


def own_around_steps(model: keras.Model) -> list[str]:
    """Return which of the methods that call steps are the model's own: a run does not call them."""
    return [name for name in _AROUND_STEPS if is_own(model, name)]


def check_steps(source: str, made: keras.Model) -> None:
    """Raises ModelError if the model from `source` loops over steps itself, or has no `call`.

    A model with a `train_step` of its own needs no `call`.
    """
    own, kind = own_around_steps(made), type(made).__name__
    if own:
        raise ModelError(
            f"{source} returns a {kind} with its own {own[0]}, which GPU Studio would never call: "
            "it calls the model's steps in a loop of its own, so something else would be trained "
            "than was written.",
            [
                f"Put what a step does into {TRAIN_STEP} and {TEST_STEP}: those are called.",
                "Or train it with Keras' own fit, in a script.",
            ],
        )
    if _has_no_call(made) and not is_own(made, TRAIN_STEP):
        raise ModelError(
            f"{source} returns a {kind} that has no method call, so there is nothing that makes "
            "outputs of samples.",
            [
                f"Give {kind} a method call(self, inputs) that returns the outputs.",
                "Or build the model as keras.Model(inputs, outputs).",
                (
                    "A model of several networks that train each other, such as a "
                    f"GAN, needs a {TRAIN_STEP}(self, data) instead."
                ),
            ],
        )


def _has_no_call(made: keras.Model) -> bool:
    return getattr(type(made), "call", None) is keras.Model.call


def is_own(model: keras.Model, name: str) -> bool:
    """Return whether `model` has this method, but not from Keras."""
    found = getattr(model, name, None)
    return getattr(found, "__func__", found) is not getattr(keras.Model, name)


def optimizers_of(model: keras.Model) -> dict[str, Any]:
    """Return every Keras optimizer among the attributes of the model, by the attribute's name."""
    found: dict[str, Any] = {}
    for name, value in vars(model).items():
        for key, each in _held(name, value):
            if isinstance(each, keras.optimizers.Optimizer):
                found.setdefault(key.strip("_"), each)
    return {key: each for key, each in found.items() if _is_first(key, each, found)}


def _held(name: str, value: Any) -> Iterator[tuple[str, Any]]:
    if isinstance(value, Mapping):
        yield from ((f"{name}.{key}", each) for key, each in value.items())
    elif isinstance(value, Sequence) and not isinstance(value, str | bytes):
        yield from ((f"{name}.{place}", each) for place, each in enumerate(value))
    else:
        yield name, value


def _is_first(key: str, optimizer: Any, found: Mapping[str, Any]) -> bool:
    return next(name for name, each in found.items() if each is optimizer) == key


_OF_REPLICAS = frozenset(
    {
        "all_reduce",
        "compute_average_loss",
        "get_replica_context",
        "num_replicas_in_sync",
        "replica_id_in_sync_group",
        "scale_regularization_loss",
    }
)
"""Names in the code of a step that spreads itself over replicas."""


def speaks_of_replicas(model: keras.Model) -> bool:
    """Return whether methods of the model's own classes ask for replicas, and scale for them."""
    own = [kind for kind in type(model).__mro__ if not kind.__module__.startswith("keras.")]
    codes = [
        each.__code__ for kind in own for each in vars(kind).values() if hasattr(each, "__code__")
    ]
    return any(_OF_REPLICAS & names for code in codes for names in _names_in(code))


def _names_in(code: CodeType) -> Iterator[frozenset[str]]:
    yield frozenset(code.co_names)
    for constant in code.co_consts:
        if isinstance(constant, CodeType):
            yield from _names_in(constant)


def compile_as_planned(
    source: str, model: keras.Model, training: Training, optimizer: Callable[[], Any]
) -> None:
    """Compile the model from `source`, if it is not, with `optimizer()` and what the plan names.

    What the plan leaves to `auto` is left out: a step of one's own may need none. Raises ModelError
    if the model compiles itself in a way of its own, and PlanRefused for a wrong name or option.
    """
    if model.compiled:
        return
    if is_own(model, "compile"):
        file, line = beginning(model.compile)
        raise ModelError(
            f"{source} returns a {type(model).__name__} that is not compiled, and no plan says "
            "what its own compile is to be given.",
            ["Call its compile before: return model.", f"It begins in line {line} of {file}."],
        )
    loss, metrics = training.loss, [each for each in training.metrics if each.name != _AUTO]
    model.compile(
        optimizer=optimizer(),
        loss=None if loss.name == _AUTO else _made("training.loss", keras.losses, loss),
        metrics=[_made("training.metrics", keras.metrics, each) for each in metrics],
    )


def _made(field: str, module: Any, named: Named) -> Any:
    factory = keras_class(module, named.name)
    return construct(f"{field}.options", named.name, factory, named.options, {})


def call_as_fit(model: keras.Model, samples: Any, *, training: bool) -> Any:
    """Return the outputs of a model, which is called as `fit` calls it.

    That says whether it trains only to a `call` that takes `training`: in another, dropout drops
    nothing, and batch normalisation works as in inference.
    """
    takes = model._call_has_training_arg  # noqa: SLF001 (no public name)
    return model(samples, training=training) if takes else model(samples)


def symbols_of(arrays: Any, size: int | None = None) -> Any:
    """Return a structure of arrays as Keras' symbols for `size` of their samples, or any number."""
    return keras.tree.map_structure(
        lambda each: keras.KerasTensor((size, *each.shape[1:]), type_name(each.dtype)), arrays
    )


def built(model: keras.Model, given: tuple[Any, Any, Any], size: int | None = None) -> keras.Model:
    """Return the model with its layers built, as far as a look at its step finds them.

    `given` are samples, targets and weights, `size` is as in `Split`. Nothing is computed, and
    nothing drawn or changed. Keras' `fit` does not ask that a model take the samples itself, if
    only its step does.
    """
    symbols = symbols_of(given, size)
    idle = dict.fromkeys(("apply", "apply_gradients"), lambda *_given, **_named: None)
    with ExitStack() as stack:
        stack.enter_context(weights_as_sources())
        for optimizer in optimizers_of(model).values():
            before = dict(optimizer.__dict__)
            optimizer.__dict__.update(idle)
            stack.callback(_set_back, optimizer, before, idle)
        if is_own(model, "call"):
            with suppress(Exception):
                backend.compute_output_spec(model, symbols[0], training=False)
        if not all(layer.built for layer in model._flatten_layers()):  # noqa: SLF001
            with suppress(Exception):
                backend.compute_output_spec(model.train_step, packed(*symbols))
    return model


def _set_back(optimizer: Any, before: Mapping[str, Any], names: Iterable[str]) -> None:
    for name in names:
        optimizer.__dict__.pop(name, None)
        if name in before:
            optimizer.__dict__[name] = before[name]


@contextmanager
def weights_as_sources() -> Iterator[None]:
    """While entered, a gradient by a weight is that by its variable, whatever a layer assigned."""
    owner = next(kind for kind in keras.Variable.__mro__ if "handle" in vars(kind))
    original = vars(owner)["handle"]
    owner.handle = property(_handle)
    try:
        yield
    finally:
        owner.handle = original


def _handle(variable: Any) -> Any:
    own = variable._value  # noqa: SLF001 (`value` is what a scope holds)
    if own is None:
        return variable.value
    # Of a variable with a copy for each replica, outside them: its first.
    first = getattr(own, "_primary", None) if tf.distribute.in_cross_replica_context() else None
    return (own if first is None else first).handle


def packed(x: Any, y: Any, sample_weight: Any) -> Any:
    """Return what `fit` gives a step; what is `()` is left out."""
    given = [None if isinstance(each, tuple) and not each else each for each in (y, sample_weight)]
    return keras.utils.pack_x_y_sample_weight(x, *given)


def training_note(source: str, model: keras.Model) -> str:
    """Say in a sentence what trains the model from `source`."""
    own = " and ".join(own_in_steps(model))
    return (
        f"{source} is trained by its own {own} and as it was compiled: what the plan says of "
        "optimizer, learning rate, schedule, loss and metrics does not count."
    )
