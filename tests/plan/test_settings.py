"""Settings laid over a plan."""

from __future__ import annotations

import pytest
from plan_samples import a_plan

from gpu_studio.plan import Carve, EarlyStopping, Named, PlanError, with_settings, with_value


def refusal_of(*settings: str) -> list[str]:
    with pytest.raises(PlanError) as refusal:
        with_settings(a_plan(), settings)
    return [str(problem) for problem in refusal.value.problems]


def test_that_no_setting_changes_nothing():
    assert with_settings(a_plan(), []) == a_plan()


def test_that_numbers_lists_and_tables_are_read_as_toml():
    plan = with_settings(
        a_plan(),
        [
            "training.epochs=3",
            "training.learning_rate = 1e-4",
            "training.mixed_precision=true",
            "training.tf32=false",
            "training.jit_compile=true",
            "training.shuffle=false",
            "model.options.hidden=[64, 64]",
            "training.options={ momentum = 0.9 }",
            'devices.carve=[{ device = "CPU:0", slices_mib = [0, 0] }]',
        ],
    )

    assert plan.training.epochs == 3
    assert plan.training.learning_rate == 1e-4
    assert plan.training.mixed_precision
    assert not plan.training.tf32
    assert plan.training.jit_compile is True
    assert not plan.training.shuffle
    assert plan.model.options == {"hidden": [64, 64]}
    assert plan.training.options == {"momentum": 0.9}
    assert plan.devices.carve == (Carve("CPU:0", (0, 0)),)


def test_that_bare_words_are_texts():
    plan = with_settings(
        a_plan(), ["name=two words", "distribution.strategy=mirrored", 'training.optimizer="sgd"']
    )

    assert plan.name == "two words"
    assert plan.distribution.strategy == "mirrored"
    assert plan.training.optimizer == "sgd"


def test_that_a_value_may_hold_an_equals_sign():
    assert with_settings(a_plan(), ["name=a=b"]).name == "a=b"


def test_that_later_settings_win():
    assert with_settings(a_plan(), ["training.epochs=1", "training.epochs=2"]).training.epochs == 2


def test_that_an_empty_value_takes_a_key_out():
    plan = with_settings(
        a_plan("[training]\nepochs = 9\n[training.early_stopping]\npatience = 1\n"),
        ["training.epochs="],
    )
    without = with_settings(plan, ["training.early_stopping="])

    assert plan.training.epochs == 1
    assert plan.training.early_stopping == EarlyStopping(patience=1)
    assert without.training.early_stopping is None


def test_that_an_option_of_a_schedule_written_as_a_bare_name_can_be_set():
    plan = with_settings(
        a_plan(), ["training.schedule=cosine", "training.schedule.warmup_epochs=2"]
    )

    assert plan.training.schedule == Named("cosine", {"warmup_epochs": 2})


def test_that_another_model_takes_its_place_without_the_options_of_the_first():
    plan = with_settings(a_plan(), ["model.options.hidden=[8]", "model.name=lenet"])

    assert (plan.model.name, plan.model.options) == ("lenet", {})


def test_that_the_same_model_keeps_its_options():
    plan = with_settings(
        a_plan(), ["model.options.hidden=[8]", "model.name=mlp", 'model.name="mlp"']
    )

    assert plan.model.options == {"hidden": [8]}


def test_that_a_file_takes_the_place_of_a_built_in():
    plan = with_settings(a_plan(), ["model.file=net.keras", "data.file=my.npz"])

    assert (plan.model.name, plan.model.file) == (None, "net.keras")
    assert (plan.data.name, plan.data.file) == (None, "my.npz")


def test_that_another_optimizer_goes_without_the_options_of_the_first():
    plan = with_settings(
        a_plan(),
        ["training.options.beta_1=0.8", "training.optimizer=sgd", "training.options.momentum=0.9"],
    )

    assert plan.training.options == {"momentum": 0.9}


def test_that_unknown_keys_and_wrong_kinds_are_told_together():
    assert refusal_of("training.epoch=3", "training.batch_size=many") == [
        "training.epoch is not a key of [training]: did you mean epochs?",
        'training.batch_size is "many" (a string): give a whole number, without quotes.',
    ]


@pytest.mark.parametrize("setting", ["training.epochs", "=3", "training..epochs=3", ""])
def test_that_what_is_no_setting_is_told(setting):
    assert refusal_of(setting)[0].endswith(
        "is not a setting: write key=value, such as training.epochs=1."
    )


def test_that_a_key_within_a_number_is_told():
    assert refusal_of("training.epochs.x=1") == [
        "training.epochs is a whole number, not a table: set training.epochs as a whole."
    ]


def test_that_a_line_break_cannot_bring_in_a_second_key():
    plan = with_settings(a_plan(), ["name=1\nversion=2"])

    assert plan.name == "1\nversion=2"
    assert plan.version == 1


def test_that_a_later_version_cannot_be_set():
    assert refusal_of("version=2") == [
        "version is 2: this GPU Studio reads version 1: update GPU Studio."
    ]


def test_that_a_setting_of_odd_bytes_is_told():
    assert refusal_of("name=\udcff") == ['name is "\\udcff" (a string): write it in UTF-8.']


@pytest.mark.parametrize(
    ("field", "value"),
    [
        ("training.batch_size", 7),
        ("training.options.global_clipnorm", 1.0),
        ("distribution.placed.recompute", True),
        ("devices.carve", [{"device": "GPU:0", "slices_mib": [512, 1536]}]),
    ],
)
def test_that_one_value_is_put_where_its_field_is(field, value):
    plan = with_value(a_plan(), field, value)
    assert plan == with_value(plan, field, value) != a_plan()


@pytest.mark.parametrize(
    ("field", "value"),
    [("name.inner", 1), ("trainnig.epochs", 1), ("training.epochs", "many"), ("", 1)],
)
def test_that_a_value_that_no_plan_can_hold_is_refused(field, value):
    with pytest.raises(PlanError):
        with_value(a_plan(), field, value)
