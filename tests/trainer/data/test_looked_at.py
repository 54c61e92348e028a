"""What is looked at beforehand shuffles nothing on: the first pass has the first order."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, cast

import pytest

if TYPE_CHECKING:
    from gpu_studio.trainer.user_code import UserFunction

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


def orders_in_fit(data: Any, epochs: int) -> list[list[int]]:
    """The numbers of each batch, as a model is shown them by `fit`."""
    import keras
    import tensorflow as tf

    seen: list[list[int]] = []

    class Seeing(keras.Model):  # type: ignore[misc]  # Keras has no types
        def train_step(self, batch: Any) -> dict[str, Any]:
            tf.py_function(lambda each: seen.append(each.numpy().ravel().tolist()), [batch[0]], [])
            return {"loss": tf.zeros(())}

    model = Seeing()
    model.compile()
    model.built = True
    model.fit(data, epochs=epochs, verbose=0)
    return seen


class Unguarded:
    """In place of a user's function: what it made is read as it is."""

    name = "load"

    def guarded(self, read: Any) -> Any:
        return read()


@pytest.mark.parametrize("length", ["known", "unknown"])
@pytest.mark.filterwarnings("ignore:Your input ran out of data", "ignore:`shuffle=True`")
def test_that_each_epoch_has_the_order_that_it_has_in_fit(length: str) -> None:
    import tensorflow as tf

    from gpu_studio.trainer.data.streams import DatasetStream

    as_it_is = tf.autograph.experimental.do_not_convert

    def pipeline() -> Any:
        data = shuffled("range").map(as_it_is(lambda x: (tf.cast(x, tf.float32)[:, None], x)))
        return data if length == "known" else data.filter(as_it_is(lambda _, y: y[0] > -1))

    tf.random.set_seed(3)
    wanted = orders_in_fit(pipeline(), 4)
    tf.random.set_seed(3)
    stream = DatasetStream(cast("UserFunction", Unguarded()), 3, pipeline())
    assert (stream.length is not None) == (length == "known")
    found = []
    for number in range(4):
        stream.begin(number, 0)
        found += [x.numpy().ravel().tolist() for x, _ in stream.elements()]
    assert found == wanted
    assert len(found) == 20
