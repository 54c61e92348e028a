"""What each strategy is, and that nothing else in the package goes by its name."""

from __future__ import annotations

import ast
from pathlib import Path

import import_rules
import pytest

import gpu_studio
from gpu_studio.plan import RUNNABLE_STRATEGIES, STRATEGIES, Distribution, Placed
from gpu_studio.plan.strategies import BY_NAME, strategy_named

PACKAGE = Path(gpu_studio.__file__).parent
COMMON_WORDS = {"none", "tpu"}
IN_A_GRAPH = "trainer/placed/devices.py"
"""Here `placed` marks operations in TensorFlow's graph."""


def test_that_every_strategy_of_a_plan_is_explained_in_the_plans_order():
    assert tuple(BY_NAME) == STRATEGIES


@pytest.mark.parametrize("name", STRATEGIES)
def test_that_a_strategy_says_why_it_cannot_run_exactly_if_it_cannot(name):
    assert bool(strategy_named(name).why_not) == (name not in RUNNABLE_STRATEGIES)


def test_that_a_strategy_that_nobody_knows_is_not_there():
    assert strategy_named("mirored").why_not == "There is no strategy called mirored."
    assert strategy_named("mirored").title == "mirored"


@pytest.mark.parametrize("name", STRATEGIES)
def test_that_what_is_said_fits_where_it_stands(name):
    facts = BY_NAME[name]
    assert len(facts.button) <= 10
    assert len(facts.line) < 110
    for sentence in (facts.line, facts.pace_words, facts.when, facts.costs):
        assert sentence[0].isupper()
        assert sentence.endswith(".")
    for clause in (facts.variables, facts.gradients, facts.batches):
        assert not clause.endswith(".")


def test_that_only_the_parameter_server_is_asynchronous():
    assert [name for name, facts in BY_NAME.items() if facts.pace == "asynchronous"] == [
        "parameter_server"
    ]


@pytest.mark.slow
def test_that_only_the_files_of_strategies_name_one():
    names = set(STRATEGIES) - COMMON_WORDS
    files = {path.relative_to(PACKAGE) for path in PACKAGE.rglob("*.py") if names & constants(path)}
    assert {path.parts[1] for path in files if path.as_posix() != IN_A_GRAPH} == {"strategies"}


def constants(path: Path) -> set[str]:
    nodes = ast.walk(import_rules.parsed(path))
    return {
        node.value
        for node in nodes
        if isinstance(node, ast.Constant) and isinstance(node.value, str)
    }


@pytest.mark.parametrize("name", STRATEGIES)
def test_that_a_strategy_is_in_the_file_of_its_name(name):
    assert name in constants(PACKAGE / "plan" / "strategies" / f"{name}.py")


@pytest.mark.parametrize("room", ["trainer", "export"])
def test_that_each_strategy_that_runs_has_a_file_in_the_trainer_and_in_exports(room):
    there = {path.stem for path in (PACKAGE / room / "strategies").glob("*.py")}
    assert there & set(STRATEGIES) == set(RUNNABLE_STRATEGIES)


@pytest.mark.parametrize("before", RUNNABLE_STRATEGIES)
@pytest.mark.parametrize("after", STRATEGIES)
def test_that_what_only_the_strategy_before_used_is_left_out(before, after):
    every = Distribution(before, ("CPU:1", "CPU:2"), "ring", "CPU:0", Placed(micro_batches=3))
    strategy, chosen = strategy_named(after), strategy_named(after).instead_of(every)
    assert (chosen.strategy, chosen.all_reduce) == (after, "ring")
    assert len(chosen.devices) == {"none": 0, "one": 1}.get(strategy.devices, 2)
    assert (chosen.parameter_device is not None) == strategy.has_parameter_device
    assert (chosen.placed is not None) == strategy.places_layers


@pytest.mark.parametrize("name", STRATEGIES)
def test_that_a_strategy_takes_its_devices_from_those_that_there_are(name):
    strategy, there = strategy_named(name), ("CPU:0", "CPU:1")
    held = strategy.replica_devices(Distribution(name), there)
    assert held == (there if strategy.devices == "many" else there[:1])
    assert (
        strategy.parameter_home(Distribution(name), held) is not None
    ) == strategy.has_parameter_device
