"""Cards in MIG mode: each instance is a physical device, and a process can use one of them."""

from __future__ import annotations

import json
import os
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st
from plan_samples import a_plan
from simulated_machines import simulated_machine

from gpu_studio.hardware import parse_inventory
from gpu_studio.plan import (
    Carve,
    DeviceSettings,
    Plan,
    logical_devices,
    starter,
    validate,
    visible_cards,
)
from gpu_studio.plan.card_memory import available_memory
from gpu_studio.plan.carving import set_slices
from gpu_studio.plan.devices import is_physical_name
from gpu_studio.plan.edits.visibility import hide_card, show_card
from gpu_studio.plan.remedies import mend_of
from gpu_studio.plan.starter import spread
from gpu_studio.trainer.environment import settings_for

MACHINE = simulated_machine("2xMIG")
LARGE, SMALL = MACHINE.cards[:2]


def test_that_each_instance_is_a_device_with_the_memory_and_the_users_of_its_own():
    assert [card.title for card in MACHINE.cards] == [
        "GPU 0 3g.40gb",
        "GPU 0 2g.20gb",
        "GPU 1 3g.40gb",
        "GPU 1 2g.20gb",
    ]
    assert (LARGE.total_mib, SMALL.total_mib) == (40_192, 19_968)
    assert [(user.user, user.used_mib) for user in SMALL.users] == [("grace", SMALL.used_mib)]
    assert LARGE.device == LARGE.uuid != SMALL.uuid
    assert all(is_physical_name(card.device) for card in MACHINE.cards)


def test_that_instances_of_one_size_are_told_apart():
    facts = {"uuid": "GPU-1", "name": "card", "bus_id": ""}
    parts = [{"uuid": f"MIG-{place}", "name": "part", "instance": "1g.10gb"} for place in range(2)]
    from gpu_studio.hardware.probe import _reported

    machine = parse_inventory(json.dumps(_reported([{**facts, "instances": parts}], "")))
    assert [card.title for card in machine.cards] == ["GPU 0 1g.10gb #1", "GPU 0 1g.10gb #2"]


@pytest.mark.parametrize("names", [(), ("GPU:0",)])
def test_that_where_none_is_named_the_first_instance_is_seen_as_cuda_does(names):
    plan = Plan(devices=DeviceSettings(visible=names))
    assert visible_cards(plan.devices, MACHINE) == (LARGE,)
    assert [device.physical for device in logical_devices(plan, MACHINE)] == [LARGE.uuid, "CPU:0"]


@pytest.mark.parametrize("names", [(SMALL.uuid, LARGE.uuid), ("GPU:0", "GPU:1")])
def test_that_two_instances_in_one_process_are_a_problem_with_a_way_out(names):
    plan = replace(a_plan(), devices=DeviceSettings(visible=names))
    [problem] = validate(plan, MACHINE)
    assert "a process can use one of them" in str(problem)
    mend = mend_of(problem, plan, MACHINE)
    assert mend is not None
    assert len(visible_cards(mend.make(plan).devices, MACHINE)) == 1


def test_that_memory_is_held_against_the_instance():
    plan = Plan(devices=DeviceSettings(visible=(SMALL.uuid,)))
    room = available_memory(logical_devices(plan, MACHINE), MACHINE)["GPU:0"]
    assert room.most_mib == 19_968 - 512 - 1536
    assert room.now_mib == 19_968 - 512 - 1536 - (SMALL.used_mib or 0)


def test_that_the_starter_plan_uses_one_instance_by_its_uuid():
    assert starter(MACHINE).devices.visible == (LARGE.uuid,)
    assert starter(MACHINE).name == "digits on one MIG instance"
    assert {carve.device for carve in spread(MACHINE).devices.carve} == {LARGE.uuid}


def test_that_the_trainer_shows_tensorflow_the_instance_alone(monkeypatch):
    environment = settings_for(
        starter(MACHINE), {key: value for key, value in os.environ.items() if "CUDA" not in key}
    )
    assert environment["CUDA_VISIBLE_DEVICES"] == LARGE.uuid


def test_that_an_instance_that_a_scheduler_gave_is_the_whole_machine(monkeypatch):
    monkeypatch.setenv("CUDA_VISIBLE_DEVICES", SMALL.uuid)
    assert [card.uuid for card in simulated_machine("2xMIG").cards] == [SMALL.uuid]


DEVICES = st.sampled_from([card.device for card in MACHINE.cards])
EDITS = st.lists(
    st.tuples(st.sampled_from(["show", "hide", "cut"]), DEVICES, st.integers(1, 4)), max_size=6
)


@given(EDITS)
def test_that_whatever_is_shown_hidden_and_carved_there_is_never_more_than_one_instance(edits):
    plan = starter(MACHINE)
    for kind, device, count in edits:
        seen = [card.device for card in visible_cards(plan.devices, MACHINE)]
        if kind == "show":
            plan = show_card(plan, device, MACHINE)
        elif kind == "hide" and device in seen:
            plan = hide_card(plan, device, MACHINE)
        elif kind == "cut" and device in seen:
            plan = set_slices(plan, device, count, MACHINE)
    assert len(visible_cards(plan.devices, MACHINE)) <= 1
    assert validate(plan, MACHINE) == []


def test_that_a_carve_of_an_instance_that_no_name_shows_is_a_problem():
    plan = replace(a_plan(), devices=DeviceSettings(carve=(Carve(LARGE.uuid, (1024, 1024)),)))
    assert "which devices.visible does not name" in str(validate(plan, MACHINE)[0])
    assert validate(set_slices(a_plan(), LARGE.uuid, 2, MACHINE), MACHINE) == []
