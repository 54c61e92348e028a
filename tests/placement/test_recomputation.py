"""What devices keep where stages compute their activations again."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st
from made_machines import WITHOUT_CARDS
from made_plan_facts import FACTS

from gpu_studio.placement.between_devices import forward_unkept
from gpu_studio.placement.device_load import Recomputed, recomputed
from gpu_studio.placement.memory import predict
from gpu_studio.placement.plan_facts import GraphLayer, ModelGraph
from gpu_studio.plan import Carve, DeviceSettings, Distribution, Placed, Plan, Training

CHAIN = ModelGraph(
    "chain",
    tuple(
        GraphLayer(name, "Dense", inputs=inputs, output_bytes=10 * place, kept_bytes=100 * place)
        for place, (name, inputs) in enumerate(
            [("a", ()), ("b", ("a",)), ("c", ("b",)), ("d", ("c", "a")), ("e", ("d",))], start=1
        )
    ),
)


def on(**devices: str) -> dict[str, tuple[str, ...]]:
    return {layer: tuple(where.split()) for layer, where in devices.items()}


def test_that_one_stage_keeps_nothing_and_computes_all_again() -> None:
    assert recomputed(CHAIN, on(a="X", b="X", c="X", d="X", e="X")) == {"X": Recomputed(0, 1500)}


def test_that_a_stage_keeps_each_input_once_skips_too() -> None:
    found = recomputed(CHAIN, on(a="X", b="X", c="Y", d="Y", e="Y"))
    assert found == {"X": Recomputed(0, 300), "Y": Recomputed(10 + 20, 1200)}


def test_that_a_device_with_two_stages_has_the_larger_one_again() -> None:
    found = recomputed(CHAIN, on(a="X", b="Y", c="X", d="X", e="Y"))
    assert found == {"X": Recomputed(20 + 10, 700), "Y": Recomputed(10 + 40, 500)}


def test_that_a_layer_that_is_split_computes_nothing_again() -> None:
    found = recomputed(CHAIN, on(a="X", b="X Y", c="X", d="X", e="X"))
    assert found == {"X": Recomputed(20 + 10, 1200)}


def memory(batch: int, micro_batches: int, *, recompute: bool) -> int:
    layers = {"one": ("CPU:0",), "two": ("CPU:0",), "three": ("CPU:1",)}
    placed = Placed(micro_batches=micro_batches, layers=layers, recompute=recompute)
    plan = Plan(
        devices=DeviceSettings(carve=(Carve("CPU:0", (0, 0)),)),
        training=Training(batch_size=batch),
        distribution=Distribution("placed", placed=placed),
    )
    return max(each.total for each in predict(plan, WITHOUT_CARDS, FACTS))


def test_that_what_a_stage_computes_again_is_said() -> None:
    placed = Placed(
        layers={"one": ("CPU:0",), "two": ("CPU:0",), "three": ("CPU:0",)}, recompute=True
    )
    plan = Plan(training=Training(batch_size=8), distribution=Distribution("placed", placed=placed))
    (found,) = predict(plan, WITHOUT_CARDS, FACTS)
    assert found.activations.bytes == 0
    assert "what one stage computes again" in found.other.formula


@given(st.integers(1000, 5000), st.integers(4, 16))
def test_that_with_several_micro_batches_of_a_large_batch_it_takes_less(
    batch: int, micro_batches: int
) -> None:
    assert memory(batch, micro_batches, recompute=True) < memory(
        batch, micro_batches, recompute=False
    )


def test_that_what_stages_make_on_their_way_forward_counts_beside_one_that_goes_back() -> None:
    """A trace showed the third's convolution beside the kernels of the first: nothing kept it."""
    graph = ModelGraph(
        "forward",
        (
            GraphLayer("a", "Dense", output_bytes=10),
            GraphLayer("b", "Dense", ("a",), output_bytes=20),
            GraphLayer("c", "Dense", ("b",), output_bytes=30, made_bytes=70),
            GraphLayer("d", "Add", ("c", "b"), output_bytes=30),
            GraphLayer("e", "Dense", ("d",), output_bytes=5),
        ),
    )
    # The fourth takes what two others made.
    assert forward_unkept(graph, "X", on(a="W", b="X", c="X", d="X", e="Y")) == 20 + 70
    assert forward_unkept(graph, "X", on(a="W", b="Y", c="X", d="X", e="X")) == 70
    assert forward_unkept(graph, "X", on(a="W", b="X", c="Y", d="X", e="X")) == 30 + 5
    # What other cards took is gone, and what comes from them is counted as that.
    assert forward_unkept(graph, "X", on(a="X", b="Y", c="Y", d="Y", e="X")) == 10
