"""The bundled digits, and data made from a seed."""

from __future__ import annotations

import hashlib
import tracemalloc

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from gpu_studio.common.paths import resource
from gpu_studio.trainer.data.built_in import bilinear_taps, digits, grow, regression, synthetic

# Of the data's description: how many images there are of each digit.
COUNTS = [178, 182, 177, 183, 181, 182, 181, 179, 174, 180]
DIGITS = "30e4b8a12cb302374e6760afe9551a8c7580db363fcb098611850727cc05ad25"


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
def test_that_resampling_never_leaves_the_line(old, new):
    left, share = bilinear_taps(old, new)
    assert left.min() >= 0
    assert left.max() <= old - 2
    assert share.min() >= 0
    assert share.max() <= 1


def test_that_the_digits_have_the_same_bits_on_every_processor():
    """Checkpoints know their samples by them: with fused multiply-add or without."""
    assert hashlib.sha256(digits().x.tobytes()).hexdigest() == DIGITS


@given(st.integers(2, 12), st.integers(1, 3))
def test_that_resampling_a_slope_gives_the_slope_between_the_outer_pixels(old, factor):
    new = old * factor
    centres = (np.arange(new) + 0.5) * old / new - 0.5
    inside = (centres >= 0) & (centres <= old - 1)
    left, share = bilinear_taps(old, new)
    resampled = left * (1 - share) + (left + 1) * share
    np.testing.assert_allclose(resampled[inside], centres[inside], atol=1e-5)


shapes = st.lists(st.integers(1, 6), min_size=1, max_size=4)


@given(shapes, st.integers(2, 7), st.integers(1, 60), st.integers(0, 2**32 - 1))
def test_that_synthetic_data_have_the_shape_asked_for(shape, classes, samples, seed):
    split = synthetic(shape, classes, samples, seed)
    assert split.x.shape == (samples, *shape)
    assert (split.x.dtype, split.y.dtype) == (np.float32, np.int32)
    assert set(split.y) == set(range(min(classes, samples)))


def test_that_equal_seeds_make_equal_data_and_others_other_data():
    mine, again, other = (synthetic([8, 8, 1], 10, 100, seed) for seed in (1, 1, 2))
    np.testing.assert_array_equal(mine.x, again.x)
    np.testing.assert_array_equal(mine.y, again.y)
    assert (mine.x != other.x).any()


def test_that_the_seed_makes_the_same_first_samples_however_they_are_cut_into_pieces(monkeypatch):
    whole = synthetic([5, 5], 3, 40, seed=9)
    monkeypatch.setattr("gpu_studio.trainer.data.built_in._PIECE", 100)
    np.testing.assert_array_equal(whole.x, synthetic([5, 5], 3, 40, seed=9).x)


def test_that_the_classes_can_be_told_apart():
    split = synthetic([28, 28, 1], 10, 2000, seed=0)
    x = split.x.reshape(2000, -1)
    means = np.stack([x[:1000][split.y[:1000] == k].mean(axis=0) for k in range(10)])
    nearest = ((x[1000:, None, :] - means) ** 2).sum(axis=-1).argmin(axis=1)
    assert (nearest == split.y[1000:]).mean() > 0.99


@pytest.mark.slow
def test_that_synthetic_data_need_little_memory_beside_themselves():
    tracemalloc.start()
    try:
        split = synthetic([64, 64, 3], 10, 4000, seed=0)
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert peak < split.x.nbytes * 1.5


def test_that_a_line_can_be_found_again_in_the_regression_data():
    split = regression(samples=5000, slope=-3.0, intercept=0.5, noise=0.2, seed=4)
    assert split.x.shape == split.y.shape == (5000, 1)
    assert split.x.dtype == split.y.dtype == np.float32
    slope, intercept = np.polyfit(split.x[:, 0], split.y[:, 0], 1)
    assert (slope, intercept) == (pytest.approx(-3, abs=0.03), pytest.approx(0.5, abs=0.03))
    assert np.std(split.y - slope * split.x - intercept) == pytest.approx(0.2, abs=0.01)


def test_that_a_line_without_noise_is_exact():
    split = regression(samples=50, slope=2.0, intercept=1.0, noise=0.0, seed=0)
    np.testing.assert_allclose(split.y, 2 * split.x + 1, atol=1e-6)
