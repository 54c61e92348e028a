"""The layers of a Keras model that can be placed one by one, in running order.

A leaf is a layer that is not a `keras.Model`: layers in a nested model are placed one by one,
layers in a composite layer move with it. Edges run through nested models and through bare
operations (`x + y`), which nobody places. For a model that is no graph, a trial call finds out
in which order it calls its layers, and which layer feeds which.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from functools import partial
from typing import Any

import keras
import tensorflow as tf

Producers = tuple[str, ...]


@dataclass(frozen=True, slots=True)
class PlaceableLayer:
    """A leaf layer.

    `path` is its name, `outer/inner` within a nested model; `inputs` are the paths that feed it.
    """

    path: str
    layer: Any
    inputs: tuple[str, ...] = ()


def placeable_layers(model: Any) -> list[PlaceableLayer]:
    """Return the leaves of `model`, each once, in the order in which they first run.

    Input layers are left out. A leaf that is called several times has the inputs of all calls. If
    the model is no graph (a subclass), the order and the edges are those of a trial call; where
    that fails, the leaves form a chain in the order of the model's attributes.
    """
    listing = _Listing()
    listing.model(model, "", [()], _build_arguments(model))
    return listing.layers()


def loops_of_keras(layers: Sequence[Any]) -> bool:
    """Whether some of these layers are recurrent, and loop, and all are Keras' own."""
    own = all(type(each).__module__.partition(".")[0] == "keras" for each in layers)
    return own and any(isinstance(each, keras.layers.RNN) and not each.unroll for each in layers)


# Scripts have the next three as they stand, see `export.script_text`: their lines have 88 columns
# at most.


def graph_of(model: Any) -> Any:
    """Return the graph of a Functional or built Sequential model; None for others."""
    if isinstance(model, keras.Sequential):
        model = getattr(model, "_functional", None)
    return model if hasattr(model, "_nodes_by_depth") else None


def nodes_of(graph: Any) -> Iterator[Any]:
    """Yield the nodes of a graph, without inputs, in the order in which they run."""
    by_depth = graph._nodes_by_depth  # noqa: SLF001 (Keras' only record of the order)
    for depth in sorted(by_depth, reverse=True):
        yield from (node for node in by_depth[depth] if not node.is_input)


def leaves_below(model: Any, prefix: str = "") -> Iterator[tuple[str, Any]]:
    """Yield path and layer of every leaf in a model and the models in it."""
    for layer in model.layers:
        if isinstance(layer, keras.Model):
            yield from leaves_below(layer, f"{prefix}{layer.name}/")
        elif not isinstance(layer, keras.layers.InputLayer):
            yield f"{prefix}{layer.name}", layer


class _Listing:
    """Walks through a model and its nested models, recording every leaf and what feeds it."""

    def __init__(self) -> None:
        self._paths: dict[int, str] = {}
        self._found: dict[str, tuple[Any, dict[str, None]]] = {}

    def layers(self) -> list[PlaceableLayer]:
        return [
            PlaceableLayer(path, layer, tuple(feeds))
            for path, (layer, feeds) in self._found.items()
        ]

    def model(
        self, model: Any, prefix: str, feeds: Sequence[Producers], given: Any
    ) -> list[Producers]:
        """Return what feeds the outputs of `model` when `feeds` feed its inputs."""
        graph = graph_of(model)
        if graph is None:
            return [self._called(model, prefix, _joined(feeds), given)]
        inputs = list(graph.inputs)
        fed = list(feeds) if len(feeds) == len(inputs) else [_joined(feeds)] * len(inputs)
        known: dict[int, Producers] = {id(x): feed for x, feed in zip(inputs, fed, strict=True)}
        for node in nodes_of(graph):
            self._node(node, prefix, known)
        return [known[id(x)] for x in graph.outputs]

    def _node(self, node: Any, prefix: str, known: dict[int, Producers]) -> None:
        tensors = node.arguments.keras_tensors
        feeds = [known[id(x)] for x in tensors]
        operation = node.operation
        if isinstance(operation, keras.Model):
            given = (node.arguments.args, node.arguments.kwargs)
            made = self.model(operation, f"{prefix}{operation.name}/", feeds, given)
        elif isinstance(operation, keras.layers.Layer):
            made = [self._leaf(operation, prefix, _joined(feeds))]
        else:
            made = [_joined(feeds)]
        same = made if len(made) == len(node.outputs) else [_joined(made)] * len(node.outputs)
        known.update({id(x): feed for x, feed in zip(node.outputs, same, strict=True)})

    def _leaf(self, layer: Any, prefix: str, feeds: Producers) -> Producers:
        if isinstance(layer, keras.layers.InputLayer):
            return feeds
        path = self._paths.setdefault(id(layer), self._free(f"{prefix}{layer.name}"))
        _, known = self._found.setdefault(path, (layer, {}))
        known.update(dict.fromkeys(feed for feed in feeds if feed != path))
        return (path,)

    def _called(self, model: Any, prefix: str, feeds: Producers, given: Any) -> Producers:
        leaves = {id(layer): layer for _, layer in leaves_below(model)}
        paths = {id(layer): path for path, layer in leaves_below(model, prefix)}
        calls, results = called_layers(model, list(leaves.values()), given) or _chain(
            leaves.values()
        )
        for call in calls:
            self._leaf(
                call.layer,
                paths[id(call.layer)].removesuffix(call.layer.name),
                self._sources(call, feeds),
            )
        return _joined([(self._paths[id(layer)],) for layer in results]) or feeds

    def _sources(self, call: Called, feeds: Producers) -> Producers:
        before = [(self._paths[id(layer)],) for layer in call.after]
        return _joined([*before, feeds] if call.takes_input else before)

    def _free(self, path: str) -> str:
        """Return the path, numbered if another layer has it: outside graphs, names may repeat."""
        number, free = 1, path
        while free in self._found:
            number += 1
            free = f"{path}#{number}"
        return free


def _chain(leaves: Iterable[Any]) -> tuple[list[Called], list[Any]]:
    """Return the leaves as if each took the output of the one before it."""
    layers = list(leaves)
    after = [[], *([layer] for layer in layers[:-1])]
    calls = [
        Called(layer, before, not before) for layer, before in zip(layers, after, strict=False)
    ]
    return calls, layers[-1:]


def _joined(feeds: Iterable[Producers]) -> Producers:
    return tuple(dict.fromkeys(path for feed in feeds for path in feed))


def _build_arguments(model: Any) -> Any:
    """Return the arguments that a model was built for, structures of specs; None if unknown."""
    config: Mapping[str, Any] = (model.get_build_config() or {}) if model.built else {}
    if "input_shape" in config:
        shapes = [config["input_shape"]]
    else:
        shapes = list(config.get("shapes_dict", {}).values())
    specs = tuple(map(_specs, shapes))
    return (specs, {}) if specs else None


def _specs(shapes: Any) -> Any:
    """Return a spec for each shape in a structure of them: a model may take its inputs by name."""
    if isinstance(shapes, Mapping):
        return {name: _specs(each) for name, each in shapes.items()}
    if any(isinstance(each, Mapping | tuple | list) for each in shapes or ()):
        return tuple(map(_specs, shapes))
    return tf.TensorSpec(shapes, keras.config.floatx())


@dataclass(frozen=True, slots=True)
class Called:
    """One call of a layer: the layers before it, and whether it takes the model's input."""

    layer: Any
    after: list[Any] = field(default_factory=list)
    takes_input: bool = False


def called_layers(
    model: Any, leaves: Sequence[Any], given: Any
) -> tuple[list[Called], list[Any]] | None:
    """Return the calls of `leaves` in order, and the leaves that the model's outputs come from.

    `given` are the arguments of a call by place and by name, with specs or symbolic tensors, batch
    included. None if they are not known, or if the model does not take them.
    """
    if not given:
        return None
    recorder = _Recorder()
    args, kwargs = keras.tree.map_structure(_spec, given)
    try:
        with recorder.listening(leaves):
            tf.function(
                lambda *inputs, **named: recorder.run(model, inputs, named), autograph=False
            ).get_concrete_function(*args, **kwargs)
    # The model's own code: whatever it raises, its layers can still be listed.
    except Exception:  # noqa: BLE001
        return None
    return recorder.calls, recorder.ends


def _spec(given: Any) -> Any:
    symbolic = isinstance(given, keras.KerasTensor)
    return tf.TensorSpec(given.shape, given.dtype) if symbolic else given


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

    def run(self, model: Any, inputs: Sequence[Any], named: Mapping[str, Any]) -> Any:
        outputs = model(*inputs, **{**named, "training": False})
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


def output_shape(model: keras.Model) -> Any:
    """Return the shape of the output for one sample, as a tuple; empty if it is no graph."""
    if not getattr(model, "outputs", None):
        return ()
    return tuple(model.outputs[0].shape[1:])
