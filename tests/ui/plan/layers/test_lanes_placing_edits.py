"""Changes of which layer runs where, and the result of any number of them."""

from __future__ import annotations

from hypothesis import given, settings
from hypothesis import strategies as st
from lane_plans import CPUS, LAYERS, MACHINE, MLP, facts_of, placed_plan

from gpu_studio.plan import Distribution, Plan, loads
from gpu_studio.plan import dumps as written
from gpu_studio.plan.edits import distribution
from gpu_studio.ui.plan.layers.board import OPEN, board_of
from gpu_studio.ui.plan.layers.layer_moves import LayerDrop, ground_of, verdict
from gpu_studio.ui.plan.plan_document import PlanDocument

EMPTY = placed_plan({})

drops = st.builds(
    LayerDrop,
    st.lists(st.sampled_from(LAYERS), min_size=1, max_size=5, unique=True).map(tuple),
    st.sampled_from((OPEN, *CPUS, "GPU:7")),
    st.booleans(),
)


def places(plan: Plan) -> dict[str, tuple[str, ...]]:
    return dict(distribution.places_of(plan))


def done(plan: Plan, drop: LayerDrop) -> tuple[Plan, str]:
    """The plan after a drop, and what the change is called; unchanged where the drop cannot be."""
    model = facts_of().model
    assert model is not None
    found = verdict(drop, ground_of(plan, MACHINE, model, MLP))
    return (found.change.make(plan), found.change.text) if found.change else (plan, "")


def test_that_layers_are_moved_whole() -> None:
    plan = placed_plan({"dense": ("CPU:0", "CPU:1"), "outputs": ("CPU:2",)})
    assert places(distribution.run_on(plan, ("dense", "dense_1"), "CPU:3")) == {
        "dense": ("CPU:3",),
        "outputs": ("CPU:2",),
        "dense_1": ("CPU:3",),
    }


def test_that_a_layer_is_split_over_where_it_is_and_one_more() -> None:
    plan = distribution.split_with(EMPTY, ("dense",), "CPU:2", {"dense": ("CPU:1",)})
    assert places(plan) == {"dense": ("CPU:1", "CPU:2")}
    assert places(distribution.split_with(plan, ("dense",), "CPU:3", {})) == {
        "dense": ("CPU:1", "CPU:2", "CPU:3")
    }


def test_that_a_part_is_taken_off_and_the_rest_stays() -> None:
    plan = placed_plan({"dense": ("CPU:0", "CPU:1"), "dense_1": ("CPU:1",)})
    assert places(distribution.take_off(plan, ("dense", "dense_1"), "CPU:1")) == {
        "dense": ("CPU:0",)
    }
    assert places(distribution.take_off(plan, ("dense",))) == {"dense_1": ("CPU:1",)}


def test_that_placing_all_leaves_nothing_of_before_but_recomputation() -> None:
    plan = distribution.place_all(placed_plan({"gone": ("CPU:9",)}), {"dense": "CPU:1"}, 8)
    assert places(plan) == {"dense": ("CPU:1",)}
    assert plan.distribution.placed is not None
    assert plan.distribution.placed.micro_batches == 8


def test_that_layers_are_placed_on_all_devices_where_one_was_used_before() -> None:
    one = Plan(distribution=Distribution("one_device", ("CPU:1",)))
    some = Plan(distribution=Distribution("mirrored", ("CPU:1", "CPU:2")))
    assert distribution.spread(one).distribution.devices == ()
    assert distribution.spread(some).distribution.devices == ("CPU:1", "CPU:2")
    assert distribution.spread(some).distribution.strategy == "placed"


def test_that_another_strategy_takes_the_devices_and_drops_the_placement() -> None:
    plan = distribution.use_instead(placed_plan(), "one_device", ("CPU:2",))
    assert plan.distribution == Distribution("one_device", ("CPU:2",))


@settings(max_examples=50)
@given(st.lists(drops, max_size=8))
def test_that_after_any_drops_every_layer_is_in_one_place_or_split_over_several(
    sequence: list[LayerDrop],
) -> None:
    plan = placed_plan()
    for drop in sequence:
        plan, _ = done(plan, drop)
        board = board_of(plan, MACHINE, MLP, {}, {})
        lanes = {
            layer: [lane.device for lane in board.lanes if layer in lane.layers] for layer in LAYERS
        }
        for layer, devices in distribution.places_of(plan).items():
            assert len(set(devices)) == len(devices)
            assert lanes[layer] == sorted(devices)
        assert all(
            lanes[layer] == [OPEN] for layer in LAYERS if layer not in distribution.places_of(plan)
        )
        assert all(
            lane.layers == tuple(name for name in LAYERS if name in lane.layers)
            for lane in board.lanes
        )
    assert loads(written(plan)).distribution == plan.distribution


@settings(max_examples=50)
@given(st.lists(drops, max_size=8))
def test_that_undo_takes_every_drop_back_one_by_one_and_redo_brings_it_again(
    sequence: list[LayerDrop],
) -> None:
    document = PlanDocument()
    document.begin(placed_plan())
    seen = [document.plan]
    for drop in sequence:
        assert document.plan is not None
        plan, text = done(document.plan, drop)
        document.replace(plan, text)
        if document.plan != seen[-1]:
            seen.append(document.plan)
    assert document.undo_stack.count() == len(seen) - 1
    for before in reversed(seen[:-1]):
        document.undo_stack.undo()
        assert document.plan == before
    for after in seen[1:]:
        document.undo_stack.redo()
        assert document.plan == after
    document.deleteLater()
