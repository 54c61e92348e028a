"""Warnings that need the plan and the machine alone."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from long_proofs import examples
from plan_samples import NO_CARDS, ONE_CARD, TWO_CARDS, a_plan
from plan_strategies import machines, plans

from gpu_studio.plan import Card, Machine, Plan, Problem, logical_devices, validate, with_settings
from gpu_studio.plan.cautions import cautions
from gpu_studio.plan.devices import replica_devices
from gpu_studio.plan.edits.visibility import idle_cards, only_used

CPUS = 'devices.carve=[{ device = "CPU:0", slices_mib = [0, 0, 0] }]'
SLICES = 'devices.carve=[{ device = "GPU:0", slices_mib = [1024, 1024] }]'
MIRRORED = "distribution.strategy=mirrored"
ONE_DEVICE = "distribution.strategy=one_device"

CASES = [
    (ONE_CARD, [MIRRORED], "one replica", "Use one device"),
    (ONE_CARD, [SLICES, MIRRORED], "shared hardware", "Use one device"),
    (
        TWO_CARDS,
        [MIRRORED, 'distribution.devices=["GPU:0", "GPU:1", "CPU:0"]'],
        "mixed kinds",
        "Cards alone",
    ),
    (TWO_CARDS, [MIRRORED, "training.batch_size=255"], "uneven batch", "Use 254"),
    (TWO_CARDS, ["distribution.strategy=none"], "unused cards", "Hide it"),
    (TWO_CARDS, [ONE_DEVICE, 'distribution.devices=["GPU:1"]'], "unused cards", "Hide it"),
    (TWO_CARDS, [ONE_DEVICE, 'distribution.devices=["CPU:0"]'], "unused cards", "Hide them"),
    (
        ONE_CARD,
        ['devices.carve=[{ device = "GPU:0", slices_mib = [7700] }]'],
        "more than free on GPU:0",
        "Share what is free",
    ),
    (TWO_CARDS, ["distribution.strategy=placed"], "nothing placed", "Use one device"),
    (NO_CARDS, ["training.checkpoint.every_epochs=0"], "nothing saved", "Save each epoch"),
    (NO_CARDS, ["data.validation_fraction=0"], "judged by training", "Monitor loss"),
    (NO_CARDS, ["training.mixed_precision=true"], "half precision on a CPU", "Use float32"),
]


def names(plan: Plan, machine: Machine) -> list[str]:
    return [caution.name for caution in cautions(plan, machine)]


@pytest.mark.parametrize(("machine", "settings", "name", "label"), CASES)
def test_that_a_warning_has_a_mend_that_removes_it_and_leaves_a_plan_that_runs(
    machine, settings, name, label
):
    plan = with_settings(a_plan(), settings)
    assert validate(plan, machine) == []
    [caution] = [each for each in cautions(plan, machine) if each.name == name]
    assert caution.mend is not None
    assert caution.mend.label == label
    mended = caution.mend.make(plan)
    assert mended != plan
    assert validate(mended, machine) == []
    assert name not in names(mended, machine)


def test_that_a_card_with_several_replicas_is_not_called_by_the_name_of_one_of_its_slices() -> None:
    plan = with_settings(a_plan(), [SLICES, MIRRORED])
    [caution] = [each for each in cautions(plan, ONE_CARD) if each.name == "shared hardware"]
    assert caution.text == "Several replicas compute on GPU 0."


def test_that_what_a_model_without_a_loss_measures_is_known_to_judge_it() -> None:
    settings = ["data.validation_fraction=0", 'model.name=""', "model.python=m.py:f"]
    plan = with_settings(a_plan(), settings)
    [caution] = cautions(plan, NO_CARDS, ("d_loss", "g_loss"))
    assert caution.text == "The best checkpoint is judged by g_loss, not by val_loss."
    assert caution.mend is not None
    assert caution.mend.label == "Monitor g_loss"
    assert not cautions(caution.mend.make(plan), NO_CARDS, ("d_loss", "g_loss"))
    [caution] = cautions(plan, NO_CARDS, ("psnr",))
    assert caution.text == "No checkpoint is kept as the best by val_loss."
    assert caution.mend is None
    [caution] = cautions(plan, NO_CARDS, ("psnr", "loss"))
    assert caution.mend is not None
    assert caution.mend.label == "Monitor loss"


def test_that_a_replica_on_each_of_several_workers_has_company_and_shares_the_batch():
    workers = ["distribution.strategy=multi_worker", "training.batch_size=255"]
    told = names(with_settings(a_plan(), [*workers, "cluster.workers=2"]), NO_CARDS)
    assert "one replica" not in told
    assert "uneven batch" in told
    told = names(with_settings(a_plan(), [*workers, "cluster.workers=1"]), NO_CARDS)
    assert "one replica" in told
    assert "uneven batch" not in told


@pytest.mark.slow
@settings(max_examples=examples(40))
@given(plans(), machines())
def test_that_no_mend_of_any_plan_leaves_its_warning_standing_or_makes_a_problem(
    plan: Plan, machine: Machine
):
    for caution in cautions(plan, machine):
        assert caution.text.endswith(".")
        assert caution.why.endswith(".")
        if caution.mend is not None:
            mended = caution.mend.make(plan)
            assert caution.name not in names(mended, machine)
            assert len(validate(mended, machine)) <= len(validate(plan, machine))


@pytest.mark.parametrize(
    ("machine", "settings"),
    [
        (NO_CARDS, ["training.batch_size=33"]),
        (TWO_CARDS, [MIRRORED, "training.batch_size=64"]),
        (TWO_CARDS, [MIRRORED, "training.batch_scope=replica", "training.batch_size=33"]),
        (TWO_CARDS, ['devices.visible=["GPU:1"]']),
        (
            TWO_CARDS,
            ["distribution.strategy=central_storage", "distribution.parameter_device=CPU:0"],
        ),
        (
            NO_CARDS,
            [
                "data.validation_fraction=0",
                "training.checkpoint.every_epochs=0",
                "training.checkpoint.every_steps=9",
            ],
        ),
    ],
)
def test_that_a_plan_without_fault_has_no_warning(machine, settings):
    assert names(with_settings(a_plan(), settings), machine) == []


def test_that_the_best_weights_are_named_among_those_that_are_lost():
    settings = ["training.checkpoint.every_epochs=0", "training.early_stopping={}"]
    [caution] = cautions(with_settings(a_plan(), settings), NO_CARDS)
    assert "early stopping" in caution.why


def test_that_a_card_without_room_is_warned_of_and_left_to_the_person():
    full = Machine((Card(0, "GPU-1", "Full", "", 8192, 8000, 0),), 4)
    plan = with_settings(a_plan(), ['devices.carve=[{ device = "GPU:0", slices_mib = [1024] }]'])
    [caution] = cautions(plan, full)
    assert caution.name == "more than free on GPU:0"
    assert caution.mend is None


def test_that_slices_that_leave_cuda_too_little_are_warned_of_as_beside_the_slices_themselves():
    sizes = "slices_mib = [4096, 2800]"
    plan = with_settings(a_plan(), [f'devices.carve=[{{ device = "GPU:0", {sizes} }}]'])
    [caution] = cautions(plan, ONE_CARD)
    assert caution.text == (
        "CUDA itself needs about 1 GiB besides the slices of GPU 0, and 596 MiB are left."
    )
    assert caution.mend is not None
    assert caution.mend.label == "Share what is free"
    assert names(caution.mend.make(plan), ONE_CARD) == []


def test_that_hiding_cards_keeps_the_devices_of_the_plan_under_their_new_names():
    first, second = (
        '{ device = "GPU:0", slices_mib = [9, 9] }',
        '{ device = "GPU-5d1e", slices_mib = [512, 512] }',
    )
    carve = f"devices.carve=[{first}, {second}]"
    plan = with_settings(a_plan(), [carve, MIRRORED, 'distribution.devices=["GPU:2", "GPU:3"]'])
    before = [device.limit_mib for device in replica_devices(plan, TWO_CARDS)]
    hidden = only_used(plan, TWO_CARDS)
    assert idle_cards(plan, TWO_CARDS) == ("GPU:0",)
    assert hidden.devices.visible == ("GPU:1",)
    assert hidden.distribution.devices == ("GPU:0", "GPU:1")
    assert (
        [device.limit_mib for device in replica_devices(hidden, TWO_CARDS)] == before == [512, 512]
    )
    assert validate(hidden, TWO_CARDS) == []


def test_that_cards_are_hidden_from_a_run_on_the_cpu():
    hidden = only_used(
        with_settings(a_plan(), [ONE_DEVICE, 'distribution.devices=["CPU:0"]']), TWO_CARDS
    )
    assert [device.name for device in logical_devices(hidden, TWO_CARDS)] == ["CPU:0"]
    assert hidden.distribution.devices == ("CPU:0",)


def test_that_a_plan_is_validated_only_for_a_remedy_that_is_to_be_tried(monkeypatch) -> None:
    validated: list[Plan] = []

    def counted(plan: Plan, machine: Machine) -> list[Problem]:
        validated.append(plan)
        return validate(plan, machine)

    monkeypatch.setattr("gpu_studio.plan.cautions.validate", counted)
    assert cautions(a_plan(), NO_CARDS) == ()
    assert not validated
    uneven = with_settings(a_plan(), [MIRRORED, "training.batch_size=255"])
    assert [caution.name for caution in cautions(uneven, TWO_CARDS)] == ["uneven batch"]
    assert validated[0] is uneven
    assert len(validated) > 1
