"""What of the system is missing."""

from __future__ import annotations

import importlib.util
import re
import shutil
import subprocess
import tomllib
from pathlib import Path

import needs
import PySide6
import pytest

QT = Path(PySide6.__file__).parent / "Qt"
# The C and C++ runtimes: what every wheel for Linux may count on.
EVERYWHERE = {
    "libc.so.6",
    "libm.so.6",
    "libstdc++.so.6",
    "libgcc_s.so.1",
    "ld-linux-x86-64.so.2",
    "ld-linux-aarch64.so.1",
}
# One package brings both.
SAME_PACKAGE = {"libgthread-2.0.so.0": "libglib-2.0.so.0"}


@pytest.fixture
def table(tmp_path):
    def write(text: str) -> Path:
        path = tmp_path / "libraries.toml"
        path.write_text(text)
        return path

    return write


def test_that_what_is_there_is_not_missing(table):
    path = table('[g.libraries]\n"libc.so.6" = "libc6"\n[g.programs]\nsh = "dash"\n')
    assert needs.missing(["g"], path) == []


def test_that_an_absent_library_is_named_with_its_package(table):
    path = table('[g.libraries]\n"libc.so.6" = "libc6"\n"libabsent.so.7" = "libabsent7"\n')
    assert needs.missing(["g"], path) == [needs.Missing("libabsent.so.7", "libabsent7")]


def test_that_an_absent_program_is_named_with_its_package(table):
    path = table('[g.programs]\nabsent-program = "absent"\n')
    assert needs.missing(["g"], path) == [needs.Missing("absent-program", "absent")]


def test_that_a_group_nobody_asked_for_is_not_looked_at(table):
    path = table(
        '[g.libraries]\n"libc.so.6" = "libc6"\n[other.programs]\nabsent-program = "absent"\n'
    )
    assert needs.missing(["g"], path) == []


def test_that_a_python_that_cannot_make_environments_is_found_out(table, monkeypatch):
    monkeypatch.setattr(importlib.util, "find_spec", lambda name: None)
    (missing,) = needs.missing([], table(""))
    assert re.fullmatch(r"python3\.1[123]-venv", missing.package)


def known(*groups: str) -> set[str]:
    """The libraries that the real table lists in the groups."""
    table = tomllib.loads(needs.TABLE.read_text())
    return {library for group in groups for library in table[group]["libraries"]}


def wanted(*files: str) -> set[str]:
    """What the files of PySide6 load that neither PySide6 nor every Linux brings."""
    found = set()
    for file in files:
        said = subprocess.run(
            ["readelf", "-d", QT / file], capture_output=True, text=True, check=True
        ).stdout
        found |= set(re.findall(r"\(NEEDED\).*\[(.+)\]", said))
    outside = {name for name in found if not (QT / "lib" / name).exists()} - EVERYWHERE
    return {SAME_PACKAGE.get(name, name) for name in outside}


@pytest.mark.skipif(
    shutil.which("readelf") is None, reason="needs readelf, which comes with a C compiler"
)
@pytest.mark.parametrize(
    ("groups", "files"),
    [
        (
            ["qt"],
            [
                f"lib/libQt6{name}.so.6"
                for name in ("Core", "Gui", "Widgets", "DBus", "Svg", "Test")
            ],
        ),
        (["qt"], ["plugins/platforms/libqoffscreen.so"]),
        (["qt", "x11"], ["plugins/platforms/libqxcb.so", "lib/libQt6XcbQpa.so.6"]),
        (["qt", "wayland"], ["plugins/platforms/libqwayland.so", "lib/libQt6WaylandClient.so.6"]),
    ],
    ids=["qt", "offscreen", "x11", "wayland"],
)
def test_that_the_table_lists_all_that_qt_loads(groups, files):
    assert wanted(*files) <= known(*groups)
