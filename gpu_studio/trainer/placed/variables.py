"""Move variables to devices, and present the parts of a split variable as one."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

import keras
import numpy as np
import tensorflow as tf

from gpu_studio.trainer.executed_graphs import logical_name


def device_of(variable: Any) -> str:
    """The logical device that holds a Keras variable, such as `CPU:1`."""
    return logical_name(variable.value.device)


def move(variables: Iterable[Any], device: str) -> None:
    """Recreate the storage of Keras variables on `device`, with their present values.

    Wherever a model was built or loaded, its variables lie on the first device: `load_model` cannot
    be told to put them elsewhere.
    """
    for variable in variables:
        if device_of(variable) != device:
            value = keras.ops.convert_to_numpy(variable)
            with tf.device(device):
                # Keras offers no other way to give a variable new storage.
                variable._initialize(value)  # noqa: SLF001


@dataclass(frozen=True, slots=True)
class Joined:
    """Variables that are parts of one along `axis`.

    They are read, written and checkpointed as one variable.
    """

    parts: tuple[Any, ...]
    axis: int

    @property
    def shape(self) -> tuple[int, ...]:
        """The shape of the whole."""
        shape = list(self.parts[0].shape)
        shape[self.axis] = sum(int(part.shape[self.axis]) for part in self.parts)
        return tuple(shape)

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> np.ndarray:
        """The whole, in host memory."""
        whole = np.concatenate(
            [keras.ops.convert_to_numpy(part) for part in self.parts], axis=self.axis
        )
        return whole if dtype is None else whole.astype(dtype)

    def assign(self, value: np.ndarray) -> None:
        """Give each part its share of `value`."""
        for part, share in zip(
            self.parts,
            cut(value, [part.shape[self.axis] for part in self.parts], self.axis),
            strict=True,
        ):
            part.assign(share)


def cut(value: np.ndarray, sizes: Sequence[int], axis: int) -> list[np.ndarray]:
    """Cut `value` into pieces of these sizes along `axis`."""
    return np.split(value, np.cumsum(sizes)[:-1], axis=axis)
