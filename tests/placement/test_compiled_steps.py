"""Steps that XLA compiles: when, what is refused and told, and what the memory says."""

from __future__ import annotations

from dataclasses import replace

import pytest
from made_machines import TWO_CARDS, WITHOUT_CARDS
from made_plan_facts import FACTS, MODEL

from gpu_studio.placement.cautions import cautions_with
from gpu_studio.placement.compiled_steps import CHANGES, XlaFacts
from gpu_studio.placement.known_problems import known_problems
from gpu_studio.placement.memory import predict
from gpu_studio.placement.plan_facts import PlanFacts, decoded, encoded
from gpu_studio.plan import Plan, with_settings
from gpu_studio.plan.cautions import cautions

TURNING = XlaFacts(cannot=("turn (RandomRotation)",))
ON = "training.jit_compile=true"


def plan_with(*settings: str) -> Plan:
    return with_settings(Plan(), ["model.name=mlp", "data.name=digits", *settings])


def facts_with(xla: XlaFacts) -> PlanFacts:
    return PlanFacts(FACTS.data, replace(MODEL, xla=xla))


@pytest.mark.parametrize("strategy", ["none", "one_device", "mirrored"])
@pytest.mark.parametrize("setting", [ON, ""])
@pytest.mark.parametrize("xla", [XlaFacts(), XlaFacts(asked=True)])
def test_that_xla_compiles_on_one_device_by_the_plan_or_as_the_model_was_compiled(
    strategy, setting, xla
) -> None:
    plan = plan_with(*filter(None, [f"distribution.strategy={strategy}", setting]))
    assert xla.compiles(plan) == ((bool(setting) or xla.asked) and strategy != "mirrored")


def test_that_a_layer_that_xla_cannot_compile_is_named_where_the_plan_asks_for_that() -> None:
    facts = facts_with(TURNING)
    assert known_problems(plan_with(), facts) == ()
    (problem,) = known_problems(plan_with(ON), facts)
    assert str(problem).startswith(
        "training.jit_compile is true: turn (RandomRotation) does not allow it, as Keras says"
    )


def test_that_a_model_compiled_with_xla_says_where_it_is_not_trained_so() -> None:
    name = "compiled with XLA"

    def said(facts: XlaFacts, *settings: str) -> list[str]:
        told = cautions_with(plan_with(*settings), TWO_CARDS, facts_with(facts))
        return [each.why for each in told if each.name == name]

    assert said(XlaFacts(asked=True)) == said(XlaFacts(), "distribution.strategy=mirrored") == []
    (mirrored,) = said(XlaFacts(asked=True), "distribution.strategy=mirrored")
    assert mirrored == "XLA compiles for one device, and the strategy is Mirrored."
    (layers,) = said(replace(TURNING, asked=True))
    assert layers == "XLA cannot compile turn (RandomRotation): `fit` does without it, too."


@pytest.mark.parametrize("machine", [TWO_CARDS, WITHOUT_CARDS])
def test_that_the_predicted_memory_says_that_it_is_without_what_xla_changes(machine) -> None:
    before = predict(plan_with(), machine, facts_with(XlaFacts()))[0]
    for plan, xla in ((plan_with(ON), XlaFacts()), (plan_with(), XlaFacts(asked=True))):
        memory = predict(plan, machine, facts_with(xla))[0]
        assert memory.without.endswith(CHANGES)
        assert CHANGES in memory.total_formula
        assert memory.total == before.total
    assert CHANGES not in before.without


def test_that_a_practice_card_is_said_to_compute_without_xla() -> None:
    card = TWO_CARDS.cards[0]
    practice = replace(TWO_CARDS, cards=(replace(card, practice=True),))
    told = [each.text for each in cautions(plan_with(ON), practice)]
    assert "Steps run without XLA on a practice card, with training.jit_compile too." in told
    assert not any("XLA" in each.text for each in cautions(plan_with(ON), TWO_CARDS))


def test_that_facts_on_xla_are_read_as_they_were_written() -> None:
    facts = facts_with(replace(TURNING, asked=True))
    assert decoded(encoded(facts)) == facts


def test_that_a_model_of_one_s_own_is_offered_xla_on_a_real_card_where_it_can_be_had() -> None:
    def offered(machine, facts: XlaFacts, *settings: str) -> list[str]:
        plan = with_settings(Plan(), ["model.python=own.py:build", "data.name=digits", *settings])
        told = cautions_with(plan, machine, facts_with(facts))
        found = [each for each in told if each.name == "not compiled with XLA"]
        assert all(each.remedies[0].make(plan).training.jit_compile for each in found)
        return [mend.label for each in found for mend in each.remedies]

    assert offered(TWO_CARDS, XlaFacts()) == ["Compile with XLA"]
    assert offered(TWO_CARDS, XlaFacts(), "distribution.strategy=one_device") != []
    practice = replace(TWO_CARDS, cards=tuple(replace(c, practice=True) for c in TWO_CARDS.cards))
    for machine in (WITHOUT_CARDS, practice):
        assert offered(machine, XlaFacts()) == []
    for facts, setting in (
        (XlaFacts(), ON),
        (XlaFacts(), "distribution.strategy=mirrored"),
        (XlaFacts(asked=True), "training.epochs=1"),
        (TURNING, "training.epochs=1"),
    ):
        assert offered(TWO_CARDS, facts, setting) == []
    built_in = cautions_with(plan_with(), TWO_CARDS, facts_with(XlaFacts()))
    assert "not compiled with XLA" not in [each.name for each in built_in]
