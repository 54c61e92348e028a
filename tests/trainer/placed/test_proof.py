"""From the executed operations to the report about them, part by part."""

from __future__ import annotations

from collections import Counter

import pytest

pytestmark = pytest.mark.slow


def told(*found: tuple[int, str, str, str, int]) -> list[tuple[str, ...]]:
    from gpu_studio.trainer.placed.devices import Mark
    from gpu_studio.trainer.placed.placing import LayerAssignment
    from gpu_studio.trainer.placed.proof import parts_of, rows_of

    seats = {
        0: LayerAssignment(0, "split", None, ("CPU:0", "CPU:1"), "CPU:2"),
        1: LayerAssignment(1, "whole", None, ("CPU:3",), "CPU:3", by_plan=False),
    }
    counts = Counter(
        {(Mark(seat, part, way), device): count for seat, way, part, device, count in found}
    )
    rows = list(parts_of(counts, seats))
    assert sum(row.operations for row in rows) == sum(count for *_, count in rows_of(rows))
    return [(row.layer, row.way, row.part, row.device) for row in rows]


def test_that_parts_that_have_changed_places_are_told_apart() -> None:
    """Summed over its parts, such a layer would be where it was asked to be."""
    assert told((0, "forward", "1", "CPU:0", 3), (0, "forward", "0", "CPU:1", 3)) == [
        ("split", "forward", "0", "CPU:1"),
        ("split", "forward", "1", "CPU:0"),
    ]


def test_that_layers_come_in_order_and_passes_as_they_are_done_and_parts_before_their_joining() -> (
    None
):
    found = [
        (1, "forward", "0", "CPU:3", 1),
        (0, "update", "0", "CPU:0", 1),
        (0, "forward", "join", "CPU:2", 1),
    ]
    found += [(0, "forward", "1", "CPU:1", 2), (0, "backward", "0", "CPU:0", 2)]
    assert [row[:3] for row in told(*found)] == [
        ("split", "forward", "1"),
        ("split", "forward", "join"),
        ("split", "backward", "0"),
        ("split", "update", "0"),
        ("whole", "forward", "0"),
    ]


def test_that_operations_of_no_layer_of_the_model_are_left_out() -> None:
    assert told((7, "forward", "0", "CPU:0", 9)) == []


def test_that_of_very_many_mismatches_only_some_are_warned_of_and_the_others_counted() -> None:
    from gpu_studio.trainer.placed.devices import Mark
    from gpu_studio.trainer.placed.placing import LayerAssignment
    from gpu_studio.trainer.placed.proof import MOST_WARNINGS, warnings_of

    seats = {
        number: LayerAssignment(number, f"layer_{number:02}", None, ("CPU:1",), "CPU:1")
        for number in range(30)
    }
    counts = Counter({(Mark(number, "0", "forward"), "CPU:0"): 2 for number in seats})
    said = [warning.message for warning in warnings_of(counts, seats)]
    assert (
        said[0]
        == "2 operations of the forward of layer_00 were executed on CPU:0, and not on CPU:1."
    )
    assert len(said) == MOST_WARNINGS + 1
    assert said[-1] == f"So it is with {30 - MOST_WARNINGS} more passes of layers."
    fine = Counter({(Mark(number, "0", "forward"), "CPU:1"): 2 for number in seats})
    assert list(warnings_of(fine, seats)) == []


CARD, OTHER, HOST = (
    f"/job:localhost/replica:0/task:0/device:{name}" for name in ("GPU:3", "GPU:1", "CPU:0")
)


def sent(*ways: tuple[str, str, str, str]) -> list[tuple[str, str, tuple[str, ...]]]:
    """What the proof makes of edges: type and device of the sender, and of the receiver."""
    from tensorflow.core.framework.graph_pb2 import GraphDef

    from gpu_studio.trainer.placed.proof import sends

    graph = GraphDef()
    for number, (sends_by, source, receives_by, target) in enumerate(ways):
        name = f"edge_{number}_made_{number}"
        for kind, device, node, taken in (
            (sends_by, source, f"sender_{number}", f"made_{number}"),
            (receives_by, target, f"receiver_{number}", ""),
        ):
            each = graph.node.add(name=node, op=kind, device=device, input=filter(None, [taken]))
            each.attr["tensor_name"].s = name.encode()
            each.attr["recv_device"].s = target.encode()
        graph.node.add(
            name=f"taker_{number}", op="AddV2", device=target, input=[f"receiver_{number}"]
        )
    return [(each.from_device, each.to_device, each.takers) for each in sends([graph])]


def test_that_what_lies_in_the_host_s_memory_for_a_card_is_the_host_s() -> None:
    """TensorFlow moves a tensor between a card's own memory and the host's by sending it, too."""
    assert sent(
        ("_Send", CARD, "_Recv", OTHER),
        ("_HostSend", CARD, "_Recv", CARD),
        ("_Send", CARD, "_HostRecv", CARD),
        ("_Send", HOST, "_HostRecv", CARD),
        ("_HostSend", HOST, "_Recv", OTHER),
    ) == [
        ("GPU:3", "GPU:1", ("taker_0",)),
        ("CPU:0", "GPU:3", ("taker_1",)),
        ("GPU:3", "CPU:0", ("taker_2",)),
        ("CPU:0", "GPU:1", ("taker_4",)),
    ]
