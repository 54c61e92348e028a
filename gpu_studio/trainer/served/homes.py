"""Where the variables of a model and its optimizer lie: which server holds how many, and bytes."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

import tensorflow as tf

from gpu_studio.common.figures import plural, size
from gpu_studio.plan import listed
from gpu_studio.trainer.devices import SERVERS


@dataclass(frozen=True, slots=True)
class Homes:
    """How many variables each server holds, and their bytes, as TensorFlow says of each."""

    variables: Sequence[int]
    bytes: Sequence[int]

    @property
    def words(self) -> str:
        """It in a sentence."""
        each = zip(range(len(self.bytes)), self.variables, self.bytes, strict=True)
        held = [f"server {n} holds {plural(many, 'variable')}, {size(of)}" for n, many, of in each]
        said = listed(held)
        return f"{said[:1].upper()}{said[1:]}."


def homes_of(variables: Iterable[Any], servers: int) -> Homes:
    """Where these Keras variables lie. Raises ValueError for one that lies on no server."""
    counts, sizes = [0] * servers, [0] * servers
    for variable in variables:
        spec = tf.DeviceSpec.from_string(variable.value.device)
        if spec.job != SERVERS:
            raise ValueError(f"{variable.path} lies on {variable.value.device}, not on a server")
        counts[spec.task] += 1
        sizes[spec.task] += variable.value.shape.num_elements() * variable.value.dtype.size
    return Homes(counts, sizes)
