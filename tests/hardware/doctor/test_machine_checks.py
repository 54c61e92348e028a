"""What the doctor finds about the machine, from facts that are made up."""

from __future__ import annotations

from dataclasses import replace

import pytest
from made_facts import (
    BARE,
    CARD,
    NODES,
    VIEW,
    WELL,
    states,
    the,
    with_survey,
    with_system,
    with_view,
)

from gpu_studio.hardware.doctor import Facts, examine
from gpu_studio.hardware.doctor.facts import Build, Cuda, DiskSpace, Library, System
from gpu_studio.hardware.identity import Variables


def test_that_a_machine_on_which_all_is_well_has_no_complaint():
    findings = examine(WELL)

    assert states(findings) == {}
    assert {
        "card",
        "driver",
        "nodes",
        "variables",
        "tensorflow",
        "libraries",
        "cuda",
        "seen",
        "room",
    } <= {finding.check for finding in findings}


def test_that_without_a_card_one_sentence_says_why_and_that_carved_cpus_work():
    findings = examine(BARE)
    card = the(findings, "card")

    assert states(findings) == {"card": "warning"}
    assert card.found.count(".") == 1
    assert "no NVIDIA card" in card.found
    assert "the CPU, which can be carved" in card.found
    assert {finding.check for finding in findings} == {"card", "tensorflow", "room"}


@pytest.mark.parametrize(
    ("system", "why", "typed"),
    [
        (System(platform="darwin"), "macOS", ""),
        (System(wsl=True), "Windows shows no NVIDIA card", "wsl --shutdown"),
        (System(container="docker"), "a container (docker)", "--gpus all"),
        (System(container="podman"), "a container (podman)", "nvidia.com/gpu=all"),
        (System(container="kubernetes"), "a container (kubernetes)", "limits"),
        (System(container="lxc"), "a container (lxc)", "/dev/nvidia*"),
    ],
)
def test_that_the_reason_for_having_no_card_fits_the_machine(system, why, typed):
    card = the(examine(replace(BARE, system=system)), "card")

    assert why in card.found
    assert typed in " ".join(card.mend)


def test_that_a_driver_without_a_card_says_so():
    facts = replace(BARE, survey=replace(WELL.survey, cards=()))

    assert "driver runs, but finds no card" in the(examine(facts), "card").found


@pytest.mark.parametrize(
    ("changes", "survey", "typed"),
    [
        ({}, {"why_no_answer": "there is no library", "installed": False}, "ubuntu-drivers"),
        ({"module": ""}, {"why_no_answer": "the driver is not loaded"}, "modprobe nvidia"),
        ({}, {"why_no_answer": "updated while the old one runs: restart the machine"}, "reboot"),
        ({}, {"why_no_answer": "the driver did not answer within 15 s"}, "dmesg"),
        ({"wsl": True}, {"why_no_answer": "there is no library", "installed": False}, "Windows"),
        (
            {"container": "docker", "nodes": ()},
            {"why_no_answer": "no library", "installed": False},
            "--gpus all",
        ),
    ],
)
def test_that_a_driver_that_does_not_answer_is_bad_and_told_how_to_mend(changes, survey, typed):
    facts = with_survey(with_system(**changes), cards=(), driver="", **survey)
    driver = the(examine(facts), "driver")

    assert driver.state == "bad"
    assert survey["why_no_answer"][1:] in driver.found
    assert typed in " ".join(driver.mend)


@pytest.mark.parametrize(
    ("rival", "told"), [("nouveau", "nouveau holds the card"), ("vfio_pci", "virtual machine")]
)
def test_that_another_driver_that_holds_the_card_is_named(rival, told):
    facts = with_survey(with_system(rival=rival), cards=(), why_no_answer="not loaded")

    assert told in the(examine(facts), "driver").found


def test_that_a_card_on_the_bus_that_the_driver_does_not_have_is_bad():
    assert "answers for none" in the(examine(with_survey(cards=())), "driver").found


def test_that_a_driver_updated_meanwhile_wants_a_restart():
    module = the(examine(with_system(module="545.29")), "module")

    assert (module.state, module.mend) == ("bad", ("sudo reboot",))


@pytest.mark.parametrize(
    ("cuda", "state"),
    [("11.8", "bad"), ("12.2", "warning"), ("12.5", "good"), ("12.8", "good"), ("13.0", "good")],
)
def test_that_the_driver_s_cuda_is_held_against_tensorflow_s(cuda, state):
    assert the(examine(with_survey(cuda=cuda)), "newer_cuda").state == state


def test_that_device_files_that_may_not_be_opened_name_the_group_to_join():
    shut = (replace(NODES[0], readable=False, writable=False), *NODES[1:])
    nodes = the(examine(with_system(nodes=shut)), "nodes")

    assert nodes.state == "bad"
    assert "ada may not open /dev/nvidia-uvm (mode 0660, group video)" in nodes.found
    assert nodes.mend[0] == "sudo usermod -aG video ada"


def test_that_device_files_of_root_alone_are_opened_by_mode():
    shut = tuple(replace(node, writable=False, group="root") for node in NODES)

    assert (
        the(examine(with_system(nodes=shut)), "nodes")
        .mend[0]
        .startswith("sudo chmod a+rw /dev/nvidia-uvm")
    )


def test_that_missing_device_files_are_bad_only_if_cuda_does_not_start():
    without = with_system(nodes=NODES[1:])

    assert the(examine(without), "nodes").state == "warning"
    assert "/dev/nvidia-uvm is not there" in the(examine(without), "nodes").found
    assert the(examine(with_view(without, cuda=Cuda(why_not="x"))), "nodes").state == "bad"
    assert "nvidia-modprobe" in the(examine(with_system(nodes=())), "nodes").mend[0]


def test_that_a_container_without_the_host_s_cards_is_told_how_to_start():
    bare = with_survey(
        with_system(container="docker", nodes=()), cards=(), why_no_answer="x", installed=False
    )
    container = the(examine(bare), "container")

    assert (container.state, container.mend[0]) == ("bad", "docker run --gpus all …")
    on_purpose = the(examine(with_system(bare, container_cards="void")), "container")
    assert on_purpose.state == "warning"
    assert the(examine(with_system(container="docker")), "container").state == "good"


@pytest.mark.parametrize(
    ("size", "count", "told"), [(64, 2, True), (64, 1, False), (8192, 2, False), (None, 2, False)]
)
def test_that_little_shared_memory_is_told_for_several_cards_in_a_container(size, count, told):
    cards = tuple(
        replace(CARD, index=index, uuid=f"GPU-{index}", bus_id="") for index in range(count)
    )
    findings = examine(with_survey(with_system(container="docker", shared_mib=size), cards=cards))

    assert ("shared_memory" in {finding.check for finding in findings}) == told


@pytest.mark.parametrize(
    ("value", "state"),
    [
        (None, "good"),
        ("0", "good"),
        ("", "warning"),
        ("-1", "warning"),
        ("0,5", "warning"),
        ("5", "bad"),
        ("MIG-1f", "good"),
    ],
)
def test_that_variables_that_hide_cards_are_told(value, state):
    found = the(examine(with_system(variables=Variables(value))), "variables")

    assert found.state == state
    assert found.mend == (() if state == "good" else ("unset CUDA_VISIBLE_DEVICES",))


def test_that_a_tensorflow_that_does_not_start_is_bad_and_one_not_asked_is_no_finding():
    facts = Facts(WELL.system, WELL.survey, None, "No module named 'tensorflow'")

    assert "No module named 'tensorflow'." in the(examine(facts), "tensorflow").found
    assert the(examine(facts), "tensorflow").state == "bad"
    assert "tensorflow" not in {
        finding.check for finding in examine(replace(facts, why_no_tensorflow=""))
    }


def test_that_a_tensorflow_without_cuda_is_bad_only_where_there_is_a_card():
    findings = examine(with_view(build=Build()))

    assert the(findings, "tensorflow").state == "bad"
    assert "pip install 'tensorflow[and-cuda]==2.21.0'" in the(findings, "tensorflow").mend[0]
    assert the(examine(with_view(BARE, build=Build())), "tensorflow").state == "good"


def test_that_what_tensorflow_could_not_load_is_told_even_if_it_is_found_and_how_to_lead_it_there():
    name, place = "libcusolver.so.11", "/site-packages/nvidia/cusolver/lib"
    unseen = with_view(
        physical=(),
        libraries=(*VIEW.libraries, Library(name, f"{place}/{name}")),
        unloaded=(Library(name, why_not=f"{name}: cannot open shared object file"),),
    )
    libraries = the(examine(unseen), "libraries")

    assert libraries.state == "bad"
    assert libraries.found == (
        f"TensorFlow uses no card, because it cannot load {name} ({name}: cannot open shared "
        "object file)."
    )
    assert libraries.mend == (f"export LD_LIBRARY_PATH={place}:$LD_LIBRARY_PATH",)
    assert "marked ✘" in the(examine(unseen), "seen").mend[0]
    assert the(examine(with_view(unseen, physical=VIEW.physical)), "libraries").state == "good"


def test_that_missing_libraries_are_named_with_what_to_install():
    missing = (*VIEW.libraries, Library("libcudnn.so.9", why_not="cannot open shared object file"))
    unseen = with_view(with_system(library_path="/opt/cuda"), libraries=missing, physical=())
    libraries = the(examine(unseen), "libraries")

    assert libraries.state == "bad"
    assert the(examine(with_view(libraries=missing)), "libraries").state == "warning"
    assert "libcudnn.so.9 (cannot open" in libraries.found
    assert "libcudart" not in libraries.found
    assert libraries.mend[0].startswith("/usr/bin/python3 -m pip install")
    assert "/opt/cuda" in libraries.mend[1]
    assert "libraries" not in {
        finding.check for finding in examine(with_view(BARE, libraries=missing))
    }


@pytest.mark.parametrize(
    ("error", "typed"),
    [
        ("CUDA_ERROR_SYSTEM_NOT_READY", "fabricmanager"),
        ("CUDA_ERROR_UNKNOWN", "nvidia_uvm"),
        ("CUDA_ERROR_SYSTEM_DRIVER_MISMATCH", "reboot"),
        ("CUDA_ERROR_SOMETHING_NEW", "nvidia-smi"),
    ],
)
def test_that_a_cuda_that_does_not_start_is_told_by_its_own_name(error, typed):
    cuda = the(examine(with_view(cuda=Cuda(error=error, why_not="it went wrong"))), "cuda")

    assert cuda.found == f"CUDA does not start: it went wrong ({error})."
    assert typed in " ".join(cuda.mend)


def test_that_a_cuda_without_devices_is_not_told_twice_where_a_variable_hides_them():
    hidden = with_view(
        with_system(variables=Variables("")),
        cuda=Cuda(error="CUDA_ERROR_NO_DEVICE", why_not="no device"),
    )

    assert states(examine(hidden)) == {"variables": "warning"}


@pytest.mark.parametrize(("free", "state"), [(90_000, "good"), (3000, "warning"), (100, "bad")])
def test_that_the_room_for_runs_is_judged(free, state):
    assert (
        the(examine(with_system(disk_space=DiskSpace("/runs", free, 100_000))), "room").state
        == state
    )


def test_that_a_folder_that_cannot_be_written_is_bad():
    disk_space = the(
        examine(with_system(disk_space=DiskSpace("/runs", why_unusable="/ may not be written to"))),
        "room",
    )

    assert (disk_space.state, "/ may not be written to" in disk_space.found) == ("bad", True)


def test_that_windows_driver_inside_wsl_is_good_without_device_files():
    findings = examine(with_system(wsl=True, nodes=(), listed=(), module=""))

    assert states(findings) == {}
    assert the(findings, "wsl").state == "good"


def test_that_of_a_simulated_machine_only_what_is_simulated_is_judged():
    findings = examine(
        with_survey(
            with_system(BARE, container="docker"),
            cards=(CARD,),
            why_no_answer="",
            simulated="1xH100",
        )
    )

    assert states(findings) == {"simulation": "warning"}
    assert "1xH100" in the(findings, "simulation").found


def test_that_runs_that_end_at_logout_are_told_with_what_lets_them_go_on():
    finding = the(examine(with_system(ends_at_logout=True)), "logging_out")

    assert finding.state == "warning"
    assert "checkpoint" in finding.found
    assert "loginctl enable-linger" in finding.mend[0]
