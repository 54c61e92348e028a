"""Ways out of problems."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from long_proofs import examples
from plan_samples import NO_CARDS, ONE_CARD, TWO_CARDS, a_plan
from plan_strategies import machines, plans

from gpu_studio.plan import Machine, Plan, Problem, validate, with_settings
from gpu_studio.plan.remedies import mend_of

CPUS = 'devices.carve=[{ device = "CPU:0", slices_mib = [0, 0] }]'
MIRRORED = "distribution.strategy=mirrored"


@pytest.mark.slow
@settings(max_examples=examples(50))
@given(plans(), machines())
def test_that_a_mend_removes_its_problem_and_makes_none(plan: Plan, machine: Machine):
    problems = validate(plan, machine)
    for problem in problems:
        mend = mend_of(problem, plan, machine)
        if mend is not None:
            after = validate(mend.make(plan), machine)
            assert problem not in after
            assert len(after) < len(problems)
            assert 0 < len(mend.label) < 80


@pytest.mark.parametrize(
    ("machine", "changes", "label"),
    [
        (NO_CARDS, ['name=""'], "Call it untitled"),
        (TWO_CARDS, ['devices.visible=["GPU:0", "GPU:7"]'], 'Take "GPU:7" out'),
        (NO_CARDS, [CPUS, "devices.memory_growth=true"], "Do not grow"),
        (NO_CARDS, ['devices.carve=[{ device = "CPU:0", slices_mib = [1024, 0] }]'], "No limits"),
        (
            ONE_CARD,
            ['devices.carve=[{ device = "GPU:0", slices_mib = [9000, 9000] }]'],
            "Share what is free",
        ),
        (ONE_CARD, ['devices.carve=[{ device = "GPU:0", slices_mib = [] }]'], "Leave GPU 0 whole"),
        (NO_CARDS, ["model.name=mlpp"], "Use mlp"),
        (NO_CARDS, ["model.options={ hiden = [4] }"], "Leave hiden out"),
        (NO_CARDS, ["data.name=digit"], "Use digits"),
        (NO_CARDS, ["data.options={ shape = [4] }"], "Leave shape out"),
        (NO_CARDS, ["model.name=linear"], "Use mlp"),
        (NO_CARDS, [CPUS, MIRRORED, "training.batch_size=1"], "Use 2"),
        (NO_CARDS, ["training.batch_size=0"], "Use 1"),
        (NO_CARDS, ["training.epochs=0"], "Use 1"),
        (NO_CARDS, ["training.optimizer=adm"], "Use adam"),
        (NO_CARDS, ["training.options={ learning_rate = 0.1 }"], "Leave learning_rate out"),
        (NO_CARDS, ['training.schedule={ name = "cosin" }'], "Use cosine"),
        (NO_CARDS, ["training.loss=mean_squared_error"], "Use auto"),
        (NO_CARDS, ['training.metrics=["accuracy", "accuracy"]'], "Leave it out"),
        (NO_CARDS, ["data.validation_fraction=0", "training.early_stopping={}"], "Monitor loss"),
        (NO_CARDS, ["training.checkpoint.monitor=val_los"], "Monitor val_loss"),
        (NO_CARDS, ["distribution.strategy=tpu"], "Use None"),
        (TWO_CARDS, ["distribution.strategy=tpu"], "Use Mirrored"),
        (TWO_CARDS, [MIRRORED, 'distribution.devices=["GPU:0", "GPU:9"]'], 'Take "GPU:9" out'),
        (TWO_CARDS, [MIRRORED, 'distribution.devices=["GPU:9"]'], "Use all devices"),
        (TWO_CARDS, [MIRRORED, 'distribution.devices=["GPU:0", "GPU:0"]'], "Name each once"),
        (
            TWO_CARDS,
            ["distribution.strategy=none", 'distribution.devices=["GPU:1"]'],
            "Use the first device",
        ),
        (TWO_CARDS, [MIRRORED, "distribution.parameter_device=CPU:0"], "Leave it out"),
        (NO_CARDS, [CPUS, MIRRORED, "distribution.all_reduce=nccl"], "Use auto"),
        (NO_CARDS, ["distribution.placed={ micro_batches = 2 }"], "Leave the placement out"),
        (NO_CARDS, ["data.validation_fraction=2.0"], "Use 0.1"),
        (ONE_CARD, ["distribution.strategy=multi_worker"], "Use 1 worker"),
    ],
)
def test_that_an_obvious_way_out_is_offered(machine, changes, label):
    plan = with_settings(a_plan(), changes)
    first = validate(plan, machine)[0]
    mend = mend_of(first, plan, machine)
    assert mend is not None
    assert mend.label == label
    assert first not in validate(mend.make(plan), machine)


def test_that_a_plan_without_model_and_data_is_mended_to_one_that_runs():
    plan = Plan()
    for _ in range(2):
        mend = mend_of(validate(plan, NO_CARDS)[0], plan, NO_CARDS)
        assert mend is not None
        plan = mend.make(plan)
    assert validate(plan, NO_CARDS) == []


def test_that_what_the_rules_did_not_find_is_left_to_the_person():
    gone = Problem("data.file", '"gone.npz"', "there is no such file")
    assert mend_of(gone, a_plan(), NO_CARDS) is None
