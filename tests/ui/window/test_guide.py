"""The guide in the window: what F1 opens where, and how one finds one's way in it."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from made_runs import Script, make_run
from PySide6.QtCore import Qt, QUrl
from PySide6.QtGui import QTextDocument
from PySide6.QtWidgets import QComboBox, QLineEdit, QPushButton, QTreeWidgetItem, QWidget

import gpu_studio
from gpu_studio.common.guide import guide
from gpu_studio.ui.kit.settings import Settings
from gpu_studio.ui.kit.theme import DARK, LIGHT, ThemeManager
from gpu_studio.ui.plan.form.form import FormRow
from gpu_studio.ui.window import guide_view
from gpu_studio.ui.window.guide_window import PLACES, GuideWindow, place_about
from gpu_studio.ui.window.main_window import MainWindow

CLASS = re.compile(r"^class (\w+)", re.MULTILINE)
F1, CTRL, ALT = Qt.Key.Key_F1, Qt.KeyboardModifier.ControlModifier, Qt.KeyboardModifier.AltModifier
SVG = f'<rect fill="{LIGHT.surface}" stroke="{LIGHT.devices[0]}"/><text fill="{LIGHT.bad}"/>'


@pytest.fixture
def shown(qtbot, theme: ThemeManager, settings: Settings) -> Iterator[GuideWindow]:
    """The guide alone, on its page of concepts."""
    parent = QWidget()
    qtbot.addWidget(parent)
    made = GuideWindow(theme, settings, parent)
    made.show_place("concepts")
    made.show()
    yield made
    parent.close()


def opened_by_f1(window: MainWindow, qtbot, focus: QWidget) -> str:
    """Press F1 in a widget that has the focus, and say which place is shown."""
    focus.window().activateWindow()
    focus.setFocus()
    qtbot.waitUntil(focus.hasFocus)
    qtbot.keyClick(focus, F1)
    made = window.findChild(GuideWindow)
    assert made is not None
    made.reject()
    return made.place


def within(parent: QWidget, name: str) -> QWidget:
    """The first widget of a class, by its name."""
    return next(each for each in parent.findChildren(QWidget) if type(each).__name__ == name)


def test_that_every_place_is_there_and_every_class_that_has_one() -> None:
    files = (Path(gpu_studio.__file__).parent / "ui").rglob("*.py")
    classes = {name for path in files for name in CLASS.findall(path.read_text())}
    assert set(PLACES) <= classes
    assert [place for place in PLACES.values() if guide().section(place) is None] == []
    assert len(PLACES) > 40


def test_that_f1_opens_the_page_about_what_has_the_focus(
    open_window: Callable[..., MainWindow], runs: Path, qtbot
) -> None:
    run = make_run(runs, Script(epochs=2, trained=2))
    window = open_window()
    found: dict[str, str] = {}
    window.show_page("plan")
    for part in ("Training", "Data", "Model", "Strategy"):
        window.plan_page.workspace.open(part)
        editor = window.plan_page.workspace
        for row in editor.findChildren(FormRow):
            control = next(
                (each for each in (row.control, *row.control.findChildren(QLineEdit))
                 if each.isVisible() and each.focusPolicy() & Qt.FocusPolicy.TabFocus),
                None,
            )  # fmt: skip
            if control is not None and len(found) < 18:
                found[row.field.place] = opened_by_f1(window, qtbot, control)
    for key, place in found.items():
        section = guide().section(place)
        assert section is not None
        assert section.page == "options", key
        assert key.startswith(section.title.rpartition(".")[0]), key
    assert len(found) > 14
    assert opened_by_f1(window, qtbot, window.plan_page.name) == "plan"
    window.show_page("devices")
    assert opened_by_f1(window, qtbot, within(window, "DevicesTable")) == (
        "devices#the-table-of-devices"
    )
    window.show_page("runs")
    assert opened_by_f1(window, qtbot, within(window, "RunTable")) == "runs#the-table-of-runs"
    window.show_run(run)
    assert opened_by_f1(window, qtbot, within(window, "RunHeader").window()) == "train"
    assert place_about(within(window, "CheckpointsPane")) == "train#checkpoints-tab"
    window.actions_["shortcuts"].trigger()
    made = window.findChild(GuideWindow)
    assert made is not None
    assert made.place == "shortcuts"
    assert "Ctrl+Return" in made.view.toPlainText()
    made.reject()


def test_that_a_child_without_a_place_has_that_of_what_it_is_in(qtbot) -> None:
    outer, inner = QWidget(), QComboBox()
    qtbot.addWidget(outer)
    inner.setParent(outer)
    assert place_about(inner) == ""
    assert place_about(None) == ""
    outer.setProperty("plan_key", "training.epochs")
    assert place_about(inner) == "options#training.epochs"


def test_that_f1_on_how_a_run_failed_opens_the_part_about_that(
    open_window: Callable[..., MainWindow], runs: Path, qtbot
) -> None:
    run = make_run(runs, Script(epochs=2, trained=1, ending="failed"))
    window = open_window()
    window.show_run(run)
    banner = within(window, "OutcomeBanner")
    qtbot.waitUntil(banner.isVisible)
    button = next(each for each in banner.findChildren(QPushButton) if each.isVisible())
    assert opened_by_f1(window, qtbot, button) == "failures#out-of-memory-on-a-device"
    window.actions_["settings"].trigger()
    dialog = within(window, "SettingsDialog")
    assert opened_by_f1(window, qtbot, within(dialog, "QLineEdit")) == "index#settings"
    dialog.close()


def test_that_one_goes_back_and_forward_by_links_contents_and_keys(
    shown: GuideWindow, qtbot
) -> None:
    shown.view.anchorClicked.emit(QUrl("options.md#trainingepochs"))
    assert shown.place == "options#trainingepochs"
    assert shown.view.verticalScrollBar().value() > 0
    item: QTreeWidgetItem = shown.contents.topLevelItem(2)
    shown.contents.setCurrentItem(item)
    assert shown.place == "devices"
    assert item.isExpanded()
    qtbot.keyClick(shown, Qt.Key.Key_Left, ALT)
    assert shown.place == "options#trainingepochs"
    qtbot.keyClick(shown, Qt.Key.Key_Left, ALT)
    assert shown.place == "concepts"
    assert not shown.back.isEnabled()
    qtbot.keyClick(shown, Qt.Key.Key_Right, ALT)
    assert shown.place == "options#trainingepochs"
    shown.show_place("nowhere")
    assert shown.place == "index"


def test_that_words_are_searched_as_they_are_typed(shown: GuideWindow, qtbot) -> None:
    qtbot.keyClick(shown, Qt.Key.Key_F, CTRL)
    qtbot.waitUntil(shown.search.hasFocus)
    qtbot.keyClicks(shown.search, "bubble")
    assert "Found: bubble" in shown.view.toPlainText()
    qtbot.keyClick(shown, Qt.Key.Key_Left, ALT)
    assert shown.place == "concepts"
    shown.search.setText("xylophone")
    qtbot.keyClick(shown.search, Qt.Key.Key_Return)
    assert "No part of the guide" in shown.view.toPlainText()


def test_that_nothing_but_drawings_of_the_guide_is_loaded(shown: GuideWindow, monkeypatch) -> None:
    image = QTextDocument.ResourceType.ImageResource.value
    assert not shown.view.loadResource(image, QUrl("drawings/slice.svg")).isNull()
    assert (
        shown.view.loadResource(image, QUrl("images/plan.png")).deviceIndependentSize().width()
        == 660
    )
    for other in ("file:///etc/passwd", "/etc/passwd", "drawings/../index.md", "http://a.b/c.svg"):
        assert shown.view.loadResource(image, QUrl(other)) is None
    style = QTextDocument.ResourceType.StyleSheetResource.value
    assert shown.view.loadResource(style, QUrl("drawings/slice.svg")) is None
    asked: list[str] = []
    monkeypatch.setattr(
        guide_view.QDesktopServices, "openUrl", lambda url: asked.append(url.toString())
    )
    shown.view.anchorClicked.emit(QUrl("https://keras.io/"))
    assert asked == ["https://keras.io/"]
    assert shown.place == "concepts"


def test_that_page_and_drawings_follow_the_theme_where_they_stand(
    shown: GuideWindow, theme: ThemeManager
) -> None:
    shown.show_place("concepts#bubble")
    bar = shown.view.verticalScrollBar()
    before, light = bar.value(), shown.view.toHtml()
    theme.set_mode("dark")
    assert bar.value() == before
    assert DARK.accent in shown.view.toHtml()
    assert DARK.accent not in light
    theme.set_mode("light")


@pytest.mark.parametrize("path", sorted(guide().folder.glob("images/*-dark.png")), ids=str)
def test_that_pictures_of_the_window_are_dark_where_the_window_is(
    shown: GuideWindow, theme: ThemeManager, path: Path
) -> None:
    image, name = QTextDocument.ResourceType.ImageResource.value, path.name.replace("-dark", "")
    for mode, is_dark in (("dark", True), ("light", False)):
        theme.set_mode(mode)
        picture = shown.view.loadResource(image, QUrl(f"images/{name}")).toImage()
        assert (picture.scaled(1, 1).pixelColor(0, 0).lightness() < 90) == is_dark


def test_that_its_size_is_remembered(shown: GuideWindow, settings: Settings, theme, qtbot) -> None:
    shown.resize(700, 500)
    qtbot.keyClick(shown, Qt.Key.Key_Escape)
    assert not shown.isVisible()
    again = GuideWindow(theme, settings, shown.parentWidget())
    assert again.size().width() == 700
