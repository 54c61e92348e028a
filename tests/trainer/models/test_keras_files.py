"""Models from `.keras` files, written by Keras itself."""

from __future__ import annotations

import json
import zipfile
from pathlib import Path

import made_data
import numpy as np
import pytest

from gpu_studio.plan.values import ModelSettings
from gpu_studio.trainer.errors import ModelError

pytestmark = pytest.mark.slow

DATASET = made_data.classes((8,), 3)


def two_layers(units=3, shape=(8,)):
    import keras

    layers = keras.layers
    return keras.Sequential(
        [keras.Input(shape), layers.Dense(5, activation="relu"), layers.Dense(units)]
    )


@pytest.fixture
def saved(tmp_path):
    """Saves a model and gives its path."""

    def save(model) -> Path:
        path = tmp_path / "own.keras"
        model.save(path)
        return path

    return save


def build(model, dataset, base=Path()):
    from gpu_studio.trainer.models import (
        build_model,  # not above: it starts TensorFlow, also where nothing is tested
    )

    return build_model(model, dataset, base, 0)


def loaded(path: Path, dataset=DATASET):
    return build(ModelSettings(file=path.name), dataset, path.parent)


def test_that_a_saved_model_comes_back_with_its_weights(saved):
    model = two_layers()
    again = loaded(saved(model))
    np.testing.assert_array_equal(
        np.asarray(again(DATASET.train.x)), np.asarray(model(DATASET.train.x))
    )


def test_that_every_built_in_model_can_be_saved_and_loaded_without_code_of_its_own(saved):
    for name, dataset in (
        ("resnet20", made_data.classes((9, 9, 3))),
        ("transformer", made_data.classes((6, 4))),
    ):
        model = build(ModelSettings(name=name), dataset)
        again = loaded(saved(model), dataset)
        np.testing.assert_allclose(
            np.asarray(again(dataset.train.x)), np.asarray(model(dataset.train.x)), rtol=1e-6
        )


def test_that_a_compiled_model_loses_its_own_optimizer(saved):
    model = two_layers()
    model.compile("sgd", "mse")
    assert not loaded(saved(model)).compiled


def test_that_axes_left_open_in_the_model_fit_any_size(saved):
    import keras

    open_sides = keras.Sequential(
        [keras.Input((None, None, 1)), keras.layers.GlobalAveragePooling2D(), keras.layers.Dense(3)]
    )
    assert loaded(saved(open_sides), made_data.classes((4, 9, 1))).output_shape == (None, 3)


def test_that_the_dropout_of_a_file_depends_on_the_seed_of_the_plan_only(saved):
    import keras

    path = saved(
        keras.Sequential([keras.Input((8,)), keras.layers.Dropout(0.5), keras.layers.Dense(3)])
    )
    mine, again = (np.asarray(loaded(path)(DATASET.train.x, training=True)) for _ in range(2))
    np.testing.assert_array_equal(mine, again)


def test_that_python_code_in_a_file_is_refused_and_never_run(saved, tmp_path):
    import keras

    canary = str(tmp_path / "ran")
    code = keras.layers.Lambda(lambda x: (open(canary, "w").close(), x)[1])  # noqa: PTH123
    path = saved(keras.Sequential([keras.Input((8,)), code, keras.layers.Dense(3)]))
    Path(canary).unlink()
    with pytest.raises(
        ModelError,
        match=r"Lambda layer, Python code that would run when loaded; .* safe mode refuses",
    ):
        loaded(path)
    assert not Path(canary).exists()
    keras.saving.load_model(path, safe_mode=False)
    assert Path(canary).exists(), "the canary would have sung"


def tampered(path: Path, change) -> Path:
    """The file with its configuration of the layers changed."""
    with zipfile.ZipFile(path) as archive:
        members = {name: archive.read(name) for name in archive.namelist()}
    config = json.loads(members["config.json"])
    change(config["config"]["layers"])
    with zipfile.ZipFile(path, "w") as archive:
        for name, content in (members | {"config.json": json.dumps(config).encode()}).items():
            archive.writestr(name, content)
    return path


def test_that_a_layer_of_ones_own_class_is_refused_in_words(saved):
    def own_class(layers):
        layers[1].update(class_name="MyDense", module="my.models", registered_name="MyDense")

    with pytest.raises(
        ModelError, match=r"Keras cannot load own\.keras: Could not locate class 'MyDense'"
    ) as refused:
        loaded(tampered(saved(two_layers()), own_class))
    assert any("code is not in the file" in suggestion for suggestion in refused.value.suggestions)


@pytest.mark.parametrize(
    ("options", "reason"),
    [
        ({"units": 0}, "expected a positive integer. Received: units=0"),
        ({"bogus": 7}, "Unrecognized keyword arguments passed to Dense: {'bogus': 7}"),
        (
            {"units": 7, "name": "lambda_\x1b[31mnet"},
            r"variable.shape=(5, 7), Received: value.shape=(5, 3).",
        ),
    ],
)
def test_that_what_keras_stumbled_over_is_told_and_not_its_first_line(saved, options, reason):
    path = tampered(saved(two_layers()), lambda layers: layers[2]["config"].update(options))
    with pytest.raises(ModelError) as refused:
        loaded(path)
    assert refused.value.message.startswith("Keras cannot load own.keras: ")
    assert reason in refused.value.message
    assert refused.value.message.isprintable()
    assert "Lambda layer" not in refused.value.message


def test_that_a_missing_file_is_named(tmp_path):
    with pytest.raises(ModelError, match=r"There is no model file .*/none\.keras"):
        loaded(tmp_path / "none.keras")


@pytest.mark.parametrize("share", [0.0, 0.3, 0.9])
def test_that_a_file_cut_off_is_refused(saved, share):
    path = saved(two_layers())
    content = path.read_bytes()
    path.write_bytes(content[: int(len(content) * share)])
    with pytest.raises(ModelError, match=r"is no \.keras file, or it is cut off"):
        loaded(path)


def test_that_a_zip_file_with_something_else_in_it_is_refused(tmp_path):
    path = tmp_path / "own.keras"
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr("config.json", "{}")
    with pytest.raises(ModelError, match="Keras cannot load"):
        loaded(path)


def test_that_an_older_format_is_refused_because_it_may_hold_code(tmp_path):
    path = tmp_path / "own.h5"
    path.write_bytes(b"\x89HDF")
    with pytest.raises(ModelError, match=r"is no \.keras file"):
        loaded(path)


@pytest.mark.parametrize(
    ("shape", "units", "words"),
    [
        ((9,), 3, r"takes samples of shape \(9,\), but one of made classes has the shape \(8,\)"),
        ((8, 2), 3, r"takes samples of shape \(8, 2\)"),
        (
            (8,),
            2,
            (
                r"ends in outputs of shape \(2,\), but a target of made classes is one of 3 "
                r"classes, which needs \(3,\)"
            ),
        ),
    ],
)
def test_that_a_model_of_another_shape_is_refused_with_both_shapes(saved, shape, units, words):
    with pytest.raises(ModelError, match=words):
        loaded(saved(two_layers(units, shape)))


def test_that_a_value_needs_one_output(saved):
    with pytest.raises(ModelError, match=r"target of made values is one value, which needs \(1,\)"):
        loaded(saved(two_layers(3)), made_data.values((8,)))


def test_that_a_model_with_two_inputs_is_refused(saved):
    import keras

    inputs = [keras.Input((8,)), keras.Input((8,))]
    model = keras.Model(inputs, keras.layers.Dense(3)(keras.layers.Add()(inputs)))
    with pytest.raises(ModelError, match=r"has 2 inputs"):
        loaded(saved(model))


# Weights for a model that comes from elsewhere


def with_weights(path: Path, model):
    model.save(path) if path.suffix == ".keras" else model.save_weights(path)
    built_in = {"name": "mlp", "options": {"hidden": [5]}}
    return build(ModelSettings(**built_in, weights=path.name), DATASET, path.parent)


def mlp(units=5, more=0):
    import keras

    sizes = [units, *([4] * more), 3]
    inputs = keras.Input((8,))
    x = keras.layers.Flatten(name="own_flatten")(inputs)
    for number, size in enumerate(sizes):
        x = keras.layers.Dense(size, name=f"own_{number}")(x)
    return keras.Model(inputs, x)


@pytest.mark.parametrize("name", ["own.weights.h5", "own.keras"])
def test_that_a_model_begins_with_the_weights_of_a_file(tmp_path, name):
    made = with_weights(tmp_path / name, saved_model := mlp())
    for mine, theirs in zip(made.get_weights(), saved_model.get_weights(), strict=True):
        np.testing.assert_array_equal(mine, theirs)


def test_that_weights_of_an_optimizer_are_no_weights_of_layers(tmp_path):
    trained = mlp()
    trained.compile("adam", "mse")
    trained.train_on_batch(np.zeros((2, 8)), np.zeros((2, 3)))
    assert with_weights(tmp_path / "own.keras", trained).count_params() == trained.count_params()


def test_that_layers_that_do_not_match_are_named(tmp_path):
    with pytest.raises(ModelError, match="no matching weights for dense and outputs") as raised:
        with_weights(tmp_path / "own.weights.h5", mlp(units=6))
    assert "variable.shape=(8, 5), Received: value.shape=(8, 6)" in raised.value.message


def test_that_a_file_of_more_layers_is_refused(tmp_path):
    import keras

    tail = mlp()
    whole = keras.Sequential([tail, keras.layers.Dense(2, name="tail")])
    path = tmp_path / "own.weights.h5"
    whole.save_weights(path)
    built = mlp()
    from gpu_studio.trainer.models.given_weights import load_given_weights

    with pytest.raises(ModelError):
        load_given_weights(built, path)
    longer = keras.Model(tail.inputs, keras.layers.Dense(2, name="tail")(tail.outputs[0]))
    longer.save_weights(path)
    with pytest.raises(ModelError, match="a model with more layers, such as tail"):
        load_given_weights(built, path)


@pytest.mark.parametrize("content", [b"", b"no HDF5", None])
def test_that_a_file_that_is_none_is_refused_in_words(tmp_path, content):
    from gpu_studio.trainer.models.given_weights import load_given_weights

    path = tmp_path / "own.weights.h5"
    if content is not None:
        path.write_bytes(content)
    said = "There is no file of weights" if content is None else "holds no weights of Keras 3"
    with pytest.raises(ModelError, match=said):
        load_given_weights(mlp(), path)


@pytest.mark.parametrize("frozen", [["densse"], ["*"]])
def test_that_frozen_layers_that_cannot_be_are_refused(frozen):
    said = "Did you mean dense?" if frozen != ["*"] else "Leave out an entry"
    with pytest.raises(ModelError) as raised:
        build(ModelSettings(name="mlp", options={"hidden": [5]}, frozen=tuple(frozen)), DATASET)
    assert said in " ".join(raised.value.suggestions)
