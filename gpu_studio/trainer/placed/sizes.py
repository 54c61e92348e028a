"""The size of a tensor in the executed graph, known to the graph in which the step was traced."""

from __future__ import annotations

import math
import re
from typing import Any

# The body of the loop over the steps is inlined under this name.
_BODY = re.compile(r"^while/body/_\d+/")


class Sizes:
    """Sizes in bytes of the tensors of a traced graph.

    Its samples' axis is unknown: `rows` stands for it.
    """

    def __init__(self, traced: Any, rows: float) -> None:
        """`rows` are the samples of a micro-batch: the mean, so that they sum to the batch's."""
        self._traced = traced
        self._rows = rows

    def of(self, operation: str, output: int) -> float | None:
        """Return the bytes of an output.

        None if TensorFlow's optimiser created it or it has no shape.
        """
        try:
            tensor = self._traced.get_operation_by_name(_BODY.sub("", operation)).outputs[output]
        except (KeyError, IndexError):
            return None
        shapes = [self._elements(each) for each in (tensor, *_reshaped(tensor))]
        elements = next((each for each in shapes if each is not None), None)
        return None if elements is None else elements * tensor.dtype.size

    def _elements(self, tensor: Any) -> float | None:
        if tensor.shape.rank is None or None in tensor.shape[1:]:
            return None
        axes = list(tensor.shape)
        first = axes[0] if axes else 1
        return float((self._rows if first is None else first) * math.prod(axes[1:]))


def _reshaped(tensor: Any) -> list[Any]:
    """The same numbers in another shape.

    The gradient of a sum has no shape until it is given that of its operand.
    """
    return [
        each.outputs[0]
        for each in tensor.consumers()
        if each.type == "Reshape" and each.inputs[0] is tensor
    ]
