"""What is looked at beforehand shuffles nothing on: the first pass has the first order."""

from __future__ import annotations

from typing import Any

import pytest

pytestmark = pytest.mark.slow


def shuffled(kind: str) -> Any:
    import tensorflow as tf

    data = tf.data.Dataset.range(40)
    if kind == "generator":
        spec = tf.TensorSpec((), tf.int64)
        data = tf.data.Dataset.from_generator(lambda: iter(range(40)), output_signature=spec)
    if kind == "arrays":
        data = tf.data.Dataset.from_tensor_slices(list(range(40)))
    data = data.shuffle(40, seed=4)
    return (data.repeat(2) if kind == "repeated" else data).batch(8).prefetch(2)


def passes(data: Any, count: int) -> list[list[int]]:
    return [[int(each) for batch in data for each in batch] for _ in range(count)]


@pytest.mark.parametrize("kind", ["range", "generator", "arrays", "repeated"])
def test_that_a_look_at_a_pipeline_shuffles_nothing_on(kind: str) -> None:
    import tensorflow as tf

    from gpu_studio.trainer.data.looked_at import to_look_at

    tf.random.set_seed(3)
    wanted = passes(shuffled(kind), 2)
    tf.random.set_seed(3)
    data = shuffled(kind)
    assert passes(to_look_at(data), 1) == wanted[:1]
    assert passes(data, 2) == wanted
    assert wanted[0] != wanted[1]


def test_that_what_does_not_shuffle_or_holds_much_is_looked_at_as_it_is(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    import tensorflow as tf

    from gpu_studio.trainer.data import looked_at

    plain, large = tf.data.Dataset.range(9).batch(3), shuffled("arrays")
    assert looked_at.to_look_at(plain) is plain
    assert looked_at.to_look_at(large) is not large
    monkeypatch.setattr(looked_at, "MOST_BYTES", 8)
    assert looked_at.to_look_at(large) is large
