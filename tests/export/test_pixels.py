"""A script for `fit` sees bytes as pictures where a run does, and nowhere else."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any, cast

import numpy as np
import pytest

from gpu_studio.export import fit_data
from gpu_studio.export.fitted import FittedPlan
from gpu_studio.placement.plan_facts import ArrayFacts
from gpu_studio.plan import Data
from gpu_studio.plan.data import are_scaled
from gpu_studio.trainer.data.arrays import samples

SHAPES = ((5,), (3, 5), (16, 16), (16, 16, 3), (8, 8, 7), (4, 4, 1), (2, 9, 9, 3))


@pytest.mark.parametrize("inside", [False, True])
@pytest.mark.parametrize("scale", ["auto", "unit"])
def test_that_bytes_are_pixels_where_they_are_in_a_run(scale: str, inside: bool) -> None:
    inputs = (ArrayFacts(("left",) if inside else ()),)
    plan = SimpleNamespace(data=Data(file="a.npz", options={"scale": scale}))
    fitted = SimpleNamespace(plan=plan, seen=SimpleNamespace(inputs=inputs))
    made: dict[str, Any] = {"np": np}
    exec(fit_data._AS_GIVEN + fit_data._pixels(cast("FittedPlan", fitted)), made)
    for shape in SHAPES:
        for kind in (np.uint8, np.float32):
            array = np.full((2, *shape), 255, kind)
            ours = made["pixels"](array)
            assert ours.max() == (1 if are_scaled(array.dtype.name, array.shape, scale) else 255)
            assert ours.shape == samples("a.npz", "x", array, inside).shape
