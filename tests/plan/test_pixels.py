"""Which bytes are pictures."""

from __future__ import annotations

import pytest

from gpu_studio.plan.data import are_pixels, are_scaled


@pytest.mark.parametrize(
    "shape",
    [
        (60000, 28, 28),
        (1797, 8, 8),
        (9, 4, 4, 3),
        (9, 32, 32, 1),
        (9, 64, 48, 4),
        (9, 16, 64, 64, 3),
    ],
)
def test_that_bytes_in_the_shape_of_pictures_are_pixels(shape):
    assert are_pixels("uint8", shape)


@pytest.mark.parametrize(
    "shape", [(9,), (9, 784), (9, 20, 4), (9, 2, 30), (9, 8, 8, 17), (9, 8, 8, 2)]
)
def test_that_bytes_in_any_other_shape_are_numbers(shape):
    assert not are_pixels("uint8", shape)


@pytest.mark.parametrize(
    ("scale", "scaled"),
    [("auto", [True, False, False]), ("unit", [True, True, False]), ("none", [False] * 3)],
)
def test_that_a_plan_may_say_what_is_scaled(scale, scaled):
    samples = (("uint8", (9, 28, 28)), ("uint8", (9, 784)), ("float32", (9, 28, 28)))
    assert [are_scaled(dtype, shape, scale) for dtype, shape in samples] == scaled


@pytest.mark.parametrize("dtype", ["int8", "uint16", "int64", "bool", "float32"])
def test_that_only_bytes_are_pixels(dtype):
    assert not are_pixels(dtype, (9, 28, 28, 3))
