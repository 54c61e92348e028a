"""What the set-up does about missing parts.

It runs as root, as another user, and on a system that is not Debian.
"""

from __future__ import annotations

import subprocess
import sys
import threading
from pathlib import Path

import debian
import needs
import prepare
import pytest
from environment import SetupError
from patience import PATIENCE_S

TABLE = """
[qt.libraries]
"libabsent.so.7" = "libabsent7"
"libc.so.6" = "libc6"
[x11.programs]
absent-program = "absent"
"""
# In place of apt-get: writes down what it is asked for, and "installs" by making the program that
# was missing.
APT = """#!/bin/sh
echo "$DEBIAN_FRONTEND $*" >> "$(dirname "$0")/asked.txt"
case "$*" in *fail*) echo "E: no such package" >&2; exit 100;; *install*) {then};; esac
"""


@pytest.fixture
def system(tmp_path, monkeypatch):
    """A system with its own table, and an apt-get that only notes what it is asked for."""
    table = tmp_path / "libraries.toml"
    table.write_text(TABLE)
    monkeypatch.setattr(needs.missing, "__defaults__", (table,))
    monkeypatch.setenv("PATH", str(tmp_path / "bin"), prepend=":")
    (tmp_path / "bin").mkdir()
    put(tmp_path / "bin/dpkg", "#!/bin/sh\n")
    put(tmp_path / "bin/apt-get", APT.format(then="true"))
    return tmp_path


def put(path: Path, text: str) -> None:
    path.write_text(text)
    path.chmod(0o755)


def asked(system: Path) -> list[str]:
    path = system / "bin/asked.txt"
    return path.read_text().splitlines() if path.exists() else []


def test_that_root_on_debian_gets_what_is_missing(system, monkeypatch):
    monkeypatch.setattr("os.geteuid", lambda: 0)
    put(system / "bin/apt-get", APT.format(then='cp "$0" "$(dirname "$0")/absent-program"'))
    prepare.check_system(prepare.Purpose("dev", ("x11",)))
    update, install = asked(system)
    assert update.startswith("noninteractive ")
    assert update.endswith(" update")
    assert install.endswith("install --yes --no-install-recommends absent")


def test_that_nothing_is_asked_of_apt_when_nothing_is_missing(system, monkeypatch):
    monkeypatch.setattr("os.geteuid", lambda: 0)
    prepare.check_system(prepare.Purpose("runtime"))
    assert asked(system) == []


def test_that_what_apt_could_not_bring_is_told(system, monkeypatch):
    monkeypatch.setattr("os.geteuid", lambda: 0)
    with pytest.raises(SetupError, match=r"these are missing: libabsent\.so\.7, absent-program\."):
        prepare.check_system(prepare.Purpose("dev", ("qt", "x11")))
    assert len(asked(system)) == 2


def test_that_somebody_else_is_told_what_to_type(system, monkeypatch):
    monkeypatch.setattr("os.geteuid", lambda: 1000)
    with pytest.raises(
        SetupError, match="sudo apt-get install --no-install-recommends absent libabsent7"
    ):
        prepare.check_system(prepare.Purpose("dev", ("qt", "x11")))
    assert asked(system) == []


def test_that_what_can_be_done_without_is_installed_but_not_insisted_on(system, monkeypatch):
    wanted = prepare.Purpose("dev", welcome=("x11",))
    monkeypatch.setattr("os.geteuid", lambda: 1000)
    prepare.check_system(wanted)
    assert asked(system) == []
    monkeypatch.setattr("os.geteuid", lambda: 0)
    prepare.check_system(wanted)
    assert asked(system)[-1].endswith("install --yes --no-install-recommends absent")


def test_that_the_tests_welcome_a_compiler_the_desktops_own_checks_and_slurm(system):
    assert prepare.purpose("test").welcome == ("compiler", "desktop", "slurm")


def test_that_another_system_is_told_and_goes_on(system, monkeypatch, capsys):
    (system / "bin/dpkg").unlink()
    monkeypatch.setenv("PATH", str(system / "bin"))
    prepare.check_system(prepare.Purpose("dev", ("qt",)))
    assert "this system has not: libabsent.so.7" in capsys.readouterr().err


def test_that_a_failing_apt_says_why(system, capfd):
    assert not debian.install(["fail"])
    assert "E: no such package" in capfd.readouterr().err


@pytest.mark.parametrize(
    ("display", "groups"),
    [
        ({}, ()),
        ({"DISPLAY": ":0"}, ("qt", "x11")),
        ({"WAYLAND_DISPLAY": "wayland-0"}, ("qt", "wayland")),
        ({"WAYLAND_DISPLAY": "wayland-0", "DISPLAY": ":0"}, ("qt", "wayland", "x11")),
    ],
)
def test_that_running_needs_qt_only_where_there_is_a_display(display, groups, monkeypatch):
    for name in ("DISPLAY", "WAYLAND_DISPLAY"):
        monkeypatch.setenv(name, display.get(name, ""))
    assert prepare.purpose("run").groups == groups


def test_that_without_a_window_one_can_still_train(system, monkeypatch):
    monkeypatch.setattr("os.geteuid", lambda: 1000)
    monkeypatch.setenv("DISPLAY", ":0")
    with pytest.raises(SetupError, match=r"train in the terminal.*make run DISPLAY="):
        prepare.check_system(prepare.purpose("run"))


@pytest.mark.parametrize(("said", "wanted"), [("yes", True), ("no", False)])
def test_that_cuda_can_be_chosen(said, wanted, monkeypatch):
    monkeypatch.setenv("CUDA", said)
    assert prepare.wants_cuda() is wanted


@pytest.mark.parametrize("there", [True, False])
def test_that_cuda_is_wanted_where_there_is_a_driver(there, tmp_path, monkeypatch):
    monkeypatch.setenv("CUDA", "auto")
    monkeypatch.setattr(prepare, "DRIVER", tmp_path / "version")
    monkeypatch.setenv("PATH", str(tmp_path))
    if there:
        (tmp_path / "version").touch()
    assert prepare.wants_cuda() is there


def test_that_two_set_ups_take_turns(tmp_path):
    path = tmp_path / "lock"
    inside = threading.Event()

    def second() -> None:
        with prepare.alone(path):
            inside.set()

    thread = threading.Thread(target=second)
    with prepare.alone(path):
        thread.start()
        assert not inside.wait(0.2)
    assert inside.wait(PATIENCE_S)
    thread.join()


def test_that_a_place_that_cannot_be_written_is_told_without_a_traceback(tmp_path):
    setup = tmp_path / "packaging/setup"
    setup.mkdir(parents=True)
    for name in ("prepare.py", "needs.py", "debian.py", "environment.py", "libraries.toml"):
        (setup / name).write_bytes((Path(prepare.__file__).parent / name).read_bytes())
    (tmp_path / ".venv.lock").mkdir()  # as good as forbidden, also for root
    done = subprocess.run(
        [sys.executable, setup / "prepare.py", "check"], capture_output=True, text=True, check=False
    )
    assert done.returncode == 1
    assert done.stderr.startswith("GPU Studio: the set-up could not go on:")
    assert "Traceback" not in done.stderr
