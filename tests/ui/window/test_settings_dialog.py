"""All that is chosen for good, in one dialog: found, changed, reset, kept in a file for people."""

from __future__ import annotations

import stat
from pathlib import Path

import pytest
from PySide6.QtCore import Qt
from PySide6.QtWidgets import QFileDialog

from gpu_studio.common.choices import Choices
from gpu_studio.common.guide import guide
from gpu_studio.runs.paths import runs_dir, usual_runs_dir
from gpu_studio.ui.kit.settings import NOTIFY, NUMBERS, QUIT, RUNS, SECONDS, THEME, Settings
from gpu_studio.ui.window.main_window import MainWindow
from gpu_studio.ui.window.settings_dialog import NOTHING, SettingRow, SettingsDialog

CTRL = Qt.KeyboardModifier.ControlModifier


@pytest.fixture
def dialog(window: MainWindow, qtbot) -> SettingsDialog:
    """The dialog, opened by its keys, with all settings as by default."""
    for setting in (THEME, QUIT, NOTIFY):
        window.settings.set(setting, setting.default)
    qtbot.keyClick(window, Qt.Key.Key_Comma, CTRL)
    (opened,) = window.findChildren(SettingsDialog)
    return opened


def row(dialog: SettingsDialog, setting) -> SettingRow:
    return next(each for each in dialog.rows.values() if each.option.setting is setting)


def press(dialog: SettingsDialog, setting, value: str, qtbot) -> None:
    """Choose a value by the keyboard: its button is reached by Tab, and pressed by Space."""
    button = row(dialog, setting).field.buttons[value]
    button.setFocus(Qt.FocusReason.TabFocusReason)
    assert button.focusPolicy() & Qt.FocusPolicy.TabFocus
    qtbot.keyClick(button, Qt.Key.Key_Space)


def test_that_every_choice_counts_at_once_and_is_in_a_file_that_people_can_read(
    dialog: SettingsDialog, window: MainWindow, qtbot
) -> None:
    for setting, value in (
        (THEME, "dark"),
        (QUIT, "leave"),
        (NOTIFY, "no"),
        (SECONDS, "5.0"),
        (NUMBERS, "space"),
    ):
        press(dialog, setting, value, qtbot)
    assert window.services.theme.mode == "dark"
    assert window.actions_["theme_dark"].isChecked()
    assert not window.quitting.asks
    assert not window.run_ends.notifies
    assert window.sampler._request["rate"] == 0.2
    file = window.settings.folder / "settings.toml"
    assert [line for line in file.read_text().splitlines() if line][1:] == [
        "[window]", 'theme = "dark"', 'quit = "leave"', 'notify = "no"', "[devices]",
        "seconds = 5.0", "[numbers]", 'thousands = "space"',
    ]  # fmt: skip
    assert stat.S_IMODE(file.stat().st_mode) == 0o600
    again = Settings(window.settings.folder / "window.ini")
    assert [again.get(each) for each in (THEME, QUIT, NOTIFY, SECONDS)] == [
        "dark", "leave", "no", 5.0,
    ]  # fmt: skip


def test_that_each_is_reset_by_itself_and_all_together(
    dialog: SettingsDialog, window: MainWindow, qtbot
) -> None:
    assert not dialog.reset.isEnabled()
    press(dialog, THEME, "dark", qtbot)
    press(dialog, QUIT, "leave", qtbot)
    one = row(dialog, THEME)
    assert (one.back.text(), row(dialog, NOTIFY).back.text()) == ("Reset", "default")
    one.back.setFocus()
    qtbot.keyClick(one.back, Qt.Key.Key_Space)
    assert window.services.theme.mode == "system"
    assert window.settings.get(QUIT) == "leave"
    dialog.reset.click()
    assert window.quitting.asks
    assert window.actions_["ask_quit"].isChecked()
    assert not dialog.reset.isEnabled()
    assert "=" not in window.settings.choices.path.read_text()


def test_that_what_a_menu_changes_is_shown(dialog: SettingsDialog, window: MainWindow) -> None:
    window.actions_["theme_light"].trigger()
    dialog._follow()
    assert row(dialog, THEME).field.buttons["light"].isChecked()
    assert row(dialog, THEME).back.text() == "Reset"


def test_that_a_few_words_find_a_setting(dialog: SettingsDialog, qtbot) -> None:
    def seen() -> list[object]:
        return [each.option.setting for each in dialog.rows.values() if each.isVisible()]

    assert len(seen()) == 6
    assert dialog.search.hasFocus()
    for typed, found in (("dark", [THEME]), ("CARDS memory", [SECONDS]), ("run fold", [RUNS])):
        dialog.search.clear()
        qtbot.keyClicks(dialog.search, typed)
        assert seen() == found
    assert not dialog.nothing.isVisible()
    qtbot.keyClicks(dialog.search, " nowhere")
    assert seen() == []
    assert (dialog.nothing.isVisible(), dialog.nothing.text()) == (True, NOTHING)


def test_that_the_folder_of_runs_counts_from_the_next_start_for_window_and_terminal(
    dialog: SettingsDialog, window: MainWindow, qtbot, tmp_path: Path, monkeypatch
) -> None:
    monkeypatch.delenv("GPU_STUDIO_RUNS_DIR")
    monkeypatch.setenv("GPU_STUDIO_SETTINGS", str(window.settings.folder / "window.ini"))
    field = row(dialog, RUNS).field
    assert field.placeholderText() == str(usual_runs_dir()) == str(runs_dir())
    (tmp_path / "file").touch()
    for typed, wrong in (("runs", "the whole path"), (str(tmp_path / "file"), "is a file")):
        field.clear()
        qtbot.keyClicks(field, typed)
        assert wrong in field.wrong
    field.clear()
    qtbot.keyClicks(field, str(tmp_path / "my runs"))
    assert runs_dir() == usual_runs_dir()
    qtbot.keyClick(field, Qt.Key.Key_Return)
    assert dialog.isVisible()
    assert runs_dir() == tmp_path / "my runs"
    assert str(window.services.runs_dir) in row(dialog, RUNS).option.about
    row(dialog, RUNS).pick.click()
    (picking,) = dialog.findChildren(QFileDialog)
    picking.fileSelected.emit(str(tmp_path))
    picking.close()
    assert (runs_dir(), field.text()) == (tmp_path, str(tmp_path))
    assert runs_dir("/else") == Path("/else")


def test_that_what_an_older_version_kept_counts_until_it_is_chosen_anew(tmp_path: Path) -> None:
    path = tmp_path / "window.ini"
    path.write_text("[window]\ntheme=dark\nquit=leave\n")
    settings = Settings(path)
    assert (settings.get(THEME), settings.get(QUIT)) == ("dark", "leave")
    settings.set(THEME, "system")
    assert Settings(path).get(THEME) == "system"
    assert Settings(path).get(QUIT) == "leave"


def test_that_a_file_written_by_hand_keeps_its_comments_and_wrong_values_count_as_not_there(
    tmp_path: Path,
) -> None:
    file = tmp_path / "settings.toml"
    mine = "# mine\n[window]\ntheme = 7  # never\n"
    others = "[devices]\nseconds = 2\n[later]\nx = 1\n"
    file.write_text(mine + others)
    settings = Settings(tmp_path / "window.ini")
    assert (settings.get(THEME), settings.get(SECONDS)) == ("system", 2.0)
    settings.set(QUIT, "leave")
    assert file.read_text() == mine + 'quit = "leave"\n' + others


def test_that_a_file_that_is_damaged_or_not_ours_to_write_is_told_and_left_as_it_is(
    dialog: SettingsDialog, window: MainWindow, qtbot
) -> None:
    file = window.settings.choices.path
    file.write_text("[window\n")
    press(dialog, THEME, "dark", qtbot)
    assert window.services.theme.mode == "dark"
    assert window.settings.get(THEME) == "dark"
    assert "cannot be changed" in dialog.trouble.text()
    assert file.read_text() == "[window\n"
    assert "cannot be read" in Choices(file.parent).problem
    assert runs_dir() != Path()


@pytest.mark.parametrize(
    ("words", "setting"),
    [
        ("theme", THEME),
        ("number format", NUMBERS),
        ("quit", QUIT),
        ("notifications", NOTIFY),
        ("folder of runs", RUNS),
        ("sampling", SECONDS),
    ],
)
def test_that_a_setting_is_found_by_what_others_call_it(
    dialog: SettingsDialog, words, setting
) -> None:
    dialog.search.setText(words)
    assert [each.option.setting for each in dialog.rows.values() if not each.isHidden()] == [
        setting
    ]


def test_that_the_guide_has_each_setting_with_its_default(dialog: SettingsDialog) -> None:
    section = guide().section("index#settings")
    assert section is not None
    rows = [line.split(" | ")[:2] for line in section.text.splitlines() if line.startswith("| ")]
    told = {name.removeprefix("| "): default for name, default in rows[1:]}
    shown = {
        each.option.name: each.option.default for each in dialog.rows.values() if each.option.words
    }
    assert set(told) == set(dialog.rows)
    assert {name: told[name] for name in shown} == shown
