"""Inputs and outputs of models by name, and what is said where the data's structures do not fit."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from gpu_studio.plan.values import Named, OutputTraining, Training
from gpu_studio.trainer.errors import ModelError, TrainerError

pytestmark = pytest.mark.slow
ROWS = 6
A, B = np.zeros((ROWS, 4), np.float32), np.ones((ROWS, 2, 3), np.float32)
KIND, SIZE = np.arange(ROWS) % 3, np.linspace(0, 1, ROWS).reshape(ROWS, 1)
TEXT = np.array(list("abcabc"))


def data(x: Any, y: Any, weights: Any = ()) -> Any:
    from gpu_studio.trainer.data import Dataset
    from gpu_studio.trainer.data.arrays import split_of
    from gpu_studio.trainer.data.values import target_of

    split = split_of("made", "x", x, "y", y, weights, "sample_weight")
    return Dataset("made", split, None, None, target_of([split]))


def model(*, named: bool = False, outputs: int = 2) -> Any:
    """Two inputs, `a` (4,) and `b` (2, 3), and outputs `kind` (3,) and `size` (1,)."""
    import keras
    from keras import layers

    a, b = keras.Input((4,), name="a"), keras.Input((2, 3), name="b")
    hidden = layers.Concatenate()([a, layers.Flatten()(b)])
    made = {
        "kind": layers.Dense(3, name="kind")(hidden),
        "size": layers.Dense(1, name="size")(hidden),
    }
    chosen = dict(list(made.items())[:outputs])
    return keras.Model(
        {"a": a, "b": b} if named else [a, b], chosen if named else [*chosen.values()]
    )


def checked(made: Any, *given: Any) -> Any:
    from gpu_studio.trainer.models.own_models import check_shapes

    found = data(*given)
    check_shapes("own", made, found)
    return found


@pytest.mark.parametrize("named", [False, True])
@pytest.mark.parametrize(
    "y",
    [(KIND, SIZE), {"kind": KIND, "size": SIZE}],
    ids=["in order", "by name"],
)
@pytest.mark.parametrize("x", [(A, B), {"b": B, "a": A}], ids=["in order", "by name"])
def test_that_structures_meet_a_model_as_in_fit(x: Any, y: Any, named: bool) -> None:
    from gpu_studio.trainer.keras_objects import learners_of, make_objective

    found = checked(model(named=named), x, y)
    heads = make_objective(learners_of(Training(), found, model(named=named))).heads
    assert [(head.name, head.loss.name) for head in heads] == [
        ("kind", "sparse_categorical_crossentropy"),
        ("size", "mean_squared_error"),
    ]


@pytest.mark.parametrize(
    ("x", "y", "words"),
    [
        (A, (KIND, SIZE), r"own has 2 inputs \(a and b\), and there is 1 array in made"),
        ((A, B, A), (KIND, SIZE), r"own has 2 inputs \(a and b\), and there are 3 arrays in made"),
        ({"a": A, "c": B}, (KIND, SIZE), "own has the inputs a and b, and there is no x/b in made"),
        ((B, A), (KIND, SIZE), r"own takes a of shape \(4,\), but x/0 of made has \(2, 3\)"),
        ({"a": A, "b": A}, (KIND, SIZE), r"own takes b of shape \(2, 3\), but x/b of made has \(4"),
        (
            {"a": TEXT, "b": B},
            (KIND, SIZE),
            r"own takes a of shape \(4,\), but x/a of made has \(\)",
        ),
        ((A, B), KIND, r"own has 2 outputs \(kind and size\), and there is 1 target in made"),
        ((A, B), (KIND, SIZE, SIZE), r"own has 2 outputs .*, and there are 3 targets in made"),
        ((A, B), {"kind": KIND, "sort": SIZE}, "own has the outputs kind and size, and none of"),
        (
            (A, B),
            (SIZE, KIND),
            r"own has the output kind of shape \(3,\), but a target of made \(y/0\)",
        ),
        ((A, B), {"kind": KIND + 3, "size": SIZE}, r"but a target of made \(y/kind\) is one of 6"),
    ],
)
def test_that_a_structure_that_does_not_fit_is_told_by_its_arrays(
    x: Any, y: Any, words: str
) -> None:
    with pytest.raises(ModelError, match=words) as caught:
        checked(model(), x, y)
    assert caught.value.suggestions


def test_that_an_array_that_no_input_takes_is_refused_where_keras_would_mix_them_up() -> None:
    # By names Keras picks what it needs of a list's inputs; a dictionary's it takes in order.
    extra = {"a": A, "aa": A, "b": B}
    checked(model(), extra, (KIND, SIZE))
    with pytest.raises(ModelError, match="has the inputs a and b, and there is x/aa besides"):
        checked(model(named=True), extra, (KIND, SIZE))


def test_that_texts_reach_only_inputs_for_texts() -> None:
    import keras

    def of(dtype: str) -> Any:
        words = keras.Input((), dtype=dtype, name="words")
        made = keras.layers.StringLookup(vocabulary=["a"])(words) if dtype == "string" else words
        made = keras.ops.expand_dims(keras.ops.cast(made, "float32"), -1)
        return keras.Model(words, keras.layers.Dense(1)(made))

    checked(of("string"), TEXT, SIZE)
    with pytest.raises(ModelError, match="takes numbers in words, but x of made holds texts"):
        checked(of("float32"), TEXT, SIZE)
    with pytest.raises(ModelError, match="takes texts in words, but x of made holds numbers"):
        checked(of("string"), SIZE[:, 0], SIZE)


NONE = OutputTraining(loss=Named("none"))


@pytest.mark.parametrize(
    ("outputs", "y", "weights", "words"),
    [
        ({"sort": NONE}, (KIND, SIZE), (), "what the output sort learns by, but the model's"),
        ({}, {"kind": KIND}, (), "The model's output size has no target in made"),
        ({}, (), (), "There is nothing to learn: made has no targets"),
        ({"kind": NONE, "size": NONE}, (KIND, SIZE), (), "There is nothing to learn"),
        (
            {"size": OutputTraining(loss=Named("categorical_crossentropy"))},
            (KIND, SIZE),
            (),
            "training.outputs.size.loss",
        ),
        ({}, (KIND, SIZE), (A[:, 0],) * 3, "has 2 outputs .* and there are 3 targets among the"),
    ],
)
def test_that_what_outputs_cannot_learn_by_is_told(
    outputs: dict[str, OutputTraining], y: Any, weights: Any, words: str
) -> None:
    from gpu_studio.trainer.keras_objects import learners_of, make_objective

    found = data((A, B), y, weights)
    with pytest.raises(TrainerError, match=words):
        make_objective(learners_of(Training(outputs=outputs), found, model()))


def test_that_an_output_may_learn_nothing() -> None:
    from gpu_studio.trainer.keras_objects import learners_of

    found = data((A, B), {"kind": KIND})
    (learner,) = learners_of(Training(outputs={"size": NONE}), found, model())
    assert (learner.end.name, learner.target) == ("kind", 0)


def test_that_the_layers_of_a_model_without_a_graph_are_known_by_what_feeds_them() -> None:
    import parity_structures

    from gpu_studio.trainer.model_ends import as_graph
    from gpu_studio.trainer.model_layers import placeable_layers

    samples = {"a": parity_structures.SIZE[:1], "b": parity_structures.LEFT[:1]}
    made = as_graph(parity_structures.dicts_model(), samples, None)
    first, *heads = [(each.path, each.inputs) for each in placeable_layers(made)]
    assert first[1] == ()
    assert [inputs for _, inputs in heads] == [(first[0],)] * 2


def test_that_pixels_that_nobody_named_are_left_out_by_a_loss_that_ignores_them() -> None:
    import keras

    from gpu_studio.trainer.models.own_models import check_shapes

    masks = np.zeros((ROWS, 8, 8), np.int32)
    masks[0, 0, 0] = 255
    dataset = data(np.zeros((ROWS, 8, 8, 3), np.float32), masks)
    made = keras.Sequential([keras.Input((8, 8, 3)), keras.layers.Conv2D(2, 1)])
    with pytest.raises(ModelError) as refused:
        check_shapes("make_model", made, dataset)
    assert "ignore_class=255" in refused.value.suggestions[0]
    loss = keras.losses.SparseCategoricalCrossentropy(from_logits=True, ignore_class=255)
    made.compile(loss=loss)
    check_shapes("make_model", made, dataset)
