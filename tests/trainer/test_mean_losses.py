"""The mean loss of each of several outputs: over batches as in `fit`, or over samples."""

from __future__ import annotations

import numpy as np
import pytest

pytestmark = pytest.mark.slow


@pytest.mark.parametrize(("eagerly", "mean"), [(False, 3.5), (True, 2.75)])
def test_that_a_short_batch_counts_as_in_a_fit_that_traces_or_runs_eagerly(
    eagerly: bool, mean: float
) -> None:
    """Three samples whose losses are 2 in the mean, and then one of 5."""
    import tensorflow as tf

    from gpu_studio.trainer.keras_objects import Head
    from gpu_studio.trainer.keras_objects.objective import Judged
    from gpu_studio.trainer.meters import Meters, Tally

    heads = [Head(None, name=name, by_samples=eagerly) for name in "ab"]
    meters = Meters(heads)
    tally = Tally(meters)

    def trained(losses: list[float], size: int) -> None:
        """A part of a batch of this size; a weight of 0 is of no sample."""
        weight = tf.constant([1 / size if size else 0.0] * len(losses))
        judged = [Judged(each, (), (), tf.constant(losses), None) for each in heads]
        shares = [tf.reduce_sum(weight * each.losses) for each in judged]
        tally.add(0.0, len(losses), meters.added(judged, shares, [], weight, 0))

    trained([1.0, 2.0], 3)
    trained([3.0], 3)
    trained([5.0], 1)
    trained([9.0], 0)
    assert [tally.results()[f"{name}_loss"] for name in "ab"] == pytest.approx([mean, mean])
    assert np.isfinite(tally.results()["loss"])
