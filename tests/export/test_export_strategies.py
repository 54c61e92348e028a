"""How strategies are written in a script."""

from __future__ import annotations

from pathlib import Path

import pytest
from training_runs import small_plan

from gpu_studio.export import python_script
from gpu_studio.export.script_text import expression_of
from gpu_studio.export.strategies import WRITTEN
from gpu_studio.plan import RUNNABLE_STRATEGIES
from gpu_studio.plan.devices import cards_alone
from gpu_studio.plan.strategies.central_storage import usual_home


def test_that_every_strategy_that_runs_can_be_written():
    assert list(WRITTEN) == list(RUNNABLE_STRATEGIES)


@pytest.mark.parametrize(
    ("strategy", "rule"), [("mirrored", cards_alone), ("central_storage", usual_home)]
)
def test_that_a_script_decides_by_the_rule_of_runs(strategy, rule):
    script = python_script(small_plan(f"distribution.strategy={strategy}"), None, Path("/nowhere"))
    assert f" = {expression_of(rule)}\n" in script


@pytest.mark.parametrize("rule", [cards_alone, usual_home])
@pytest.mark.parametrize(
    "devices", [["GPU:0"], ["GPU:0", "GPU:1"], ["CPU:0"], ["CPU:0", "CPU:1"], ["GPU:0", "CPU:0"]]
)
def test_that_the_expression_of_a_rule_gives_what_the_rule_gives(rule, devices):
    assert eval(expression_of(rule), {"devices": devices}) == rule(devices)
