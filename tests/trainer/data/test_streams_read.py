"""What a data function returns as a stream is read beforehand, and refused in words where wrong."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from written_code import Written

from gpu_studio.plan import Data
from gpu_studio.trainer.data import load_data
from gpu_studio.trainer.errors import DataError, UserCodeError

pytestmark = pytest.mark.slow

CODE = """
import numpy as np
import tensorflow as tf

X = np.arange(96.0).reshape(24, 4)
Y = np.arange(24) % 3

def whole():
    data = tf.data.Dataset.from_tensor_slices(({"a": X, "b": X[:, 0]}, Y))
    return {"train": data.batch(10), "val": data.take(6), "test": (X[:5], Y[:5])}

def uneven():
    yield X[:8], Y[:7]

def four():
    return tf.data.Dataset.from_tensor_slices((X, Y, Y, Y)).batch(8)

def nothing():
    return tf.data.Dataset.from_tensor_slices((X, Y)).batch(8).take(0)

def raising():
    raise KeyError("picture 17")
    yield

def ragged():
    return tf.data.Dataset.from_tensor_slices((tf.ragged.constant([[1], [2, 3]]), [0, 1])).batch(2)

def padded():
    kinds = tf.TensorSpec([None], tf.float32), tf.TensorSpec([], tf.int32)
    rows = lambda: ((np.ones(2 + n, np.float32), n % 3) for n in range(8))
    return tf.data.Dataset.from_generator(rows, output_signature=kinds).padded_batch(4)

def unlike():
    for n in range(3):
        yield np.ones((4, 2 + n)), Y[:4]

def batches():
    yield from whole()["train"].as_numpy_iterator()

def one_by_one():
    return ((x, y) for x, y in zip(X[:6], Y[:6]))

def with_an_empty_one():
    yield X[:8], Y[:8]
    yield X[:8], Y[:8]
    yield X[:0], Y[:0]

def of_changing_types():
    yield X[:8], Y[:8]
    yield X[:8], Y[:8]
    yield X[:8], Y[:8] + 0.5

def of_growing_bytes():
    for most in (200, 255, 256):
        yield np.full((2, 4), most, np.min_scalar_type(most)), Y[:2]

def with_late_large_dataset():
    return tf.data.Dataset.from_tensor_slices((X, Y + np.arange(24) * 100_000_000)).batch(4)

def with_late_large_targets():
    yield from with_late_large_dataset().as_numpy_iterator()

def of_all_types():
    every = {kind: Y.astype(kind) for kind in "u1 u2 u4 u8 i1 i2 i4 i8 b1 f2 f4 f8".split()}
    return tf.data.Dataset.from_tensor_slices((every, every, every)).batch(8)

def of_all_types_in_python():
    yield from of_all_types().as_numpy_iterator()

def ready():
    x = X.astype("float32")
    return tf.data.Dataset.from_tensor_slices(({"a": x, "b": x[:, 0]}, Y)).batch(10)

def with_an_empty_late():
    return tf.data.Dataset.from_tensor_slices((X.astype("float32"), Y)).batch(4).map(_cut)

@tf.autograph.experimental.do_not_convert  # which leaves a file
def _cut(x, y):
    rows = tf.where(x[0, 0] < 80, 4, 0)
    return x[:rows], y[:rows]

def of_all_lengths():
    for number in range(5):
        yield X[number][: 2 + number % 2], 1
"""


@pytest.fixture(autouse=True)
def _current_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The user's folder stays the current one of a trainer, not of these tests."""
    monkeypatch.chdir(tmp_path)


def test_that_streams_are_told_by_their_first_batches_and_by_what_they_know(
    written: Written,
) -> None:
    found = load_data(Data(python=f"{written(CODE)}:whole"), 0, Path())
    train, held, tested = (split.stream for split in found.splits)
    assert (train.in_words, train.steps(32), train.rows) == ("3 batches of 10", 3, (10, 10))
    assert (held.in_words, held.steps(4)) == ("6 samples, one by one", 2)
    assert tested.steps(2) == 3
    assert {name: x.shape for name, x in found.train.x.items()} == {"a": (20, 4), "b": (20,)}
    assert not found.notes


def test_that_a_stream_without_validation_says_that_nothing_is_validated(written: Written) -> None:
    path = written(CODE + '\n\ndef alone():\n    return whole()["train"]\n')
    [note] = load_data(Data(python=f"{path}:alone"), 0, Path()).notes
    assert note.startswith("Nothing is validated: a tf.data.Dataset cannot be split")


@pytest.mark.parametrize(
    ("function", "words"),
    [
        ("uneven", "the first batch has parts that are not equally long: x 8, y 7."),
        ("four", "returned a tf.data.Dataset that gives 4 things at a time."),
        ("nothing", "returned a tf.data.Dataset that gives nothing."),
        ("ragged", "gives RaggedTensors, which cannot be cut into parts."),
        (
            "of_all_lengths",
            "gives samples of different shapes: x is (2,) first, and (3,) in sample 1.",
        ),
    ],
)
def test_that_what_cannot_be_batches_is_refused_in_words(
    function: str, words: str, written: Written
) -> None:
    with pytest.raises(DataError) as refused:
        load_data(Data(python=f"{written(CODE)}:{function}"), 0, Path())
    assert words in refused.value.message
    assert "own.py" in refused.value.suggestions[-1]


@pytest.mark.parametrize(
    ("function", "known"), [("whole", True), ("whole", False), ("batches", False)]
)
def test_that_batches_of_any_size_are_cut_into_parts_of_which_none_is_lost(
    function: str, known: bool, written: Written
) -> None:
    from gpu_studio.trainer.batches import Cut, stream_parts

    path = written(CODE)
    stream = load_data(Data(python=f"{path}:{function}"), 0, Path()).train.stream
    if not known:
        stream.length = None
    parts = list(stream_parts(stream, 0, 3).as_numpy_iterator())
    assert [told[1:].tolist() for *_, told in parts[::3]] == [[10, 0], [10, 0], [4, 1 - known]]
    assert [len(y) for _, y, *_ in parts] == [4, 3, 3, 4, 3, 3, 2, 1, 1]
    assert [y for part in parts for y in part[1].tolist()] == [each % 3 for each in range(24)]
    assert sum(part[3].sum() for part in parts) == pytest.approx(3)
    one_by_one = load_data(Data(python=f"{path}:one_by_one"), 0, Path()).train.stream
    held = load_data(Data(python=f"{path}:whole"), 0, Path()).validation.stream
    stream = held if function == "whole" else one_by_one
    idle = list(stream_parts(stream, 2, 4).as_numpy_iterator())
    weights = Cut(6, 2, 4).parts()[:4, 2]
    assert [part[3].tolist() for part in idle[:4]] == [[0.5 if w else 0] for w in weights]


def test_that_a_generator_that_raises_is_told_by_its_line(written: Written) -> None:
    with pytest.raises(UserCodeError) as failed:
        load_data(Data(python=f"{written(CODE)}:raising"), 0, Path())
    assert failed.value.message == "own.py stopped in line 22 with KeyError: 'picture 17'"


@pytest.mark.parametrize(
    ("function", "words"),
    [
        ("with_an_empty_one", "own.py:with_an_empty_one: batch 2 has no samples."),
        (
            "of_changing_types",
            "batch 2 has y of type float64, and those before have int64, which does not hold it.",
        ),
        (
            "of_growing_bytes",
            "batch 2 has x of type uint16, and those before have uint8, which does not hold it.",
        ),
    ],
)
def test_that_a_later_batch_that_cannot_be_trained_on_is_told(
    function: str, words: str, written: Written
) -> None:
    from gpu_studio.trainer.batches import stream_parts

    stream = load_data(Data(python=f"{written(CODE)}:{function}"), 0, Path()).train.stream
    with pytest.raises(Exception, match="DataError"):
        list(stream_parts(stream, 0, 2))
    with pytest.raises(DataError) as failed:
        stream.check()
    assert words in failed.value.message


@pytest.mark.parametrize("function", ["with_late_large_dataset", "with_late_large_targets"])
def test_that_targets_beyond_32_bits_are_not_wrapped(function: str, written: Written) -> None:
    from gpu_studio.trainer.batches import stream_parts

    path = written(CODE)
    stream = load_data(Data(python=f"{path}:{function}"), 0, Path()).train.stream
    found = [y for _, y, *_ in stream_parts(stream, 0, 2)]
    assert int(found[-1][-1]) == 2 + 23 * 100_000_000 > np.iinfo(np.int32).max


@pytest.mark.parametrize("known", [True, False])
def test_that_one_replica_makes_the_same_part_of_a_batch_as_a_pipeline_would(
    known: bool, written: Written
) -> None:
    import tensorflow as tf

    from gpu_studio.trainer.batches import stream_parts
    from gpu_studio.trainer.whole_batches import WholeBatch, as_part

    stream = load_data(Data(python=f"{written(CODE)}:ready"), 0, Path()).train.stream
    if not known:
        stream.length = None
    parts = list(stream_parts(stream, 0, 1))
    whole = list(stream_parts(stream, 0, 1, whole=True))
    assert all(isinstance(each, WholeBatch) for each in whole)
    for part, made in zip(parts, map(as_part, whole), strict=True):
        (*one, told), (*other, told_there) = part, made
        for mine, wanted in zip(tf.nest.flatten(other), tf.nest.flatten(one), strict=True):
            assert mine.dtype == wanted.dtype
            np.testing.assert_array_equal(mine, wanted)
        np.testing.assert_array_equal(told[1:], told_there[1:])
        assert told_there[0] > 0
    untimed = stream_parts(stream, 0, 1, whole=True, timed=False)
    assert {float(each.ready) for each in untimed} == {0.0}


@pytest.mark.parametrize("known", [True, False])
def test_that_iterators_optimize_no_function_but_those_of_the_pipeline_itself(
    known: bool, written: Written
) -> None:
    import tensorflow as tf

    from gpu_studio.trainer.batches import stream_parts

    def optimized(data: tf.data.Dataset) -> list[str]:
        variant = tf.data.experimental.to_variant(data)
        graph = tf.compat.v1.GraphDef.FromString(
            tf.raw_ops.DatasetToGraphV2(input_dataset=variant).numpy()
        )
        as_they_are = "experimental_ints_on_device"
        return sorted(
            each.signature.name for each in graph.library.function if as_they_are not in each.attr
        )

    stream = load_data(Data(python=f"{written(CODE)}:with_an_empty_late"), 0, Path()).train.stream
    if not known:
        stream.length = None
    own = optimized(stream.elements())
    assert len(own) == 1
    for whole in (True, False):
        assert optimized(stream_parts(stream, 0, 1, whole=whole)) == own


def test_that_a_batch_without_samples_is_told_where_the_step_finds_it(written: Written) -> None:
    import tensorflow as tf

    from gpu_studio.trainer.batches import stream_parts
    from gpu_studio.trainer.whole_batches import as_part

    path = written(CODE)
    stream = load_data(Data(python=f"{path}:with_an_empty_late"), 0, Path()).train.stream
    step = tf.function(as_part, autograph=False)
    with pytest.raises(tf.errors.InvalidArgumentError) as stopped:
        list(map(step, stream_parts(stream, 0, 1, whole=True)))
    with pytest.raises(DataError) as failed:
        stream.blame(stopped.value)
    assert failed.value.message.endswith("that gives a batch without samples.")


@pytest.mark.parametrize("function", ["of_all_types", "of_all_types_in_python"])
@pytest.mark.parametrize("replicas", [1, 2])
def test_that_a_stream_gives_the_types_that_it_has(
    function: str, replicas: int, written: Written
) -> None:
    from gpu_studio.trainer.batches import stream_parts

    train = load_data(Data(python=f"{written(CODE)}:{function}"), 0, Path()).train
    known = [train.seen_type, train.wanted_type, train.weighted_type]
    part = next(iter(stream_parts(train.stream, 0, replicas)))
    for told, given in zip(known, part[:3], strict=True):
        assert {kind: each.str[1:] for kind, each in told.items()} == {kind: kind for kind in told}
        assert {kind: each.dtype for kind, each in given.items()} == told


@pytest.mark.parametrize(
    ("function", "varies"),
    [
        ("whole", False),
        ("batches", False),
        ("one_by_one", False),
        ("padded", True),
        ("unlike", True),
    ],
)
def test_that_samples_of_several_shapes_are_known_as_such(
    written: Written, function: str, varies: bool
) -> None:
    found = load_data(Data(python=f"{written(CODE)}:{function}"), 0, Path())
    assert found.train.stream.varies is varies
