"""The prediction against TensorFlow's own allocator, in real training steps on the CPU."""

from __future__ import annotations

from statistics import median

import memory_prediction
import pytest
from workplace import workplace

from gpu_studio.placement.plan_facts import decoded
from gpu_studio.plan import save
from gpu_studio.runs.questions.plan_question import ask_about

pytestmark = pytest.mark.slow

MODELS = ("mlp", "cnn")


@pytest.fixture(scope="module", params=MODELS)
def case(request):
    """A plan, what was measured of it, and the facts that it is predicted from."""
    plan = memory_prediction.plan_of(request.param)
    with workplace() as place:
        path = place.folder / "measured.plan.toml"
        save(plan, path)
        words = [str(path), *map(str, memory_prediction.BATCHES)]
        return plan, place.program("step_memory.py", *words), decoded(ask_about(plan, place.folder))


@pytest.mark.parametrize("part", ["weights", "gradients", "slots"])
def test_that_what_does_not_depend_on_the_batch_is_exact(case, part) -> None:
    plan, measured, facts = case
    assert getattr(memory_prediction.predicted(plan, 32, facts), part).bytes == measured[part]


@pytest.mark.parametrize("batch", memory_prediction.BATCHES)
def test_that_the_total_is_within_15_percent_of_the_allocators_peak(case, batch) -> None:
    plan, measured, facts = case
    peak = median(memory_prediction.totals(measured, batch))
    assert memory_prediction.predicted(plan, batch, facts).total == pytest.approx(peak, rel=0.15)
