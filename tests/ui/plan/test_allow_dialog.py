"""Where a Python file is read and allowed: what is allowed is what is shown."""

from __future__ import annotations

from pathlib import Path

import pytest
from PySide6.QtCore import Qt
from PySide6.QtWidgets import QWidget
from reaching import reachable, spoken

from gpu_studio.contract.consent import (
    Standing,
    allow_file,
    allow_folder,
    allowances,
    allowances_file,
    standing,
)
from gpu_studio.plan.local_modules import read_code
from gpu_studio.ui.kit.basic_widgets import Label
from gpu_studio.ui.plan.code_dialogs import (
    CHANGED_MEANWHILE,
    WHAT_IT_MEANS,
    AllowDialog,
    AllowedDialog,
)

CODE = "def build():\n    return None\n"


@pytest.fixture
def file() -> Path:
    """A file in a folder of a person's own, with a name as people give them."""
    folder = Path.home() / "Meine Modelle"
    folder.mkdir()
    path = folder / "größere Netze.py"
    path.write_text(CODE)
    return path


@pytest.fixture
def window(qtbot) -> QWidget:
    """What the dialogs are of, held as long as the test lasts."""
    whole = QWidget()
    qtbot.addWidget(whole)
    return whole


@pytest.fixture
def dialog(qtbot, theme, file: Path, window) -> AllowDialog:
    """The dialog on that file, open and active."""
    opened = AllowDialog(file, theme, window)
    opened.show()
    opened.activateWindow()
    qtbot.waitUntil(opened.isActiveWindow)
    return opened


def stands(path: Path) -> Standing:
    return standing(path, read_code(path))


def pressed(qtbot, dialog: AllowDialog, button: QWidget) -> list[bool]:
    """Press a button with the space bar; whether it was told that something is allowed."""
    told: list[bool] = []
    dialog.allowed.connect(lambda: told.append(True))
    button.setFocus()
    qtbot.keyClick(button, Qt.Key.Key_Space)
    return told


def test_that_it_shows_the_file_and_says_what_running_it_means(dialog, file) -> None:
    said = {label.text() for label in dialog.findChildren(Label)}
    assert str(file) in said
    assert WHAT_IT_MEANS in said
    assert dialog.code.toPlainText() == CODE
    assert dialog.code.isReadOnly()
    assert "29 B · changed" in dialog.text
    assert "nothing of it has been run yet" in dialog.text
    assert (
        f"all Python in and below “{file.parent.name}” may run, also after it has changed"
        in dialog.text
    )


def test_that_the_file_is_allowed_as_it_is_shown(dialog, file, qtbot) -> None:
    assert pressed(qtbot, dialog, dialog.file) == [True]
    assert stands(file) is Standing.ALLOWED
    assert allowances().folders == ()
    file.write_text(CODE + "# more")
    assert stands(file) is Standing.CHANGED


def test_that_the_folder_is_allowed_with_what_comes_later(dialog, file, qtbot) -> None:
    assert pressed(qtbot, dialog, dialog.folder) == [True]
    file.write_text("other")
    assert stands(file) is Standing.ALLOWED
    assert allowances().folders == (str(file.parent),)


@pytest.mark.parametrize("key", [Qt.Key.Key_Return, Qt.Key.Key_Escape])
def test_that_return_and_escape_allow_nothing(dialog, file, qtbot, key) -> None:
    assert dialog.cancel.hasFocus()
    assert dialog.cancel.isDefault()
    qtbot.keyClick(dialog, key)
    qtbot.waitUntil(lambda: not dialog.isVisible())
    assert stands(file) is Standing.NEW


def test_that_return_in_the_text_allows_nothing_either(dialog, file, qtbot) -> None:
    dialog.code.setFocus()
    qtbot.keyClick(dialog.code, Qt.Key.Key_Return)
    assert stands(file) is Standing.NEW


@pytest.mark.parametrize("which", ["file", "folder"])
def test_that_a_file_that_changes_between_reading_and_pressing_is_shown_again(
    dialog, file, qtbot, which
) -> None:
    file.write_text("import evil\n")
    button = getattr(dialog, which)
    assert pressed(qtbot, dialog, button) == []
    assert allowances().files == {}
    assert allowances().folders == ()
    assert dialog.code.toPlainText() == "import evil\n"
    assert CHANGED_MEANWHILE in dialog.text
    assert dialog.cancel.hasFocus()
    assert pressed(qtbot, dialog, dialog.file) == [True]
    assert stands(file) is Standing.ALLOWED


def test_that_a_link_that_leads_elsewhere_meanwhile_is_asked_about_again(
    dialog, file, qtbot
) -> None:
    other = Path.home() / "elsewhere.py"
    other.write_text(CODE)
    file.unlink()
    file.symlink_to(other)
    assert pressed(qtbot, dialog, dialog.file) == []
    assert allowances().files == {}


def test_that_a_long_path_makes_the_dialog_no_wider_and_a_link_is_followed(theme, window) -> None:
    folder = Path.home().joinpath(*["a" * 200] * 6)
    folder.mkdir(parents=True)
    (folder / "models.py").write_text(CODE)
    link = Path.home() / "link.py"
    link.symlink_to(folder / "models.py")
    dialog = AllowDialog(link, theme, window)
    assert dialog.minimumSizeHint().width() <= 760
    assert f"{link} → {folder / 'models.py'}" in {
        label.text() for label in dialog.findChildren(Label)
    }


def test_that_a_file_that_vanishes_cannot_be_allowed(dialog, file, qtbot) -> None:
    file.unlink()
    assert pressed(qtbot, dialog, dialog.file) == []
    assert "The file cannot be read: No such file" in dialog.text
    assert not dialog.file.isEnabled()
    assert not dialog.folder.isEnabled()
    assert allowances().files == {}


def test_that_a_file_changed_since_it_was_allowed_is_called_so(file, theme, window) -> None:
    allow_file(file, b"before")
    assert "it has changed since it was allowed" in AllowDialog(file, theme, window).text


def test_that_the_folder_is_not_offered_where_strangers_files_come(theme, window) -> None:
    file = Path.home() / "models.py"
    file.write_text(CODE)
    dialog = AllowDialog(file, theme, window)
    assert dialog.folder.isHidden()
    assert "Allow this folder" not in dialog.text
    dialog._allow_folder()
    assert allowances().folders == ()


def test_that_long_code_is_cut_and_said_to_be_and_five_megabytes_are_refused(
    file, theme, window
) -> None:
    file.write_text("x = 1\n" * 100_000)
    dialog = AllowDialog(file, theme, window)
    assert "Only the first 10,000 of its 100,001 lines are shown" in dialog.text
    assert dialog.code.blockCount() == 10_000
    file.write_text("x = 1\n" * 900_000)
    large = AllowDialog(file, theme, window)
    assert "no program that a person wrote" in large.text
    assert not large.file.isEnabled()


def test_that_what_cannot_be_written_down_is_said(dialog, qtbot) -> None:
    allowances_file().parent.mkdir(parents=True)
    allowances_file().mkdir()
    assert pressed(qtbot, dialog, dialog.file) == []
    assert "could not be written down" in dialog.text
    assert dialog.isVisible()


def test_that_all_of_it_is_reached_by_tab_and_named(dialog, qtbot) -> None:
    assert "" not in [spoken(each) for each in reachable(dialog)]
    seen = set()
    for _ in range(6):
        seen.add(dialog.focusWidget())
        qtbot.keyClick(dialog.focusWidget(), Qt.Key.Key_Tab)
    assert {dialog.code, dialog.file, dialog.folder, dialog.cancel} <= seen


def test_that_the_lines_are_numbered(dialog) -> None:
    assert dialog.code.numbers.width() == dialog.code.margin
    before = dialog.code.numbers.grab().toImage()
    dialog.code.setPlainText("")
    assert dialog.code.numbers.grab().toImage() != before


@pytest.fixture
def listed(file, window) -> AllowedDialog:
    """The list of a folder, a file that has changed, and one that is gone."""
    allow_folder(file.parent)
    changed = Path.home() / "changed.py"
    changed.write_text("now")
    allow_file(changed, b"then")
    allow_file(Path.home() / "gone.py", b"x")
    opened = AllowedDialog(window)
    opened.show()
    return opened


def rows(dialog: AllowedDialog) -> list[tuple[str, str]]:
    return [(row.path.name, row.allowed) for row in dialog.model.rows]


def test_that_all_that_is_allowed_is_listed(listed) -> None:
    assert rows(listed) == [
        ("Meine Modelle", "all in and below it"),
        ("changed.py", "as it was: it has changed since"),
        ("gone.py", "as it was: it is not there now"),
    ]
    assert not listed.forbid.isEnabled()


def test_that_delete_forbids_the_selected_ones(listed, qtbot, file) -> None:
    listed.table.selectRow(0)
    with qtbot.waitSignal(listed.changed):
        qtbot.keyClick(listed.table, Qt.Key.Key_Delete)
    assert [name for name, _ in rows(listed)] == ["changed.py", "gone.py"]
    assert stands(file) is Standing.NEW
    listed.table.selectAll()
    qtbot.keyClick(listed.forbid, Qt.Key.Key_Space)
    assert rows(listed) == []
    assert "No Python file is allowed" in listed.words.text()
    assert allowances().files == {}


def test_that_delete_without_a_selection_does_nothing(listed, qtbot) -> None:
    qtbot.keyClick(listed.table, Qt.Key.Key_Delete)
    assert len(rows(listed)) == 3


def test_that_what_was_allowed_before_a_link_stood_there_can_be_forbidden(
    qtbot, file, window
) -> None:
    allow_file(file, CODE.encode())
    elsewhere = Path.home() / "elsewhere.py"
    file.rename(elsewhere)
    file.symlink_to(elsewhere)
    dialog = AllowedDialog(window)
    assert rows(dialog) == [(file.name, "as it was: a link stands there now")]
    dialog.table.selectRow(0)
    qtbot.keyClick(dialog.table, Qt.Key.Key_Delete)
    assert rows(dialog) == []


def test_that_a_list_that_cannot_be_read_says_so(window) -> None:
    allowances_file().parent.mkdir(parents=True)
    allowances_file().write_text("{")
    assert "cannot be read" in AllowedDialog(window).remark.text
