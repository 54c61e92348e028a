from __future__ import annotations

from pathlib import Path

import pytest
from fake_nvml import FakeCard, FakeNvml, installed
from pynvml import NVML_ERROR_NO_PERMISSION

from gpu_studio import hardware
from gpu_studio.hardware.nvml import (
    BUS_ID,
    CAPACITY,
    NAME,
    TOTAL_AND_USED,
    UUID,
    Unknown,
    answers,
    asking,
    put,
    query,
    running,
)

CARD = FakeCard("GPU-aaaa", bus_id=b"00000000:2D:00.0", used=512, reserved=200)


@pytest.mark.parametrize(
    "function",
    [
        "MemoryInfo",
        "PciInfo",
        "MigMode",
        "MaxMigDeviceCount",
        "MigDeviceHandleByIndex",
        "UtilizationRates",
    ],
)
def test_that_what_is_asked_of_a_card_is_written_in_one_table(function: str) -> None:
    folder = Path(hardware.__file__).parent
    # A simulated card answers, and so has every name too.
    asking = [path for path in folder.rglob("*.py") if path.parent.name != "simulated"]
    assert [path.name for path in asking if f'"nvmlDeviceGet{function}"' in path.read_text()] == [
        "nvml.py"
    ]


def test_that_an_old_driver_is_asked_for_memory_as_it_understands() -> None:
    old = FakeNvml([CARD])
    old.forget("nvmlDeviceGetMemoryInfo_v2")
    with installed(old), running():
        ask = asking(query("nvmlDeviceGetHandleByIndex", 0))
        assert put(CAPACITY, ask) == (8192, 712, 0)
        assert put(TOTAL_AND_USED, ask) == (8192, 712)


def test_that_a_refusal_is_not_asked_around_and_leaves_the_other_values() -> None:
    refused = FakeCard("GPU-aaaa", errors={"nvmlDeviceGetMemoryInfo_v2": NVML_ERROR_NO_PERMISSION})
    with installed(FakeNvml([refused])), running():
        ask = asking(query("nvmlDeviceGetHandleByIndex", 0))
        assert put(CAPACITY, ask) == Unknown("no permission")
        assert set(answers(ask, UUID, NAME, BUS_ID, CAPACITY)) == {"uuid", "name", "bus_id"}
