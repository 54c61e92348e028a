"""In which order a model that is no graph calls its layers, and which layer feeds which.

A trial call finds out.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from functools import partial
from typing import Any

import keras
import tensorflow as tf


@dataclass(frozen=True, slots=True)
class Called:
    """One call of a layer: the layers before it, and whether it takes the model's input."""

    layer: Any
    after: list[Any] = field(default_factory=list)
    takes_input: bool = False


def called_layers(
    model: Any, leaves: Sequence[Any], shapes: Any
) -> tuple[list[Called], list[Any]] | None:
    """Return the calls of `leaves` in order, and the leaves that the model's outputs come from.

    `shapes` are those of the model's inputs, batch included. None if they are not known, or if the
    model does not take tensors of these shapes one by one.
    """
    if not shapes:
        return None
    recorder = _Recorder()
    specs = [tf.TensorSpec(shape, keras.config.floatx()) for shape in shapes]
    try:
        with recorder.listening(leaves):
            tf.function(
                lambda *inputs: recorder.run(model, inputs), autograph=False
            ).get_concrete_function(*specs)
    # The model's own code: whatever it raises, its layers can still be listed.
    except Exception:  # noqa: BLE001
        return None
    return recorder.calls, recorder.ends


@contextmanager
def replaced_call(
    layer: Any, around: Callable[[Callable[..., Any]], Callable[..., Any]]
) -> Iterator[None]:
    """While entered, `layer.call` is `around(call)`; `layer(…)` otherwise works as in Keras."""
    # In the instance's own dictionary: Keras would track an attribute.
    layer.__dict__["call"] = around(layer.call)
    try:
        yield
    finally:
        del layer.__dict__["call"]


class _Recorder:
    """Records each call, and from which tensor of the graph every leaf's output starts."""

    def __init__(self) -> None:
        self.calls: list[Called] = []
        self.ends: list[Any] = []
        self._made: dict[Any, Any] = {}

    def run(self, model: Any, inputs: Sequence[Any]) -> Any:
        outputs = model(*inputs, training=False)
        self.ends = _unique([layer for x in _tensors(outputs) for layer in self.sources(x)[0]])
        return outputs

    @contextmanager
    def listening(self, leaves: Sequence[Any]) -> Iterator[None]:
        with ExitStack() as stack:
            for layer in leaves:
                stack.enter_context(replaced_call(layer, partial(self._noting, layer)))
            yield

    def _noting(self, layer: Any, call: Callable[..., Any]) -> Callable[..., Any]:
        def noted(*args: Any, **kwargs: Any) -> Any:
            found = [self.sources(x) for x in _tensors((args, kwargs))]
            after = _unique([each for layers, _ in found for each in layers])
            self.calls.append(Called(layer, after, any(takes for _, takes in found)))
            # A distinct identity, because a layer may return the very tensor that it got.
            outputs = keras.tree.map_structure(
                lambda x: tf.identity(x) if tf.is_tensor(x) else x, call(*args, **kwargs)
            )
            self._made.update({x.ref(): layer for x in _tensors(outputs)})
            return outputs

        return noted

    def sources(self, tensor: Any) -> tuple[list[Any], bool]:
        """Return the leaves that `tensor` was computed from directly, and whether an input was."""
        layers, takes_input, seen, waiting = [], False, set(), [tensor]
        while waiting:
            x = waiting.pop()
            if x.ref() in seen:
                continue
            seen.add(x.ref())
            if x.ref() in self._made:
                layers.append(self._made[x.ref()])
            elif x.op.type == "Placeholder":
                takes_input = takes_input or x.dtype != tf.resource
            else:
                waiting += x.op.inputs
        return _unique(layers), takes_input


def _tensors(structure: Any) -> list[Any]:
    return [x for x in keras.tree.flatten(structure) if tf.is_tensor(x)]


def _unique(layers: Sequence[Any]) -> list[Any]:
    return list({id(layer): layer for layer in layers}.values())
