"""The bundled digits, read from the real file."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from gpu_studio.resource_files import resource
from gpu_studio.trainer.data.digits import bilinear_weights, digits, grow

# Of the data's description: how many images there are of each digit.
COUNTS = [178, 182, 177, 183, 181, 182, 181, 179, 174, 180]


@pytest.fixture(scope="module")
def original():
    with np.load(resource("data/digits.npz"), allow_pickle=False) as file:
        return file["images"], file["labels"]


def test_that_the_bundled_file_holds_the_published_digits(original):
    images, labels = original
    assert (images.shape, images.dtype, images.max()) == ((1797, 8, 8), np.uint8, 16)
    assert np.bincount(labels).tolist() == COUNTS
    assert images[0, 0].tolist() == [0, 0, 5, 13, 9, 1, 0, 0]
    assert labels[:10].tolist() == list(range(10))


def test_that_the_licence_lies_beside_the_digits():
    text = resource("data/LICENSE-digits.txt").read_text()
    for words in ("E. Alpaydin and C. Kaynak", "10.24432/C50P49", "Attribution 4.0", "Changes"):
        assert words in text


def test_that_digits_become_images_like_those_of_mnist():
    split = digits()
    assert (split.x.shape, split.x.dtype) == ((1797, 28, 28, 1), np.float32)
    assert (split.y.shape, split.y.dtype) == ((1797,), np.int32)
    assert split.x.min() == 0
    assert split.x.max() == 1
    frame = split.x.copy()
    frame[:, 4:24, 4:24] = 0
    assert not frame.any()


def test_that_growing_keeps_which_parts_of_an_image_are_bright(original):
    images = original[0][:50].astype(np.float32)
    quarters = grow(images)[:, 4:24, 4:24, 0].reshape(50, 2, 10, 2, 10).mean(axis=(2, 4))
    expected = images.reshape(50, 2, 4, 2, 4).mean(axis=(2, 4))
    assert np.corrcoef(quarters.ravel(), expected.ravel())[0, 1] > 0.98


@given(st.integers(2, 20), st.integers(1, 40))
def test_that_resampling_keeps_a_constant_and_never_overshoots(old, new):
    weights = bilinear_weights(old, new)
    np.testing.assert_allclose(weights.sum(axis=1), 1, rtol=1e-6)
    assert weights.min() >= 0


@given(st.integers(2, 12), st.integers(1, 3))
def test_that_resampling_a_slope_gives_the_slope_between_the_outer_pixels(old, factor):
    new = old * factor
    centres = (np.arange(new) + 0.5) * old / new - 0.5
    inside = (centres >= 0) & (centres <= old - 1)
    resampled = bilinear_weights(old, new) @ np.arange(old)
    np.testing.assert_allclose(resampled[inside], centres[inside], atol=1e-5)
