from __future__ import annotations

import os
import stat
from collections.abc import Callable
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from PySide6.QtCore import QSettings

from gpu_studio.ui.kit.settings import (
    GEOMETRY,
    LAST_DRAFT,
    LAST_PLAN,
    PAGE,
    RECENT_PLANS,
    THEME,
    Settings,
    settings_path,
)

lines = st.text(st.characters(exclude_categories=["Cs", "Cc"]), max_size=30)


def test_that_nothing_remembered_gives_the_defaults(settings: Settings) -> None:
    assert settings.get(THEME) == "system"
    assert settings.get(GEOMETRY) == b""
    assert settings.get(RECENT_PLANS) == ()


@given(
    text=st.text(st.characters(exclude_categories=["Cs"]), max_size=200),
    data=st.binary(max_size=50),
)
def test_that_what_is_remembered_is_read_by_the_next_start(
    tmp_path_factory, text: str, data: bytes
) -> None:
    path = tmp_path_factory.mktemp("settings") / "window.ini"
    Settings(path).set(LAST_DRAFT, text)
    Settings(path).set(GEOMETRY, data)
    assert Settings(path).get(LAST_DRAFT) == text
    assert Settings(path).get(GEOMETRY) == data


@given(st.lists(lines.filter(bool), max_size=4))
def test_that_a_list_of_any_length_comes_back_as_it_was(tmp_path_factory, paths: list[str]) -> None:
    path = tmp_path_factory.mktemp("settings") / "window.ini"
    Settings(path).set(RECENT_PLANS, tuple(paths))
    assert Settings(path).get(RECENT_PLANS) == tuple(paths)


def test_that_what_is_remembered_already_is_not_written_again(tmp_path: Path) -> None:
    path = tmp_path / "window.ini"
    settings = Settings(path)
    settings.set(LAST_PLAN, "a.plan.toml")
    settings.set(RECENT_PLANS, ("a.plan.toml",))
    written = path.stat().st_ino
    settings.set(LAST_PLAN, "a.plan.toml")
    settings.set(RECENT_PLANS, ("a.plan.toml",))
    assert path.stat().st_ino == written
    settings.set(LAST_PLAN, "b.plan.toml")
    assert path.stat().st_ino != written


def test_that_a_value_of_the_wrong_type_counts_as_not_there(tmp_path: Path) -> None:
    path = tmp_path / "window.ini"
    path.write_text("[window]\ngeometry=nonsense\ntheme=@Invalid()\n[plan]\nlast=a, b\n")
    settings = Settings(path)
    assert settings.get(GEOMETRY) == b""
    assert settings.get(THEME) == "system"
    assert settings.get(LAST_PLAN) == ""


def test_that_only_the_owner_can_read_the_file(tmp_path: Path) -> None:
    path = tmp_path / "config" / "window.ini"
    Settings(path).set(LAST_PLAN, "/secret.plan.toml")
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    assert stat.S_IMODE(path.parent.stat().st_mode) == 0o700


def test_that_the_environment_says_where_the_settings_are(tmp_path: Path, monkeypatch) -> None:
    monkeypatch.setenv("GPU_STUDIO_SETTINGS", str(tmp_path / "mine.ini"))
    assert settings_path() == tmp_path / "mine.ini"
    monkeypatch.setenv("GPU_STUDIO_SETTINGS", "")
    assert settings_path().name == "window.ini"
    assert settings_path().is_absolute()


def test_that_settings_that_cannot_be_written_are_kept_while_the_window_lives(
    tmp_path: Path,
) -> None:
    (tmp_path / "file").write_text("in the way")
    settings = Settings(tmp_path / "file" / "window.ini")
    settings.set(THEME, "dark")
    assert settings.get(THEME) == "dark"


class _Touch:
    """What touches a file when it is unpickled."""

    def __init__(self, path: Path) -> None:
        self.path = path

    def __reduce__(self) -> tuple[object, ...]:
        return Path.touch, (self.path,)


def _hidden(text: bytes, how: str) -> bytes:
    forms = {
        "plain": b"@Variant(",
        "escaped": b"@\\x56\\x61\\x72\\x69\\x61\\x6e\\x74(",
        "octal": b"\\100Variant(",
        "wide": b"\\x10040V\\x10061riant(",
        "quoted": b'@V"arian"t(',
        "skipped": b"@V\\qariant(",
        "blank": b'@V"aria" nt(',
        "lines": b"@V\\\r\nariant(",
        "mark": b"\\x40\xef\xbb\xbfVariant(",
    }
    return text.replace(b"@Variant(", forms[how])


@pytest.mark.parametrize(
    "how",
    ["plain", "escaped", "octal", "wide", "quoted", "skipped", "blank", "lines", "mark"],
)
def test_that_nothing_in_the_file_is_unpickled(tmp_path: Path, how: str) -> None:
    path, ran = tmp_path / "window.ini", tmp_path / "ran"
    store = QSettings(str(path), QSettings.Format.IniFormat)
    store.setValue(PAGE.key, _Touch(ran))
    store.sync()
    path.write_bytes(_hidden(path.read_bytes(), how))
    settings = Settings(path)
    assert settings.get(PAGE) == ""
    assert not ran.exists()
    settings.set(PAGE, "runs")
    assert Settings(path).get(PAGE) == "runs"
    assert path.with_name("window.ini.refused").exists()


@pytest.mark.parametrize("put", [os.mkfifo, lambda path: path.symlink_to("/dev/zero")])
def test_that_what_is_no_file_is_not_waited_for(
    tmp_path: Path, put: Callable[[Path], object]
) -> None:
    put(tmp_path / "window.ini")
    Settings(tmp_path / "window.ini").set(PAGE, "runs")
    assert Settings(tmp_path / "window.ini").get(PAGE) == "runs"


def test_that_an_at_sign_and_what_looks_like_an_object_are_remembered(tmp_path: Path) -> None:
    plans = ("/home/a@b/x.toml", "@x", "@Invalid()", "/a/@Variant(1).toml", "@Variant(1)")
    Settings(tmp_path / "window.ini").set(RECENT_PLANS, plans)
    assert Settings(tmp_path / "window.ini").get(RECENT_PLANS) == plans
