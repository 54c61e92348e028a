"""Which layers `model.frozen` freezes, and how the page writes it."""

from __future__ import annotations

import pytest

from gpu_studio import plan as plans
from gpu_studio.plan.freezing import frozen_layers, phase_of, unknown_entry, with_frozen

LAYERS = dict.fromkeys(
    ("base/in", "base/block_1/conv", "base/block_1/norm", "base/b", "head"), False
)


def frozen(*entries: str, layers: dict[str, bool] = LAYERS) -> list[str]:
    """The layers that these entries freeze."""
    return [name for name, is_frozen in frozen_layers(entries, layers).items() if is_frozen]


def edited(entries: tuple[str, ...], *chosen: str, freeze: bool, made: str = "") -> list[str]:
    """The entries after the page has frozen or thawed what is chosen."""
    layers = {name: bool(made) and name.startswith(made) for name in LAYERS}
    plan = plans.Plan(model=plans.ModelSettings(name="mlp", frozen=entries))
    return list(with_frozen(plan, chosen, layers, frozen=freeze).model.frozen)


def test_that_an_entry_names_a_layer_a_model_or_a_pattern() -> None:
    assert frozen("head") == ["head"]
    assert frozen("base/block_1") == ["base/block_1/conv", "base/block_1/norm"]
    assert frozen("base") == ["base/in", "base/block_1/conv", "base/block_1/norm", "base/b"]
    assert frozen("*norm") == ["base/block_1/norm"]
    assert frozen("base/b*") == ["base/block_1/conv", "base/block_1/norm", "base/b"]


def test_that_the_last_entry_that_names_a_layer_decides() -> None:
    assert frozen("base", "!base/b") == ["base/in", "base/block_1/conv", "base/block_1/norm"]
    assert "base/b" in frozen("!base/b", "base")
    assert frozen("!base", layers=LAYERS | {"base/b": True}) == []


def test_that_an_entry_without_a_layer_is_told_with_the_nearest() -> None:
    found = unknown_entry(["base", "hed"], LAYERS)
    assert found is not None
    assert found[0] == "hed"
    assert found[1].startswith("did you mean head? There are base/in, base, ")
    many = [f"layer_{number}" for number in range(40)]
    assert unknown_entry(["?"], many) == ("?", "name one of its 40 layers, such as layer_0")


def test_that_the_page_names_a_whole_model_by_its_name() -> None:
    base = [name for name in LAYERS if name.startswith("base")]
    assert edited((), *base, freeze=True) == ["base"]
    assert edited((), *base[1:3], "head", freeze=True) == ["base/block_1", "head"]
    assert edited(("base",), "base/b", freeze=False) == ["base", "!base/b"]


def test_that_entries_that_decide_nothing_are_left_out() -> None:
    assert edited(("base", "!base/b"), "base/b", freeze=True) == ["base"]
    assert edited(("head",), "head", freeze=False) == []
    assert edited((), "head", freeze=False, made="head") == ["!head"]
    assert edited(("!head",), "head", freeze=True, made="head") == []
    # A mistake is there to be told.
    assert edited(("nothing",), "head", freeze=True) == ["nothing", "head"]


@pytest.mark.parametrize("entry", ["", "!", "\n"])
def test_that_an_entry_names_something(entry: str) -> None:
    plan = plans.Plan(
        model=plans.ModelSettings(name="mlp", frozen=(entry,)), data=plans.Data(name="digits")
    )
    assert [each.field for each in plans.validate(plan)] == ["model.frozen[0]"]


def test_that_phases_follow_one_another_while_epochs_are_left() -> None:
    text = 'version = 1\n[model]\nname = "mlp"\n[data]\nname = "digits"\n[training]\nepochs = 6\n'
    for after in (2, 4):
        text += f"[[training.phases]]\nafter = {after}\nlearning_rate = 1e-05\n"
    plan = plans.loads(text)
    assert plans.validate(plan) == []
    assert plans.loads(plans.dumps(plan)) == plan
    assert [phase_of(plan.training.phases, epoch) for epoch in range(6)] == [0, 0, 1, 1, 2, 2]
    wrong = plans.loads(text.replace("after = 4", "after = 6").replace("= 1e-05", "= 0.0", 1))
    assert [each.field for each in plans.validate(wrong)] == [
        "training.phases[0].learning_rate",
        "training.phases[1].after",
    ]


def test_that_a_plan_file_keeps_weights_and_frozen_layers() -> None:
    text = 'version = 1\n[model]\nname = "mlp"\nweights = "a.weights.h5"\nfrozen = ["dense*"]\n'
    plan = plans.loads(text + '[data]\nname = "digits"\n')
    assert plan.model.frozen == ("dense*",)
    assert plans.loads(plans.dumps(plan)) == plan
    wrong = plans.with_settings(plan, ["model.weights=a.h5", "model.frozen="])
    assert [each.field for each in plans.validate(wrong)] == ["model.weights"]
    assert "frozen" not in plans.dumps(wrong)
