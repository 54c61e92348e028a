"""The lanes of a plan, what a step takes in them, and its description."""

from __future__ import annotations

from dataclasses import replace

import pytest
from lane_plans import (
    CPUS,
    LAYERS,
    MACHINE,
    deep,
    facts_of,
    keeping,
    placed_plan,
    view_of,
    with_room_to_recompute,
)
from made_machines import TWO_CARDS

from gpu_studio.lab.machine_figures import MachineFigures
from gpu_studio.placement.memory import predict
from gpu_studio.placement.plan_facts import PlanFacts
from gpu_studio.placement.search import Lack
from gpu_studio.placement.suggestion import NothingFits
from gpu_studio.placement.work import LayerTime
from gpu_studio.plan import Carve, DeviceSettings, Distribution, Machine, Placed, Plan, Training
from gpu_studio.plan.edits.distribution import places_of, set_recompute
from gpu_studio.ui.plan.layers.board import OPEN
from gpu_studio.ui.plan.layers.forecast import (
    Forecast,
    Measurement,
    better,
    bubble_tip,
    crossing_in_words,
    faster_in_words,
    forecast,
    nothing_fits_in_words,
    row_in_words,
    step_in_words,
    task_in_words,
)
from gpu_studio.ui.plan.layers.lane_view import amounts_of, tip_of
from gpu_studio.ui.plan.layers.layers_tab import LayersPicture, layers_picture
from gpu_studio.ui.plan.layers.step_line import predicted_picture
from gpu_studio.ui.plan.layers.toolbar import Wish, placed_for
from gpu_studio.ui.plan.outlook import prospects

TIMES = Measurement(
    {device: {name: LayerTime(1e-3, 0, 2e-3, 0, 1e-4) for name in LAYERS} for device in CPUS}
)


def scene(plan: Plan | None = None, measured=None, machine: Machine = MACHINE) -> LayersPicture:
    made = layers_picture(view_of(plan or placed_plan(), machine), facts_of(), measured)
    assert made is not None
    return made


def known(plan: Plan | None = None, measured=None, machine: Machine = MACHINE) -> Forecast:
    found = scene(plan, measured, machine).forecast
    assert found is not None
    return found


def test_that_there_is_a_lane_for_each_logical_device_and_one_for_what_is_left_out() -> None:
    board = scene(placed_plan({"dense": ("CPU:1",), "outputs": ("CPU:2", "CPU:3")})).board
    assert [(lane.title, lane.layers) for lane in board.lanes] == [
        ("unplaced", ("flatten", "dense_1", "dense_2")),
        ("CPU:0", ()),
        ("CPU:1", ("dense",)),
        ("CPU:2", ("outputs",)),
        ("CPU:3", ("outputs",)),
    ]


def test_that_what_is_left_out_says_where_it_runs() -> None:
    lane = scene(placed_plan({"dense": ("CPU:1",), "outputs": ("CPU:2",)})).board.lane(OPEN)
    assert lane is not None
    assert [(item.layer, item.goes_to, item.place) for item in lane.items] == [
        ("flatten", "runs on CPU:1", 1),
        ("dense_1", "runs on CPU:1", 1),
        ("dense_2", "runs on CPU:1", 1),
    ]


def test_that_the_parts_of_a_split_layer_are_numbered_and_have_their_share_each() -> None:
    board = scene(
        placed_plan({**dict.fromkeys(LAYERS, ("CPU:0",)), "dense": ("CPU:0", "CPU:3")})
    ).board
    lanes = [board.lane("CPU:0"), board.lane("CPU:3")]
    one, other = (
        next(item for item in lane.items if item.layer == "dense") for lane in lanes if lane
    )
    assert (one.part, other.part) == ("part 1 of 2", "part 2 of 2")
    assert one.kind == other.kind == "Dense 128 of 256"
    assert one.share == other.share
    assert one.bytes == 256 * 785 * 4 // 2


def test_that_units_that_do_not_divide_are_dealt_as_the_trainer_deals_them() -> None:
    board = scene(placed_plan({"outputs": ("CPU:0", "CPU:1")})).board
    lanes = [board.lane("CPU:0"), board.lane("CPU:1")]
    assert [lane.items[0].kind for lane in lanes if lane] == ["Dense 2 of 3", "Dense 1 of 3"]


def test_that_a_device_that_is_not_there_has_a_lane_that_says_so() -> None:
    board = scene(placed_plan({"dense": ("GPU:7",)})).board
    lane = board.lane("GPU:7")
    assert lane is not None
    assert (lane.place, lane.layers, lane.why_not) == (
        None,
        ("dense",),
        "GPU:7 is not among the logical devices of this plan.",
    )
    assert scene(placed_plan({"dense": ("GPU:7",)})).forecast is None


def test_that_items_say_kind_units_share_and_bytes() -> None:
    lane = scene().board.lane("CPU:1")
    assert lane is not None
    (item,) = lane.items
    assert (item.kind, item.percent, item.bytes) == ("Dense 256", "60 %", 256 * 785 * 4)
    assert item.text == "dense, Dense 256, 60 %, 785 KiB"
    assert "200,960 parameters" in item.detail


def test_that_the_memory_of_a_lane_is_that_of_the_plans_prediction_and_of_the_hosts_room() -> None:
    lane = scene().board.lane("CPU:1")
    assert lane is not None
    assert lane.memory is not None
    assert lane.memory.weights.bytes == 256 * 785 * 4
    assert lane.limit_bytes == 16_000 * 1024 * 1024


def test_that_too_much_memory_is_said_in_words_however_little_room_there_is() -> None:
    carved = replace(
        placed_plan(dict.fromkeys(LAYERS, ("GPU:0",))),
        devices=DeviceSettings(carve=(Carve("GPU:0", (2, 4096)),)),
    )
    lane, other = (scene(carved, machine=TWO_CARDS).board.lane(name) for name in ("GPU:0", "GPU:1"))
    assert lane is not None
    assert other is not None
    assert [words[:8] for words in amounts_of(lane)] == ["too much", "too much"]
    assert amounts_of(lane)[0].endswith(" / 2,048 KiB")
    assert "which is too much" in tip_of(lane)
    assert amounts_of(other) == ("0 / 4 GiB", "0 B")


def test_that_what_micro_batches_take_on_logical_cpus_is_called_a_bound_everywhere() -> None:
    for parts in (1, 4):
        plan = placed_plan(micro_batches=parts)
        lane = scene(plan).board.lane("CPU:1")
        assert lane is not None
        assert lane.memory is not None
        (seen,) = (each for each in prospects(plan, MACHINE, [lane.memory]) if each.parts)
        for words in (*amounts_of(lane), tip_of(lane).removeprefix("CPU:1: "), seen.amount):
            assert words.startswith("at most ") == (parts > 1), words


def test_that_shares_are_of_all_layers_and_by_measured_times_where_there_are_some() -> None:
    assert sum(known().shares.values()) == pytest.approx(1)
    assert known().shares["dense"] == pytest.approx(0.6, abs=0.01)
    assert known(measured=TIMES).shares["dense"] == pytest.approx(0.2)
    assert (known().measured, known(measured=TIMES).measured) == (False, True)


def test_that_without_measured_times_a_step_is_only_told_in_relation_to_one_device() -> None:
    found = known()
    assert step_in_words(found, found.timeline()) == "a step 1.00 × one device"
    timed = known(measured=TIMES)
    said = step_in_words(timed, timed.timeline())
    assert said.startswith("a step ")
    assert " ms · one device 15.5 ms" in said


def test_that_an_estimate_at_the_machines_measured_pace_is_in_seconds_and_says_so() -> None:
    figures = MachineFigures({"CPU:0": {"float32": 1e9}}, {}, 9.0)
    made = layers_picture(view_of(placed_plan(), MACHINE), facts_of(), None, figures)
    assert made is not None
    found = made.forecast
    assert found is not None
    assert (found.measured, found.timed) == (True, False)
    assert "s · one device" in step_in_words(found, found.timeline())
    assert found.estimate.endswith("in float32: CPU:0 1 GFLOP/s")
    assert predicted_picture(found, found.timeline()).caption.count("estimated") == 1
    whole = sum(layer.flops_forward + layer.flops_backward for layer in made.graph.layers)
    assert found.one is not None
    assert found.one.seconds == pytest.approx(whole * placed_plan().training.batch_size / 1e9)
    model = facts_of().model
    assert model is not None
    wish = Wish(placed_plan(), MACHINE, model, None, "fastest", figures=figures)
    assert "By FLOPs at what was measured" in placed_for(wish).said
    timed = layers_picture(view_of(placed_plan(), MACHINE), facts_of(), TIMES, figures)
    assert timed is not None
    assert timed.forecast is not None
    assert (timed.forecast.timed, timed.forecast.estimate) == (True, "")


def test_that_times_of_some_devices_only_are_not_mixed_with_flops() -> None:
    assert not known(measured=Measurement({"CPU:0": TIMES.times["CPU:0"]})).measured


def test_that_all_that_crosses_is_told_in_bytes() -> None:
    assert crossing_in_words(known()) == "452 KiB crosses"
    assert (
        crossing_in_words(known(placed_plan(dict.fromkeys(LAYERS, ("CPU:0",)))))
        == "nothing crosses"
    )


def test_that_recomputing_takes_longer() -> None:
    plan = placed_plan()
    again = replace(
        plan,
        distribution=replace(plan.distribution, placed=Placed(4, places_of(plan), recompute=True)),
    )
    assert known(again).timeline().seconds > known(plan).timeline().seconds


def test_that_the_bubble_is_explained() -> None:
    tip = bubble_tip(known())
    assert "4 even stages would leave 43 %." in tip
    assert "takes turns" in tip


def test_that_measured_sharing_of_the_cores_is_told_and_goes_into_the_prices() -> None:
    halves = {
        device: {name: replace(time, share=0.5) for name, time in TIMES.times[device].items()}
        for device in CPUS
    }
    shared, alone = known(measured=Measurement(halves)), known(measured=TIMES)
    assert "share the machine's cores, as it was measured" in bubble_tip(shared)
    assert "takes turns" in bubble_tip(alone)
    prices = [
        next(each.seconds for each in found.others if each.strategy == "mirrored")
        for found in (shared, alone)
    ]
    assert prices[0] == pytest.approx(prices[1] / 2)


def test_that_another_way_is_named_only_if_it_takes_notably_less() -> None:
    cards = replace(placed_plan(dict.fromkeys(LAYERS, ("GPU:0",))), devices=DeviceSettings())
    found = known(cards, machine=TWO_CARDS)
    other = better(found, found.timeline())
    assert other is not None
    assert (other.strategy, other.devices) == ("mirrored", ("GPU:0", "GPU:1"))
    assert faster_in_words(other, found.timeline()).startswith(
        "Mirrored over all devices would be faster: a step"
    )
    assert better(known(), known().timeline()) is None


def test_that_a_way_without_room_is_not_named() -> None:
    small = tuple(replace(card, total_mib=310) for card in TWO_CARDS.cards)
    graph = deep(6)
    large = replace(
        graph, layers=tuple(replace(layer, kept_bytes=30_000) for layer in graph.layers)
    )
    model = facts_of(large).model
    assert model is not None
    names = [layer.name for layer in large.layers]
    part = Placed(1, {name: (f"GPU:{at // 3}",) for at, name in enumerate(names)})
    plan = Plan(training=Training(batch_size=100), distribution=Distribution("placed", placed=part))
    tight, roomy = (
        forecast(plan, machine, model, None)
        for machine in (replace(TWO_CARDS, cards=small), TWO_CARDS)
    )
    assert tight is not None
    assert roomy is not None
    other, better_there = better(tight, tight.timeline()), better(roomy, roomy.timeline())
    assert better_there is not None
    assert other is None or other.strategy != "one_device"


def test_that_tasks_and_rows_are_told_in_words() -> None:
    found = known()
    step = found.timeline()
    first = min(step.tasks, key=lambda task: (task.begin, task.device))
    assert task_in_words(first, found) == "forward of micro-batch 1: flatten"
    assert row_in_words(1, found, step).startswith("CPU:1: 1 layer, busy ")
    update = next(task for task in step.tasks if task.micro_batch < 0)
    assert task_in_words(update, known(measured=TIMES)).startswith("update: ")


def test_that_what_each_device_lacks_is_said() -> None:
    said = nothing_fits_in_words(NothingFits((Lack("GPU:0", 3 << 20), Lack("GPU:1", 12 << 30))))
    assert "GPU:0 lacks 3 MiB and GPU:1 lacks 12 GiB" in said


def test_that_nothing_is_forecast_for_a_plan_with_problems() -> None:
    broken = placed_plan(micro_batches=100)
    assert scene(broken).forecast is None
    assert all(lane.memory is None for lane in scene(broken).board.lanes)


@pytest.mark.parametrize("objective", ["fastest", "least_memory", "fewest_transfers"])
def test_that_place_for_me_places_every_layer_on_a_device_of_the_plan(objective) -> None:
    model = facts_of().model
    assert model is not None
    outcome = placed_for(Wish(placed_plan({}), MACHINE, model, None, objective))
    assert outcome.change is not None
    plan = outcome.change.make(placed_plan({}))
    assert list(places_of(plan)) == list(LAYERS)
    assert set(places_of(plan).values()) <= {(name,) for name in CPUS}
    if objective == "fewest_transfers":
        assert known(plan).crossing == ()


def test_that_place_for_me_keeps_the_micro_batches_where_it_is_told_to() -> None:
    model = facts_of().model
    assert model is not None
    outcome = placed_for(Wish(placed_plan({}, 3), MACHINE, model, None, "fastest", keep=True))
    assert outcome.change is not None
    placed = outcome.change.make(placed_plan({}, 3)).distribution.placed
    assert placed is not None
    assert placed.micro_batches == 3
    assert outcome.said.endswith("in 3 micro-batches.")


def test_that_place_for_me_changes_another_strategy_in_one_step() -> None:
    model = facts_of().model
    assert model is not None
    plain = replace(placed_plan(), distribution=Distribution("one_device", ("CPU:1",)))
    outcome = placed_for(Wish(plain, MACHINE, model, TIMES, "fastest"))
    assert outcome.change is not None
    made = outcome.change.make(plain).distribution
    assert (made.strategy, made.devices) == ("placed", ())


def test_that_place_for_me_says_what_is_lacking_where_nothing_fits() -> None:
    small = tuple(replace(card, total_mib=301) for card in TWO_CARDS.cards)
    model = facts_of().model
    assert model is not None
    plan = replace(placed_plan({}), devices=DeviceSettings())
    outcome = placed_for(Wish(plan, replace(TWO_CARDS, cards=small), model, None, "fastest"))
    assert outcome.change is None
    assert outcome.offer is None
    assert "lacks" in outcome.said
    assert "GPU:" in outcome.said


def test_that_place_for_me_offers_to_recompute_where_only_that_fits() -> None:
    model = facts_of(keeping(6)).model
    assert model is not None
    machine, plan = with_room_to_recompute(), replace(placed_plan({}), devices=DeviceSettings())
    plan = replace(plan, training=Training(batch_size=100))
    outcome = placed_for(Wish(plan, machine, model, None, "fastest"))
    assert outcome.change is None
    assert outcome.said.endswith("It fits if they are recomputed.")
    assert outcome.offer is not None
    made = outcome.offer.make(plan)
    assert made.distribution.placed is not None
    assert made.distribution.placed.recompute
    assert all(
        memory.fits is not False for memory in predict(made, machine, PlanFacts(model=model))
    )
    again = placed_for(Wish(set_recompute(plan, True), machine, model, None, "fastest"))
    assert again.change is not None
    assert again.change.make(plan) == made
    assert again.said.endswith(", with activations recomputed.")
