"""Keys and types of a plan: all errors are reported at once."""

from __future__ import annotations

import pytest

from gpu_studio.plan import Carve, Named, Plan, PlanError, loads


def problems_of(text: str) -> list[str]:
    with pytest.raises(PlanError) as refusal:
        loads(text)
    return [str(problem) for problem in refusal.value.problems]


SOURCES = '[model]\nname = "mlp"\n[data]\nname = "digits"\n'


def test_that_a_plan_that_says_little_has_the_defaults():
    plan = loads('name = "short"')

    assert plan == Plan(name="short")


def test_that_every_part_is_read():
    plan = loads(
        """
        [devices]
        visible = ["GPU:1"]
        [[devices.carve]]
        device = "GPU:1"
        slices_mib = [1024, 2048]
        [training]
        learning_rate = 1
        loss = { name = "huber", delta = 0.5 }
        metrics = ["auto", { name = "sparse_top_k_categorical_accuracy", k = 3 }]
        schedule = { name = "cosine", warmup_epochs = 2 }
        [training.early_stopping]
        patience = 7
        [distribution.placed]
        layers = { a = "GPU:0", b = ["GPU:1", "GPU:2"] }
        """
    )

    assert plan.devices.carve == (Carve("GPU:1", (1024, 2048)),)
    assert plan.training.loss == Named("huber", {"delta": 0.5})
    assert plan.training.metrics == (
        Named("auto"),
        Named("sparse_top_k_categorical_accuracy", {"k": 3}),
    )
    assert plan.training.schedule == Named("cosine", {"warmup_epochs": 2})
    assert plan.training.early_stopping is not None
    assert plan.training.early_stopping.patience == 7
    assert plan.distribution.placed is not None
    assert plan.distribution.placed.layers == {"a": ("GPU:0",), "b": ("GPU:1", "GPU:2")}


def test_that_a_whole_number_does_where_a_number_is_wanted():
    rate = loads("[training]\nlearning_rate = 1").training.learning_rate

    assert rate == 1.0
    assert isinstance(rate, float)


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ('nme = "x"', "nme is not a key of a plan: did you mean name?"),
        ("epochs = 3", "epochs is not a key of a plan: did you mean training.epochs?"),
        ("file = 'x'", "file is not a key of a plan: did you mean model.file or data.file?"),
        ("[trainin]", "trainin is not a key of a plan: did you mean training?"),
        (
            "[training]\nbatchsize = 1",
            "training.batchsize is not a key of [training]: did you mean batch_size?",
        ),
        (
            "[training.checkpoint]\nevry_epochs = 1",
            (
                "training.checkpoint.evry_epochs is not a key of [training.checkpoint]: "
                "did you mean every_epochs?"
            ),
        ),
        (
            '[[devices.carve]]\ndevice = "CPU:0"\nslice = [0]',
            "devices.carve[0].slice is not a key of [devices.carve[0]]: did you mean slices_mib?",
        ),
        (
            "[distribution.placed]\nmicrobatches = 2",
            (
                "distribution.placed.microbatches is not a key of [distribution.placed]: "
                "did you mean micro_batches?"
            ),
        ),
    ],
)
def test_that_an_unknown_key_is_told_with_the_nearest(text, said):
    assert said in problems_of(text)


def test_that_a_key_like_no_other_is_told_with_all_there_are():
    known = "strategy, devices, all_reduce, parameter_device and placed"

    assert problems_of(SOURCES + "[distribution]\nqqq = 1") == [
        f"distribution.qqq is not a key of [distribution]: [distribution] has {known}."
    ]


@pytest.mark.parametrize(
    ("line", "said"),
    [
        (
            "epochs = true",
            "training.epochs is true (true or false): give a whole number, without quotes.",
        ),
        ("epochs = 1.0", "training.epochs is 1.0 (a number): give a whole number, without quotes."),
        ('epochs = "1"', 'training.epochs is "1" (a string): give a whole number, without quotes.'),
        ("learning_rate = nan", "training.learning_rate is nan (a number): give a finite number."),
        (
            "learning_rate = -inf",
            "training.learning_rate is -inf (a number): give a finite number.",
        ),
        (
            "learning_rate = true",
            "training.learning_rate is true (true or false): give a number, without quotes.",
        ),
        (
            "mixed_precision = 1",
            "training.mixed_precision is 1 (a whole number): write true or false, without quotes.",
        ),
        (
            'tf32 = "off"',
            'training.tf32 is "off" (a string): write true or false, without quotes.',
        ),
        (
            "optimizer = 2026-01-01",
            "training.optimizer is 2026-01-01 (a date or time): write a text in quotes.",
        ),
        (
            'metrics = "auto"',
            'training.metrics is "auto" (a string): write a list in brackets, [ … ].',
        ),
        ("metrics = [{ k = 3 }]", "training.metrics[0].name is missing: write a name in quotes."),
        (
            "schedule = 3",
            'training.schedule is 3 (a whole number): write a name in quotes, or { name = "…" }',
        ),
        (
            'batch_scope = "gobal"',
            'training.batch_scope is "gobal": did you mean global? There are global and replica.',
        ),
        (
            "options = { beta = inf }",
            "training.options.beta is inf (a number): give a finite number.",
        ),
        (
            "options = { a = [1, 2026-01-01] }",
            "training.options.a[1] is 2026-01-01 (a date or time): give a number",
        ),
        (
            f"seed = {10**30}",
            f"training.seed is {10**30} (a whole number): give a number that fits 64 bits.",
        ),
        (
            "checkpoint = 3",
            (
                "training.checkpoint is 3 (a whole number): write a table "
                "with every_epochs, every_steps,"
            ),
        ),
    ],
)
def test_that_a_value_of_the_wrong_kind_is_told(line, said):
    problems = problems_of(f"{SOURCES}[training]\n{line}\n")

    assert len(problems) == 1
    assert problems[0].startswith(said)


def test_that_a_float_too_large_for_a_float_is_told():
    assert problems_of(f"{SOURCES}[training]\nlearning_rate = {'9' * 400}")[0].endswith(
        "give a finite number."
    )


def test_that_a_carve_without_its_device_is_told():
    assert problems_of(SOURCES + "[[devices.carve]]\nslices_mib = [0]") == [
        'devices.carve[0].device is missing: write device = "…".'
    ]


def test_that_a_carve_in_single_brackets_is_told():
    assert problems_of(SOURCES + '[devices.carve]\ndevice = "CPU:0"') == [
        (
            'devices.carve is { device = "CPU:0" } (a table): write '
            "[[devices.carve]], with two brackets."
        )
    ]


def test_that_everything_wrong_is_told_at_once():
    text = """
    nme = "x"
    [devices]
    memory_growth = "yes"
    [model]
    nam = "mlp"
    [data]
    name = "digit"
    [training]
    epochs = 0
    batch_size = "many"
    """

    assert [problem.partition(":")[0] for problem in problems_of(text)] == [
        "nme is not a key of a plan",
        'devices.memory_growth is "yes" (a string)',
        "model.nam is not a key of [model]",
        'training.batch_size is "many" (a string)',
        'data.name is "digit"',
        "training.epochs is 0",
    ]


def test_that_nothing_is_told_that_only_follows_from_something_else():
    assert problems_of('[model]\nnam = "mlp"\n[data]\nname = "digits"') == [
        "model.nam is not a key of [model]: did you mean name?"
    ]


def test_that_a_later_version_is_told_alone():
    assert problems_of("version = 2\n[new_part]\nx = 1") == [
        "version is 2: this GPU Studio reads version 1: update GPU Studio."
    ]


@pytest.mark.parametrize("version", ["true", '"1"', "1.0"])
def test_that_a_version_that_is_no_number_is_told(version):
    assert problems_of(f"version = {version}")[0].endswith("write version = 1.")


@pytest.mark.parametrize(
    ("section", "key", "entry"),
    [("devices", "visible", '"GPU:0"'), ("training", "metrics", '"auc"')],
)
def test_that_a_list_longer_than_any_plan_needs_is_refused(section, key, entry):
    text = f"[{section}]\n{key} = [{', '.join([entry] * 10_001)}]\n"
    told = f"{section}.{key} is a list of 10,001: give 10,000 at most."
    assert told in problems_of(text)


def test_that_deep_nesting_is_refused():
    deep = "[" * 40 + "]" * 40

    assert problems_of(f"{SOURCES}options = {{ a = {deep} }}")[0].endswith(
        "nest lists and tables less deeply."
    )
