"""A measured step under the predicted one.

On its axis, of the right run, and none where there is none.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from edited_part import Reported
from lane_plans import LAYERS, MACHINE, facts_of, placed_plan
from made_placements import mlp_placement, mlp_timeline
from made_runs import Script, make_run, tell
from msgspec.structs import replace
from plan_bench import Bench

from gpu_studio.contract.directory import RunDirectory
from gpu_studio.plan import Plan, save
from gpu_studio.runs.catalogue import numbered
from gpu_studio.runs.labels import title_of
from gpu_studio.ui.kit.step_view import LEFT, OWN_SCALE, StepPicture, TimelineView, measured_picture
from gpu_studio.ui.plan.layers.layers_tab import LayersTab

CPUS = ["CPU:0", "CPU:1", "CPU:2", "CPU:3"]
PLACES = {name: place for place, name in enumerate(CPUS)}


def trained(runs: Path, plan: Plan) -> RunDirectory:
    run = make_run(runs, Script(trained=0.2))
    save(plan, run.plan_file)
    tell(run, mlp_placement(), mlp_timeline())
    numbered(runs)
    return run


@pytest.fixture
def tab(qtbot, theme, runs_dir) -> Iterator[LayersTab]:
    tab, reader = LayersTab(theme, runs=runs_dir), Reported()
    tab.set_facts(reader)
    bench = Bench(placed_plan(), MACHINE, tab)
    qtbot.addWidget(bench)
    bench.resize(760, 560)
    bench.show()
    reader.tell(facts_of())
    tab.bench = bench
    yield tab
    tab.close_readers()
    reader.close()


def shown(tab: LayersTab) -> list[str]:
    return [row.accessibleName() for row in tab.timeline.measured.rows if row.isVisible()]


def test_that_the_step_of_a_run_of_this_plan_is_drawn_under_the_prediction(
    qtbot, tab, runs_dir
) -> None:
    assert shown(tab) == []
    run = trained(runs_dir, placed_plan())
    tab.bench.hide()
    tab.bench.show()
    qtbot.waitUntil(lambda: shown(tab) == [f"measured step on {name}" for name in CPUS])
    caption = tab.timeline.measured.caption.text()
    assert caption.startswith("measured step 21.0 ms · bubble 51 % · step 3 of ")
    assert f"step 3 of {title_of(run)}, " in caption
    assert title_of(run).startswith("#1 ")
    # Its prediction is by FLOPs: two lengths that cannot be compared are not drawn as if they
    # could.
    assert caption.endswith(OWN_SCALE)
    assert tab.timeline.predicted.caption.text().startswith("predicted step by FLOPs · bubble ")


def test_that_it_goes_with_the_first_layer_that_is_put_elsewhere_and_comes_back_with_undo(
    qtbot, tab, runs_dir
) -> None:
    trained(runs_dir, placed_plan())
    tab.measured.look()
    qtbot.waitUntil(lambda: len(shown(tab)) == 4)
    tab.bench.document.replace(placed_plan(dict.fromkeys(LAYERS, ("CPU:2",))), "all on one")
    assert shown(tab) == []
    tab.bench.document.undo_stack.undo()
    qtbot.waitUntil(lambda: len(shown(tab)) == 4)


def test_that_predicted_and_measured_seconds_have_one_axis(qtbot, theme) -> None:
    view = TimelineView(theme)
    qtbot.addWidget(view)
    view.resize(400 + int(LEFT), 300)
    view.show()
    measured = measured_picture(mlp_timeline(), PLACES, "a run")
    half = StepPicture(measured.rows, measured.seconds / 2, "predicted step", to_scale=True)
    view.show_predicted(half)
    view.show_measured(measured)
    first = measured.rows[0].spells[0]
    x = LEFT + (first.begin + first.end) / 2 / measured.seconds * 400
    assert view.predicted.rows[0].task_at(x, 9) == view.measured.rows[0].task_at(x, 9) == first
    assert OWN_SCALE not in view.measured.caption.text()
    view.show_measured(None)
    assert view.predicted.rows[0].task_at(LEFT + (x - LEFT) * 2, 9) == first


def test_that_each_spell_says_pass_micro_batch_layers_and_times() -> None:
    rows = measured_picture(mlp_timeline(), PLACES).rows
    said = [rows[2].say(spell) for spell in rows[2].spells]
    assert said[0] == (
        "forward of micro-batch 1: dense_1 … dense_2 (2 layers), 2.00 ms to 3.80 ms, busy 1.80 ms"
    )
    assert said[-1].startswith("update: dense_1 … dense_2 (2 layers), 20.0 ms to 21.0 ms")
    assert rows[1].description == "CPU:1: busy 29 % of the measured step"
    assert rows[1].spells == ()


def test_that_the_parts_of_a_split_layer_are_drawn_on_their_own_devices() -> None:
    step = mlp_timeline()
    here = replace(step.tasks[0], device="CPU:1")
    rows = measured_picture(replace(step, tasks=[here]), PLACES).rows
    assert [len(row.spells) for row in rows] == [0, 1, 0, 0]


def test_that_a_step_that_took_no_time_can_be_shown() -> None:
    nothing = replace(mlp_timeline(), seconds=0.0, tasks=[], busy={"CPU:0": 0.0})
    (row,) = measured_picture(nothing, {}).rows
    assert row.description == "CPU:0: busy 0 % of the measured step"
