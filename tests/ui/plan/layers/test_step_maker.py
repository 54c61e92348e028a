"""The predicted step: short ones at once, long ones in the background; the last request counts."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from lane_plans import CPUS, MACHINE, deep, facts_of, placed_plan, view_of

from gpu_studio.ui.plan.layers.forecast import Forecast
from gpu_studio.ui.plan.layers.layers_tab import layers_picture
from gpu_studio.ui.plan.layers.step_line import MOST_TASKS_AT_ONCE, StepMaker


@pytest.fixture
def maker(qtbot) -> Iterator[StepMaker]:
    made = StepMaker()
    yield made
    made.close()


def step_of(layers: int, micro_batches: int) -> Forecast:
    graph = deep(layers)
    places = {layer.name: (CPUS[at % 4],) for at, layer in enumerate(graph.layers)}
    scene = layers_picture(
        view_of(placed_plan(places, micro_batches), MACHINE), facts_of(graph), None
    )
    assert scene is not None
    assert scene.forecast is not None
    return scene.forecast


def test_that_a_short_step_is_made_at_once_and_a_long_one_beside(qtbot, maker) -> None:
    made: list[Forecast] = []
    maker.made.connect(lambda found, _: made.append(found))
    short, long = step_of(4, 2), step_of(60, 16)
    assert short.tasks <= MOST_TASKS_AT_ONCE < long.tasks
    maker.make(short)
    assert made == [short]
    with qtbot.waitSignals([maker.waiting, maker.made]):
        maker.make(long)
    assert made == [short, long]


def test_that_a_long_step_gives_way_to_what_is_asked_for_later(qtbot, maker) -> None:
    made: list[Forecast] = []
    maker.made.connect(lambda found, _: made.append(found))
    long, short = step_of(60, 16), step_of(4, 2)
    maker.make(long)
    maker.make(short)
    maker.make(None)
    maker.close()
    assert made == [short]
