"""How fast a plan would train, from kept answers and kept results alone."""

from __future__ import annotations

import pytest

from gpu_studio.lab.machine_figures import MachineFigures
from gpu_studio.placement.plan_facts import GraphLayer, ModelFacts, ModelGraph, encoded
from gpu_studio.plan import AbsolutePlan, Machine, Plan, Training
from gpu_studio.runs import predicted_pace as predicting
from gpu_studio.runs.predicted_pace import predicted_pace

PLAN = AbsolutePlan(Plan(training=Training(batch_size=10)))
LAYER = GraphLayer("one", "Dense", flops_forward=1e6, flops_backward=2e6)
ANSWER = {"model": encoded(ModelFacts(graph=ModelGraph("m", (LAYER,))))}
TIMES = {"times": {"CPU:0": {"one": {"forward_per_sample": 0.001}}}, "links": {}}


@pytest.fixture
def known(monkeypatch):
    """Have these answers and figures be known."""

    def have(about=None, times=None, figures=None) -> None:
        monkeypatch.setattr(predicting, "kept_about", lambda _plan: about)
        monkeypatch.setattr(predicting, "kept", lambda _question, _about: times)
        monkeypatch.setattr(predicting, "kept_figures", lambda _m: figures or MachineFigures())

    return have


def pace():
    return predicted_pace(PLAN, Machine())


def test_that_timed_layers_count_first(known):
    known(ANSWER, TIMES, MachineFigures({"CPU:0": {"float32": 3e9}}, {}, 1.0))
    found = pace()
    assert found is not None
    assert found.samples_per_second == pytest.approx(1000.0)
    assert found.known == "as its timed layers predict"


def test_that_else_it_is_estimated_at_the_measured_pace(known):
    known(ANSWER, None, MachineFigures({"CPU:0": {"float32": 3e9}}, {}, 1.0))
    found = pace()
    assert found is not None
    assert found.samples_per_second == pytest.approx(1000.0)
    assert found.known.startswith("as predicted by FLOPs at what was measured")


@pytest.mark.parametrize(
    ("about", "times"),
    [(None, TIMES), (ANSWER, None), ({"model": 7}, TIMES), (ANSWER, {"times": 7})],
    ids=["not asked", "nothing measured", "another version", "other times"],
)
def test_that_nothing_is_guessed(known, about, times):
    known(about, times)
    assert pace() is None
