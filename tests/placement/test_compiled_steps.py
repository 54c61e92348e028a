"""Steps that XLA compiles: when, what is refused and told, and what the memory says."""

from __future__ import annotations

from dataclasses import replace

import pytest
from made_machines import TWO_CARDS, WITHOUT_CARDS
from made_plan_facts import FACTS, MODEL

from gpu_studio.placement.cautions import FASTER_BY_XLA, cautions_with
from gpu_studio.placement.compiled_steps import CHANGES, SMALL_FLOPS, XlaFacts
from gpu_studio.placement.known_problems import known_problems
from gpu_studio.placement.memory import compiles, predict
from gpu_studio.placement.plan_facts import PlanFacts, decoded, encoded
from gpu_studio.plan import MIB, Plan, with_settings
from gpu_studio.plan.cautions import cautions

TURNING = XlaFacts(cannot=("turn (RandomRotation)",))
ON, OFF = "training.jit_compile=true", "training.jit_compile=false"
PRACTISING = replace(
    TWO_CARDS, cards=tuple(replace(card, practice=True) for card in TWO_CARDS.cards)
)


def plan_with(*settings: str) -> Plan:
    return with_settings(Plan(), ["model.name=mlp", "data.name=digits", *settings])


def facts_with(xla: XlaFacts) -> PlanFacts:
    return PlanFacts(FACTS.data, replace(MODEL, xla=xla))


def by_xla(xla: XlaFacts, *settings: str, machine=TWO_CARDS, facts=FACTS) -> bool:
    whole = PlanFacts(facts.data, replace(MODEL, xla=xla))
    return compiles(plan_with(*settings), machine, whole)


@pytest.mark.parametrize("strategy", ["none", "one_device", "mirrored", "placed"])
@pytest.mark.parametrize("asked", [None, True, False])
def test_that_xla_compiles_on_one_real_card_as_fit_does_by_itself(strategy, asked) -> None:
    chosen, one = f"distribution.strategy={strategy}", strategy in ("none", "one_device")
    xla = XlaFacts(asked=asked)
    assert by_xla(xla, chosen) == (one and asked is not False)
    assert by_xla(xla, chosen, OFF) is False
    if one:
        assert by_xla(xla, chosen, ON)
    assert by_xla(replace(TURNING, asked=asked), chosen) is False


def test_that_by_itself_xla_compiles_nothing_for_a_cpu_or_for_practice_cards() -> None:
    assert by_xla(XlaFacts()) is True
    for machine in (WITHOUT_CARDS, PRACTISING):
        assert by_xla(XlaFacts(), machine=machine) is False
    on_cpu = ["distribution.strategy=one_device", "distribution.devices=['CPU:0']"]
    assert by_xla(XlaFacts(), *on_cpu) is False
    # What is asked for is done on a CPU too, by the plan or as the model was compiled.
    assert by_xla(XlaFacts(), ON, machine=WITHOUT_CARDS)
    assert by_xla(XlaFacts(asked=True), machine=WITHOUT_CARDS)


def test_that_by_itself_xla_compiles_nothing_for_data_of_many_shapes() -> None:
    assert FACTS.data is not None
    many = PlanFacts(replace(FACTS.data, varies=True), MODEL)
    assert by_xla(XlaFacts(), facts=many) is False
    assert by_xla(XlaFacts(), ON, facts=many)
    assert by_xla(XlaFacts(asked=True), facts=many)


def test_that_a_layer_that_xla_cannot_compile_is_named_where_the_plan_asks_for_that() -> None:
    facts = facts_with(TURNING)
    assert known_problems(plan_with(), facts) == ()
    (problem,) = known_problems(plan_with(ON), facts)
    assert str(problem).startswith(
        "training.jit_compile is true: turn (RandomRotation) does not allow it, as Keras says"
    )
    assert str(problem).endswith('write "auto", or leave that to the data.')
    (problem,) = known_problems(plan_with(ON), facts_with(XlaFacts(cannot=("lstm (LSTM)",))))
    assert str(problem).endswith('write "auto", or give LSTM and GRU use_cudnn=False.')


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
    (off,) = said(XlaFacts(asked=True), OFF)
    assert off == "The plan's training.jit_compile is false, and counts for more."


@pytest.mark.parametrize("machine", [TWO_CARDS, WITHOUT_CARDS])
def test_that_the_predicted_memory_says_that_it_is_without_what_xla_changes(machine) -> None:
    before = predict(plan_with(OFF), machine, facts_with(XlaFacts()))[0]
    asking = [(plan_with(ON), XlaFacts()), (plan_with(), XlaFacts(asked=True))]
    asking += [(plan_with(), XlaFacts())] * bool(machine.cards)
    for plan, xla in asking:
        memory = predict(plan, machine, facts_with(xla))[0]
        assert memory.without.endswith(CHANGES)
        assert CHANGES in memory.total_formula
        assert memory.total == before.total
    assert CHANGES not in before.without


def test_that_a_step_which_may_not_fit_as_xla_compiles_it_is_told_with_the_way_out() -> None:
    def told(usable: float, *settings: str, practice: bool = False) -> list[str]:
        mib = round(usable * needs / MIB)
        carved = f"devices.carve=[{{ device = 'GPU:0', slices_mib = [{mib}] }}]"
        plan = plan_with(carved, *settings)
        found = cautions_with(plan, PRACTISING if practice else TWO_CARDS, facts)
        near = [each for each in found if each.name == "little room for XLA"]
        for each in near:
            assert [mend.label for mend in each.remedies] == ["Train without XLA"]
            assert each.remedies[0].make(plan).training.jit_compile is False
        return [each.text for each in near]

    facts = PlanFacts(FACTS.data, replace(MODEL, shared_slots=1000 * MIB))  # slices are whole MiB
    needs = predict(plan_with(), TWO_CARDS, facts)[0].total
    assert told(1.1)[0].endswith("on GPU:0 without XLA, which compiles it.")
    assert told(1.3) == told(0.8) == []
    assert told(1.1, OFF) == told(1.1, "distribution.strategy=mirrored") == []
    assert told(1.1, practice=True) == []


def test_that_a_practice_card_is_said_to_compute_without_xla() -> None:
    card = TWO_CARDS.cards[0]
    practice = replace(TWO_CARDS, cards=(replace(card, practice=True),))
    told = [each.text for each in cautions(plan_with(ON), practice)]
    assert "Steps run without XLA on a practice card, with training.jit_compile too." in told
    assert not any("XLA" in each.text for each in cautions(plan_with(ON), TWO_CARDS))


def test_that_facts_on_xla_are_read_as_they_were_written() -> None:
    facts = facts_with(replace(TURNING, asked=True))
    assert decoded(encoded(facts)) == facts


LONG = ("training.epochs=1000", "training.batch_size=32")


def offered_xla(xla: XlaFacts, *settings: str, machine=WITHOUT_CARDS, facts=FACTS) -> bool:
    whole = PlanFacts(facts.data, replace(MODEL, xla=xla))
    plan = plan_with(*LONG, *settings)
    found = [each for each in cautions_with(plan, machine, whole) if each.name == FASTER_BY_XLA]
    for each in found:
        assert each.mend is not None
        assert each.mend.make(plan).training.jit_compile is True
    return bool(found)


def test_that_xla_is_offered_for_a_long_training_of_small_recurrent_layers_on_a_cpu() -> None:
    small = XlaFacts(recurrent=SMALL_FLOPS // 32)
    assert offered_xla(small)
    assert not offered_xla(small, machine=TWO_CARDS), "it compiles there by itself"
    assert not offered_xla(small, "training.batch_size=33")
    assert not offered_xla(small, "training.epochs=3")
    assert not offered_xla(small, "training.epochs=3", "training.steps_per_epoch=1600")
    assert offered_xla(small, "training.epochs=4", "training.steps_per_epoch=1600")
    assert not offered_xla(small, ON)
    assert not offered_xla(small, OFF)
    assert not offered_xla(small, "distribution.strategy=mirrored")
    assert not offered_xla(XlaFacts()), "no recurrent layers"
    assert not offered_xla(replace(small, asked=False))
    assert not offered_xla(replace(small, cannot=TURNING.cannot))
    assert FACTS.data is not None
    assert not offered_xla(small, facts=PlanFacts(replace(FACTS.data, varies=True), MODEL))
    assert decoded(encoded(facts_with(small))) == facts_with(small)
