"""The desktop's menu: what is installed there for one user, starts from it, and is removed."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from patience import PATIENCE_S
from PySide6.QtGui import QGuiApplication, QImage
from real_runs import eventually

from gpu_studio.cli.completion import PLACES
from gpu_studio.common import desktop_entry
from gpu_studio.common.desktop_entry import DesktopError, entry_for, installed_program
from gpu_studio.common.paths import resource

HARD = """it's 100% "mine" = $HOME `x` \\ é 日本"""
TOLD = """#!{python}
import os, sys
with open({told!r} + ".part", "w") as file:
    file.write("\\n".join(sys.argv[1:]))
os.rename({told!r} + ".part", {told!r})
"""


def needs(program: str, package: str) -> None:
    if shutil.which(program) is None:
        pytest.skip(f"needs {program}; on Debian: sudo apt-get install {package}")


def everything(folder: Path) -> list[Path]:
    return sorted(folder.rglob("*"))


def checked(*command: str | Path) -> str:
    done = subprocess.run(command, capture_output=True, text=True, timeout=PATIENCE_S)
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


@pytest.fixture
def home(isolated_home) -> Path:
    """An empty `$XDG_DATA_HOME`."""
    desktop_entry.data_home().mkdir()
    return desktop_entry.data_home()


@pytest.fixture
def program(tmp_path: Path) -> Path:
    """A program in a folder with the worst of names, which writes down how it was called."""
    return told_program(tmp_path / HARD / "gpu-studio-window", tmp_path / "told")


def told_program(path: Path, told: Path) -> Path:
    path.parent.mkdir()
    path.write_text(TOLD.format(python=sys.executable, told=str(told)))
    path.chmod(0o755)
    return path


def test_that_everything_is_installed_below_the_users_own_data_and_again_is_the_same(
    gpu_studio, home: Path
) -> None:
    answer = gpu_studio("desktop", "install", "--json").document
    shipped = {path.name for path in resource("desktop").rglob("*") if path.is_file()}
    made = {path.name for path in PLACES}
    assert {Path(path).name for path in answer["files"]} == shipped | made
    assert all(Path(path).is_relative_to(home) and Path(path).is_file() for path in answer["files"])
    first = {path: path.read_bytes() for path in map(Path, answer["files"])}
    assert gpu_studio("desktop", "install").code == 0
    assert {path: path.read_bytes() for path in first} == first
    assert installed_program(home) == answer["program"]
    assert Path(answer["program"]).parent == Path(sys.executable).parent


def test_that_an_install_from_another_python_replaces_the_one_before(
    gpu_studio, home: Path
) -> None:
    desktop_entry.install(Path("/opt/other/bin/gpu-studio-window"), home)
    answer = gpu_studio("desktop", "install")
    assert "/opt/other/bin/gpu-studio-window, which was there before" in answer.out
    assert "/opt/other" not in (home / desktop_entry.ENTRY).read_text()


def test_that_removing_leaves_nothing_behind_but_what_is_anothers(gpu_studio, home: Path) -> None:
    other = home / "icons/hicolor/16x16/apps/other.png"
    gpu_studio("desktop", "install")
    assert gpu_studio("desktop", "remove").code == 0
    assert everything(home) == []
    other.parent.mkdir(parents=True)
    other.touch()
    gpu_studio("desktop", "install")
    assert "out of the menu" in gpu_studio("desktop", "remove").out
    assert [path for path in everything(home) if path.is_file() and path.suffix != ".cache"] == [
        other
    ]
    assert "not in the menu" in gpu_studio("desktop", "remove").out


def test_that_a_folder_that_cannot_be_written_is_told_in_words(gpu_studio, home: Path) -> None:
    (home / "applications").write_text("in the way")
    answer = gpu_studio("desktop", "install")
    assert answer.code == 2
    assert "applications" in answer.err
    assert "Traceback" not in answer.err


def test_that_a_python_without_the_program_and_a_path_that_is_no_text_are_refused(
    monkeypatch, tmp_path: Path
) -> None:
    monkeypatch.setattr("sysconfig.get_path", lambda _name: str(tmp_path))
    with pytest.raises(DesktopError, match="install GPU Studio with"):
        desktop_entry.program()
    with pytest.raises(DesktopError, match="UTF-8"):
        entry_for(Path(os.fsdecode(b"/\xff/gpu-studio-window")), "Exec=gpu-studio-window\n")


def test_that_the_desktops_own_programs_accept_what_is_installed(home: Path, program: Path) -> None:
    needs("desktop-file-validate", "desktop-file-utils")
    needs("appstreamcli", "appstream")
    needs("update-mime-database", "shared-mime-info")
    assert "mime" in str(desktop_entry.install(program, home).refreshed)
    for entry in (home / desktop_entry.ENTRY, resource("desktop") / desktop_entry.ENTRY):
        assert checked("desktop-file-validate", entry) == ""
    (description,) = (home / "metainfo").iterdir()
    checked("appstreamcli", "validate", "--strict", "--no-net", description)
    known = (home / "mime/globs2").read_text().splitlines()
    for kind in ("plan", "study"):
        assert f"60:application/x-gpu-studio-{kind}:*.{kind}.toml" in known


@pytest.mark.slow
def test_that_the_entry_starts_the_program_wherever_it_lies_and_plans_open_in_it(
    home: Path, program: Path, tmp_path: Path, monkeypatch
) -> None:
    needs("gio", "libglib2.0-bin")
    needs("update-desktop-database", "desktop-file-utils")
    monkeypatch.setenv("XDG_DATA_DIRS", "/usr/share")
    desktop_entry.install(program, home)
    assert installed_program(home) == str(program)
    plan = tmp_path / "a plan, 50% é.plan.toml"
    plan.write_text("version = 1\n")
    assert "application/x-gpu-studio-plan" in checked(
        "gio", "info", "-a", "standard::content-type", plan
    )
    for command, words in (
        (("gio", "launch", home / desktop_entry.ENTRY), ""),
        (("gio", "open", plan), str(plan)),
    ):
        checked(*command)
        eventually((tmp_path / "told").exists, f"the start by {command}")
        assert (tmp_path / "told").read_text() == words
        (tmp_path / "told").unlink()


@pytest.mark.slow
@pytest.mark.parametrize("desktop", ["", "GNOME"])
def test_that_xdg_open_opens_a_plan_on_desktops_large_and_small(
    home: Path, tmp_path: Path, monkeypatch, desktop: str
) -> None:
    """Where it knows the desktop it has that open the file; else it reads the entry itself."""
    needs("xdg-open", "xdg-utils")
    needs("gio", "libglib2.0-bin")
    needs("mimetype", "libfile-mimeinfo-perl")
    needs("update-desktop-database", "desktop-file-utils")
    for name, value in (("XDG_CURRENT_DESKTOP", desktop), ("XDG_DATA_DIRS", "/usr/share")):
        monkeypatch.setenv(name, value)
    monkeypatch.setenv("DISPLAY", ":4077")  # it is never asked, but without one it is no desktop
    monkeypatch.delenv("BROWSER", raising=False)
    program = told_program(tmp_path / "bin" / "gpu-studio-window", tmp_path / "told")
    desktop_entry.install(program, home)
    plan = tmp_path / "a plan.plan.toml"
    plan.write_text("version = 1\n")
    checked("xdg-open", plan)
    eventually((tmp_path / "told").exists, "the start by xdg-open")
    assert (tmp_path / "told").read_text() == str(plan)


def test_that_no_drawn_icon_is_older_than_its_svg_file(qapp: QGuiApplication, monkeypatch) -> None:
    monkeypatch.syspath_prepend(Path(__file__).parents[2] / "packaging")
    import icons

    for name in icons.ICONS:
        for size in icons.SIZES:
            kept, drawn = QImage(str(icons.path_of(name, size))), icons.drawn(name, size)
            assert (kept.width(), kept.height()) == (size, size)
            kept = kept.convertToFormat(drawn.format())
            unlike = sum(a != b for a, b in zip(kept.constBits(), drawn.constBits(), strict=True))
            assert unlike < 0.2 * 4 * size * size, f"run packaging/icons.py: {name} {size}"
