"""Data that a function of the user's own returns: checked as the arrays of a file are."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from written_code import Written

from gpu_studio.plan import Data
from gpu_studio.plan.targets import Target
from gpu_studio.trainer.data import Dataset, load_data
from gpu_studio.trainer.errors import DataError, TrainerError, UserCodeError

NUMBERS = "import numpy as np\nx, y = np.arange(40.0).reshape(20, 2), np.arange(20) % 3\n"


def loaded(path: Path, **options: object) -> Dataset:
    return load_data(Data(python=f"{path}:load", options=options), 5, Path())


def of(written: Written, body: str) -> Dataset:
    return loaded(written(f"{NUMBERS}def load(): return {body}\n"))


@pytest.mark.parametrize("body", ["(x, y)", "[x.tolist(), y.tolist()]", "(x, y[:, None])"])
def test_that_samples_and_targets_are_taken_as_numpy_takes_them(
    written: Written, body: str
) -> None:
    made = of(written, body)
    assert (made.name, made.task, made.classes, made.sample_shape) == (
        "own.py:load",
        "classes",
        3,
        (2,),
    )
    assert len(made.train) == 16
    assert made.validation is not None
    assert made.test is not None
    assert (made.train.seen_type, made.train.wanted_type) == (np.float32, np.int64)


@pytest.mark.parametrize("body", ["x", "(x, None)"])
def test_that_samples_need_no_targets(written: Written, body: str) -> None:
    made = of(written, body)
    assert made.train.wanted(slice(None)) == ()
    assert made.train.seen(slice(1)).shape == (1, 2)


def test_that_a_test_split_of_its_own_stays_as_it_is(written: Written) -> None:
    made = of(written, "((x, y), (x[:7], y[:7]))")
    assert made.test is not None
    np.testing.assert_array_equal(
        made.test.seen(slice(None)), np.arange(14.0, dtype=np.float32).reshape(7, 2)
    )
    assert len(made.train) == 18


def test_that_options_and_the_seed_of_the_plan_reach_the_function(written: Written) -> None:
    path = written(NUMBERS + "def load(seed, low): return x[low:], y[low:] + seed\n")
    made = loaded(path, low=5)
    assert made.classes == 3 + 5
    assert len(made.train) == 12


@pytest.mark.parametrize(
    ("body", "kind", "message"),
    [
        (
            "None",
            UserCodeError,
            "own.py:load returned nothing where samples and targets are needed.",
        ),
        (
            "len(x)",
            UserCodeError,
            "own.py:load returned an int where samples and targets are needed.",
        ),
        (
            "(x, y, y, y)",
            UserCodeError,
            "own.py:load returned a tuple of 4 where samples and targets are needed.",
        ),
        ("((x, x[:3]), y)", DataError, "own.py:load: x/0 has 20 samples but x/1 has 3."),
        ("({'a': x, 'b': x[:3]}, y)", DataError, "own.py:load: x/a has 20 samples but x/b has 3."),
        ("(x, (y, y[:3]))", DataError, "own.py:load: x has 20 samples but y/1 has 3."),
        ("(x, y, y[:3])", DataError, "own.py:load: x has 20 samples but sample_weight has 3."),
        ("(x, y, y * np.nan)", DataError, "own.py:load: sample_weight holds a value that is no"),
        ("(x, y, y.astype(str))", DataError, "own.py:load: sample_weight holds <U21 where weights"),
        ("({}, y)", DataError, "own.py:load: x holds no array, so that there are no samples."),
        ("({1: x}, y)", DataError, "own.py:load: x has an array named 1, which is no name."),
        (
            "({'a': np.array([{}, []], object)}, y[:2])",
            DataError,
            "own.py:load: x/a holds Python objects (a ndarray)",
        ),
        ("({'a': x[0, 0]}, y)", DataError, "own.py:load: x/a has the shape (), but there must be"),
        (
            "{'x_train': {'a': x}, 'y_train': y, 'x_test': {'b': x}, 'y_test': y}",
            DataError,
            "own.py:load: a sample of x_train/a is float32 of shape (2,), but one of x_test/a is",
        ),
        (
            "([[1], [1, 2]], [0, 1])",
            UserCodeError,
            "own.py stopped with ValueError: setting an array element",
        ),
        (
            "(np.array([{}, {}], object), y[:2])",
            DataError,
            "own.py:load: x holds Python objects (a ndarray)",
        ),
        ("(x, y.astype(str))", DataError, "own.py:load: y holds <U21 where class ids"),
        ("(x, y[:3])", DataError, "own.py:load: x has 20 samples but y has 3."),
        (
            "((x, y), (x[:7, :1], y[:7]))",
            DataError,
            "own.py:load: a sample of x_train is float32 of shape (2,), but one of",
        ),
    ],
)
def test_that_what_training_cannot_use_is_told(
    written: Written, body: str, kind: type[TrainerError], message: str
) -> None:
    with pytest.raises(kind) as caught:
        of(written, body)
    assert caught.value.message.startswith(message)
    assert caught.value.suggestions


@pytest.mark.parametrize(
    ("body", "target"),
    [
        ("(x, x / 3)", Target((2,), measured=True)),
        ("(x, np.eye(4)[y])", Target((4,), measured=True, ids=2, one_hot=True)),
        ("(x, np.eye(4)[y].astype(bool))", Target((4,), ids=2, one_hot=True)),
        ("(x, np.eye(20, 4))", Target((4,), measured=True, ids=2)),
        ("(x, y == 1)", Target(ids=2)),
        ("(x, y[:, None] * 1.0)", Target((1,), measured=True, ids=3)),
        ("(x, np.stack([y, y], 1))", Target((2,), ids=3)),
        ("(x, np.stack([y, y], 1)[..., None].astype('u1'))", Target((2, 1), ids=3)),
    ],
)
def test_that_targets_keep_their_shape_and_are_known_for_what_they_are(
    written: Written, body: str, target: Target
) -> None:
    made = of(written, body)
    assert made.target == target
    assert made.train.y.shape[1:] == target.shape


def test_that_only_targets_with_one_class_a_sample_can_be_stratified(written: Written) -> None:
    def cut(body: str, name: str = "own.py") -> Dataset:
        path = written(f"{NUMBERS}def load(): return {body}\n", name)
        data = Data(python=f"{path}:load", split="stratified", test_fraction=0.3)
        return load_data(data, 5, Path())

    held = cut("(x, np.eye(3)[y])").test
    assert held is not None
    assert held.wanted(slice(None)).sum(axis=0).tolist() == [2, 2, 2]
    with pytest.raises(DataError, match="but a target is 2, each one of 3 classes, and there are"):
        cut("(x, np.stack([y, y], 1))", "other.py")


def test_that_targets_in_a_tuple_are_targets(written: Written) -> None:
    assert of(written, "(x, tuple(y))").classes == 3


def test_that_an_array_that_breaks_while_it_is_read_is_the_code_s_own_fault(
    written: Written,
) -> None:
    path = written(
        "class Odd:\n"
        "    def __array__(self, dtype=None, copy=None):\n"
        "        raise OSError('disk')\n"
        "def load(): return Odd(), Odd()\n"
    )
    with pytest.raises(UserCodeError, match=r"own\.py stopped in line 3 with OSError: disk"):
        loaded(path)


def test_that_a_function_may_return_a_validation_split(written: Written) -> None:
    made = of(written, "((x, y), (x[:4], y[:4]), (x[:7], y[:7]))")
    assert [len(split) for split in made.splits] == [20, 4, 7]


@pytest.mark.parametrize(
    "groups", ["np.arange(20) // 5", "np.array(list('aaaaabbbbbcccccddddd'), object)"]
)
def test_that_a_function_may_return_arrays_by_name_and_the_group_of_each_sample(
    written: Written, groups: str
) -> None:
    """A column of texts in pandas is an array of objects."""
    path = written(
        f"{NUMBERS}def load(): return dict(x=x, y=y, x_val=x[:4], y_val=y[:4], who={groups})\n"
    )
    data = Data(python=f"{path}:load", split="grouped", groups="who", test_fraction=0.25)
    grouped = load_data(data, 5, Path())
    assert [len(split) for split in grouped.splits] == [15, 4, 5]
    assert grouped.test is not None
    assert len({int(row) // 5 for row in grouped.test.rows}) == 1
    with pytest.raises(DataError, match="has no array groups"):
        load_data(Data(python=f"{path}:load", split="grouped"), 5, Path())


@pytest.mark.parametrize(
    ("body", "x", "y"),
    [
        ("((x, y), None)", ((2,), ()), ()),
        ("([x, y, x], y)", ((2,), (), (2,)), ()),
        ("({'b': x, 'a': y}, y)", {"a": (), "b": (2,)}, ()),
        ("(x, [y, x])", (2,), ((), (2,))),
        ("(x, [x, None])", (2,), ((2,), ())),
        ("(x, {'a': None, 'b': x.tolist()})", (2,), {"a": (), "b": (2,)}),
        ("{'x': (x, {'deep': y}), 'y': {'head': (y,)}}", ((2,), {"deep": ()}), {"head": ((),)}),
        ("{'x': [x.tolist(), x.tolist()], 'y': y.tolist()}", ((2,), (2,)), ()),
        ("(list(x), list(np.eye(20)))", (2,), (20,)),
        ("(y, y)", (), ()),
    ],
)
def test_that_several_inputs_and_targets_keep_their_structure(
    written: Written, body: str, x: object, y: object
) -> None:
    from gpu_studio.trainer.data.trees import flat, mapped

    made = of(written, body)
    assert made.sample_shape == x
    assert mapped(lambda target: target.shape, made.target) == (() if body.endswith("None)") else y)
    assert [len(each) for each in flat(made.train.seen(slice(None)))] == [16] * len(
        flat(made.train.x)
    )
    held = made.train.given(slice(2, 5))
    assert all(len(each) == 3 for each in flat(held))


WHOLE = ["u1", "u2", "u4", "u8", "i1", "i2", "i4", "i8", "b1"]


def test_that_types_stay_what_they_were(written: Written) -> None:
    bodies = "dict(t=y.astype(str), p=np.full((20, 8, 8, 3), 255, 'u1'),"
    bodies += " o=y.astype('S9').astype(object),"  # as TensorFlow gives texts
    bodies += f" **{{k: y.astype(k) for k in {[*WHOLE, 'f2', 'f4', 'f8']}}})"
    weights = "y.astype('i2')"
    train = of(written, f"({bodies}, (y.astype('u1'), y > 1, x), ({weights}, x[:, 0], y))").train
    kinds = {name: each.dtype.str[1:] for name, each in train.seen(slice(None)).items()}
    floats = dict.fromkeys(("f2", "f4", "f8", "p"), "f4")
    assert kinds == {each: each for each in WHOLE} | floats | {"t": "U21", "o": "S1"}
    assert train.seen(slice(None))["p"].max() == 1
    assert [each.dtype for each in train.wanted(slice(None))] == [np.uint8, np.bool_, np.float32]
    assert [each.dtype for each in train.weighted(slice(None))] == [np.int16, np.float32, np.int64]


@pytest.mark.parametrize("shape", [(20,), (20, 2), (20, 2, 3), (20, 2, 3, 2)])
def test_that_samples_alone_keep_their_types_whatever_their_axes(
    written: Written, shape: tuple[int, ...]
) -> None:
    path = written(f"{NUMBERS}def load(kind): return np.resize(y, {shape}).astype(kind), y\n")
    for kind in WHOLE:
        train = loaded(path, kind=kind).train
        assert [train.seen(slice(1)).dtype, train.seen_type] == [np.dtype(kind)] * 2


def test_that_pairs_of_equal_lengths_are_splits_and_a_note_says_so(written: Written) -> None:
    made = of(written, "((x, y), (x + 1, y))")
    assert made.test is not None
    assert any("read as (x_train, y_train), (x_test, y_test);" in note for note in made.notes)
    path = written(f"{NUMBERS}def load(): return (x, y), (x[:9], y[:9])\n", "other.py")
    assert not [note for note in loaded(path).notes if "read as" in note]


def test_that_pairs_of_other_shapes_are_inputs_and_targets(written: Written) -> None:
    made = of(written, "(x, x[:, :1]), (y[:, None], x)")
    assert made.test is not None
    assert [each.shape[1:] for each in made.train.seen(slice(1))] == [(2,), (1,)]
    assert [each.shape[1:] for each in made.train.wanted(slice(1))] == [(1,), (2,)]
    assert not [note for note in made.notes if "read as" in note]


def test_that_a_dictionary_of_inputs_alone_is_taken_as_fit_takes_it(written: Written) -> None:
    made = of(written, "{'left': x, 'right': x}")
    assert set(made.train.seen(slice(1))) == {"left", "right"}
    assert made.train.wanted(slice(1)) == ()
    path = written(f"{NUMBERS}def load(): return {{'left': x, 'labels': y}}\n", "other.py")
    with pytest.raises(UserCodeError, match="where samples and targets are needed") as raised:
        loaded(path)
    assert raised.value.suggestions[1].endswith("let it return (inputs, None).")
    path = written(f"{NUMBERS}def load(): return {{'left': x, 'labels': y}}, None\n", "third.py")
    assert set(loaded(path).train.seen(slice(1))) == {"left", "labels"}


PICTURES = """
import numpy as np

def load():
    x = np.arange(40 * 64, dtype="int64").reshape(40, 8, 8).astype("uint8")
    return x, x[:, 0, 0] % 3
"""
FITTED = f"""{PICTURES}
import keras

x, y = load()
model = keras.Sequential([keras.layers.Flatten(), keras.layers.Dense(3)])
model.compile("sgd", "mse")
model.fit(x, y, validation_data=(x[:9], y[:9]))
"""


@pytest.mark.slow
def test_that_bytes_that_a_script_gives_fit_are_left_as_they_are(written: Written) -> None:
    returned = loaded(written(PICTURES))
    assert (returned.train.range(), returned.sample_shape) == ((0.0, 1.0), (8, 8, 1))
    script = written(FITTED, "fitted.py")
    given = load_data(Data(python=f"{script}:fit", test_fraction=0.0), 5, Path())
    assert given.validation is not None
    for split in (given.train, given.validation):
        assert (split.range(), split.x.shape[1:], split.pixels) == ((0.0, 255.0), (8, 8), False)
