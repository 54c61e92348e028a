"""What parts of a batch train otherwise than the whole: layers that mix the samples of a batch.

Each replica and each micro-batch shows such a layer its own part of a batch only. Of Keras' layers
that is batch normalisation, and a recurrent one that keeps states, which is refused; one of the
user's own, and a model with its own `call`, are found by what they give, and add to the loss, for a
few samples in one piece and in several.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from itertools import chain
from operator import is_
from typing import Any

import keras
import numpy as np
import tensorflow as tf

from gpu_studio.contract.events import Event, Log, Warned
from gpu_studio.plan import Plan, listed, strategy_of
from gpu_studio.plan.rules.start_rules import parts_in_words, read_to_their_ends, unkept
from gpu_studio.trainer.batches import Cut
from gpu_studio.trainer.data import Dataset
from gpu_studio.trainer.errors import PlanRefused
from gpu_studio.trainer.keras_objects.named import sentence
from gpu_studio.trainer.layer_state import (
    Caught,
    RandomStates,
    is_apart,
    is_random_state,
    kept_states,
    normalising,
    of_batch,
    overflows_apart,
)
from gpu_studio.trainer.models.own_training import call_as_fit, own_in_steps

_ROWS = 7
"""So many samples: seldom the length of any other first axis."""
_PIECES = slice(2), slice(2, 4), slice(4, _ROWS)
"""In several: what depends on a mean over a batch may be the same for one of two halves."""
_NEAR, _ROUGH = 1e-3, 0.03
"""How near results are, and in 16 bits."""
_LOSS_NEAR, _LOSS_NONE = 1e-4, 1e-6
"""How near a loss comes, relatively, but for kinds with more rounding; less than that is none."""
_ROUNDED = {"float16": "a ten-thousandth", "bfloat16": "a thousandth"}
"""How near losses come, with room: those of small models came to 1.3e-5 and 3.1e-5."""
_ANY = keras.layers.Lambda
"""Keras' layer that may do anything, as one of the user's own."""
Call = tuple[Sequence[Any], dict[str, Any]]


def refuse_unkept_states(
    plan: Plan, model: keras.Model, dataset: Dataset, cut: Cut, *, served: bool
) -> None:
    """Raises PlanRefused for a layer that keeps states of a whole batch, if batches are no such."""
    states = kept_states(model)
    if states is None:
        return
    what = "micro-batches" if strategy_of(plan).places_layers else "replicas"
    apart = parts_in_words(cut.replicas, what, served=served)
    splits = [dataset.train, dataset.validation, dataset.test]
    lengths = [0 if each is None or each.stream else len(each) for each in splits]
    found = unkept(states, apart, cut.batch, read_to_their_ends(plan.training, *lengths))
    if found is not None:
        raise PlanRefused(sentence(found.why), [sentence(found.advice)])


def replicas_apart(
    model: keras.Model, dataset: Dataset, cut: Cut, optimizer: Any = None, *, served: bool = False
) -> Iterator[Event]:
    """Return warnings, and what is to be known, if several replicas train otherwise than one.

    Those of workers that are `served` do not meet within a step.
    """
    yield from overflows_apart(optimizer, f"{cut.replicas} replicas")
    yield from _rounded_apart(model, cut)
    if draws(model, dataset):
        yield _draws_apart(model, f"{cut.replicas} replicas", "one device draws")
    yield from _normalised_apart(model, cut, served=served)
    yield from mixing_apart(model, dataset, cut, served=served)


def _normalised_apart(model: keras.Model, cut: Cut, *, served: bool) -> Iterator[Warned]:
    layers = model._flatten_layers()  # noqa: SLF001 (no public name)
    count = sum(is_apart(each, together=not served) for each in layers)
    if count:
        yield Warned(
            message=(
                f"{normalising(count)} each {'worker' if served else 'replica'}'s part of about "
                f"{cut.batch / cut.replicas:.3g} samples by itself, so that losses "
                "differ from those of one device."
            ),
            suggestion=(
                "Workers of servers do not meet within a step, also where it is synchronized. "
                "Under mirrored or multi_worker keras.layers.BatchNormalization(synchronized=True) "
                "normalises the whole batch. Else keep 16 samples or more for each worker."
            )
            if served
            else (
                "In a model of your own keras.layers.BatchNormalization(synchronized=True) "
                "normalises the whole batch, and losses are the same. Else keep 16 samples or more "
                "for each replica."
            ),
        )


def draws(model: Any, dataset: Dataset) -> bool:
    """Return whether layers of the model draw random numbers by Keras in training.

    Dropout of nothing and a recurrent layer without dropout keep a random state and draw none, and
    a layer without a seed draws by one that it does not keep: so a call is traced, which computes
    nothing. Of a model with a step of its own, or one that cannot be called so, the states that it
    keeps are taken for it.
    """
    kept = any(map(is_random_state, model.variables))
    layers = model._flatten_layers()  # noqa: SLF001 (no public name)
    own = [each for each in layers if not _is_keras_s(each) or isinstance(each, _ANY)]
    if own_in_steps(model) or not (kept or own):
        return kept
    try:
        samples = _samples(dataset)
        with _kept(own), _caught(model) as scope:
            called = tf.function(
                lambda given: call_as_fit(model, given, training=True), autograph=False
            )
            called.get_concrete_function(samples)
    except Exception:  # noqa: BLE001 (whatever a user's layer raises: a step will raise it, too)
        return kept
    return bool(scope.drew)


def _draws_apart(model: keras.Model, parts: str, whole: str) -> Log:
    """Say that each of these parts of a batch draws its own numbers, and what would draw others."""
    return Log(
        message=f"What {model.name} draws at random, each of {parts} draws for its own part of "
        f"a batch: other numbers than {whole}, and so other losses."
    )


def _rounded_apart(model: keras.Model, cut: Cut) -> Iterator[Log]:
    """Say how near losses come to those of one device where layers compute in 16 bits."""
    kinds = {layer.compute_dtype for layer in model._flatten_layers()}  # noqa: SLF001
    for kind, near in _ROUNDED.items():
        if kind in kinds:
            yield Log(
                message=f"Layers compute in {kind}: what each of {cut.replicas} replicas sums is "
                f"rounded by itself, so that losses come to within about {near} of those of one "
                "device, and in float32 to a millionth."
            )


def mixing_apart(
    model: Any, dataset: Dataset, cut: Cut, *, placed: bool = False, served: bool = False
) -> Iterator[Event]:
    """Return warnings if layers mix the samples of a batch, of which each part has some.

    Parts are replicas', those of `served` workers, or micro-batches of a `placed` model.
    """
    if cut.replicas < 2:
        return
    if placed and draws(model, dataset):  # of replicas it is said above
        yield _draws_apart(model, f"{cut.replicas} micro-batches", "a whole batch draws")
    apart = layers_apart(model, dataset)
    part, names = f"about {cut.batch / cut.replicas:.3g}", apart.mixing
    what, where = ("micro-batches", "in each micro-batch") if placed else _ON_REPLICAS
    whole = "of whole batches" if placed else "of one device"
    if names:
        mix = f"{_named(model, names)} mix{'es' if len(names) == 1 else ''}"
        yield Warned(
            message=f"{mix} the samples of a batch, and {where} those of its own part of {part}: "
            f"losses differ from those {whole}.",
            suggestion=_IN_ONE_PART if placed else _ON_ONE if served else _OVER_ALL,
        )
    if apart.adding:
        yield Warned(
            message=f"{_named(model, apart.adding)} add{'s' if len(apart.adding) == 1 else ''} to "
            f"the loss what is no mean over samples. Each of {cut.replicas} {what} adds that of "
            f"its own part of {part}, and the run trains on their mean: losses differ from those "
            f"{whole}.",
            suggestion=_IN_ONE_PART if placed else _ON_ONE,
        )


_ON_REPLICAS = "replicas", "on each replica"
_ON_ONE = "Train on one device for the loss as it is."
_OVER_ALL = (
    "Train on one device, or let it take its mean over all replicas: "
    "keras.layers.BatchNormalization(synchronized=True) does."
)
_IN_ONE_PART = "Set distribution.placed.micro_batches to 1 for the losses of whole batches."


def _named(model: Any, names: Sequence[str]) -> str:
    """Return the subject of a sentence about layers of the model, or about the model itself."""
    if len(names) > 1:
        return listed(names)
    return f"The {'model' if names[0] == model.name else 'layer'} {names[0]}"


@dataclass(frozen=True, slots=True)
class LayersApart:
    """Layers by name: those `mixing` samples, and those `adding` to the loss what is no mean."""

    mixing: list[str]
    adding: list[str]


def layers_apart(model: Any, dataset: Dataset) -> LayersApart:
    """Return which of the user's own layers and models mix samples, as far as that can be known.

    Of those that draw random numbers it cannot, nor where one cannot be called so. A layer that
    has another one within it that does so is not named beside that.
    """
    own = [each for each in model._flatten_layers() if _may_mix(each)]  # noqa: SLF001
    if not own:
        return LayersApart([], [])
    try:
        with _kept(own), _calls_of(own) as calls:
            with _caught(model):
                call_as_fit(model, _samples(dataset), training=True)
            called = [each for each in own if id(each) in calls]
            found = {id(each): _mixes(model, each, calls) for each in called}
    except Exception:  # noqa: BLE001 (whatever a user's layer raises: a step will raise it, too)
        return LayersApart([], [])
    return LayersApart(*(_innermost(called, found, place) for place in (0, 1)))


def _samples(dataset: Dataset) -> Any:
    rows = np.arange(_ROWS) % len(dataset.train)
    return keras.tree.map_structure(tf.constant, dataset.train.seen(rows))


def _innermost(layers: Sequence[Any], found: dict[int, Any], place: int) -> list[str]:
    """Return the names of the layers of which that was found, and of none within them."""
    some = [each for each in layers if found[id(each)][place]]
    ids = set(map(id, some))

    def has_within(layer: Any) -> bool:
        inner = layer._flatten_layers(include_self=False)  # noqa: SLF001 (no public name)
        return not ids.isdisjoint(map(id, inner))

    return [each.name for each in some if not has_within(each)]


def _may_mix(layer: Any) -> bool:
    regularizer = layer.activity_regularizer
    keras_s = _is_keras_s(layer) and (regularizer is None or _is_keras_s(regularizer))
    return not keras_s and not any(map(is_apart, layer._flatten_layers()))  # noqa: SLF001


def _is_keras_s(each: Any) -> bool:
    return type(each).__module__.startswith("keras.")


def _caught(model: Any) -> Caught:
    return Caught(RandomStates(model.variables, 0), tf.constant(0, tf.int64))


@contextmanager
def _calls_of(layers: Sequence[Any]) -> Iterator[dict[int, Call]]:
    """While entered, note with what each of the layers is called."""
    found: dict[int, Call] = {}

    def noting(layer: Any, call: Any) -> Any:
        def noted(*given: Any, **named: Any) -> Any:
            found.setdefault(id(layer), (given, named))
            return call(*given, **named)

        return noted

    for layer in layers:
        layer.__dict__["call"] = noting(layer, layer.call)
    try:
        yield found
    finally:
        for layer in layers:
            layer.__dict__.pop("call", None)


@contextmanager
def _kept(layers: Sequence[Any]) -> Iterator[None]:
    """Afterwards attributes of the user's, which a layer may set at each call, are as now.

    So is what lists and tables hold. Keras' own attributes stay as they are left.
    """
    inner = {id(each): each for layer in layers for each in layer._flatten_layers()}  # noqa: SLF001
    set_before = [(vars(layer), _of_user(layer)) for layer in inner.values()]
    found = [
        value
        for _, own in set_before
        for value in own.values()
        if isinstance(value, list | dict | set)
    ]
    before = [_builtin(each)(each) for each in found]
    try:
        yield
    finally:
        for layer, (attributes, own) in zip(inner.values(), set_before, strict=True):
            for name in _of_user(layer).keys() - own.keys():
                del attributes[name]
            attributes.update(own)
        for each, old in zip(found, before, strict=True):
            if not _is_same(each, old):
                _put_back(each, old)


def _of_user(layer: Any) -> dict[str, Any]:
    """Return the attributes of a layer that are not Keras' own."""
    keras_s = vars(keras.layers.Layer())
    return {name: value for name, value in vars(layer).items() if name not in keras_s}


def _builtin(each: Any) -> Any:
    """Return the kind of Python's own, whose methods pass by what Keras notes at a change."""
    return next(kind for kind in (list, OrderedDict, dict, set) if isinstance(each, kind))


def _is_same(each: Any, old: Any) -> bool:
    """Whether they hold the same objects in the same order, of which a set has none."""
    if isinstance(each, set):
        return bool(each == old)
    now, before = (
        [*chain.from_iterable(one.items())] if isinstance(one, dict) else one for one in (each, old)
    )
    return len(now) == len(before) and all(map(is_, now, before))


def _put_back(each: Any, old: Any) -> None:
    kind = _builtin(each)
    kind.clear(each)
    (kind.extend if kind is list else kind.update)(each, old)


def _mixes(model: Any, layer: Any, calls: dict[int, Call]) -> tuple[bool, bool]:
    """Whether samples in several pieces make another result than in one, and another loss.

    Neither is known of a layer that takes no such pieces.
    """
    try:
        return _mixes_pieces(model, layer, calls)
    except Exception:  # noqa: BLE001 (such as that of a model for batches of one size)
        return False, False


def _mixes_pieces(model: Any, layer: Any, calls: dict[int, Call]) -> tuple[bool, bool]:
    whole, again = (_given(model, layer, calls[id(layer)], slice(None)) for _ in range(2))
    steady, near = _is_loss(whole.loss, again.loss, layer), _nearness(layer)
    if whole.drew or not (steady and all(map(near, whole.made, again.made))):
        return False, False  # TensorFlow's and NumPy's draws show so alone
    parts = [_given(model, layer, calls[id(layer)], some) for some in _PIECES]
    added = sum(each.loss for each in parts)
    adds = not _is_loss(added, whole.loss, layer)
    for one, *pieces in zip(whole.made, *(each.made for each in parts), strict=True):
        joined = np.concatenate(pieces) if one.ndim else one
        if joined.shape == one.shape and not near(joined, one):
            return True, adds
    return False, adds


def _is_loss(one: float, other: float, layer: Any) -> bool:
    """Whether they are the same loss, but for what is rounded on the way to it."""
    near = _ROUGH if _computes_in_16_bits(layer) else _LOSS_NEAR
    return bool(np.isclose(one, other, rtol=near, atol=_LOSS_NONE, equal_nan=True))


def _nearness(layer: Any) -> Callable[[np.ndarray, np.ndarray], bool]:
    """Return what tells whether two results of the layer are the same but for rounding."""
    near = _ROUGH if _computes_in_16_bits(layer) else _NEAR

    def is_near(one: np.ndarray, other: np.ndarray) -> bool:
        return one.shape == other.shape and np.allclose(one, other, rtol=near, atol=near)

    return is_near


def _computes_in_16_bits(layer: Any) -> bool:
    kinds = {each.compute_dtype for each in layer._flatten_layers()}  # noqa: SLF001
    return not kinds.isdisjoint(_ROUNDED)


@dataclass(frozen=True, slots=True)
class _Given:
    """What a layer `made` of some rows, their part of the `loss`, and whether it `drew` numbers."""

    made: list[np.ndarray]
    loss: float
    drew: bool


def _given(model: Any, layer: Any, call: Call, rows: slice) -> _Given:
    """Return what the layer gives for some rows of the samples."""

    def part(each: Any) -> Any:
        shape: Any = getattr(each, "shape", ())
        return each[rows] if len(shape) and shape[0] == _ROWS else each

    given, named = keras.tree.map_structure(part, call)
    with _caught(model) as scope:
        found = layer.call(*given, **named)
    tensors, count = keras.tree.flatten(found), len(range(*rows.indices(_ROWS)))
    # Keras takes it for a sum over the samples, once a layer has been called.
    regularizer = layer.activity_regularizer or (lambda _output: 0.0)
    terms = [*scope.losses, *(regularizer(each) / count for each in tensors)]
    loss = sum(float(of_batch(term, count / _ROWS)) for term in terms)
    made = [np.asarray(each) for each in tensors]
    return _Given([each for each in made if each.dtype.kind == "f"], loss, scope.drew)
