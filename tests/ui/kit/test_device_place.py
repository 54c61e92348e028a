from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st
from plan_strategies import machines

from gpu_studio.plan import Carve, DeviceSettings, Plan, PlannedDevice, logical_devices
from gpu_studio.ui.kit.device_place import HOST, places
from gpu_studio.ui.kit.theme import DARK, LIGHT


def on(*physical: str) -> list[PlannedDevice]:
    """Logical devices on these physical ones, in their order."""
    gpus = [device for device in physical if not device.startswith("CPU")]
    names = [f"GPU:{place}" for place in range(len(gpus))] + [
        f"CPU:{n}" for n in range(len(physical) - len(gpus))
    ]
    return [PlannedDevice(name, each) for name, each in zip(names, physical, strict=True)]


def test_that_logical_cpus_have_colours_where_they_stand_for_cards() -> None:
    assert places(on("CPU:0", "CPU:0")) == {"CPU:0": 0, "CPU:1": 1}


def test_that_beside_cards_the_cpu_is_the_host_and_grey() -> None:
    known = places(on("GPU:0", "GPU:1", "CPU:0"))
    assert known == {"GPU:0": 0, "GPU:1": 1, "CPU:0": HOST}
    for tokens in (DARK, LIGHT):
        assert tokens.device_colour(HOST) == tokens.host
        assert tokens.device_dash(HOST) == ()
        assert tokens.host not in tokens.devices


def test_that_a_card_keeps_its_colour_when_another_is_carved_or_hidden() -> None:
    assert places(on("GPU:0", "GPU:0", "GPU:0", "GPU:3", "CPU:0")) == {
        "GPU:0": 0, "GPU:1": 1, "GPU:2": 2, "GPU:3": 3, "CPU:0": HOST,
    }  # fmt: skip
    assert places(on("GPU:1", "GPU:1", "GPU:2")) == {"GPU:0": 1, "GPU:1": 0, "GPU:2": 2}
    assert places(on("GPU:3")) == {"GPU:0": 3}


@given(machines(), st.data())
def test_that_no_two_devices_look_the_same_and_each_card_has_the_colour_of_its_number(
    machine, data
) -> None:
    counts = data.draw(
        st.lists(st.integers(0, 5), min_size=len(machine.cards), max_size=len(machine.cards))
    )
    carve = tuple(
        Carve(card.device, (100,) * count)
        for card, count in zip(machine.cards, counts, strict=True)
        if count
    )
    logical = logical_devices(Plan(devices=DeviceSettings(carve=carve)), machine)
    known = places(logical, machine)
    gpus = [known[each.name] for each in logical if each.name.startswith("GPU")]
    assert len(set(gpus)) == len(gpus)
    first = {
        each.physical: known[each.name] for each in reversed(logical) if each.name.startswith("GPU")
    }
    assert first == {card.device: card.index for card in machine.cards}
