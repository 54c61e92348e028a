"""The share of communication in profiled steps: operations on CPUs, kernels on cards."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

pytestmark = pytest.mark.slow

LOOP = "while/body/_1/while"
REDUCE = "ncclDevKernel_AllReduce_Sum_f32_RING_LL"


def ran(name, begin, end, kind="MatMul", kernel="", card=""):
    from gpu_studio.trainer.step_recording import Executed

    return Executed(name, float(begin), float(end), kind, kernel, card)


def told(executed, where, devices, *, steps=1, waited=0.0, replicas=2):
    from gpu_studio.trainer.communication import communication_of
    from gpu_studio.trainer.step_recording import Recorded

    return communication_of(Recorded(executed, 7, steps, waited), where, devices, replicas)


def on_cpus(*rows):
    """Operations (name, begin, end, type, device), and where each is."""
    executed = [ran(f"{LOOP}/{name}", begin, end, kind) for name, begin, end, kind, _ in rows]
    return executed, {f"{LOOP}/{name}": device for name, *_, device in rows}


@pytest.mark.parametrize(
    ("name", "kind", "kernel"),
    [
        (f"{LOOP}/AddN/_97", "_Send", ""),
        (f"{LOOP}/AddN/_98", "_HostRecv", ""),
        (f"{LOOP}/between_replicas/CollectiveReduceV2", "CollectiveReduceV2", ""),
        (f"{LOOP}/between_replicas/AddN_1", "AddN", ""),
        (f"{LOOP}/between_replicas_3/ArithmeticOptimizer/AddOpsRewrite_AddN", "AddN", ""),
        (f"{LOOP}/between_replicas_1/concat", "ConcatV2", "void tensorflow::concat_kernel"),
        ("ncclAllReduce", "", REDUCE),
        ("", "", "MemcpyP2P"),
        (f"edge_97_{LOOP}/between_replicas/AddN", "", "MemcpyD2H"),
    ],
)
def test_that_what_carries_or_sums_up_between_devices_is_communication(name, kind, kernel):
    from gpu_studio.trainer.communication import communicates

    assert communicates(ran(name, 0, 1, kind, kernel))


@pytest.mark.parametrize(
    ("name", "kind", "kernel"),
    [
        (f"{LOOP}/mlp/dense/MatMul", "MatMul", ""),
        (f"{LOOP}/model/add/AddN", "AddN", ""),
        (f"{LOOP}/model/between_replicas_of_mine/AddN", "AddN", ""),
        (f"{LOOP}/model/concat", "ConcatV2", "MemcpyD2D"),
    ],
)
def test_that_what_a_model_computes_is_none(name, kind, kernel):
    from gpu_studio.trainer.communication import communicates

    assert not communicates(ran(name, 0, 1, kind, kernel))


def test_that_communication_is_exposed_only_while_the_device_computes_nothing():
    step = told(
        *on_cpus(
            ("a", 0, 4, "MatMul", "CPU:0"),
            ("a/_1", 3, 6, "_Send", "CPU:0"),
            ("b", 1, 2, "MatMul", "CPU:1"),
            ("between_replicas/AddN", 6, 9, "AddN", "CPU:1"),
            ("c", 8, 10, "MatMul", "CPU:0"),
        ),
        ["CPU:0", "CPU:1"],
        waited=0.5,
    )
    assert (step.step, step.steps, step.replicas, step.seconds, step.input_seconds) == (
        7,
        1,
        2,
        10.0,
        0.5,
    )
    rows = {
        each.device: (each.compute, each.communication, each.exposed, each.idle)
        for each in step.devices
    }
    assert rows == {"CPU:0": (6.0, 3.0, 2.0, 2.0), "CPU:1": (1.0, 3.0, 3.0, 6.0)}
    # Of the whole step: from 4 to 8 nothing computes, and one or the other communicates.
    assert (step.compute, step.exposed) == (6.0, 4.0)


def test_that_waiting_for_the_last_replica_is_told_of_collective_operations():
    step = told(
        *on_cpus(
            ("a", 0, 1, "MatMul", "CPU:0"),
            ("b", 0, 5, "MatMul", "CPU:1"),
            ("between_replicas/CollectiveReduceV2", 1, 7, "CollectiveReduceV2", "CPU:0"),
            ("between_replicas/CollectiveReduceV2_1", 5, 8, "CollectiveReduceV2", "CPU:1"),
        ),
        ["CPU:0", "CPU:1"],
    )
    assert [each.waiting for each in step.devices] == [4.0, 0.0]
    assert (step.compute, step.exposed) == (5.0, 3.0)


def test_that_without_as_many_collective_operations_on_each_device_nothing_is_told_of_waiting():
    rows = [("a", 0, 1, "MatMul", "CPU:0"), ("b", 0, 1, "MatMul", "CPU:1")]
    rows += [(f"c{n}", 1, 2, "CollectiveReduceV2", "CPU:0") for n in range(2)]
    assert [each.waiting for each in told(*on_cpus(*rows), ["CPU:0", "CPU:1"]).devices] == [
        None,
        None,
    ]
    rows += [("d", 1, 2, "CollectiveReduceV2", "CPU:1")]
    assert [each.waiting for each in told(*on_cpus(*rows), ["CPU:0", "CPU:1"]).devices] == [
        None,
        None,
    ]


def test_that_several_steps_are_told_as_one_and_a_thread_off_its_core_seems_to_send_no_longer():
    rows = [("a/_1", 10 * n + 1, 10 * n + 2, "_Send", "CPU:0") for n in range(3)]
    rows += [("a", 10 * n, 10 * n + 1, "MatMul", "CPU:0") for n in range(3)]
    rows[1] = ("a/_1", 11, 19, "_Send", "CPU:0")
    step = told(*on_cpus(*rows), ["CPU:0"], steps=3, waited=6.0)
    assert (step.compute, step.exposed, step.input_seconds) == (1.0, 1.0, 2.0)
    assert step.seconds == pytest.approx(22 / 3)


def test_that_waiting_for_data_other_functions_and_other_devices_are_no_work():
    rows = [("a", 2, 3, "MatMul", "CPU:0"), ("IteratorGetNext", 0, 2, "IteratorGetNext", "CPU:0")]
    executed, where = on_cpus(*rows, ("host", 3, 9, "MatMul", "CPU:1"))
    step = told([*executed, ran("GatherV2", 0, 9, "GatherV2")], where, ["CPU:0"])
    assert (step.seconds, step.compute, step.exposed) == (1.0, 1.0, 0.0)


def test_that_of_steps_in_which_no_device_was_seen_at_work_nothing_is_told():
    assert told([], {}, ["CPU:0"]) is None
    assert told(*on_cpus(("a", 0, 1, "MatMul", "CPU:1")), ["CPU:0"]) is None


def cards(number, last):
    """A step of a replica on a card.

    Forward, backward, the kernel of NCCL that runs beside it, the update.
    """
    card, device = f"GPU:{number}", f"GPU:{number}"
    replica = f"{LOOP}/replica_{number}" if number else LOOP
    rows = [
        ran(f"{replica}/dense/MatMul", 0, 4, "MatMul", "ampere_sgemm_128x64", card),
        ran(f"{replica}/grad/MatMul", 4, 8, "MatMul", "ampere_sgemm_128x64", card),
        ran("ncclAllReduce", last, 10, "", REDUCE, card),
        ran(f"{replica}/adam/Sub", 10, 11, "Sub", "void Eigen::internal", card),
        # What the host does for it: it launches, and waits for the others.
        ran(f"{replica}/between_replicas/CollectiveReduceV2", 1, 10, "CollectiveReduceV2"),
    ]
    return rows, {each.name: device for each in rows if each.name.startswith(LOOP)}


def test_that_of_cards_the_kernels_count_and_those_of_nccl_belong_to_their_card():
    (one, where_one), (two, where_two) = cards(0, 6), cards(1, 7)
    step = told([*one, *two], where_one | where_two, ["GPU:0", "GPU:1"])
    rows = {
        each.device: (each.compute, each.communication, each.exposed, each.waiting)
        for each in step.devices
    }
    assert rows == {"GPU:0": (9.0, 4.0, 2.0, 1.0), "GPU:1": (9.0, 3.0, 2.0, 0.0)}
    assert (step.seconds, step.compute, step.exposed) == (11.0, 9.0, 2.0)


def test_that_copies_between_slices_of_a_card_are_known_by_their_edge():
    names = {f"{LOOP}/dense/MatMul": "GPU:0", f"{LOOP}/replica_1/dense/MatMul": "GPU:1"}
    executed = [ran(name, 0, 2, "MatMul", "ampere_sgemm_128x64", "GPU:0") for name in names]
    edge = f"edge_12_{LOOP}/replica_1/grad/MatMul"
    executed.append(ran(edge, 2, 5, "", "MemcpyD2D", "GPU:0"))
    executed.append(ran("", 5, 6, "", "MemcpyP2P", "GPU:0"))  # of which slice nobody can tell
    step = told(executed, names | {edge: "GPU:1"}, ["GPU:0", "GPU:1"])
    assert [(each.communication, each.exposed) for each in step.devices] == [(0.0, 0.0), (3.0, 3.0)]


def test_that_the_device_of_an_edge_is_the_sender_s():
    from tensorflow.core.framework.graph_pb2 import GraphDef

    from gpu_studio.trainer.step_recording import devices_in

    task = "/job:localhost/replica:0/task:0/device"
    graph = GraphDef()
    graph.node.add(name="a", op="MatMul", device=f"{task}:GPU:1")
    graph.node.add(name="a/_1", op="_Send", device=f"{task}:GPU:1").attr[
        "tensor_name"
    ].s = b"edge_3_a"
    assert devices_in([graph]) == {"a": "GPU:1", "a/_1": "GPU:1", "edge_3_a": "GPU:1"}


def test_that_a_tensorflow_that_shows_no_graphs_fails_no_call_and_nothing_is_told(monkeypatch):
    from gpu_studio.trainer import communication
    from gpu_studio.trainer.step_recording import Recorded

    def refuses():
        raise AttributeError("enable_run_metadata")

    monkeypatch.setattr(communication, "watched_graphs", refuses)
    meter = communication.CommunicationMeter(["CPU:0", "CPU:1"], 2)
    called = []
    with meter.watching():
        called.append("trained")
    assert called == ["trained"]
    assert meter.read(Recorded([ran(f"{LOOP}/a", 0, 1)], 2, 1, 0.0)) is None


KINDS = st.sampled_from(["MatMul", "_Send", "CollectiveReduceV2"])
ROWS = st.lists(
    st.tuples(st.integers(0, 50), st.integers(1, 20), KINDS, st.sampled_from(["CPU:0", "CPU:1"]))
)


@given(ROWS)
def test_that_the_parts_of_a_device_make_up_the_step(rows):
    made = [
        (f"op{n}", begin, begin + length, kind, device)
        for n, (begin, length, kind, device) in enumerate(rows)
    ]
    step = told(*on_cpus(*made), ["CPU:0", "CPU:1"])
    assert (step is None) == all(kind != "MatMul" for _, _, kind, _ in rows)
    if step is None:
        return
    assert step.compute + step.exposed <= step.seconds
    for each in step.devices:
        assert each.compute + each.exposed + each.idle == pytest.approx(step.seconds)
        assert 0 <= each.exposed <= each.communication
        assert each.waiting is None or 0 <= each.waiting <= sum(length for _, length, _, _ in rows)
