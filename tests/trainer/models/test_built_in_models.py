"""The built-in models.

Their sizes as published, their outputs, and that a seed makes them again.
"""

from __future__ import annotations

from itertools import islice
from pathlib import Path

import made_data
import numpy as np
import pytest
from built_in_models import dataset_for
from long_proofs import in_short

from gpu_studio.plan.catalogue import MODELS
from gpu_studio.plan.values import ModelSettings
from gpu_studio.trainer.errors import ModelError

pytestmark = pytest.mark.slow

NOWHERE = Path("/nonexistent")
MNIST, CIFAR = made_data.classes((28, 28, 1), 10), made_data.classes((32, 32, 3), 10)


def build(model, dataset, base=NOWHERE, seed=0):
    from gpu_studio.trainer.models import (
        build_model,  # not above: it starts TensorFlow, also where nothing is tested
    )

    return build_model(model, dataset, base, seed)


def built(name, dataset, seed=0, **options):
    return build(ModelSettings(name=name, options=options), dataset, seed=seed)


def trainable(model) -> int:
    return sum(int(np.prod(variable.shape)) for variable in model.trainable_variables)


def names(model) -> list[str]:
    return [layer.name for layer in model.layers]


@pytest.mark.parametrize(
    ("name", "dataset", "options", "parameters"),
    [
        ("mlp", MNIST, {}, 784 * 256 + 256 + 2 * (256 * 256 + 256) + 2570),
        ("mlp", MNIST, {"hidden": [256, 256]}, 784 * 256 + 256 + 256 * 256 + 256 + 2570),
        ("mlp", MNIST, {"hidden": []}, 7850),
        ("lenet", MNIST, {}, 520 + 25_050 + (800 * 128 + 128) + 1290),
        ("cnn", MNIST, {}, 320 + (13 * 13 * 32 * 64 + 64) + 650),
        (
            "cifar_cnn",
            CIFAR,
            {},
            4864 + 102_464 + 2 * 128 + (4096 * 384 + 384) + (384 * 192 + 192) + 1930,
        ),
        ("linear", made_data.values(), {}, 2),
    ],
)
def test_that_a_model_has_the_parameters_that_its_layers_say(name, dataset, options, parameters):
    assert trainable(built(name, dataset, **options)) == parameters


def test_that_resnet20_has_the_layers_and_parameters_of_the_paper():
    model = built("resnet20", CIFAR)
    weighted = [layer for layer in model.layers if type(layer).__name__ in {"Conv2D", "Dense"}]
    assert len(weighted) == 20
    assert trainable(model) == 269_722  # table 6 of He et al. 2015: 0.27 M
    shapes = [model.get_layer(f"stage{stage}_block3_relu").output.shape[1:] for stage in (1, 2, 3)]
    assert shapes == [(32, 32, 16), (16, 16, 32), (8, 8, 64)]


def test_that_a_shortcut_of_resnet20_takes_every_second_pixel_and_adds_channels_of_zeros():
    import keras

    model = built("resnet20", made_data.classes((7, 5, 3), 10))
    before, after = (
        model.get_layer(name).output
        for name in ("stage1_block3_relu", "stage2_block1_shortcut_put_back")
    )
    x, y = keras.Model(model.input, [before, after])(np.random.default_rng(0).random((2, 7, 5, 3)))
    expected = np.pad(np.asarray(x)[:, ::2, ::2, :], ((0, 0), (0, 0), (0, 0), (8, 8)))
    np.testing.assert_array_equal(np.asarray(y), expected)


DATASETS = {name: dataset_for(entry) for name, entry in MODELS.items()}


@pytest.mark.parametrize("name", MODELS)
def test_that_a_seed_makes_a_model_again_and_another_seed_another_one(name):
    mine, again, other = (built(name, DATASETS[name], seed) for seed in (5, 5, 6))
    for one, two in zip(mine.weights, again.weights, strict=True):
        np.testing.assert_array_equal(np.asarray(one), np.asarray(two))
    assert any(
        (np.asarray(one) != np.asarray(two)).any()
        for one, two in zip(mine.weights, other.weights, strict=True)
    )


@pytest.mark.parametrize("name", MODELS)
def test_that_outputs_are_logits_or_a_value_in_float32_under_mixed_precision_too(name):
    import keras

    dataset = DATASETS[name]
    keras.config.set_dtype_policy("mixed_bfloat16")
    try:
        model = built(name, dataset)
    finally:
        keras.config.set_dtype_policy("float32")
    outputs = model(dataset.train.x)
    assert outputs.shape == (len(dataset.train), dataset.outputs)
    assert outputs.dtype == "float32"
    assert model.get_layer("outputs").activation.__name__ == "linear"
    if name != "linear":
        assert "bfloat16" in {layer.compute_dtype for layer in model.layers}


STEPS = 40
QUICK = ("mlp", "cnn", "lenet", "linear")
RATES = {"transformer": 0.001}
"""The learning rates of models that learn in far fewer steps by another than 0.01."""


@pytest.mark.parametrize("name", in_short(MODELS, QUICK, __file__))
def test_that_a_model_learns_a_dozen_samples_by_heart(name):
    import keras

    dataset = DATASETS[name]
    model = built(name, dataset)
    sparse = keras.losses.SparseCategoricalCrossentropy(from_logits=True)
    # Eagerly, and no longer than it takes: to compile a step of the larger ones takes longer than
    # these few.
    model.compile(
        keras.optimizers.Adam(RATES.get(name, 0.01)),
        sparse if dataset.classes else "mse",
        run_eagerly=True,
    )
    first, *later = islice(losses(model, dataset.train), STEPS)
    assert later[-1] < first / 2


def losses(model, split):
    """The loss of each step on all samples, up to the first below half of the first one's."""
    loss = first = stepped(model, split)
    yield first
    while loss >= first / 2:
        loss = stepped(model, split)
        yield loss


def stepped(model, split):
    model.reset_metrics()  # else it would be the mean of all steps so far
    return float(model.train_on_batch(split.x, split.y))


def test_that_dropout_is_there_where_it_is_asked_for_and_makes_itself_again():
    dataset = made_data.classes((28, 28, 1))
    for name in ("mlp", "lenet", "cnn"):
        assert not [layer for layer in names(built(name, dataset)) if "dropout" in layer]
        outputs = [
            np.asarray(built(name, dataset, dropout=0.5)(dataset.train.x, training=True))
            for _ in range(2)
        ]
        np.testing.assert_array_equal(*outputs)
        assert (outputs[0] != np.asarray(built(name, dataset, dropout=0.5)(dataset.train.x))).any()


def test_that_the_layers_have_plain_names():
    assert names(built("mlp", MNIST)) == [
        "inputs",
        "flatten",
        "dense",
        "dense_1",
        "dense_2",
        "outputs",
    ]
    assert names(built("lenet", MNIST)) == [
        "inputs",
        "conv1",
        "pool1",
        "conv2",
        "pool2",
        "flatten",
        "dense",
        "outputs",
    ]


def test_that_the_transformer_knows_the_order_of_its_positions():
    dataset = made_data.classes((6, 4))
    model = built("transformer", dataset)
    forwards, backwards = (np.asarray(model(dataset.train.x[:, ::way])) for way in (1, -1))
    assert np.abs(forwards - backwards).max() > 1e-4


def test_that_attention_starts_with_different_queries_and_keys():
    layer = built("transformer", DATASETS["transformer"]).get_layer("block1_attention")
    assert (np.asarray(layer.query_dense.kernel) != np.asarray(layer.key_dense.kernel)).any()


def test_that_the_transformer_counts_tokens_of_all_splits():
    model = built("transformer", made_data.tokens(vocabulary=20))
    assert model.get_layer("embedding").input_dim == 20
    assert model(made_data.tokens().test.x).shape == (2, 3)
    assert (
        built("transformer", made_data.tokens(vocabulary=20), vocabulary=99)
        .get_layer("embedding")
        .input_dim
        == 99
    )


@pytest.mark.parametrize(
    ("name", "dataset", "options", "words"),
    [
        (
            "lenet",
            made_data.classes((20,)),
            {},
            r"lenet needs samples of shape \(rows, columns, channels\), .* \(20,\)",
        ),
        ("cnn", made_data.classes((28, 28)), {}, r"has \(28, 28\)"),
        ("lenet", made_data.classes((28, 15, 1)), {}, "at least 16 × 16 pixels, but .* has .*15"),
        ("cnn", made_data.classes((3, 9, 1)), {}, "at least 4 × 4 pixels"),
        (
            "linear",
            made_data.classes(),
            {},
            "linear learns values, but the targets of made classes are class ids",
        ),
        (
            "resnet20",
            made_data.values((8, 8, 1)),
            {},
            "resnet20 learns classes, but .* are measured values",
        ),
        ("mlp", made_data.tokens(), {}, "mlp cannot read the token ids"),
        (
            "transformer",
            made_data.classes((20,)),
            {},
            "a sample of made classes is a vector of 20 numbers",
        ),
        (
            "transformer",
            made_data.tokens(),
            {"vocabulary": 5},
            "holds the token 19, but .* has 5 tokens",
        ),
        (
            "transformer",
            made_data.classes((5, 4)),
            {"width": 30, "heads": 4},
            "width 30 is no multiple of its 4 heads",
        ),
    ],
)
def test_that_a_model_that_does_not_fit_the_data_is_refused_in_words(name, dataset, options, words):
    with pytest.raises(ModelError, match=words) as refused:
        built(name, dataset, **options)
    assert refused.value.suggestions


@pytest.mark.parametrize(
    ("name", "side"), [("lenet", 16), ("cnn", 4), ("cifar_cnn", 1), ("resnet20", 1)]
)
def test_that_the_smallest_images_that_are_let_through_do_work(name, side):
    dataset = made_data.classes((side, side, 1))
    assert built(name, dataset)(dataset.train.x).shape == (12, 3)


@pytest.mark.parametrize(
    ("model", "words"),
    [
        (ModelSettings(name="vgg"), 'not name = "vgg"'),
        (ModelSettings(), "not an empty model part"),
    ],
)
def test_that_other_models_are_refused_with_what_there_is(model, words):
    with pytest.raises(ModelError, match=words) as refused:
        build(model, MNIST)
    assert "mlp, lenet, cnn" in refused.value.suggestions[0]
