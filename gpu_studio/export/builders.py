"""The built-in models' builders, as the trainer has them.

It gives their source for a script, and the layers that they call.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from itertools import chain
from types import SimpleNamespace
from typing import Any

from gpu_studio.export.script_text import source_below_imports

_DRAWS = re.compile("Dropout$|Noise$|^Random")


def builder_source(name: str) -> str:
    """Return the functions that make the model `name`, without annotations.

    The script must have imported `keras`.
    """
    return source_below_imports(f"models/{name}.py")


@dataclass(frozen=True, slots=True)
class CalledLayer:
    """A layer that a builder calls.

    It has its class in `keras.layers` and the names of its input layers; `draws` says whether it
    draws random numbers while training.
    """

    name: str
    kind: str
    inputs: tuple[str, ...]
    draws: bool


def called_layers(
    name: str, shape: tuple[int, ...], arguments: Mapping[str, Any]
) -> tuple[CalledLayer, ...]:
    """Return the layers of the model `name` for samples of this shape, in the order of their calls.

    Its builder is run with a stand-in for Keras that computes nothing: a builder may therefore
    branch on its arguments and on the shape of its input, but not on the shapes of its layers'
    outputs.
    """
    layers = _Layers()
    others = dict.fromkeys(("initializers", "regularizers", "constraints"), _Anything())
    defined: dict[str, Any] = {"keras": SimpleNamespace(layers=layers, **others)}
    exec(builder_source(name), defined)  # noqa: S102  (GPU Studio's own source)
    defined[name](_Tensor((None, *shape), ()), **arguments)
    return tuple(layers.called)


@dataclass(frozen=True, slots=True)
class _Tensor:
    """A value passed from layer to layer; `made_by` names the layer that returned it, if any."""

    shape: tuple[int | None, ...]
    made_by: tuple[str, ...]


@dataclass
class _Layers:
    """Stands in for `keras.layers` and records the layers that are called."""

    called: list[CalledLayer] = field(default_factory=list)

    def __getattr__(self, kind: str) -> Callable[..., Callable[..., _Tensor]]:
        def made(*_: object, name: str, **options: Any) -> Callable[..., _Tensor]:
            draws = bool(
                _DRAWS.search(kind) or options.get("dropout") or options.get("recurrent_dropout")
            )

            def call(*inputs: Any) -> _Tensor:
                taken = [
                    each
                    for given in inputs
                    for each in (given if isinstance(given, list) else [given])
                ]
                sources = dict.fromkeys(chain.from_iterable(each.made_by for each in taken))
                self.called.append(CalledLayer(name, kind, tuple(sources), draws))
                return _Tensor(taken[0].shape, (name,))

            return call

        return made


class _Anything:
    """Stands in for everything that does not affect which layer feeds which."""

    def __getattr__(self, _: str) -> _Anything:
        return self

    def __call__(self, *_: object, **__: object) -> _Anything:
        return self
