"""Long work beside the window: the last that was asked for counts, failures are told, no thread stays."""

from __future__ import annotations

import threading
from collections.abc import Iterator

import pytest
from lane_plans import CPUS, MACHINE, deep, facts_of, placed_plan, view_of

from gpu_studio.ui.models.plan.lanes.forecast import Forecast
from gpu_studio.ui.models.plan.lanes.scene import scene_of
from gpu_studio.ui.models.plan.lanes.step_maker import MOST_TASKS_AT_ONCE, StepMaker
from gpu_studio.ui.models.plan.lanes.worker import Worker


@pytest.fixture
def worker(qtbot) -> Iterator[Worker]:
    made = Worker("a-test")
    yield made
    made.close()
    assert not [thread for thread in threading.enumerate() if thread.name == "a-test"]


@pytest.fixture
def maker(qtbot) -> Iterator[StepMaker]:
    made = StepMaker()
    yield made
    made.close()


def step_of(layers: int, micro_batches: int) -> Forecast:
    graph = deep(layers)
    places = {layer.name: (CPUS[at % 4],) for at, layer in enumerate(graph.layers)}
    scene = scene_of(view_of(placed_plan(places, micro_batches), MACHINE), facts_of(graph), None)
    assert scene is not None
    assert scene.forecast is not None
    return scene.forecast


def test_that_only_the_last_job_is_heard_of_even_if_an_earlier_one_ends_later(qtbot, worker) -> None:
    told: list[object] = []
    go = threading.Event()
    worker.done.connect(told.append)
    worker.start(lambda: go.wait(20) and "first")
    with qtbot.waitSignal(worker.done, timeout=20_000):
        worker.start(lambda: "second")
    assert not worker.busy
    go.set()
    with qtbot.waitSignal(worker.done, timeout=20_000):
        worker.start(lambda: "third")
    assert told == ["second", "third"]


def test_that_a_job_that_is_forgotten_is_not_heard_of(qtbot, worker) -> None:
    told: list[object] = []
    worker.done.connect(told.append)
    worker.start(lambda: "forgotten")
    worker.forget()
    assert not worker.busy
    with qtbot.waitSignal(worker.done, timeout=20_000):
        worker.start(lambda: "wanted")
    assert told == ["wanted"]


def test_that_a_job_that_fails_gives_its_exception(qtbot, worker) -> None:
    with qtbot.waitSignal(worker.done, timeout=20_000) as told:
        worker.start(lambda: 1 // 0)
    assert isinstance(told.args[0], ZeroDivisionError)


def test_that_a_short_step_is_made_at_once_and_a_long_one_beside(qtbot, maker) -> None:
    made: list[Forecast] = []
    maker.made.connect(lambda found, _: made.append(found))
    short, long = step_of(4, 2), step_of(60, 16)
    assert short.tasks <= MOST_TASKS_AT_ONCE < long.tasks
    maker.make(short)
    assert made == [short]
    with qtbot.waitSignals([maker.waiting, maker.made], timeout=20_000):
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
