"""Reading TensorFlow's profiles: operations of a CPU, kernels of a card, and a real profile."""

from __future__ import annotations

import os
import subprocess

import pytest
import warm_python

pytestmark = pytest.mark.slow

REAL = """
import tensorflow as tf
from gpu_studio.trainer.step_recording import profiled

@tf.function(autograph=False)
def step(x):
    with tf.name_scope("here"):
        return tf.matmul(x, x, name="product")

step(tf.ones((64, 64)))
with profiled() as executed:
    for _ in range(3):
        step(tf.ones((64, 64)))
found = [each for each in executed if each.name == "here/product"]
kinds = all("MatMul" in each.kind for each in found)
print(len(found), kinds, all(each.end > each.begin for each in found))
print(executed == sorted(executed, key=lambda each: each.begin))
"""

LATE = """
import hashlib, threading
import tensorflow as tf
from gpu_studio.trainer import step_recording

step_recording.LONGEST_REST_S = 60

def compute(begun):
    with tf.profiler.experimental.Trace("late:CollectiveReduceV2"):
        begun.set()
        hashlib.sha256(bytes(1 << 26)).digest()

for _ in range(5):
    begun = threading.Event()
    thread = threading.Thread(target=compute, args=[begun])
    with step_recording.profiled() as executed:
        thread.start()
        begun.wait()
    print([each.name for each in executed])
    thread.join()
"""


@pytest.fixture
def space():
    """A profile with one line of a processor and one of a card."""
    from tensorflow.tsl.profiler.protobuf.xplane_pb2 import XSpace

    return XSpace()


def plane(space, name, events, stats=()):
    made = space.planes.add(name=name)
    for number, stat in enumerate(("tf_op", "other", *stats)):
        made.stat_metadata[number].name = stat
    line = made.lines.add(timestamp_ns=2_000_000_000)
    for number, (text, told) in enumerate(events):
        made.event_metadata[number].name = text
        event = line.events.add(
            metadata_id=number, offset_ps=10**12 * number, duration_ps=5 * 10**11
        )
        for stat, value in told.items():
            event.stats.add(metadata_id=stat, **value)
    return made


def test_that_operations_have_name_type_and_seconds_on_one_clock(space):
    from gpu_studio.trainer.step_recording import Executed, executed_in

    plane(space, "/host:CPU", [("a/b/MatMul:MatMul", {}), ("a/c/relu:Relu", {})])
    assert executed_in(space) == [
        Executed("a/b/MatMul", 2.0, 2.5, "MatMul"),
        Executed("a/c/relu", 3.0, 3.5, "Relu"),
    ]


@pytest.mark.parametrize(
    "text", ["ExecutorState::Process", "Session Run: 3", "matmul", "a:", "tsl::x:y"]
)
def test_that_what_the_host_does_besides_is_no_operation(space, text):
    from gpu_studio.trainer.step_recording import executed_in

    plane(space, "/host:CPU", [(text, {})])
    assert executed_in(space) == []


def test_that_of_a_card_the_kernels_count_and_not_their_launching(space):
    from gpu_studio.trainer.step_recording import Executed, executed_in

    plane(space, "/host:CPU", [("a/MatMul:MatMul", {}), ("a/Range:Range", {})])
    gemm = ("ampere_sgemm_128x64", {0: {"str_value": "a/MatMul:MatMul"}})
    copy = ("MemcpyH2D", {1: {"str_value": "no operation"}})
    plane(space, "/device:GPU:0", [gemm, copy])
    assert executed_in(space) == [
        Executed("a/MatMul", 2.0, 2.5, "MatMul", "ampere_sgemm_128x64", "GPU:0"),
        Executed("a/Range", 3.0, 3.5, "Range"),
    ]


def test_that_a_kernel_names_its_operation_by_reference_or_without_its_type_too(space):
    from gpu_studio.trainer.step_recording import executed_in

    events = [("sgemm", {0: {"ref_value": 2}}), ("relu", {0: {"str_value": "a/relu"}})]
    plane(space, "/device:GPU:0", events, stats=("a/MatMul:MatMul",))
    assert [(each.name, each.kind) for each in executed_in(space)] == [
        ("a/MatMul", "MatMul"),
        ("a/relu", ""),
    ]


def test_that_what_goes_between_cards_is_known_by_its_kernel_where_no_operation_launched_it(space):
    from gpu_studio.trainer.step_recording import executed_in

    reduced = (
        "ncclDevKernel_AllReduce_Sum_f32_RING_LL(ncclDevKernelArgsStorage)",
        {0: {"str_value": "ncclAllReduce"}},
    )
    plane(space, "/host:CPU", [("a/MatMul:MatMul", {})])
    plane(space, "/device:GPU:1", [reduced, ("MemcpyP2P", {}), ("MemcpyH2D", {})])
    assert [
        (each.name, each.kernel.partition("_")[0], each.card) for each in executed_in(space)
    ] == [
        ("ncclAllReduce", "ncclDevKernel", "GPU:1"),
        ("", "MemcpyP2P", "GPU:1"),
        ("a/MatMul", "", ""),
    ]


def test_that_other_planes_are_left_alone(space):
    from gpu_studio.trainer.step_recording import executed_in

    plane(space, "/host:metadata", [("a/MatMul:MatMul", {})])
    assert executed_in(space) == []


def test_that_a_real_profile_has_every_execution_once_and_leaves_no_file(tmp_path, monkeypatch):
    monkeypatch.setenv("TMPDIR", str(tmp_path))
    with subprocess.Popen(["true"]) as ended:
        pass
    killed, living = (tmp_path / f"gpu-studio-profile-{pid}-x" for pid in (ended.pid, os.getpid()))
    for folder in (killed, living):
        (folder / "plugins").mkdir(parents=True)
    command = [*warm_python.command("-c"), REAL]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    assert done.stdout.splitlines() == ["3 True True", "True"]
    assert list(tmp_path.iterdir()) == [living]


def test_that_an_operation_whose_thread_is_still_within_it_is_in_the_profile_too() -> None:
    command = [*warm_python.command("-c"), LATE]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    assert done.stdout.splitlines() == 5 * ["['late']"]


def test_that_a_process_that_ends_at_once_takes_its_folder_along(tmp_path, monkeypatch):
    from gpu_studio.trainer.environment import profile_folder, remove_own

    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    with profile_folder() as folder:
        (folder / "plugins").mkdir()
        remove_own()
        assert not list(tmp_path.iterdir())
