"""What the doctor finds about each card, from facts that are made up."""

from __future__ import annotations

from dataclasses import replace

import pytest
from made_facts import CARD, VIEW, WELL, states, the, with_card, with_survey, with_system, with_view
from made_topologies import joined, without_peers

from gpu_studio.hardware.doctor import examine
from gpu_studio.hardware.doctor.facts import Cuda, CudaCard, Physical
from gpu_studio.hardware.identity import Variables
from gpu_studio.hardware.topology import Joint
from gpu_studio.plan import CardUser

FAR = replace(CARD, index=1, uuid="GPU-b", bus_id="0000:02:00.0")


def test_that_a_card_is_told_by_all_its_names():
    swapped = with_view(
        with_survey(cards=(CARD, FAR)),
        physical=(
            Physical("GPU:0", bus_id=FAR.bus_id),
            Physical("GPU:1", bus_id=CARD.bus_id.upper()),
        ),
        cuda=Cuda("12.5", (CudaCard(0, "GPU-b"), CudaCard(1, "GPU-a"))),
    )
    found = {
        finding.device: finding.found for finding in examine(swapped) if finding.check == "seen"
    }

    assert found == {
        "GPU-a": "TensorFlow calls it GPU:1, CUDA calls it device 1.",
        "GPU-b": "TensorFlow calls it GPU:0, CUDA calls it device 0.",
    }


def test_that_a_card_that_tensorflow_does_not_see_is_bad_with_tensorflow_s_own_words():
    seen = the(examine(with_view(physical=(), errors=("InternalError: no luck",))), "seen")

    assert (seen.state, "no luck" in seen.found) == ("bad", True)


def test_that_where_nothing_explains_it_no_mark_is_pointed_to_and_tensorflow_has_the_last_word():
    said = ("failed call to cuInit: UNKNOWN ERROR (303)",)
    seen = the(examine(with_view(physical=(), words=said)), "seen")

    assert seen.found == f"TensorFlow does not see it. It says: {said[0]}"
    assert "✘" not in " ".join(seen.mend)
    assert "list_physical_devices" in seen.mend[0]


def test_that_tensorflow_s_silence_is_told():
    assert the(examine(with_view(physical=())), "seen").found.endswith("It says nothing of why.")


@pytest.mark.parametrize(
    "facts",
    [
        with_view(cuda=Cuda(error="CUDA_ERROR_UNKNOWN", why_not="unknown error")),
        with_card(compute_mode=2),
    ],
)
def test_that_what_explains_it_is_pointed_to(facts):
    seen = the(examine(with_view(facts, physical=())), "seen")

    assert seen.mend == ("# mend what else is marked ✘, then: gpu-studio doctor --fresh",)


def test_that_a_hidden_card_is_not_said_to_be_missing():
    findings = examine(
        with_view(with_system(variables=Variables("")), physical=(), cuda=Cuda("12.5"))
    )

    assert "seen" not in {finding.check for finding in findings}


def test_that_tensorflow_s_cards_without_address_are_unknown_and_never_joined_by_number():
    seen = the(examine(with_view(physical=(Physical("GPU:0"),))), "seen")

    assert seen.state == "warning"
    assert "unknown" in seen.found


def test_that_a_lost_card_is_told_and_the_others_are_still_looked_at():
    lost = replace(
        CARD, uuid="", bus_id="", name="NVIDIA card", why_unknown="lost: it no longer answers"
    )
    findings = examine(with_survey(cards=(lost, FAR)))

    assert the(findings, "answers").found == "Lost: it no longer answers."
    assert "GPU 1 (H100)" in {finding.title for finding in findings}


@pytest.mark.parametrize(
    ("capability", "state", "told"),
    [
        ((5, 2), "bad", "older"),
        ((9, 0), "good", "machine code"),
        ((12, 0), "bad", "newer"),
        ((8, 9), "good", "machine code"),
    ],
)
def test_that_the_card_s_capability_is_held_against_the_code(capability, state, told):
    found = the(examine(with_card(capability=capability)), "capability")

    assert (found.state, told in found.found) == (state, True)


def test_that_code_that_is_compiled_at_the_first_start_is_told():
    build = replace(VIEW.build, capabilities=("sm_70", "compute_80"))
    found = the(examine(with_view(with_card(capability=(9, 0)), build=build)), "capability")

    assert (found.state, "compiled at the first start" in found.found) == ("warning", True)


@pytest.mark.parametrize(
    ("used", "state"), [(0, "good"), (8000, "good"), (9000, "warning"), (80_000, "warning")]
)
def test_that_memory_that_is_taken_is_told(used, state):
    found = the(examine(with_card(used_mib=used)), "memory")

    assert found.state == state
    assert ("Little is left" in found.found) == (used > 70_000)


def test_that_those_who_take_memory_are_named_the_greediest_first():
    told = ((1,), (2, 500, "python", "bob"), (3, 900, "jax", "eve"), (4, 1), (5, 2))
    users = tuple(CardUser(*user) for user in told)
    found = the(examine(with_card(used_mib=60_000, users=users)), "memory").found

    assert found.endswith("are taken, by jax 3 of eve, python 2 of bob, a process 5 and 2 more.")


@pytest.mark.parametrize(
    ("changes", "check", "state", "typed"),
    [
        ({"compute_mode": 2}, "compute_mode", "bad", "sudo nvidia-smi -i 0 -c 0"),
        ({"compute_mode": 3}, "compute_mode", "warning", "sudo nvidia-smi -i 0 -c 0"),
        ({"mig": True}, "mig", "bad", "-mig 0"),
        ({"persistent": False}, "persistence", "warning", "sudo nvidia-smi -pm 1"),
    ],
)
def test_that_a_setting_of_the_card_that_hinders_is_told_with_what_resets_it(
    changes, check, state, typed
):
    findings = examine(with_card(**changes))

    assert states(findings) == {check: state}
    assert typed in " ".join(the(findings, check).mend)


def test_that_a_card_with_parts_is_good():
    assert the(examine(with_card(mig=True, instances=3)), "mig").state == "good"


def test_that_persistence_is_none_of_a_container_s_business():
    assert states(examine(with_system(with_card(persistent=False), container="docker"))) == {}


def test_that_what_is_unknown_is_not_judged():
    unknown = with_card(
        total_mib=None, used_mib=None, capability=None, persistent=None, compute_mode=None
    )

    assert states(examine(unknown)) == {}


def test_that_several_cards_have_advice_and_unknown_ways_are_a_warning():
    pair = (CARD, FAR)
    found = the(examine(with_survey(cards=pair, topology=without_peers())), "joined")
    assert (found.state, "central_storage" in found.found) == ("good", True)
    unknown = joined(2, lambda a, b: Joint(a, b))
    assert the(examine(with_survey(cards=pair, topology=unknown)), "joined").state == "warning"
    assert "joined" not in {finding.check for finding in examine(WELL)}
    assert VIEW.gpus[0].name == "GPU:0"
