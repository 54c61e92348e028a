"""What is said of each strategy."""

from __future__ import annotations

import pytest

from gpu_studio.plan import RUNNABLE_STRATEGIES, STRATEGIES
from gpu_studio.plan.strategies import STRATEGY_FACTS, title_of, why_not


def test_that_every_strategy_of_a_plan_is_explained_in_the_plans_order():
    assert tuple(STRATEGY_FACTS) == STRATEGIES


@pytest.mark.parametrize("name", STRATEGIES)
def test_that_a_strategy_says_why_it_cannot_run_exactly_if_it_cannot(name):
    assert bool(why_not(name)) == (name not in RUNNABLE_STRATEGIES)


def test_that_a_strategy_that_nobody_knows_is_not_there():
    assert why_not("mirored") == "There is no strategy called mirored."
    assert title_of("mirored") == "mirored"


@pytest.mark.parametrize("name", STRATEGIES)
def test_that_what_is_said_fits_where_it_stands(name):
    facts = STRATEGY_FACTS[name]
    assert len(facts.button) <= 10
    assert len(facts.line) < 110
    for sentence in (facts.line, facts.pace_words, facts.when, facts.costs):
        assert sentence[0].isupper()
        assert sentence.endswith(".")
    for clause in (facts.variables, facts.gradients, facts.batches):
        assert not clause.endswith(".")


def test_that_only_the_parameter_server_is_asynchronous():
    assert [name for name, facts in STRATEGY_FACTS.items() if facts.pace == "asynchronous"] == ["parameter_server"]
