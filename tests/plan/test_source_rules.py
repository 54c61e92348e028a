"""Rules of `[model]` and `[data]`."""

from __future__ import annotations

import pytest
from hypothesis import given
from plan_samples import NO_CARDS, said
from plan_strategies import FOLDERS

from gpu_studio.plan import Data, ModelSettings, Named, Plan, Training
from gpu_studio.plan.catalogue import DATA, MODELS
from gpu_studio.plan.validation import validate

MLP = ModelSettings(name="mlp")
DIGITS = Data(name="digits")


def said_of(model: ModelSettings = MLP, data: Data = DIGITS) -> list[str]:
    return said(Plan(model=model, data=data))


@pytest.mark.parametrize("name", DATA)
def test_that_some_built_in_model_learns_each_built_in_data(name):
    assert [model for model in MODELS if not said_of(ModelSettings(name=model), Data(name=name))]


@pytest.mark.parametrize("name", MODELS)
def test_that_some_built_in_data_teach_each_built_in_model(name):
    assert [data for data in DATA if not said_of(ModelSettings(name=name), Data(name=data))]


def test_that_files_are_accepted_as_sources():
    assert said_of(ModelSettings(file="my/net.keras"), Data(file="../data.NPZ")) == []


def test_that_a_plan_without_model_and_data_is_refused():
    problems = said_of(ModelSettings(), Data())

    assert [problem.partition(":")[0] for problem in problems] == [
        "model.name is missing",
        "data.name is missing",
    ]
    assert 'or give file = "model.keras"' in problems[0]


def test_that_two_sources_are_refused():
    assert said_of(
        ModelSettings(name="mlp", file="a.keras"), Data(name="digits", file="a.npz", folder="b")
    )[:2] == [
        "model is given by name and file: keep one of them and leave out the others.",
        "data is given by name, file and folder: keep one of them and leave out the others.",
    ]


def test_that_an_unknown_name_is_refused_with_the_nearest():
    problems = said_of(ModelSettings(name="lennet"), Data(name="minst"))

    assert problems[0].startswith('model.name is "lennet": did you mean lenet?')
    assert problems[1].startswith('data.name is "minst": did you mean mnist?')


@given(FOLDERS)
def test_that_folders_of_images_are_a_source_with_options(data):
    assert said_of(data=data) == []


@pytest.mark.parametrize("folder", ["", "a\nb"])
def test_that_what_is_no_path_of_a_folder_is_told_what_it_is_for(folder):
    assert said_of(data=Data(folder=folder))[0].endswith(
        "give the path of a folder with a folder of images for each class."
    )


@pytest.mark.parametrize(
    ("options", "problem"),
    [
        (
            {"size": [64]},
            "data.options.size is [64]: give a list of 2 whole numbers from 1 to 4,096.",
        ),
        (
            {"size": [64, 0]},
            "data.options.size is [64, 0]: give a list of 2 whole numbers from 1 to 4,096.",
        ),
        (
            {"colours": "gray"},
            'data.options.colours is "gray": did you mean grey? There are rgb and grey.',
        ),
        (
            {"sise": [1, 1]},
            "data.options.sise is not an option of an image folder: did you mean size?",
        ),
    ],
)
def test_that_options_of_a_folder_of_images_are_checked(options, problem):
    assert said_of(data=Data(folder="images", options=options)) == [problem]


def test_that_models_are_held_against_the_images_of_a_folder():
    small, large = (Data(folder="images", options={"size": [side, 99]}) for side in (15, 16))

    assert said_of(ModelSettings(name="lenet"), large) == []
    assert said_of(ModelSettings(name="lenet"), small)[0].startswith(
        'model.name is "lenet": it cannot read samples of shape [15, 99, 3]: choose mlp'
    )
    assert said_of(ModelSettings(name="linear"), large)[0].startswith(
        'model.name is "linear": it learns numbers, and an image folder has classes: choose mlp'
    )


def test_that_masks_are_for_models_of_ones_own():
    masks = Data(folder="seg", options={"holds": "masks", "masks": "labels"}, split="ordered")
    assert said_of(ModelSettings(python="m.py:build"), masks) == []
    [said] = said_of(ModelSettings(name="lenet"), masks)
    assert said.endswith("masks have one of every pixel: give a model of your own.")
    shared = Data(folder="seg", options=masks.options, split="stratified")
    [said] = said_of(ModelSettings(python="m.py:build"), shared)
    assert said.endswith("and its image none: choose random or ordered.")


def test_that_losses_are_held_against_the_classes_of_a_folder():
    plan = Plan(
        model=MLP, data=Data(folder="images"), training=Training(loss=Named("mean_squared_error"))
    )

    assert "it does not fit the targets of an image folder" in said(plan)[0]


@pytest.mark.parametrize(
    "text", ["models.py:build_model", "/a b/m.py:f", "a:b/models.py:build", "~/m.PY:_f", "ä.py:ö"]
)
def test_that_a_function_in_a_python_file_is_a_source(text):
    assert said_of(ModelSettings(python=text), Data(python=text)) == []


@pytest.mark.parametrize(
    "text",
    [
        "",
        ":",
        "models.py",
        "models.py:",
        ":build",
        ".py:f",
        "models:build",
        "m.py:f()",
        "m.py:class",
        "m.py:a.b",
        "m\n.py:f",
    ],
)
def test_that_what_names_no_function_is_told_how_to(text):
    problems = said_of(ModelSettings(python=text), Data(python=text))

    assert [problem.partition(" is ")[0] for problem in problems] == ["model.python", "data.python"]
    assert problems[0].endswith(
        'write the file and the name of a function in it, as "models.py:build_model".'
    )


def test_that_options_go_with_a_function_whatever_they_are():
    options = {"hidden": -1, "any name": [{"deep": 1.5}], "width": "wide"}

    assert (
        said_of(
            ModelSettings(python="m.py:build", options=options),
            Data(python="d.py:load", options=options),
        )
        == []
    )


@pytest.mark.parametrize("file", ["net.h5", "", "net\n.keras", "net.keras/"])
def test_that_a_model_file_of_another_kind_is_refused(file):
    assert "give the path of a .keras file" in said_of(ModelSettings(file=file))[0]


def test_that_arrays_of_ones_own_have_a_say_about_their_bytes():
    assert said_of(ModelSettings("mlp"), Data(file="mine.npz", options={"scale": "none"})) == []
    assert said_of(ModelSettings("mlp"), Data(file="mine.npz", options={"scale": "half"})) == [
        'data.options.scale is "half": choose one of auto, unit or none.'
    ]
    assert (
        "an .npz file has scale"
        in said_of(ModelSettings("mlp"), Data(file="mine.npz", options={"size": [9, 9]}))[0]
    )


def test_that_options_without_a_built_in_are_refused():
    assert said_of(ModelSettings(file="net.keras", options={"hidden": [1]})) == [
        "model.options is given without a name: leave them out, or give model.name."
    ]


@pytest.mark.parametrize(
    ("model", "problem"),
    [
        (
            ModelSettings("mlp", options={"hiden": [8]}),
            "model.options.hiden is not an option of mlp: did you mean hidden?",
        ),
        (
            ModelSettings("cnn", options={"width": 8}),
            "model.options.width is not an option of cnn: cnn has dropout.",
        ),
        (
            ModelSettings("linear", options={"width": 8}),
            "model.options.width is not an option of linear: leave it out, linear has no options.",
        ),
        (
            ModelSettings("mlp", options={"hidden": [0]}),
            (
                "model.options.hidden is [0]: "
                "give a list of 0 to 64 whole numbers from 1 to 1,000,000."
            ),
        ),
        (
            ModelSettings("mlp", options={"hidden": [1.5]}),
            (
                "model.options.hidden is [1.5] (a list): give a list of 0 to 64 "
                "whole numbers from 1 to 1,000,000."
            ),
        ),
        (
            ModelSettings("mlp", options={"activation": "relo"}),
            'model.options.activation is "relo": did you mean relu?',
        ),
        (
            ModelSettings("mlp", options={"dropout": 1.0}),
            "model.options.dropout is 1.0: give a number of 0 or more and below 1.",
        ),
        (
            ModelSettings("transformer", options={"width": 30, "heads": 4}),
            "model.options.width is 30: give a multiple of model.options.heads, which is 4.",
        ),
        (
            ModelSettings("transformer", options={"depth": True}),
            "model.options.depth is true (true or false): give a whole number from 1 to 128.",
        ),
    ],
)
def test_that_options_of_a_model_are_checked(model, problem):
    data = Data(name="regression") if model.name == "linear" else DIGITS

    assert said_of(model, data) == [problem]


@pytest.mark.parametrize(
    ("options", "problem"),
    [
        (
            {"shape": []},
            "data.options.shape is []: give a list of 1 to 4 whole numbers from 1 to 100,000.",
        ),
        ({"classes": 1}, "data.options.classes is 1: give a whole number from 2 to 100,000."),
        (
            {"samples": 2.5},
            "data.options.samples is 2.5 (a number): give a whole number from 10 to 1,000,000,000.",
        ),
        ({"seed": -1}, "data.options.seed is -1: give a whole number from 0 to 4,294,967,295."),
    ],
)
def test_that_options_of_data_are_checked(options, problem):
    assert said_of(data=Data(name="synthetic", options=options)) == [problem]


@pytest.mark.parametrize("fraction", [-0.1, 1.0, 1.5])
@pytest.mark.parametrize("key", ["validation_fraction", "test_fraction"])
def test_that_a_fraction_out_of_range_is_refused(key, fraction):
    data = Data(name="digits", **{key: fraction})

    assert said_of(data=data) == [
        f"data.{key} is {fraction}: give a number of 0 or more and below 1."
    ]


def test_that_a_line_is_not_fitted_to_classes():
    *others, last = [name for name, entry in MODELS.items() if "classes" in entry.tasks]
    assert {"mlp", "lenet", "cnn", "cifar_cnn"} <= {*others, last}
    assert "linear" not in {*others, last}
    assert said_of(ModelSettings(name="linear")) == [
        (
            'model.name is "linear": it learns numbers, and digits has classes: choose '
            f"{', '.join(others)} or {last}."
        )
    ]


@pytest.mark.parametrize("model", ["lenet", "cnn", "cifar_cnn", "resnet20", "transformer"])
def test_that_a_model_of_classes_is_not_given_numbers(model):
    assert said_of(ModelSettings(name=model), Data(name="regression")) == [
        (
            f'model.name is "{model}": it learns classes, and regression has '
            "numbers: choose mlp or linear."
        )
    ]


def test_that_a_model_of_pictures_is_not_given_rows_of_numbers():
    assert said_of(ModelSettings(name="lenet"), Data(name="synthetic", options={"shape": [32]}))[
        0
    ].startswith('model.name is "lenet": it cannot read samples of shape [32]: choose mlp')


def test_that_made_up_data_larger_than_the_memory_are_refused():
    options = {"samples": 1_000_000, "shape": [224, 224, 3]}
    plan = Plan(model=MLP, data=Data(name="synthetic", options=options))

    assert said(plan) == []
    assert said(plan, NO_CARDS) == [
        (
            "data.options.samples is 1,000,000: with this shape that is 560.8 GiB, "
            "and this machine has 15.6 GiB: take fewer."
        )
    ]


@pytest.mark.parametrize(("model", "side"), [("lenet", 15), ("cnn", 3)])
def test_that_a_model_of_pictures_is_not_given_pictures_of_which_nothing_would_be_left(model, side):
    small, enough = ({"shape": [32, each, 1]} for each in (side, side + 1))

    assert said_of(ModelSettings(name=model), Data(name="synthetic", options=enough)) == []
    assert (
        "it cannot read samples"
        in said_of(ModelSettings(name=model), Data(name="synthetic", options=small))[0]
    )


def test_that_a_transformer_is_not_given_rows_of_measured_numbers():
    sequences, rows = (
        Data(name="synthetic", options={"shape": shape}) for shape in ([16, 8], [16])
    )

    assert said_of(ModelSettings(name="transformer"), sequences) == []
    assert said_of(ModelSettings(name="transformer"), rows)[0].endswith("choose mlp.")


@pytest.mark.parametrize(
    ("options", "field", "advice"),
    [
        ({}, "data.options.targets", "name the columns that are learnt"),
        ({"targets": "price"}, "data.options.targets", "give a list of names"),
        ({"targets": ["price"], "weight": 3}, "data.options.weight", "give a text in quotes"),
        ({"targets": ["price", "price"]}, "data.options.targets", "name it once"),
        ({"targets": ["p"], "values": ["p", "p"]}, "data.options.values", "name it once"),
        ({"targets": ["p"], "values": "p"}, "data.options.values", "give a list of names"),
        ({"targets": ["p"], "value": ["p"]}, "data.options.value", "did you mean values?"),
        ({"targets": ["price"], "input": []}, "data.options.input", "did you mean inputs?"),
    ],
)
def test_that_the_columns_of_a_table_are_named_rightly(options, field, advice):
    plan = Plan(data=Data(table="homes.csv", options=options))
    [problem] = [each for each in validate(plan) if each.field.startswith("data")]
    assert (problem.field, problem.advice[: len(advice)]) == (field, advice)
