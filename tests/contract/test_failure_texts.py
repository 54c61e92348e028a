from __future__ import annotations

import pytest

from gpu_studio.contract.failure_texts import (
    bytes_in,
    device_in,
    device_without_memory,
    layer_of,
    library_failure_in,
    lost_device_in,
    operations_in,
    refusal_in,
    refusals_in,
)

STEP = (
    "W0000 00:00:1795224048.377882    3419 bfc_allocator.cc:502] Allocator "
    "(bfc_cpu_allocator_for_gpu) ran out of "
)
REFUSED = STEP + (
    "memory trying to allocate 7.22MiB (rounded to 7571200)requested by op "
    "while/body/_1/while/cnn_1/pool_1/Max"
)
SLICE = (
    "W0 bfc_allocator.cc:502] Allocator (GPU_3_bfc) ran out of memory trying to allocate 3.70GiB "
    "(rounded to 3972844)"
)
HARMLESS = (
    "2019-01-19 23:32:25.086846: W tensorflow/core/common_runtime/bfc_allocator.cc:211] Allocator "
    "(GPU_0_bfc) ran out of memory trying to allocate 3.70GiB. The caller indicates that this is "
    "not a failure, but may mean that there could be performance gains if more memory were "
    "available."
)  # https://github.com/tensorflow/tensorflow/issues/25046


@pytest.mark.parametrize(
    ("operation", "layer"),
    [
        ("while/body/_1/while/cnn_1/pool_1/MaxPool2d", "pool"),
        (
            "while/body/_1/gradient_tape/while/replica_1/mlp_1/dense_1/MatMul/MatMul_1/_88",
            "dense_1",
        ),
        ("while/mlp_1/dense_1/placed.1.0/MatMul", "dense_1"),
        ("while/mlp_1/dense_1_1/MatMul", "dense_1"),
        ("outer/dense/block/conv/Conv2D", "conv"),
        ("while/sgd/update_3/AssignSubVariableOp", None),
        ("", None),
    ],
)
def test_that_an_operation_s_scopes_name_its_layer(operation, layer):
    assert layer_of(operation, {"pool", "dense", "dense_1", "conv", "outputs"}) == layer


PLACE = "/job:localhost/replica:0/task:0/device:"
FROM, TO = f"{PLACE}GPU:0", f"{PLACE}GPU:2"


# As TensorFlow 2.21 writes them.
@pytest.mark.parametrize(
    "text",
    [
        f"OOM when allocating tensor with shape[8,8] and type float on {TO} by allocator GPU_2_bfc",
        (
            "SameWorkerRecvDone unable to allocate output tensor. "
            f"Key: {FROM};6ce32ddbe5e5ef27;{TO};edge_4_dense;0:0"
        ),
        (
            f"Failed copying input tensor from {FROM} to {TO} in order to run Identity: "
            "Dst tensor is not initialized. [Op:Identity]"
        ),
        (
            f'_Recv[tensor_name="x", send_device="{FROM}", recv_device="{TO}"]: '
            "Dst tensor is not initialized."
        ),
    ],
)
def test_that_the_device_without_room_is_the_one_that_a_tensor_was_to_go_to(text):
    assert device_without_memory(f"Detected at node a on {FROM}\n{text}") == "GPU:2"


def test_that_words_which_name_no_receiver_name_no_device_without_room():
    assert device_without_memory(f"failed on {FROM}") is None


def test_that_devices_and_operations_are_found_in_an_error():
    text = (
        "OOM on /job:localhost/replica:0/task:0/device:GPU:1\n\t [[{{node while/dense/MatMul}}]] "
        "Detected at node 'a/b'"
    )
    assert device_in(text) == "GPU:1"
    assert list(operations_in(text)) == ["while/dense/MatMul", "a/b"]
    assert device_in("nothing") is None


def test_that_the_last_refusal_that_was_a_failure_is_found_in_a_log():
    found = refusal_in(f"chatter\n{SLICE}\n{REFUSED}\n{HARMLESS}\nchatter")
    assert found is not None
    assert (found.device, found.size) == (None, "7.22MiB")
    assert found.operation == "while/body/_1/while/cnn_1/pool_1/Max"
    slice_ = refusal_in(SLICE)
    assert slice_ is not None
    assert (slice_.device, slice_.size, slice_.operation) == ("GPU:3", "3.70GiB", "")
    assert refusal_in(HARMLESS) is None


@pytest.mark.parametrize(
    ("text", "why"),
    [
        # https://github.com/tensorflow/tensorflow/issues/20356
        (
            (
                "E cuda_event.cc:49] failed to query event: CUDA_ERROR_LAUNCH_FAILED\nF "
                "gpu_event_mgr.cc] Unexpected Event"
            ),
            "a computation on it crashed",
        ),
        # https://github.com/tensorflow/tensorflow/issues/53568
        (
            (
                "Internal: error destroying CUDA event in context 0x51f18f0: "
                "CUDA_ERROR_ILLEGAL_ADDRESS"
            ),
            "beyond its memory",
        ),
        (
            (
                "F tensorflow/core/common_runtime/device/device_event_mgr.cc:221] "
                "Unexpected Event status: 1"
            ),
            "failed",
        ),
        (
            "CUDA_ERROR_ECC_UNCORRECTABLE: uncorrectable ECC error encountered",
            "could not be corrected",
        ),
        (
            "cudaErrorDevicesUnavailable: CUDA-capable device(s) is/are busy or unavailable",
            "no longer lets it be used",
        ),
        ("NVML: GPU is lost", "off the bus"),
    ],
)
def test_that_a_card_that_fails_is_known_by_the_words_of_cuda_and_tensorflow(text, why):
    found = lost_device_in(text)
    assert found is not None
    assert why in found.why
    assert found.suggestions


@pytest.mark.parametrize(
    "text",
    [
        (
            "E cuda_driver.cc:152] failed call to cuInit: CUDA_ERROR_NO_DEVICE: "
            "no CUDA-capable device is detected"
        ),
        "failed call to cuInit: INTERNAL: CUDA error: Failed call to cuInit: CUDA_ERROR_UNKNOWN",
        "CUDA_ERROR_OUT_OF_MEMORY: out of memory",
        "ResourceExhaustedError: OOM when allocating tensor",
    ],
)
def test_that_a_machine_without_a_card_and_a_full_one_have_lost_none(text):
    assert lost_device_in(text) is None


def test_that_a_refusal_without_exact_bytes_has_those_of_its_size():
    (found,) = refusals_in(HARMLESS, {"3.70GiB"})
    assert found.bytes == bytes_in("3.70GiB") == round(3.7 * 1024**3)
    assert not list(refusals_in(HARMLESS, {"3.71GiB"})), "another caller did without it"
    assert (bytes_in("14B"), bytes_in("2.5KiB"), bytes_in("many"), bytes_in("1.2.3MiB")) == (
        14,
        2560,
        0,
        0,
    )


TRIALS = (
    "No algorithm worked!  Error messages:\n  eng0: RESOURCE_EXHAUSTED: Out of memory while trying "
    "to allocate 16.00MiB. [x]\n  eng1: Out of memory while trying to allocate 28.10MiB. [x]\n"
    "  eng2: Out of memory while trying to allocate 16.00MiB."
)


@pytest.mark.parametrize(
    ("text", "task", "without_memory", "sizes", "device"),
    [
        (
            "cudaSetDevice() on GPU:3 failed. Status: out of memory",
            "start",
            True,
            (),
            "GPU:3",
        ),
        (
            TRIALS,
            "algorithm",
            True,
            ("16.00MiB", "28.10MiB"),
            None,
        ),
        ("No algorithm worked!  Error messages:", "algorithm", False, (), None),
        ("Failed to call DoRnnBackward with model config: [2]", "recurrent", False, (), None),
        ("{{function_node a}} No blas support for stream [Op:MatMul]", "product", False, (), None),
    ],
)
def test_that_what_a_library_could_not_do_is_known_by_its_words(
    text, task, without_memory, sizes, device
):
    found = library_failure_in(text)
    assert found is not None
    assert (found.task, found.without_memory, found.sizes, found.device) == (
        task,
        without_memory,
        sizes,
        device,
    )


def test_that_a_card_that_cannot_start_for_another_reason_lacks_no_memory():
    assert library_failure_in("cudaSetDevice() on GPU:0 failed. Status: unknown error") is None
    assert library_failure_in("OOM when allocating tensor") is None
