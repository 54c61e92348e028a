"""NVML asked: whatever it answers, a value or a reason in words."""

from __future__ import annotations

import ctypes

import pynvml
import pytest
from fake_nvml import FakeCard, FakeNvml, installed

from gpu_studio.hardware import nvml
from gpu_studio.hardware.nvml import Unknown, ask
from gpu_studio.hardware.probe import cards

FIRST = FakeCard("GPU-aaaa", bus_id=b"00000000:2D:00.0", used=512, reserved=200)
SECOND = FakeCard("GPU-bbbb", name=b"NVIDIA Fake 200", bus_id=b"00000001:01:00.0", total=24_576)
CODES = sorted(
    value for name, value in vars(pynvml).items() if name.startswith("NVML_ERROR_") and value
)


def only_card(library: FakeNvml) -> dict[str, object]:
    with installed(library):
        found = cards()
    assert isinstance(found, list)
    assert len(found) == 1
    return found[0]


def test_that_a_card_is_told_with_its_memory():
    assert only_card(FakeNvml([FIRST])) == {
        "uuid": "GPU-aaaa",
        "name": "NVIDIA Fake 100",
        "bus_id": "0000:2d:00.0",
        "total_mib": 8192,
        "used_mib": 512,
        "reserved_mib": 200,
    }


def test_that_cards_come_in_the_order_of_nvml():
    with installed(FakeNvml([SECOND, FIRST])):
        found = cards()

    assert isinstance(found, list)
    assert [card["bus_id"] for card in found] == ["0001:01:00.0", "0000:2d:00.0"]


def test_that_nvml_is_stopped_after_each_question():
    with installed(FakeNvml([FIRST])) as library:
        cards()
        cards()

    assert library.running == 0


def test_that_only_the_cards_at_the_addresses_given_are_asked():
    with installed(FakeNvml([FIRST, SECOND])) as library:
        found = cards(["0001:01:00.0"])

    assert isinstance(found, list)
    assert [card["uuid"] for card in found] == ["GPU-bbbb"]
    assert library.asked == ["0001:01:00.0"]


def test_that_a_card_that_the_driver_does_not_have_is_told_with_its_address():
    with installed(FakeNvml([FIRST])):
        found = cards(["0000:99:00.0"])

    assert found == [
        {
            "uuid": "",
            "name": "NVIDIA card",
            "bus_id": "0000:99:00.0",
            "lost": True,
            "why_unknown": "the driver does not find it",
        }
    ]


def test_that_an_old_driver_s_memory_is_told_without_what_it_keeps():
    library = FakeNvml([FIRST])
    library.forget("nvmlDeviceGetMemoryInfo_v2")

    card = only_card(library)

    assert (card["total_mib"], card["used_mib"], card["reserved_mib"]) == (8192, 712, 0)


def test_that_memory_that_is_not_supported_is_unknown_with_the_reason():
    unsupported = pynvml.NVML_ERROR_NOT_SUPPORTED
    library = FakeNvml(
        [FIRST], {"nvmlDeviceGetMemoryInfo": unsupported, "nvmlDeviceGetMemoryInfo_v2": unsupported}
    )

    card = only_card(library)

    assert card["total_mib"] is None
    assert card["used_mib"] is None
    assert card["why_unknown"] == "not supported by this card"


def test_that_a_name_of_unreadable_letters_leaves_the_other_facts():
    card = only_card(FakeNvml([FakeCard("GPU-aaaa", name=b"NVIDIA \xff\xfe")]))

    assert card["name"] == "NVIDIA card"
    assert card["uuid"] == "GPU-aaaa"
    assert card["total_mib"] == 8192


@pytest.mark.parametrize(
    "function", ["nvmlDeviceGetUUID", "nvmlDeviceGetName", "nvmlDeviceGetPciInfo_v3"]
)
@pytest.mark.parametrize("code", CODES)
def test_that_any_error_of_any_fact_leaves_the_others(function, code):
    card = only_card(FakeNvml([FIRST], {function: code}))

    assert card["total_mib"] == 8192
    assert list(card.values()).count("") + (card["name"] == "NVIDIA card") == 1


@pytest.mark.parametrize("code", CODES)
def test_that_a_card_that_does_not_answer_at_all_does_not_hide_the_others(code):
    broken = FakeCard("GPU-cccc", errors={"nvmlDeviceGetHandleByIndex_v2": code})
    with installed(FakeNvml([broken, FIRST])):
        found = cards()

    assert isinstance(found, list)
    assert found[0]["why_unknown"]
    assert found[1]["uuid"] == "GPU-aaaa"


@pytest.mark.parametrize(
    ("code", "why"),
    [
        (pynvml.NVML_ERROR_DRIVER_NOT_LOADED, "the NVIDIA driver is installed but not loaded"),
        (pynvml.NVML_ERROR_NO_PERMISSION, "no permission"),
        (
            pynvml.NVML_ERROR_LIB_RM_VERSION_MISMATCH,
            "the NVIDIA driver was updated while the old one still runs: restart the machine",
        ),
        (12345, "the driver answered with error 12345"),
    ],
)
def test_that_a_refused_start_is_told_in_words(code, why):
    with installed(FakeNvml([FIRST], {"nvmlInitWithFlags": code})):
        assert cards() == Unknown(why)


def test_that_a_failing_count_is_told_in_words():
    with installed(
        FakeNvml([FIRST], {"nvmlDeviceGetCount_v2": pynvml.NVML_ERROR_UNKNOWN})
    ) as library:
        assert cards() == Unknown("the driver does not say why")

    assert library.running == 0


def test_that_a_missing_library_is_a_missing_driver(monkeypatch):
    def not_there(name):
        raise OSError(f"{name}: cannot open shared object file")

    monkeypatch.setattr(pynvml, "CDLL", not_there)
    monkeypatch.setattr(pynvml, "nvmlLib", None)

    assert cards() == Unknown(
        "no NVIDIA driver is installed on this machine (libnvidia-ml.so.1 is not there)"
    )


@pytest.mark.parametrize(
    ("error", "why"),
    [
        (
            pynvml.NVMLError(pynvml.NVML_ERROR_GPU_IS_LOST),
            "lost: the driver no longer answers for it",
        ),
        (
            pynvml.NVMLLibraryMismatchError("unversioned function called"),
            "the driver is too old to tell",
        ),
        (
            UnicodeDecodeError("utf-8", b"\xff", 0, 1, "invalid"),
            "the driver answered with unreadable letters",
        ),
        (ctypes.ArgumentError("argument 1"), "the driver's library does not take this question"),
    ],
)
def test_that_every_failure_of_a_call_is_a_reason(error, why):
    def call():
        raise error

    assert ask(call) == Unknown(why)


@pytest.mark.parametrize("code", [*CODES, 12345])
def test_that_every_error_has_words(code):
    def call():
        raise pynvml.NVMLError(code)

    answer = ask(call)

    assert isinstance(answer, Unknown)
    assert answer.why == nvml.WHY.get(code, f"the driver answered with error {code}")
