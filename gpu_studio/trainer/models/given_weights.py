"""Weights from a file for a model that was built, matched by the structure of its layers."""

from __future__ import annotations

import re
import warnings
import zipfile
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import h5py
import keras

from gpu_studio.contract.user_files import hint
from gpu_studio.plan import listed
from gpu_studio.plan.values import FEW
from gpu_studio.trainer.errors import ModelError
from gpu_studio.trainer.models.own_models import load_reason

_LISTED = re.compile(r"List of objects that could not be loaded:\s*\[(.*)\]", re.S)
_NAME = re.compile(r"name=([^,>]+)")
_BESIDE = ("optimizer/", "metrics/")
"""Groups of a whole model's file that are no weights of it."""
_IN_ARCHIVE = "model.weights.h5"


def load_given_weights(model: keras.Model, path: Path) -> None:
    """Give `model` the weights in `path`, of `save_weights` (`.weights.h5`) or `save` (`.keras`).

    Only numbers are read from it: no code, no configuration, no optimizer. Raises ModelError if
    there is no such file, or if not every weight of the one has its counterpart in the other; then
    it names the layers.
    """
    if not path.is_file():
        raise ModelError(
            f"There is no file of weights {path}{hint(path) or '.'}",
            ["Put it back there, or change model.weights in the plan; it is relative to the plan."],
        )
    try:
        held = list(_arrays(path))
    except Exception as error:  # the disk, zipfile, zlib and h5py each have their own
        raise ModelError(
            f"{path.name} holds no weights of Keras 3, or it is cut off: {error}",
            ["Save them with model.save_weights('base.weights.h5') in Keras 3.", "Copy it again."],
        ) from error
    refused = _loaded(model, path)
    inner = model.layers[-1] if model.layers else model
    if refused and isinstance(inner, keras.Model) and inner.name == model.name:
        # A model that is no graph is the only layer of one here, and was not where it was saved.
        refused = _loaded(inner, path) and refused
    if refused:
        raise _do_not_match(model, path, refused)
    if len(held) > len(model.variables):
        raise _left_over(model, path, held)


def _arrays(path: Path) -> Iterator[str]:
    """Yield the name of the layer that each array of the file belongs to, as far as it says."""
    with ExitStack() as stack:
        file: Any = path
        if path.suffix == ".keras":
            archive = stack.enter_context(zipfile.ZipFile(path))
            file = stack.enter_context(archive.open(_IN_ARCHIVE))
        found: list[str] = []

        def note(name: str, item: Any) -> None:
            if isinstance(item, h5py.Dataset) and not name.startswith(_BESIDE):
                found.append(str(item.parent.attrs.get("name", item.parent.name)))

        stack.enter_context(h5py.File(file, "r")).visititems(note)
    yield from found


def _loaded(model: keras.Model, path: Path) -> Exception | None:
    """Load the weights; return what Keras says where some do not match."""
    try:
        with warnings.catch_warnings():
            # Of its own records of layers, not of layers.
            warnings.filterwarnings("ignore", "Skipping nested container")
            model.load_weights(path)
    except Exception as error:  # noqa: BLE001 (whatever Keras raises about a file)
        return error
    return None


def _do_not_match(model: keras.Model, path: Path, error: Exception) -> ModelError:
    found = _LISTED.search(str(error))
    names = list(dict.fromkeys(_NAME.findall(found[1]))) if found else []
    which = f" for {_in_short(names)}" if names else ""
    why = load_reason(error).partition(" List of objects")[0]
    return ModelError(
        f"{path.name} does not fit {model.name}: it has no matching weights{which}. {why}",
        [
            "Give the file of a model with the same layers in the same order.",
            "Or load weights of a part where the model is made: base.load_weights(…).",
        ],
    )


def _left_over(model: keras.Model, path: Path, held: list[str]) -> ModelError:
    known = {layer.name for layer in model._flatten_layers()}  # noqa: SLF001 (no public name)
    more = list(dict.fromkeys(name for name in held if name not in known))
    which = f", such as {_in_short(more)}" if more else ""
    return ModelError(
        f"{path.name} holds {len(held):,} arrays, and {model.name} has only "
        f"{len(model.variables):,}: it is of a model with more layers{which}.",
        ["Give the file of a model with the same layers in the same order."],
    )


def _in_short(names: list[str]) -> str:
    more = len(names) - FEW
    return listed(names if more <= 0 else [*names[:FEW], f"{more} more"])
