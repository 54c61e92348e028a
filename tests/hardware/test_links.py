"""What each all-reduce does over the links of a machine."""

from __future__ import annotations

from dataclasses import replace

import pytest
from made_plans import on_everything
from made_topologies import bridged_pairs, cube_mesh, switched, without_peers

from gpu_studio.hardware.links import (
    RECOMMENDED,
    TAKEN,
    link_cautions,
    links_in_words,
    reduce_choices,
)
from gpu_studio.hardware.topology import Topology
from gpu_studio.plan import (
    ALL_REDUCES,
    Card,
    Carve,
    DeviceSettings,
    Distribution,
    Machine,
    Plan,
    validate,
)
from gpu_studio.plan.devices import replica_devices

NO_CARDS = Machine(cpu_cores=4)


def on_cards(topology: Topology) -> tuple[Machine, Topology]:
    """A machine of these cards, which its driver lists in the opposite order."""
    count = len(topology.nodes)
    cards = tuple(Card(n, f"GPU-{n}", "A card", total_mib=16_000, used_mib=0) for n in range(count))
    nodes = tuple(replace(node, uuid=f"GPU-{place}") for place, node in enumerate(topology.nodes))
    return Machine(tuple(reversed(cards)), 16), replace(topology, nodes=nodes)


def mirrored(machine: Machine, **values: object) -> Plan:
    return replace(
        on_everything(machine),
        distribution=Distribution("mirrored", **values),
        devices=DeviceSettings(),
    )


def test_that_auto_is_recommended_and_what_it_takes_is_marked():
    machine, topology = on_cards(switched())
    tags = {way.name: way.tag for way in reduce_choices(mirrored(machine), machine, topology)}
    assert tuple(tags) == ALL_REDUCES
    assert {name: tag for name, tag in tags.items() if tag} == {"auto": RECOMMENDED, "nccl": TAKEN}


@pytest.mark.parametrize(
    ("machine", "carve", "words"),
    [
        (NO_CARDS, Carve("CPU:0", (0, 0)), "NVIDIA cards only"),
        (
            on_cards(without_peers(1))[0],
            Carve("GPU:0", (1000, 1000)),
            "refuses two replicas on one card",
        ),
    ],
)
def test_that_nccl_is_refused_with_the_reason(machine, carve, words):
    plan = replace(mirrored(machine), devices=DeviceSettings(carve=(carve,)))
    refused = {way.name: way.why_not for way in reduce_choices(plan, machine, None) if way.why_not}
    assert list(refused) == ["nccl"]
    assert words in refused["nccl"]


def test_that_the_links_between_the_cards_that_are_used_are_named():
    machine, topology = on_cards(bridged_pairs())
    both = replica_devices(mirrored(machine), machine)
    assert (
        links_in_words(both, machine, topology)
        == "NVLink and a PCIe host bridge, typically the processor"
    )
    assert links_in_words(both[:2], machine, topology) == "NVLink"
    assert links_in_words(both, machine, None) == ""


@pytest.mark.parametrize("count", [1, 2, 3, 4, 5])
def test_that_halves_are_refused_exactly_where_the_rules_refuse_them(count):
    machine, topology = on_cards(switched())
    names = tuple(f"GPU:{place}" for place in range(count))
    plan = mirrored(machine, devices=names, all_reduce="hierarchical_copy")
    refused = {way.name: way.why_not for way in reduce_choices(plan, machine, topology)}
    problems = [problem.field for problem in validate(plan, machine)]
    assert (
        bool(refused["hierarchical_copy"])
        == (problems == ["distribution.all_reduce"])
        == (count in (3, 5))
    )
    assert refused["ring"] == ""


@pytest.mark.parametrize("all_reduce", ALL_REDUCES)
def test_that_cards_that_cannot_reach_each_other_are_warned_of_until_they_need_not(all_reduce):
    machine, topology = on_cards(without_peers())
    plan = mirrored(machine, all_reduce=all_reduce)
    for _ in range(2):
        cautions = link_cautions(plan, machine, topology)
        if not cautions:
            break
        assert cautions[0].mend is not None
        plan = cautions[0].mend.make(plan)
        assert cautions[0].name not in [
            each.name for each in link_cautions(plan, machine, topology)
        ]
    assert link_cautions(plan, machine, topology) == ()
    assert validate(plan, machine) == []
    assert plan.distribution.strategy == "central_storage"


def test_that_the_best_group_of_cards_is_offered():
    machine, topology = on_cards(cube_mesh())
    plan = mirrored(machine)
    [caution] = link_cautions(plan, machine, topology)
    mended = caution.mend.make(plan)
    places = {machine.card(device.physical).uuid for device in replica_devices(mended, machine)}
    assert places in ({f"GPU-{n}" for n in range(4)}, {f"GPU-{n}" for n in range(4, 8)})
    assert link_cautions(mended, machine, topology) == ()


@pytest.mark.parametrize("strategy", ["none", "central_storage"])
def test_that_only_mirroring_is_warned_of(strategy):
    machine, topology = on_cards(without_peers())
    plan = replace(mirrored(machine), distribution=Distribution(strategy))
    assert link_cautions(plan, machine, topology) == ()


def test_that_nothing_is_said_of_well_joined_or_unknown_cards():
    machine, topology = on_cards(switched())
    assert link_cautions(mirrored(machine), machine, topology) == ()
    assert link_cautions(mirrored(machine), machine, None) == ()
    assert link_cautions(mirrored(machine), machine, Topology()) == ()
