"""The sampler in this process, with every fault put in where the driver's library is called.

The cards are simulated.
"""

from __future__ import annotations

from collections import Counter
from itertools import pairwise

import pynvml
import pytest
from watched_machine import watched

from gpu_studio.contract.samples import Beat, Cards, Fast, Pcie, Processes, Slow
from gpu_studio.hardware.sampler.driver import RenewError
from gpu_studio.hardware.sampler.watching import Request
from gpu_studio.hardware.simulated.cards import CARD_FUNCTIONS
from gpu_studio.hardware.simulated.library import SimulatedLibrary
from gpu_studio.hardware.simulated.profiles import H100, L4, RTX_4090, machine, profile

LOST = pynvml.NVML_ERROR_GPU_IS_LOST
OF_A_FIGURE = sorted(
    set(CARD_FUNCTIONS) - {"nvmlDeviceGetUUID", "nvmlDeviceGetName", "nvmlDeviceGetPciInfo_v3"}
)
CODES = sorted(
    value for name, value in vars(pynvml).items() if name.startswith("NVML_ERROR_") and value
)
GONE_CODES = {15, 25, 1, 9, 18}  # lost, reset required, uninitialised, driver not loaded, mismatch


def lose(library, place):
    """Let every call on a card say that it is lost, as when it has fallen off the bus."""
    for name in (*CARD_FUNCTIONS, "nvmlDeviceGetHandleByIndex_v2"):
        library.errors[name, place] = LOST


@pytest.fixture
def two():
    with watched(profile("2xH100")) as machine:
        yield machine


def test_that_every_card_is_told_with_its_facts_and_figures(two):
    two.begin()

    first, second = two.picture.cards.values()
    assert first.facts.uuid != second.facts.uuid
    assert (first.facts.name, first.facts.architecture) == ("NVIDIA H100 80GB HBM3", "Hopper")
    assert (first.facts.compute_capability, first.facts.total_mib, first.facts.pcie_generation) == (
        "9.0",
        81_559,
        5,
    )
    for name in (
        "memory_used_mib",
        "utilisation_percent",
        "power_w",
        "temperature_c",
        "clock_sm_mhz",
        "energy_j",
    ):
        assert first.figure(name) is not None, name
    assert (two.picture.driver, two.picture.cuda) == ("570.124.06", "12.8")


def test_that_used_free_and_reserved_memory_make_up_the_total(two):
    two.begin()

    for card in two.picture.cards.values():
        parts = [card.figure(f"memory_{part}_mib") for part in ("used", "free", "reserved")]
        assert sum(parts) == card.facts.total_mib


def test_that_each_class_has_its_own_pace(two):
    two.begin()
    two.run(20.0)

    counts = Counter(type(sample) for sample in two.samples)
    assert (counts[Fast], counts[Slow], counts[Processes]) == (21, 5, 11)
    assert counts[Pcie] == 11  # two cards in turn, each every four seconds
    assert counts[Cards] == 1
    assert counts[Beat] == 10


def test_that_only_what_is_asked_for_is_looked_at(two):
    two.sampler.request(Request(classes=["host"]))
    two.begin()
    two.run(4.0)

    assert {"fast", "slow", "processes", "pcie"}.isdisjoint(two.picture.seen)
    assert {"host", "beat", "cards"} <= two.picture.seen
    calls = two.library.calls
    two.run(50.0)
    assert two.library.calls - calls <= 10, (
        "only whether cards have come or gone, every five seconds"
    )


def test_that_a_rate_is_kept_within_bounds(two):
    two.begin()
    two.sampler.request(Request(rate=1e9))
    two.run(2.0)

    assert len(two.of(Fast)) in (20, 21)


@pytest.mark.parametrize("function", OF_A_FIGURE)
@pytest.mark.parametrize(
    "code", [pynvml.NVML_ERROR_NOT_SUPPORTED, pynvml.NVML_ERROR_NO_PERMISSION, 999]
)
def test_that_any_call_can_fail_without_touching_the_others(two, function, code):
    two.library.errors[function, 0] = code
    two.begin()
    two.run(5.0)

    first, second = two.picture.cards.values()
    assert first.facts.gone == second.facts.gone == ""
    assert second.fast.why == {}
    assert len(two.of(Fast)) == 6


@pytest.mark.parametrize("code", [code for code in CODES if code not in GONE_CODES])
def test_that_a_figure_without_a_value_has_its_reason(two, code):
    two.library.errors["nvmlDeviceGetPowerUsage", 0] = code
    two.begin()

    first, second = two.picture.cards.values()
    assert first.figure("power_w") is None
    assert len(first.why("power_w")) > 5
    assert second.figure("power_w") > 0


def test_that_what_a_card_will_never_tell_is_not_asked_again(two):
    two.library.errors["nvmlDeviceGetUtilizationRates", 0] = pynvml.NVML_ERROR_NOT_SUPPORTED
    asked = Counter()
    ask = two.sampler.driver.calls.ask
    two.sampler.driver.calls.ask = lambda name, *rest: (asked.update([name]), ask(name, *rest))[1]
    two.begin()
    two.run(9.0)

    assert asked["nvmlDeviceGetUtilizationRates"] == 1 + 10
    assert two.picture.cards.popitem()[1].figure("utilisation_percent") is not None


def test_that_a_function_the_driver_is_too_old_for_falls_back_to_the_one_before(two):
    two.library.errors["nvmlDeviceGetMemoryInfo_v2"] = pynvml.NVML_ERROR_FUNCTION_NOT_FOUND
    two.begin()

    card = next(iter(two.picture.cards.values()))
    assert card.figure("memory_used_mib") > 0
    assert card.figure("memory_reserved_mib") is None
    assert card.why("memory_reserved_mib") == "the driver is too old to tell"


def test_that_a_card_lost_in_mid_run_says_so_while_the_other_goes_on(two):
    two.begin()
    keys = list(two.picture.cards)
    lose(two.library, 0)
    two.run(10.0)

    lost, other = two.picture.cards.values()
    assert list(two.picture.cards) == keys
    assert lost.facts.gone == "lost: the driver no longer answers for it"
    assert lost.facts.name == "NVIDIA H100 80GB HBM3"
    assert (lost.figure("power_w"), lost.why("power_w")) == (None, lost.facts.gone)
    assert other.facts.gone == ""
    assert two.of(Fast)[-1].cards[0].card == keys[1]


def test_that_a_lost_card_that_comes_back_is_the_same_card(two):
    two.begin()
    keys = list(two.picture.cards)
    lose(two.library, 0)
    two.run(10.0)
    two.library.errors.clear()
    two.run(70.0)

    assert list(two.picture.cards) == keys
    assert [card.facts.gone for card in two.picture.cards.values()] == ["", ""]
    assert [figures.card for figures in two.of(Fast)[-1].cards] == keys


def test_that_a_lost_card_is_asked_less_and_less_often_and_at_once_on_demand(two):
    lose(two.library, 0)
    two.begin()
    two.run(300.0)
    times = [sample.time for sample in two.of(Cards)]
    pauses = [round(later - earlier) for earlier, later in pairwise(times)]
    assert pauses[:6] == [1, 2, 4, 8, 16, 32]
    assert max(pauses) <= 60

    two.library.errors.clear()
    two.sampler.request(Request(retry=True))
    two.sampler.step()
    assert all(not card.facts.gone for card in two.picture.cards.values())


def test_that_a_card_lost_from_the_start_is_listed_with_the_reason(two):
    lose(two.library, 1)
    two.begin()

    first, second = two.picture.cards.values()
    assert first.figure("power_w") is not None
    assert (second.facts.uuid, second.facts.gone) == (
        "",
        "lost: the driver no longer answers for it",
    )


def test_that_a_card_lost_from_the_start_keeps_its_place_among_the_others():
    with watched(profile("3xH100")) as three:
        lose(three.library, 1)
        three.begin()
        told = [(card.facts.bus_id, bool(card.facts.gone)) for card in three.picture.cards.values()]
        assert told == [("0000:10:00.0", False), ("0000:18:00.0", True), ("0000:20:00.0", False)]
        three.library.errors.clear()
        three.run(3.0)
        assert [card.facts.bus_id for card in three.picture.cards.values()] == [
            bus_id for bus_id, _ in told
        ]


def test_that_a_lost_card_without_an_address_keeps_the_number_that_the_driver_gives_it(
    monkeypatch,
):
    monkeypatch.setattr(SimulatedLibrary, "pci_cards", lambda _library: [])
    with watched(profile("2xH100")) as two:
        lose(two.library, 0)
        two.begin()
        told = [(card.facts.index, bool(card.facts.gone)) for card in two.picture.cards.values()]
    assert told == [(0, True), (1, False)]


def test_that_a_card_lost_from_the_start_gets_its_name_once_it_answers(two):
    lose(two.library, 1)
    two.begin()
    two.library.errors.clear()
    two.run(3.0)

    assert len(two.picture.cards) == 2
    assert all(card.facts.uuid for card in two.picture.cards.values())


def test_that_cards_that_come_and_go_are_noticed(two):
    two.library.away = {1}
    two.begin()
    assert len(two.picture.cards) == 1
    two.library.away = set()
    two.run(6.0)
    assert len(two.picture.cards) == 2
    two.library.away = {0}
    two.run(6.0)

    gone, stays = two.picture.cards.values()
    assert gone.facts.gone == "lost: the driver no longer lists it"
    assert stays.facts.gone == ""


@pytest.mark.parametrize(
    "code", [pynvml.NVML_ERROR_UNINITIALIZED, pynvml.NVML_ERROR_DRIVER_NOT_LOADED]
)
def test_that_a_driver_that_is_reloaded_is_opened_again(two, code):
    two.begin()
    two.library.errors |= dict.fromkeys(
        (*CARD_FUNCTIONS, "nvmlInitWithFlags", "nvmlDeviceGetCount_v2"), code
    )
    two.run(3.0)
    assert all(card.facts.gone for card in two.picture.cards.values())
    assert two.picture.why
    two.library.errors.clear()
    two.run(70.0)

    assert two.picture.why == ""
    assert [card.facts.gone for card in two.picture.cards.values()] == ["", ""]


def test_that_a_driver_replaced_in_mid_run_takes_a_new_process(two):
    two.begin()
    two.library.errors = dict.fromkeys(CARD_FUNCTIONS, pynvml.NVML_ERROR_LIB_RM_VERSION_MISMATCH)

    with pytest.raises(RenewError):
        two.run(2.0)


def test_that_a_driver_replaced_before_the_start_is_told_and_asked_again(two):
    two.library.errors["nvmlInitWithFlags"] = pynvml.NVML_ERROR_LIB_RM_VERSION_MISMATCH
    two.begin()
    assert "restart the machine" in two.picture.why
    assert two.picture.cards == {}
    two.library.errors.clear()
    two.run(2.0)
    assert len(two.picture.cards) == 2


@pytest.mark.parametrize("code", [code for code in CODES if code != 18])
def test_that_a_refused_start_is_told_and_the_host_is_still_watched(two, code):
    two.library.errors["nvmlInitWithFlags"] = code
    two.begin()
    two.run(3.0)

    assert two.picture.why
    assert two.picture.cards == {}
    assert two.picture.host.memory_total_mib > 0


def test_that_no_card_is_told_as_such():
    with watched(machine([])) as none:
        none.begin()
        assert none.picture.why == "the NVIDIA driver finds no card in this machine"
        none.run(3.0)
        assert none.picture.host.cpu_percent is not None


def test_that_sixteen_cards_are_all_told():
    with watched(profile("16xA100")) as many:
        many.begin()
        many.run(5.0)
        assert len({card.facts.uuid for card in many.picture.cards.values()}) == 16
        assert all(card.pcie for card in many.picture.cards.values())


def test_that_unreadable_letters_leave_the_other_facts():
    with watched(profile("broken")) as broken:
        broken.begin()
        card = list(broken.picture.cards.values())[4]
        assert (card.facts.name, card.facts.gone, card.facts.total_mib) == (
            "NVIDIA card",
            "",
            23_034,
        )


def test_that_a_mig_card_tells_its_instances_and_no_utilisation():
    with watched(profile("MIG")) as split:
        split.begin()
        card = next(iter(split.picture.cards.values()))
        assert card.facts.mig is True
        assert card.figure("utilisation_percent") is None
        assert card.why("utilisation_percent") == "not in MIG mode"
        assert [each.facts.total_mib for each in split.picture.instances.values()] == [
            40_192,
            19_968,
        ]
        for instance in split.picture.instances.values():
            assert instance.facts.card.startswith("MIG-")
            assert instance.figure("memory_used_mib") > 0
            assert instance.why("utilisation_percent") == "not in MIG mode"


def test_that_a_sleeping_card_is_not_asked_until_it_wakes():
    cards = [RTX_4090, L4]
    with watched(machine(cards)) as laptop:
        laptop.library.asleep = {0}
        laptop.begin()
        asleep, awake = laptop.picture.cards.values()
        assert asleep.facts.asleep
        assert asleep.why("power_w") == "asleep: it was not woken to ask"
        assert awake.figure("power_w") > 0
        laptop.library.asleep = set()
        laptop.run(6.0)
        assert all(card.figure("power_w") for card in laptop.picture.cards.values())


def test_that_nvml_is_not_started_while_every_card_sleeps():
    with watched(machine([RTX_4090])) as laptop:
        laptop.library.asleep = {0}
        laptop.begin()
        laptop.run(30.0)
        assert laptop.library.calls == 0


def test_that_an_xid_is_told_with_its_card_and_in_words(two):
    two.begin()
    two.library.xids.append((1, 79))
    two.run(1.0)

    event = two.picture.events[-1]
    assert (event.card, event.kind, event.code) == (list(two.picture.cards)[1], "xid", 79)
    assert event.words == "XID 79: the card has fallen off the bus"


@pytest.mark.parametrize(
    "function", ["nvmlEventSetCreate", "nvmlDeviceRegisterEvents", "nvmlEventSetWait_v2"]
)
def test_that_a_driver_without_events_is_none_the_worse(two, function):
    two.library.errors[function] = pynvml.NVML_ERROR_NOT_SUPPORTED
    two.begin()
    two.run(3.0)
    assert len(two.of(Fast)) == 4


def test_that_processes_are_told_with_who_they_are(two):
    two.begin()

    first, second = two.picture.processes.processes
    assert (first.user, first.kinds) == ("ada", ["compute"])
    assert "train.py" in first.command
    assert {first.card, second.card} == set(two.picture.cards)


def test_that_forbidden_processes_are_told_as_such(two):
    for function in (
        "nvmlDeviceGetComputeRunningProcesses_v3",
        "nvmlDeviceGetGraphicsRunningProcesses_v3",
    ):
        two.library.errors[function, 0] = pynvml.NVML_ERROR_NO_PERMISSION
    two.begin()

    assert two.picture.processes.why == {next(iter(two.picture.cards)): "no permission"}
    assert len(two.picture.processes.processes) == 1


def test_that_nvml_is_let_go_in_the_end(two):
    two.begin()
    assert two.library.running == 1
    two.sampler.close()
    assert two.library.running == 0


def test_that_the_driver_is_asked_less_than_ten_questions_a_second_for_a_card():
    with watched(machine([H100] * 8)) as eight:
        eight.begin()
        before = eight.library.calls
        eight.run(60.0)
        assert (eight.library.calls - before) / 60 / 8 < 10
