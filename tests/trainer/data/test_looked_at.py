"""What is looked at beforehand shuffles nothing on: the first pass has the first order."""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any, cast

import numpy as np
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


@pytest.mark.parametrize("filed", [False, True])
def test_that_a_look_leaves_a_cache_to_the_order_that_is_due(tmp_path: Path, filed: bool) -> None:
    import tensorflow as tf

    from gpu_studio.trainer.data.looked_at import to_look_at

    def due(folder: str) -> Any:
        tf.random.set_seed(3)
        data = tf.data.Dataset.range(12).shuffle(12)
        passes(data.batch(4), 1)  # as a layer adapts to it
        where = [str(tmp_path / folder)] if filed else []
        return data.batch(4).cache(*where).prefetch(10)

    wanted = passes(due("theirs"), 2)
    data = due("ours")
    assert passes(to_look_at(data), 1) != wanted[:1]
    assert passes(data, 2) == wanted


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


def orders_in_fit(data: Any, epochs: int, held: Any = None) -> list[list[int]]:
    """The numbers of each batch, as a model is shown them by `fit`, which validates with `held`."""
    import keras
    import tensorflow as tf

    seen: list[list[int]] = []

    class Seeing(keras.Model):  # type: ignore[misc]  # Keras has no types
        def train_step(self, batch: Any) -> dict[str, Any]:
            tf.py_function(lambda each: seen.append(each.numpy().ravel().tolist()), [batch[0]], [])
            return {"loss": tf.zeros(())}

        test_step = train_step

    model = Seeing()
    model.compile()
    model.built = True
    model.fit(data, epochs=epochs, validation_data=held, verbose=0)
    return seen


class Unguarded:
    """In place of a user's function: what it made is read as it is."""

    name, begins = "load", 0

    def guarded(self, read: Any) -> Any:
        return read()


class OfScript(Unguarded):
    """In place of what a script gives `fit`."""

    begins = 1


def orders(streams: list[Any], passes: range) -> list[list[int]]:
    """The numbers of each batch, as a run reads them from streams that follow one another."""
    found = []
    for each in streams:
        each.pass_over(passes.start)
    for number in passes:
        for each in streams:
            each.begin(number, 0)
            found += [x.numpy().ravel().tolist() for x, _ in each.elements()]
            each.end()
    return found


@pytest.mark.parametrize("length", ["known", "unknown", "of two parts"])
@pytest.mark.filterwarnings("ignore:Your input ran out of data", "ignore:`shuffle=True`")
def test_that_each_epoch_has_the_order_that_it_has_in_fit(length: str) -> None:
    import tensorflow as tf

    from gpu_studio.trainer.data.streams import DatasetStream

    as_it_is = tf.autograph.experimental.do_not_convert

    def pipelines() -> list[Any]:
        data = shuffled("range").map(as_it_is(lambda x: (tf.cast(x, tf.float32)[:, None], x)))
        if length == "of two parts":  # which are shuffled as one
            return [data.take(3), data.skip(3)]
        return [data if length == "known" else data.filter(as_it_is(lambda _, y: y[0] > -1))]

    def streams() -> list[Any]:
        tf.random.set_seed(3)
        return [DatasetStream(cast("UserFunction", Unguarded()), 3, each) for each in pipelines()]

    tf.random.set_seed(3)
    training, *held = pipelines()
    wanted = orders_in_fit(training, 4, *held)
    assert (streams()[0].length is not None) == (length != "unknown")
    assert orders(streams(), range(4)) == wanted
    assert orders(streams(), range(2, 4)) == wanted[10:]
    assert len(wanted) == 20


def test_that_an_epoch_validates_with_the_first_batches_of_a_generator_and_the_next_ones() -> None:
    from gpu_studio.plan import Training
    from gpu_studio.trainer.data.python_streams import GeneratorStream
    from gpu_studio.trainer.passes import words_of_streams

    def stream(most: int = 3) -> GeneratorStream:
        numbers = (np.full((4, 1), at) for at in range(9))
        made = GeneratorStream(cast("UserFunction", Unguarded()), 3, numbers, None)
        made.most = most
        return made

    def read(made: GeneratorStream, number: int) -> list[int]:
        made.begin(number, 0)
        return [int(batch[0][0, 0]) for batch, _ in made.batches(4)]

    whole = stream()
    assert [read(whole, number) for number in range(3)] == [[0, 1, 2], [0, 1, 3], [0, 1, 4]]
    assert read(stream(), 2) == [0, 1, 4]  # after a resume
    assert read(stream(most=0), 0) == list(range(9))
    trained = stream(most=0)
    trained.begin(0, 5)
    assert [int(batch[0][0, 0]) for batch, _ in trained.batches(4)] == [5, 6, 7, 8]
    splits: Any = SimpleNamespace(stream=None), SimpleNamespace(stream=whole)
    (said,) = words_of_streams(Training(validation_steps=3), *splits)
    assert "validates with its first 2 batches and the next 1." in said
    assert not list(words_of_streams(Training(validation_steps=2), *splits))


def said_of(data: Any, **training: Any) -> list[str]:
    """What a run says of a pipeline, besides that it gives batches, and how it is resumed."""
    from gpu_studio.plan import Training
    from gpu_studio.trainer.data.streams import DatasetStream
    from gpu_studio.trainer.passes import words_of_streams

    stream = DatasetStream(cast("UserFunction", Unguarded()), 3, data)
    return list(
        words_of_streams(Training(**training), cast("Any", SimpleNamespace(stream=stream)), None)
    )[2:]


def test_that_a_look_which_shuffles_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    from gpu_studio.trainer.data import looked_at

    assert not said_of(shuffled("arrays"))
    monkeypatch.setattr(looked_at, "MOST_BYTES", 8)
    (said,) = said_of(shuffled("arrays"))
    assert said.endswith("its first pass has the order of the second in fit.")


def test_that_steps_of_a_pipeline_of_unknown_length_are_told_to_be_counted_otherwise() -> None:
    (said,) = said_of(shuffled("generator"))
    assert "is not known before their end, where fit counts one step more" in said
    assert said.endswith("are further there.")
    dropped = shuffled("generator").unbatch().batch(2, drop_remainder=True)
    assert said_of(dropped)[0].endswith("further there, and its means of the loss are smaller.")
    assert not said_of(shuffled("generator"), steps_per_epoch=3)
    assert not said_of(shuffled("generator").repeat())


@pytest.mark.parametrize("function", [OfScript, Unguarded])
def test_that_a_generator_of_a_script_draws_on_where_it_was_left(function: Any) -> None:
    from gpu_studio.trainer.data.python_streams import GeneratorStream

    def drawing() -> Iterator[Any]:
        while True:
            yield np.random.random((4, 1)).astype("float32")

    np.random.seed(5)
    wanted = list(itertools.islice(drawing(), 5))
    np.random.seed(5)
    stream = GeneratorStream(function(), 3, drawing(), None)
    np.random.seed(7)  # as a model does that is made meanwhile
    stream.begin(0, 0)
    found = [batch[0] for batch, _ in itertools.islice(stream.batches(4), 5)]
    assert np.array_equal(found, wanted) is (function is OfScript)
    assert np.array_equal(found[:2], wanted[:2])
    held = GeneratorStream(function(), 3, drawing(), None)
    held.most = 3
    drawn = []
    for epoch in range(2):
        held.begin(epoch, 0)
        drawn += [batch[0] for batch, _ in held.batches(4)]
    assert np.array_equal(drawn[:2], drawn[3:5])
    assert not np.array_equal(drawn[2], drawn[5])
