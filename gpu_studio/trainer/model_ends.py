"""The inputs and outputs of a Keras model by name, and how the data's structures meet them.

Samples reach the inputs as `fit` brings them: a dictionary by the names of the inputs, all else in
order. Targets reach the outputs by name or by their place in the same structure, else in order.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import keras

from gpu_studio.plan import Shape, listed
from gpu_studio.trainer.data.trees import Path, called, flat, is_nested, leaves
from gpu_studio.trainer.data.values import is_text, type_name
from gpu_studio.trainer.errors import ModelError
from gpu_studio.trainer.model_layers import graph_of


@dataclass(frozen=True, slots=True)
class End:
    """One input or output: its name, its place among all, its path in their structure, its tensor.

    An output is named as Keras names it in the results of `fit`: by its key in a dictionary, else
    by its layer. `output_1`, `output_2`, … are those of a model that is no graph.
    """

    name: str
    place: int
    path: Path
    tensor: Any

    @property
    def shape(self) -> Shape:
        """The shape for one sample."""
        return tuple(self.tensor.shape[1:])


def inputs_of(model: Any) -> list[End]:
    """The inputs of a model that is a graph, in Keras' order."""
    paths = [path for path, _ in keras.tree.flatten_with_path(_structure(model, "inputs"))]
    return [
        End(tensor.name, place, tuple(path), tensor)
        for place, (path, tensor) in enumerate(zip(paths, model.inputs, strict=True))
    ]


def outputs_of(model: Any) -> list[End]:
    """The outputs of a model that is a graph, in Keras' order."""
    paths = [tuple(path) for path, _ in keras.tree.flatten_with_path(_structure(model, "outputs"))]
    names = _layer_names(model.outputs)
    return [
        End(_output_name(path, name), place, path, tensor)
        for place, (path, name, tensor) in enumerate(zip(paths, names, model.outputs, strict=True))
    ]


def _structure(model: Any, ends: str) -> Any:
    found = getattr(graph_of(model), f"_{ends}_struct", None)
    found = getattr(model, ends) if found is None else found
    # Keras takes and gives the only one of a list by itself.
    return found[0] if isinstance(found, list | tuple) and len(found) == 1 else found


def _layer_names(tensors: Sequence[Any]) -> list[str]:
    # Keras' only record of which layer made a tensor.
    names = [tensor._keras_history.operation.name for tensor in tensors]  # noqa: SLF001
    alone = len(names) == 1 or len(set(names)) == len(names)
    return names if alone else [f"output_{number}" for number in range(1, len(names) + 1)]


def _output_name(path: Path, layer: str) -> str:
    if not path:
        return layer
    return "/".join(map(str, path if isinstance(path[-1], str) else (*path[:-1], layer)))


def fed(model: Any, x: Any) -> list[tuple[End, Path]] | str:
    """Return each input with the path of its samples in `x`; or why they do not meet."""
    ends, given = inputs_of(model), [path for path, _ in leaves(x)]
    if isinstance(x, Mapping):
        by_name = {end.name: end for end in ends}
        nested = any(end.path for end in ends) and isinstance(_structure(model, "inputs"), Mapping)
        wanted = {end.path if nested else (end.name,): end for end in ends}
        missing = [called("x", path) for path in wanted if path not in given]
        surplus = [called("x", path) for path in given if path not in wanted] if nested else []
        if missing or surplus:
            what = f"no {listed(missing)}" if missing else f"{listed(surplus)} besides"
            return f"has the inputs {listed(by_name)}, and there is {what}"
        return [(end, path) for path, end in wanted.items()]
    if len(given) != len(ends):
        return (
            f"has {_counted(len(ends), 'input')} ({listed(end.name for end in ends)}), and there "
            f"{'is' if len(given) == 1 else 'are'} {_counted(len(given), 'array')}"
        )
    return list(zip(ends, given, strict=True))


def met(outputs: Sequence[End], y: Any) -> list[tuple[End, Path]] | str:
    """Return each output that has a target, with the target's path in `y`; or why none is found."""
    given = [path for path, _ in leaves(y)]
    names = listed(end.name for end in outputs)
    by_path = {end.path: end for end in outputs}
    if set(given) == set(by_path):
        return [(end, end.path) for end in outputs]
    if isinstance(y, Mapping) and not (len(outputs) == 1 and len(given) == 1):
        by_name = {(end.name,): end for end in outputs} | by_path
        unknown = [called("y", path) for path in given if path not in by_name]
        if unknown:
            return f"has the outputs {names}, and none of them is {listed(unknown, 'or')}"
        return [(by_name[path], path) for path in given]
    if given and len(given) != len(outputs):
        return (
            f"has {_counted(len(outputs), 'output')} ({names}), and there "
            f"{'is' if len(given) == 1 else 'are'} {_counted(len(given), 'target')}"
        )
    return list(zip(outputs, given, strict=False))


def _counted(number: int, what: str) -> str:
    return f"{number} {what}{'' if number == 1 else 's'}"


def check_inputs(source: str, model: Any, name: str, split: Any) -> None:
    """Raises ModelError, naming the array and both shapes, if samples do not fit the inputs.

    `source` is the model's name, `name` that of the data, `split` some of them.
    """
    found = fed(model, split.x)
    if isinstance(found, str):
        raise ModelError(
            f"{source} {found} in {name}.",
            ["Give the arrays the names of the inputs, or name the inputs like the arrays."],
        )
    arrays, kinds = dict(leaves(split.x)), dict(leaves(split.seen_type))
    for end, path in found:
        given, array = tuple(arrays[path].shape[1:]), called("x", path)
        if not _takes(end.shape, given):
            raise _shapes(source, name, end, (array, given), alone=not is_nested(split.x))
        text = is_text(kinds[path])
        if text != (end.tensor.dtype == "string"):
            holds, takes = ("texts", "numbers") if text else ("numbers", "texts")
            raise ModelError(
                f"{source} takes {takes} in {end.name}, but {array} of {name} holds {holds}.",
                [
                    f'Build it with keras.Input(…, dtype="string", name="{end.name}"), and let a '
                    "TextVectorization or StringLookup follow."
                    if text
                    else "Give texts, or take the dtype out of keras.Input."
                ],
            )


def _takes(taken: Shape, given: Shape) -> bool:
    """Return whether Keras feeds samples of this shape: an axis of 1 may be missing at the end."""
    alike = [given, (*given, 1)] + ([given[:-1]] if given[-1:] == (1,) else [])
    return any(
        len(taken) == len(shape)
        and all(size in (None, own) for size, own in zip(taken, shape, strict=True))
        for shape in alike
    )


def _shapes(
    source: str, name: str, end: End, given: tuple[str, Shape], *, alone: bool
) -> ModelError:
    array, shape = given
    if alone:
        said = f"{source} takes samples of shape {end.shape}, but one of {name} has the shape"
    else:
        said = f"{source} takes {end.name} of shape {end.shape}, but {array} of {name} has"
    return ModelError(
        f"{said} {shape}.",
        ["Choose data of that shape, or build the model with keras.Input for this one."],
    )


def _input_name(path: Path) -> str:
    # Keras wants the inputs in a dictionary to be named as there.
    return path[0] if len(path) == 1 and isinstance(path[0], str) else "_".join(map(str, path))


def as_graph(made: keras.Model, samples: Any, shapes: Any, size: int | None = None) -> keras.Model:
    """Return a model that is a graph: the model itself, or one of which it is the only layer.

    `samples` are a few of the data's, `shapes` the structure of their shapes. Every batch has
    `size` samples, if that is known.
    """
    if isinstance(made, keras.Sequential) and not is_nested(samples):
        if not made.built:
            made.build((None, *shapes))
        return _whole(made, samples)
    if hasattr(made, "_nodes_by_depth"):  # as a graph has, and no other model
        return _whole(made, samples)
    # Called on numbers first, so that its layers create their weights however it calls them.
    _call(made, samples)
    try:
        inputs = _inputs(samples)
        outputs = made(inputs)
    except Exception:
        if size is None:
            raise
        # Its author may reckon with the size, which `fit` lets it see: tf.zeros((x.shape[0], 3)).
        inputs = _inputs(samples, size)
        outputs = made(inputs)
    graph = keras.Model(inputs, outputs, name=made.name)
    # As `fit` calls the model itself: see `call_as_fit`.
    graph._call_has_training_arg = made._call_has_training_arg  # noqa: SLF001
    return graph


def _inputs(samples: Any, size: int | None = None) -> Any:
    several = len(flat(samples)) > 1 or is_nested(samples)
    found = [
        keras.Input(
            each.shape[1:],
            batch_size=size,
            # A layer casts floats to its own type before it calls, and nothing else.
            dtype=None if each.dtype.kind == "f" else type_name(each.dtype),
            name=_input_name(path) if several else "inputs",
        )
        for path, each in leaves(samples)
    ]
    return keras.tree.pack_sequence_as(samples, found)


def _whole(graph: keras.Model, samples: Any) -> keras.Model:
    """Return the graph, called once where a layer's inner ones have no weights yet.

    Such as those of a cell that a recurrent layer has never called: an optimizer must know them.
    What the layers assign is not kept: training has not begun.
    """
    if not all(layer.built for layer in graph._flatten_layers()):  # noqa: SLF001 (no public name)
        with keras.StatelessScope():
            _call(graph, samples)
    return graph


def _call(model: keras.Model, samples: Any) -> None:
    model(keras.tree.map_structure(keras.ops.convert_to_tensor, samples))
