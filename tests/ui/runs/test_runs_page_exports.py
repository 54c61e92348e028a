"""Reports, numbers and pictures of the selected runs, from the dialog to the file."""

from __future__ import annotations

from pathlib import Path

import pytest
from desktop_stand_in import Opener
from made_runs import Script, make_run
from PySide6.QtCore import Qt
from PySide6.QtGui import QDesktopServices, QImage
from PySide6.QtWidgets import QFileDialog
from window_pages import with_runs

from gpu_studio.ui.kit.basic_widgets import ActionButton
from gpu_studio.ui.kit.task import FileJobs, write_lines
from gpu_studio.ui.window.main_window import MainWindow

LEFT = Qt.MouseButton.LeftButton


@pytest.fixture
def two(runs):
    script = {"ending": "completed", "epochs": 2, "trained": 2, "steps": 20, "devices": 1}
    return [make_run(runs, Script(name=name, **script)) for name in ("a", "b")]


@pytest.fixture
def window(open_window, two, qtbot) -> MainWindow:
    return with_runs(open_window(), qtbot, 2)


def save_as(window: MainWindow, path: Path, filtered: str = "") -> None:
    (dialog,) = (each for each in window.findChildren(QFileDialog) if each.isVisible())
    if filtered:
        dialog.selectNameFilter(filtered)
    dialog.setDirectory(str(path.parent))
    dialog.selectFile(path.name)
    dialog.accept()


def test_that_report_writes_one_file_and_offers_to_open_it(
    window: MainWindow, two, tmp_path: Path, qtbot
) -> None:
    browser = Opener()
    QDesktopServices.setUrlHandler("file", browser, "open")
    window.run_list.page.select(*(run.id for run in two))
    (button,) = (
        each for each in window.run_list.page.findChildren(ActionButton) if each.text() == "Report"
    )
    qtbot.mouseClick(button, LEFT)
    save_as(window, tmp_path / "out.html")
    qtbot.waitUntil(lambda: "Written" in window.notice.text)
    text = (tmp_path / "out.html").read_text()
    assert text.lstrip().lower().startswith("<!doctype html")
    assert all(run.id in text for run in two)
    assert (tmp_path / "out.html").stat().st_mode & 0o777 == 0o600
    qtbot.mouseClick(window.notice.button, LEFT)
    QDesktopServices.unsetUrlHandler("file")
    assert browser.asked == [str(tmp_path / "out.html")]


def test_that_the_numbers_of_several_runs_are_a_file_each(
    window: MainWindow, two, tmp_path: Path, qtbot
) -> None:
    window.run_list.page.select(*(run.id for run in two))
    window.actions_["export_run_csv"].trigger()
    save_as(window, tmp_path / "out.csv", "Each step (*.csv)")
    qtbot.waitUntil(lambda: "Written" in window.notice.text)
    for run in two:
        lines = (tmp_path / f"out-{run.id}.csv").read_text().splitlines()
        assert lines[0].startswith("step,epoch,time,loss")
        assert len(lines) == 41


def test_that_the_curves_become_a_picture_or_a_drawing(
    window: MainWindow, two, tmp_path: Path, qtbot
) -> None:
    page = window.run_list.page
    page.select(*(run.id for run in two))
    qtbot.waitUntil(lambda: not page.outcome.reader.waiting)
    window.actions_["export_run_curves"].trigger()
    save_as(window, tmp_path / "out.png")
    qtbot.waitUntil(lambda: "Written" in window.notice.text)
    picture = QImage(str(tmp_path / "out.png"))
    colours = {
        picture.pixel(x, y)
        for x in range(0, picture.width(), 3)
        for y in range(0, picture.height(), 3)
    }
    assert len(colours) > 3
    window.run_list.exports.write_picture(tmp_path / "out.svg")
    qtbot.waitUntil(lambda: "out.svg" in window.notice.text)
    drawing = (tmp_path / "out.svg").read_text()
    assert all(run.id in drawing for run in two)


def test_that_what_cannot_be_written_is_said(
    window: MainWindow, two, tmp_path: Path, qtbot
) -> None:
    window.run_list.page.select(two[0].id)
    (tmp_path / "taken").mkdir()
    window.run_list.exports.write_report(two, tmp_path / "taken")
    qtbot.waitUntil(lambda: "could not be written" in window.notice.text)
    assert sorted(path.name for path in tmp_path.iterdir() if "taken" in path.name) == ["taken"]


def test_that_a_file_given_up_is_neither_there_nor_begun(qtbot, tmp_path: Path) -> None:
    jobs = FileJobs()
    path = tmp_path / "out.csv"

    def endless():
        number = 0
        while True:
            number += 1
            if number == 5000:
                jobs.cancel()
            yield str(number)

    path.write_text("old\n")
    jobs.start(path, lambda stop: write_lines(path, endless(), stop))
    qtbot.waitUntil(lambda: not jobs.busy)
    assert path.read_text() == "old\n"
    assert [each.name for each in tmp_path.iterdir()] == ["out.csv"]
    jobs.close()
