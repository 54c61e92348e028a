"""What the operating system tells, read from folders like the real ones."""

from __future__ import annotations

import getpass
import grp
import os

import pytest
from pci_folders import listed_device

from gpu_studio.hardware.doctor.facts import (
    container,
    device_nodes,
    disk_space,
    ends_at_logout,
    is_wsl,
    module_version,
    system,
)

DRIVER = (
    "NVRM version: NVIDIA UNIX Open Kernel Module for x86_64  550.54.15  "
    "Release Build\nGCC version: gcc 12\n"
)


def put(root, path, text=""):
    file = root / path
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text(text)
    return file


@pytest.mark.parametrize(
    ("environment", "path", "text", "kind"),
    [
        ({}, "x", "", ""),
        ({"KUBERNETES_SERVICE_HOST": "10.0.0.1"}, ".dockerenv", "", "kubernetes"),
        ({}, ".dockerenv", "", "docker"),
        ({}, "run/.containerenv", "", "podman"),
        ({}, "proc/1/cgroup", "0::/kubepods/besteffort/pod1", "kubernetes"),
        ({}, "proc/1/cgroup", "12:cpu:/docker/4f", "docker"),
        ({}, "proc/1/cgroup", "0::/lxc/web", "lxc"),
        ({"container": "systemd-nspawn"}, "x", "", "systemd-nspawn"),
    ],
)
def test_that_a_container_is_known_by_what_it_leaves(tmp_path, environment, path, text, kind):
    put(tmp_path, path, text)

    assert container(environment, tmp_path) == kind


def test_that_what_a_desktop_started_ends_at_logout_unless_its_user_may_linger(tmp_path):
    assert not ends_at_logout(tmp_path)
    put(tmp_path, "proc/self/cgroup", "0::/user.slice/user-1000.slice/session-3.scope")
    assert not ends_at_logout(tmp_path)
    slices = "0::/user.slice/user-1000.slice/user@1000.service/app.slice"
    put(tmp_path, "proc/self/cgroup", f"{slices}/app-gnome-gpu\\x2dstudio-4711.scope")
    assert ends_at_logout(tmp_path)
    put(tmp_path, f"var/lib/systemd/linger/{getpass.getuser()}")
    assert not ends_at_logout(tmp_path)


def test_that_wsl_is_known_by_its_kernel(tmp_path):
    assert not is_wsl(tmp_path)
    put(tmp_path, "proc/version", "Linux version 5.15.146.1-microsoft-standard-WSL2")
    assert is_wsl(tmp_path)


def test_that_the_module_s_version_is_read_from_either_place(tmp_path):
    assert module_version(tmp_path) == ""
    put(tmp_path, "proc/driver/nvidia/version", DRIVER)
    assert module_version(tmp_path) == "550.54.15"
    put(tmp_path, "sys/module/nvidia/version", "555.42.02\n")
    assert module_version(tmp_path) == "555.42.02"


def test_that_device_files_are_listed_with_group_and_mode(tmp_path):
    for name in ("nvidia0", "nvidia12", "nvidiactl", "nvidia-uvm", "nvidia-caps", "null"):
        put(tmp_path, f"dev/{name}").chmod(0o640)
    nodes = device_nodes(tmp_path)

    assert [node.path for node in nodes] == [
        "/dev/nvidia-uvm",
        "/dev/nvidia0",
        "/dev/nvidia12",
        "/dev/nvidiactl",
    ]
    assert {(node.group, node.mode, node.readable) for node in nodes} == {
        (grp.getgrgid(os.getgid()).gr_name, "0640", True)
    }


def test_that_a_card_held_by_another_driver_is_noticed(tmp_path):
    listed_device(tmp_path / "sys/bus/pci/devices", "0000:2d:00.0")
    put(tmp_path, "sys/bus/pci/drivers/nouveau/0000:99:00.0")
    assert system(None, {}, tmp_path).rival == ""
    put(tmp_path, "sys/bus/pci/drivers/nouveau/0000:2d:00.0")
    assert system(None, {}, tmp_path).rival == "nouveau"


def test_that_the_variables_and_the_cards_on_the_bus_are_told(tmp_path):
    listed_device(tmp_path / "sys/bus/pci/devices", "0000:2d:00.0")
    found = system(
        tmp_path, {"CUDA_VISIBLE_DEVICES": "1", "NVIDIA_VISIBLE_DEVICES": "void"}, tmp_path
    )

    assert found.listed == ("0000:2d:00.0",)
    assert (found.variables.visible, found.variables.order, found.container_cards) == (
        "1",
        None,
        "void",
    )
    assert found.disk_space is not None
    assert found.disk_space.free_mib > 0


def test_that_the_room_is_that_of_the_nearest_folder_there(tmp_path):
    found = disk_space(tmp_path / "not" / "yet")

    assert found.folder == str(tmp_path / "not" / "yet")
    assert 0 < found.free_mib <= found.total_mib
    assert found.why_unusable == ""


def test_that_a_file_in_the_place_of_the_folder_is_told(tmp_path):
    assert disk_space(put(tmp_path, "runs")).why_unusable.endswith("runs is no folder")


def test_that_this_machine_can_be_read():
    found = system()

    assert found.user
    assert found.disk_space is None
