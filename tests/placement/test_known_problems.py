"""Problems of a plan that its data and its model show."""

from __future__ import annotations

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st
from made_plan_facts import DATA, FACTS, MODEL

from gpu_studio.placement.known_problems import MisplacedLayers, Refusal, known_problems
from gpu_studio.placement.plan_facts import ArrayFacts, ModelFacts, PlanFacts
from gpu_studio.plan import Distribution, Placed, Plan, Problem, Training
from gpu_studio.plan.values import Named, OutputTraining

KNOWN = ("one", "two", "three")


def placed(**layers: tuple[str, ...]) -> Plan:
    return Plan(distribution=Distribution("placed", placed=Placed(4, dict(layers))))


def test_that_a_layer_which_the_model_does_not_have_is_named_with_the_one_that_may_be_meant() -> (
    None
):
    (problem,) = known_problems(placed(one=("CPU:0",), twoo=("CPU:1",)), FACTS)
    assert str(problem) == (
        "distribution.placed.layers.twoo is not a layer of the model: did "
        "you mean two? Otherwise take it out."
    )
    assert isinstance(problem, MisplacedLayers)
    mended = problem.mend.make(placed(one=("CPU:0",), twoo=("CPU:1",)))
    assert mended == placed(one=("CPU:0",))


def test_that_many_such_layers_are_one_problem_which_names_a_few() -> None:
    plan = placed(**{f"gone_{number}": ("CPU:0",) for number in range(40)})
    (problem,) = known_problems(plan, FACTS)
    assert (
        problem.received
        == "given for gone_0, gone_1, gone_2 and 37 more, which the model does not have"
    )


def test_that_a_layer_without_units_of_its_own_is_not_split() -> None:
    layers = tuple(
        replace(each, kind="Flatten") if each.name == "one" else each for each in MODEL.graph.layers
    )
    facts = PlanFacts(DATA, replace(MODEL, graph=replace(MODEL.graph, layers=layers)))
    plan = placed(one=("CPU:0", "CPU:1"), two=("CPU:0", "CPU:1"))
    (problem,) = known_problems(plan, facts)
    assert "a Flatten has no units of its own" in str(problem)
    assert problem.mend.make(plan) == placed(one=("CPU:0",), two=("CPU:0", "CPU:1"))


def test_that_no_placement_is_judged_before_the_layers_are_known_or_under_another_strategy() -> (
    None
):
    plan = placed(gone=("CPU:0",))
    assert known_problems(plan, PlanFacts(DATA)) == ()
    assert known_problems(replace(plan, distribution=Distribution("mirrored")), FACTS) == ()


@pytest.mark.parametrize(
    ("facts", "said"),
    [
        (
            PlanFacts(data_error="There are 13 samples.", advice=("Give more.",)),
            "data: There are 13 samples. Give more.",
        ),
        (PlanFacts(DATA, ModelFacts(model_error="It broke.")), "model: It broke."),
        (
            PlanFacts(DATA, replace(MODEL, training_error="No such loss.")),
            "training: No such loss.",
        ),
    ],
)
def test_that_what_was_refused_is_a_problem_of_its_part(facts: PlanFacts, said: str) -> None:
    (problem,) = known_problems(Plan(), facts)
    assert isinstance(problem, Refusal)
    assert str(problem) == said


@pytest.mark.parametrize(
    "facts",
    [
        PlanFacts(data_error="No memory.", of_the_moment=True),
        PlanFacts(DATA, ModelFacts(model_error="No memory.", of_the_moment=True)),
    ],
)
def test_that_want_of_memory_for_a_look_is_no_problem_of_the_plan(facts: PlanFacts) -> None:
    assert known_problems(Plan(), facts) == ()
    assert facts.not_looked_at == ("No memory.", ())


def test_that_a_refusal_is_not_repeated_where_the_plan_itself_shows_the_mistake() -> None:
    facts = PlanFacts(data_error="There is no such file.")
    assert (
        known_problems(Plan(), facts, [Problem("data.file", '"x.npz"', "there is no such file")])
        == ()
    )
    assert (
        known_problems(Plan(), facts, [Problem("model.name", '"mpl"', "did you mean mlp?")]) != ()
    )


@given(
    st.dictionaries(
        st.sampled_from([*KNOWN, "four", "five.six", "a/b", 'quo"te']), st.just(("CPU:0",))
    )
)
def test_that_the_way_out_leaves_exactly_the_layers_which_the_model_has(
    layers: dict[str, tuple[str, ...]],
) -> None:
    plan = placed(**layers)
    for problem in known_problems(plan, FACTS):
        assert isinstance(problem, MisplacedLayers)
        plan = problem.mend.make(plan)
    assert plan == placed(**{name: on for name, on in layers.items() if name in KNOWN})
    assert known_problems(plan, FACTS) == ()


REFUSED = PlanFacts(
    replace(
        DATA,
        targets=(
            ArrayFacts(("digit",), (), "int32", ids=3),
            ArrayFacts(("light",), (), "float32"),
        ),
    ),
    replace(
        MODEL,
        training_error="It cannot learn.",
        outputs=(ArrayFacts(("digit",), (3,), name="digit"), ArrayFacts((), (1,), name="light")),
    ),
)
CROSS = Named("sparse_categorical_crossentropy")


@pytest.mark.parametrize(
    ("training", "label", "outputs"),
    [
        (
            Training(outputs={"light": OutputTraining(CROSS)}),
            "Use auto for light",
            {"light": OutputTraining(Named("auto"))},
        ),
        (
            Training(loss=CROSS),
            "Use auto for light",
            {"light": OutputTraining(Named("auto"))},
        ),
        (
            Training(outputs={"lihgt": OutputTraining(loss_weight=2.0)}),
            "Use light",
            {"light": OutputTraining(loss_weight=2.0)},
        ),
    ],
)
def test_that_an_output_which_cannot_learn_as_planned_has_a_mend_that_lets_it_learn(
    training: Training, label: str, outputs: dict[str, OutputTraining]
) -> None:
    (problem,) = known_problems(Plan(training=training), REFUSED)
    assert isinstance(problem, Refusal)
    assert problem.mends[0].label == label
    assert problem.mends[0].make(Plan(training=training)).training.outputs == outputs


def test_that_such_a_mend_leaves_to_the_script_what_it_does_not_set() -> None:
    plan = Plan(training=Training(loss=CROSS, as_in_script=("epochs", "class_weight")))
    whole = plan.completed({"epochs": 9, "class_weight": {"0": 2.0}})
    (problem,) = known_problems(whole, REFUSED)
    assert isinstance(problem, Refusal)
    left = {each.label: each.make(plan).training.as_in_script for each in problem.mends}
    assert left == {
        "Leave the class weights out": ("epochs",),  # none, whatever the script gives
        "Use auto for light": ("epochs", "class_weight"),
    }


def test_that_a_refusal_of_training_for_another_reason_offers_no_other_loss() -> None:
    (problem,) = known_problems(Plan(), REFUSED)
    assert isinstance(problem, Refusal)
    assert problem.mends == ()


def test_that_an_output_without_a_target_may_learn_nothing() -> None:
    assert REFUSED.data is not None
    data = replace(REFUSED.data, targets=REFUSED.data.targets[:1])
    (problem,) = known_problems(Plan(), replace(REFUSED, data=data))
    assert isinstance(problem, Refusal)
    (mend,) = problem.mends
    assert mend.label == "Let light learn nothing"
    assert mend.make(Plan()).training.outputs == {"light": OutputTraining(Named("none"))}
