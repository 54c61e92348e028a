"""Rules of `[training]` and of the plan's name."""

from __future__ import annotations

from dataclasses import replace

import pytest
from plan_samples import a_plan, said

from gpu_studio.plan import ModelSettings, Plan, with_settings
from gpu_studio.plan.catalogue import OPTIMIZERS, SCHEDULES
from gpu_studio.plan.rules.training_rules import measured


def changed(*settings: str) -> Plan:
    return with_settings(a_plan(), settings)


@pytest.mark.parametrize(
    ("setting", "problem"),
    [
        ("batch_size=0", "batch_size is 0: give a whole number from 1 to 2,147,483,647."),
        ("batch_size=-3", "batch_size is -3: give a whole number from 1 to 2,147,483,647."),
        ("learning_rate=0.0", "learning_rate is 0.0: give a number above 0."),
        ("seed=-1", "seed is -1: give a whole number from 0 to 4,294,967,295."),
        ("steps_per_call=-1", "steps_per_call is -1: give a whole number from 0 to 100,000."),
        ("checkpoint.keep=0", "checkpoint.keep is 0: give a whole number from 1 to 10,000."),
        (
            "checkpoint.every_steps=-1",
            "checkpoint.every_steps is -1: give a whole number from 0 to 2,147,483,647.",
        ),
        (
            "early_stopping.patience=-1",
            "early_stopping.patience is -1: give a whole number from 0 to 2,147,483,647.",
        ),
        (
            "early_stopping.min_delta=-0.5",
            "early_stopping.min_delta is -0.5: give a number of 0 or more.",
        ),
        ("optimizer=adm", 'optimizer is "adm": did you mean adam?'),
        ("optimizer=Adm2", 'optimizer is "Adm2": did you mean adam?'),
        (
            "options.learning_rate=0.1",
            "options.learning_rate is in the wrong place: write it as training.learning_rate.",
        ),
        ("options.clipnorm=0", "options.clipnorm is 0: give a number above 0."),
        ("options.clipvalue=-1.5", "options.clipvalue is -1.5: give a number above 0."),
        (
            'options.global_clipnorm="1"',
            'options.global_clipnorm is "1" (a string): give a number above 0.',
        ),
        (
            "options={ clipnorm = 1, clipvalue = 1 }",
            (
                "options is given clipnorm and clipvalue: keep one of them: "
                "gradients are clipped in one way."
            ),
        ),
        (
            "schedule=cosin",
            (
                'schedule.name is "cosin": did you mean cosine? There are constant, '
                "step, exponential and cosine."
            ),
        ),
        (
            "schedule={ name = 'step', drop = 0 }",
            "schedule.drop is 0: give a number above 0 and at most 1.",
        ),
        (
            "schedule={ name = 'step', drops = 1 }",
            "schedule.drops is not an option of step: did you mean drop?",
        ),
        (
            "schedule={ name = 'exponential', every_steps = 3, every_epochs = 1 }",
            "schedule is given every_epochs and every_steps: keep one of them.",
        ),
        ("loss=mse_loss", 'loss is "mse_loss": choose one of'),
        ("metrics=['acuracy']", 'metrics[0] is "acuracy": did you mean accuracy?'),
        ("metrics=['auc', 'auc']", 'metrics[1] is "auc" a second time: name each metric once.'),
        (
            "metrics=['auto', 'acc']",
            'metrics[1] is "acc" a second time: name each metric once.',
        ),
        (
            "metrics=[{ name = 'auto', k = 3 }]",
            "metrics[0] is auto with options: give options only to what is named.",
        ),
        (
            "early_stopping.monitor=val_los",
            'early_stopping.monitor is "val_los": did you mean val_loss?',
        ),
        ("checkpoint.monitor=auc", 'checkpoint.monitor is "auc": '),
        (
            "callbacks=[{ name = 'reduce_lr_on_platau' }]",
            'callbacks[0].name is "reduce_lr_on_platau": did you mean reduce_lr_on_plateau?',
        ),
        (
            "callbacks=[{ name = 'EarlyStopping' }]",
            'callbacks[0].name is "EarlyStopping": a plan has it as [training.early_stopping]',
        ),
        (
            "callbacks=[{ name = 'ModelCheckpoint' }]",
            'callbacks[0].name is "ModelCheckpoint": the run keeps checkpoints itself, as',
        ),
        (
            "callbacks=[{ name = 'reduce_lr_on_plateau', options = { factor = 1.5 } }]",
            "callbacks[0].options.factor is 1.5: give a number above 0 and below 1.",
        ),
        (
            "callbacks=[{ name = 'reduce_lr_on_plateau', options = { monitor = 'val_los' } }]",
            'callbacks[0].options.monitor is "val_los": did you mean val_loss?',
        ),
        ("epochs=0", "epochs is 0: give a whole number from 1 to 1,000,000, or nothing is trained"),
        (
            "initial_epoch=1",
            "initial_epoch is 1: give less than training.epochs, which is 1, or nothing is trained",
        ),
        (
            "callbacks=[{ name = 'learning_rate_scheduler' }]",
            'callbacks[0].options is missing: give one: schedule = "callbacks.py:rate"',
        ),
        (
            "callbacks=[{ name = 'learning_rate_scheduler', options = { rates = { a = 1 } } }]",
            "callbacks[0].options.rates is { a = 1 }: give a rate above 0 for some epochs,",
        ),
        (
            "callbacks=[{ name = 'csv_logger', options = { filename = '../log.csv' } }]",
            'callbacks[0].options.filename is "../log.csv" (a string): give the name of a file',
        ),
    ],
)
def test_that_what_is_wrong_with_training_is_told(setting, problem):
    problems = said(changed(f"training.{setting}"))

    assert len(problems) == 1
    assert problems[0].startswith(f"training.{problem}")


def test_that_a_schedule_and_a_callback_do_not_both_set_the_learning_rate():
    plan = changed(
        "training.schedule=cosine", "training.callbacks=[{ name = 'reduce_lr_on_plateau' }]"
    )
    assert len(said(plan)) == 1
    assert "training.schedule sets the learning rate at each step" in said(plan)[0]


def test_that_callbacks_of_one_s_own_and_built_in_ones_are_accepted():
    plan = changed(
        "training.callbacks=[{ name = 'callbacks.py:make', options = { monitor = 1 } }, "
        "{ name = 'learning_rate_scheduler', options = { rates = { 0 = 0.1, 5 = 0.01 } } }, "
        "{ name = 'csv_logger', options = { filename = 'log.csv' } }, "
        "{ name = 'terminate_on_nan' }]"
    )
    assert said(plan) == []


@pytest.mark.parametrize("optimizer", OPTIMIZERS)
def test_that_every_optimizer_is_accepted(optimizer):
    assert (
        said(changed(f"training.optimizer={optimizer}", "training.options.global_clipnorm=1")) == []
    )


@pytest.mark.parametrize("schedule", SCHEDULES)
def test_that_every_schedule_is_accepted(schedule):
    assert said(changed(f"training.schedule={schedule}")) == []


@pytest.mark.parametrize(("epochs", "warmup"), [(1, 1), (5, 7)])
def test_that_a_warm_up_as_long_as_the_run_is_refused_before_it_begins(epochs, warmup):
    schedule = ("training.schedule=cosine", f"training.schedule.warmup_epochs={warmup}")
    (problem,) = said(changed(f"training.epochs={epochs}", *schedule))
    whole = "1 epoch" if epochs == 1 else "5 epochs"
    assert problem == (
        f"training.schedule.options.warmup_epochs is {warmup}, and the whole run has {whole}: "
        "warm up for fewer epochs, or train for more."
    )
    assert said(changed(f"training.epochs={warmup + 1}", *schedule)) == []


@pytest.mark.parametrize("name", ["", "  ", "two\nlines", "x" * 201])
def test_that_a_name_that_fits_no_line_is_refused(name):
    assert "give the plan a name of 1 to 200 letters on one line." in said(Plan(name=name))[0]


def test_that_early_stopping_on_validation_needs_validation():
    plan = changed("data.validation_fraction=0", "training.early_stopping.patience=3")

    assert said(plan) == [
        (
            'training.early_stopping.monitor is "val_loss": nothing is validated while '
            "data.validation_fraction is 0: "
            "raise it, or choose loss or accuracy."
        )
    ]


def test_that_the_checkpoint_s_own_default_needs_no_validation():
    assert said(changed("data.validation_fraction=0")) == []


def test_that_what_can_be_monitored_are_the_loss_and_the_metrics_of_both_splits():
    assert measured(changed("training.metrics=['auto', 'auc']")) == (
        "val_loss",
        "val_accuracy",
        "val_auc",
        "loss",
        "accuracy",
        "auc",
    )


def test_that_data_of_one_s_own_may_turn_out_to_be_classes_or_numbers():
    for metric in ("val_accuracy", "mean_absolute_error"):
        assert said(changed("data.file=my.npz", f"training.early_stopping.monitor={metric}")) == []


@pytest.mark.parametrize(
    ("data", "setting", "problem"),
    [
        ("digits", "loss=huber", 'loss is "huber": it does not fit the targets of digits'),
        ("regression", "loss=hinge", 'loss is "hinge": it does not fit the targets of regression'),
        ("digits", "metrics=['mae']", 'metrics[0] is "mae": it does not fit the targets of digits'),
        (
            "regression",
            "metrics=['acc']",
            'metrics[0] is "acc": it does not fit the targets of regression',
        ),
    ],
)
def test_that_losses_and_metrics_fit_the_targets(data, setting, problem):
    problems = said(changed(f"data.name={data}", f"training.{setting}"))

    assert len(problems) == 1
    assert problems[0].startswith(f"training.{problem}")


@pytest.mark.parametrize(
    ("model", "found"), [(ModelSettings(), 2), (ModelSettings(file="own.keras"), 0)]
)
def test_that_only_a_model_of_one_s_own_may_learn_the_targets_in_another_way(model, found):
    plan = replace(changed("training.loss=huber"), model=model)

    assert len(said(plan)) == found


@pytest.mark.parametrize(
    "spelling", ["SparseCategoricalCrossentropy", "sparse_categorical_crossentropy"]
)
def test_that_both_of_keras_spellings_are_accepted(spelling):
    assert said(changed(f"training.loss={spelling}", "training.optimizer=AdamW")) == []


@pytest.mark.parametrize(
    ("settings", "problems"),
    [
        (["training.outputs.a.loss=none"], []),
        (["training.outputs.a.loss=mse", 'training.outputs.a.metrics=["mae"]'], []),
        (
            ["training.outputs.a.loss=msee"],
            ['training.outputs.a.loss is "msee": choose one of auto, '],
        ),
        (
            ['training.outputs.a.metrics=["auto", "acurracy"]'],
            ['training.outputs.a.metrics[1] is "acurracy": did you mean accuracy?'],
        ),
        (["training.checkpoint.monitor=val_a_accuracy", "model.name=", "model.python=m.py:f"], []),
        (["training.checkpoint.monitor=a_loss", "model.name=", "model.python=m.py:f"], []),
        (
            ["training.checkpoint.monitor='''a\nb_loss'''", "model.name=", "model.python=m.py:f"],
            ['training.checkpoint.monitor is "a\\nb_loss": did you mean val_loss?'],
        ),
        (
            ["training.checkpoint.monitor=a_loss"],
            ['training.checkpoint.monitor is "a_loss": did you mean val_loss?'],
        ),
    ],
)
def test_that_outputs_learn_by_what_keras_has_and_can_be_monitored(
    settings: list[str], problems: list[str]
) -> None:
    found = said(changed(*settings))
    assert [each[: len(wanted)] for each, wanted in zip(found, problems, strict=True)] == problems
