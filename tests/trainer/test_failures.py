from __future__ import annotations

import pytest

from gpu_studio.trainer.errors import DataError
from gpu_studio.trainer.failures import binary_size, explain


class ResourceExhaustedError(Exception):
    """As TensorFlow's, by its name."""


OOM = (
    "{{function_node __wrapped__MatMul}} OOM when allocating tensor with shape[8192,8192] and type float on "
    "/job:localhost/replica:0/task:0/device:GPU:1 by allocator GPU_1_bfc [Op:MatMul]"
)


def test_that_out_of_memory_names_device_size_and_three_things_to_try() -> None:
    failed = explain(ResourceExhaustedError(OOM))
    assert failed.device == "GPU:1"
    assert failed.message.startswith("Out of memory on GPU:1: there was no room for another 256 MiB")
    assert "[8192,8192]" in failed.message
    assert len(failed.suggestions) >= 3


def test_that_out_of_memory_without_details_is_still_told() -> None:
    failed = explain(ResourceExhaustedError("failed to allocate memory"))
    assert failed.message == "Out of memory on a device."


def test_that_our_own_errors_keep_their_sentence_and_advice() -> None:
    failed = explain(DataError("There is no file x.npz.", ["Look for it."]))
    assert (failed.message, failed.suggestions) == ("There is no file x.npz.", ["Look for it."])


def test_that_an_exception_in_a_layer_names_the_layer() -> None:
    failed = explain(ValueError("Exception encountered when calling Dense.call().\n\nbad shapes"))
    assert "Dense.call" in failed.message


@pytest.mark.parametrize("error", [MemoryError(), OSError(28, "No space left on device"), KeyError("x"), ValueError()])
def test_that_every_exception_gets_a_sentence_advice_and_its_traceback(error: Exception) -> None:
    try:
        raise error
    except Exception as caught:  # noqa: BLE001
        failed = explain(caught)
    assert failed.message
    assert failed.suggestions
    assert "test_failures" in failed.traceback


@pytest.mark.parametrize(
    ("size", "text"),
    [(0, "0 bytes"), (1023, "1023 bytes"), (1536, "1.5 KiB"), (256 << 20, "256 MiB"), (3 << 30, "3 GiB")],
)
def test_that_sizes_are_binary(size: int, text: str) -> None:
    assert binary_size(size) == text
