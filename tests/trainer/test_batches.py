"""No sample is lost or seen twice, whatever the sizes."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

pytestmark = pytest.mark.slow


@given(st.integers(1, 300), st.integers(1, 64), st.integers(1, 8), st.data())
def test_that_the_parts_of_an_epoch_are_all_its_samples_once(
    samples: int, batch: int, replicas: int, data
) -> None:
    from gpu_studio.trainer.batches import Cut

    cut = Cut(samples, batch, replicas)
    offset = data.draw(st.integers(0, samples))
    parts = cut.parts(offset)
    assert len(parts) == cut.steps(offset) * replicas
    seen = [place for start, stop, size in parts if size for place in range(start, stop)]
    assert seen == list(range(offset, samples))


@given(st.integers(1, 300), st.integers(1, 64), st.integers(1, 8))
def test_that_the_replicas_share_a_batch_evenly_and_none_gets_nothing(
    samples: int, batch: int, replicas: int
) -> None:
    from gpu_studio.trainer.batches import Cut

    for step in Cut(samples, batch, replicas).parts().reshape(-1, replicas, 3):
        lengths = step[:, 1] - step[:, 0]
        assert lengths.min() >= 1
        real = lengths[step[:, 2] > 0]
        assert real.max() - real.min() <= 1
        assert real.sum() == step[:, 2].max()


def test_that_the_order_of_an_epoch_depends_on_seed_and_epoch_alone_or_on_nothing() -> None:
    from gpu_studio.trainer.batches import Cut

    order_of = Cut(50, 10, 1).order_of
    first = order_of(3, seed=1).numpy()
    np.testing.assert_array_equal(first, order_of(3, seed=1).numpy())
    assert sorted(first) == list(range(50))
    assert list(first) != list(order_of(4, seed=1).numpy())
    assert list(first) != list(order_of(3, seed=2).numpy())
    unshuffled = Cut(50, 10, 1, shuffled=False)
    assert unshuffled.order_of(3, seed=1).numpy().tolist() == list(range(50))


def test_that_a_stream_entered_in_mid_epoch_goes_on_as_the_whole_one() -> None:
    from gpu_studio.trainer.batches import Cut, training_stream
    from gpu_studio.trainer.data import Split

    split = Split(np.arange(23, dtype=np.float32)[:, None], np.arange(23, dtype=np.int32))
    cut = Cut(23, 5, 2)
    whole = [
        (x.numpy(), y.numpy(), w.numpy())
        for x, y, _, w in training_stream(split, cut, 7, 0, 0).take(40)
    ]
    entered = [
        (x.numpy(), y.numpy(), w.numpy())
        for x, y, _, w in training_stream(split, cut, 7, 1, 10).take(20)
    ]
    begun = cut.steps() * 2 + 4
    for (x, y, w), (x2, y2, w2) in zip(whole[begun : begun + 16], entered[:16], strict=True):
        np.testing.assert_array_equal(x, x2)
        np.testing.assert_array_equal(y, y2)
        np.testing.assert_allclose(w, w2)
    one_epoch = np.concatenate([y for _, y, w in whole[: cut.steps() * 2] if w[0] > 0])
    assert sorted(one_epoch) == list(range(23))


def test_that_the_weights_of_a_global_batch_sum_to_one() -> None:
    from gpu_studio.trainer.batches import Cut, evaluation_stream
    from gpu_studio.trainer.data import Split

    split = Split(np.zeros((9, 1), np.float32), np.zeros(9, np.int32))
    weights = [w.numpy().sum() for *_, w in evaluation_stream(split, Cut(9, 4, 4)).take(12)]
    np.testing.assert_allclose(np.reshape(weights, (3, 4)).sum(axis=1), 1.0, rtol=1e-6)
    assert np.count_nonzero(weights) == 9


KINDS = {
    "pixels": (
        np.arange(23 * 64, dtype=np.uint16).astype(np.uint8).reshape(23, 8, 8, 1),
        np.arange(23) % 5,
    ),
    "tokens": (np.arange(23 * 3, dtype=np.uint16).reshape(23, 3), np.arange(23, dtype=np.uint8)),
    "doubles": (np.linspace(-1, 1, 46).reshape(23, 2), np.linspace(0, 1, 23).reshape(23, 1)),
    "halves": (np.linspace(-1, 1, 46).reshape(23, 2).astype(np.float16), np.arange(23) % 2 == 0),
    "from another machine": (np.arange(92, dtype=">f4").reshape(23, 4), np.arange(23, dtype=">i8")),
    "long doubles": (np.linspace(-1, 1, 46, dtype=np.longdouble).reshape(23, 2), np.arange(23)),
}


@pytest.mark.parametrize("kind", KINDS)
def test_that_samples_too_large_for_a_copy_are_given_alike(
    kind: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    from gpu_studio.trainer import batches
    from gpu_studio.trainer.data import Split

    split = Split(*KINDS[kind], np.array([*range(3, 20), 22]))
    cut = batches.Cut(len(split), 5, 2)
    for stream in (
        lambda: batches.training_stream(split, cut, 7, 1, 5),
        lambda: batches.evaluation_stream(split, cut),
    ):
        given = []
        for most in (batches.WHOLE_BYTES, 0):
            monkeypatch.setattr(batches, "WHOLE_BYTES", most)
            given.append(list(stream().take(20)))
        for one, other in zip(*given, strict=True):
            assert one[2] == other[2] == ()
            for mine, same in zip(one[:2] + one[3:], other[:2] + other[3:], strict=True):
                assert mine.dtype == same.dtype
                np.testing.assert_array_equal(mine.numpy(), same.numpy())
        x, y, *_ = given[0][0]
        assert (x.dtype.as_numpy_dtype, y.dtype.as_numpy_dtype) == (
            split.seen_type,
            split.wanted_type,
        )
