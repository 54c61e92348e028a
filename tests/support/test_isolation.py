"""A home of its own for every test, and no way off the machine."""

from __future__ import annotations

import os
import signal
import socket
import subprocess
import sys
import tempfile
import threading
import urllib.error
import urllib.request
from pathlib import Path

import isolation
import network
import pytest
from patience import PATIENCE_S

HOMES = []


@pytest.mark.parametrize("time", [1, 2])
def test_that_two_tests_have_two_empty_homes(time):
    home = Path.home()
    assert home not in HOMES
    assert not any(home.iterdir())
    (home / "mine.txt").touch()
    HOMES.append(home)


def test_that_the_home_of_an_earlier_test_is_gone(tmp_path):
    kept = Path(tempfile.gettempdir()).parent
    assert kept.exists()
    assert all(not home.exists() for home in HOMES)


@pytest.mark.parametrize(
    "variable",
    ["XDG_DATA_HOME", "XDG_CONFIG_HOME", "XDG_CACHE_HOME", "KERAS_HOME", "GPU_STUDIO_RUNS_DIR"],
)
def test_that_what_programs_keep_lies_in_the_home(variable):
    assert Path(os.environ[variable]).is_relative_to(Path.home())


def test_that_temporary_files_are_the_tests_own(isolated_home):
    with tempfile.NamedTemporaryFile() as file:
        assert Path(file.name).parent == isolated_home.temporary


def test_that_pytests_own_folder_outlives_the_test(tmp_path, isolated_home):
    assert not tmp_path.is_relative_to(isolated_home.root)


def test_that_files_lie_in_memory_where_there_is_room_and_nobody_has_said_where(
    monkeypatch, tmp_path
):
    usual = tempfile.gettempdir()
    monkeypatch.setattr(isolation, "ENOUGH", 1)
    assert isolation.temporary_root({}, tmp_path) == str(tmp_path)
    assert isolation.temporary_root({"TMPDIR": usual}, tmp_path) == usual
    assert isolation.temporary_root({}, tmp_path / "none") == usual
    monkeypatch.setattr(isolation, "ENOUGH", 1 << 62)
    assert isolation.temporary_root({}, tmp_path) == usual


def test_that_the_runs_folder_is_there_and_private(runs_dir):
    assert runs_dir.stat().st_mode & 0o777 == 0o700
    assert str(runs_dir) == os.environ["GPU_STUDIO_RUNS_DIR"]


@pytest.mark.parametrize("host", ["192.0.2.1", "2001:db8::1", "example.org"])
def test_that_another_machine_cannot_be_reached(host):
    with pytest.raises(network.NetworkRefusedError, match="tests stay on this machine"):
        socket.create_connection((host, 80), timeout=1)


def test_that_a_number_needs_no_name_service_to_be_refused():
    with socket.socket() as client, pytest.raises(network.NetworkRefusedError):
        client.connect_ex(("192.0.2.1", 80))


def test_that_a_download_fails_as_on_a_machine_without_network():
    with pytest.raises(urllib.error.URLError):
        urllib.request.urlopen("https://example.org/mnist.npz")


def test_that_this_machine_can_be_reached():
    with socket.create_server(("127.0.0.1", 0)) as server:
        answering = threading.Thread(target=lambda: server.accept()[0].close())
        answering.start()
        with socket.create_connection(server.getsockname(), timeout=PATIENCE_S) as client:
            assert client.recv(1) == b""
        answering.join()


def test_that_ctrl_c_ends_programs_of_tests_also_where_a_shell_runs_them_in_its_background():
    before = signal.signal(signal.SIGINT, signal.SIG_IGN)
    try:
        isolation.let_ctrl_c_through()
        pressed = "import signal; signal.raise_signal(signal.SIGINT)"
        done = subprocess.run([sys.executable, "-S", "-c", pressed], capture_output=True)
    finally:
        signal.signal(signal.SIGINT, before)
    assert done.returncode == -signal.SIGINT
