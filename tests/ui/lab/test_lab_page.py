"""The Lab page: its list of entries by half, and what is shown of the chosen one."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import pytest
from PySide6.QtCore import QPoint, Qt
from PySide6.QtGui import QAccessible
from PySide6.QtWidgets import QLabel, QWidget

from gpu_studio.ui.kit.basic_widgets import Button
from gpu_studio.ui.lab.lab_list import said
from gpu_studio.ui.lab.lab_page import LabPage
from gpu_studio.ui.lab.lab_section import LabEntry, LabSection


class Section(LabSection):
    """A half whose view is a label that names what is shown."""

    def __init__(self, name: str, *entries: LabEntry) -> None:
        super().__init__()
        self.name, self.heading, self.nothing = name, name.upper(), f"no {name} yet"
        self.kept = list(entries)
        self.label, self.button, self.maker = QLabel(), Button(f"{name} one"), Button(f"{name} new")
        self.life: list[str] = []

    @property
    def entries(self) -> Sequence[LabEntry]:
        return self.kept

    @property
    def view(self) -> QWidget:
        return self.label

    @property
    def buttons(self) -> Sequence[QWidget]:
        return (self.button,)

    @property
    def lasting_buttons(self) -> Sequence[QWidget]:
        return (self.maker,)

    @property
    def caption(self) -> str:
        return f"about {self.label.text()}"

    def show_entry(self, key: str) -> None:
        self.label.setText(key)

    def watch(self) -> None:
        self.life.append("watch")

    def rest(self) -> None:
        self.life.append("rest")

    def have(self, *entries: LabEntry) -> None:
        self.kept = list(entries)
        self.changed.emit()


ONE, TWO = LabEntry("1", "One", "1.9 ×"), LabEntry("2", "Two", state="4 of 6", running=True)
Make = Callable[..., LabPage]


@pytest.fixture
def make(theme, settings, qtbot) -> Make:
    def made(*sections: Section) -> LabPage:
        page = LabPage(theme, settings, sections)
        qtbot.addWidget(page)
        page.resize(1200, 700)
        page.show()
        return page

    return made


@pytest.fixture
def halves() -> tuple[Section, Section]:
    return Section("studies"), Section("benchmarks", ONE, TWO)


def test_that_the_first_entry_is_shown_and_a_half_without_one_says_so(make, halves):
    page = make(*halves)
    assert page.chosen == ("benchmarks", "1")
    assert (halves[1].label.text(), page.views.currentWidget()) == ("1", halves[1].label)
    model = page.list.model()
    lines = [model.index(row, 0).data() for row in range(model.rowCount())]
    assert lines == ["STUDIES", "no studies yet", "BENCHMARKS", "One", "Two"]


def test_that_the_arrow_keys_pass_over_the_headings(make, halves, qtbot):
    halves[0].kept = [ONE]
    page = make(*halves)
    page.list.setFocus()
    assert page.chosen == ("studies", "1")
    qtbot.keyClick(page.list, Qt.Key.Key_Down)
    assert page.chosen == ("benchmarks", "1")
    qtbot.keyClick(page.list, Qt.Key.Key_Down)
    assert page.chosen == ("benchmarks", "2")
    qtbot.keyClick(page.list, Qt.Key.Key_Up)
    qtbot.keyClick(page.list, Qt.Key.Key_Up)
    assert page.chosen == ("studies", "1")


def test_that_a_click_chooses_an_entry_and_none_chooses_a_heading(make, halves, qtbot):
    page = make(*halves)
    model = page.list.model()
    for row, chosen in ((4, "2"), (2, "2"), (1, "2"), (3, "1")):
        area = page.list.visualRect(model.index(row, 0))
        place = area.center() if row in (3, 4) else area.topLeft() + QPoint(20, 10)
        qtbot.mouseClick(page.list.viewport(), Qt.MouseButton.LeftButton, pos=place)
        assert page.chosen == ("benchmarks", chosen)


def test_that_buttons_of_a_half_stand_there_only_with_its_entries(make, halves):
    halves[0].kept = [ONE]
    page = make(*halves)
    one, other = halves
    assert not one.button.isHidden()
    assert other.button.isHidden()
    page.choose("benchmarks", "2")
    assert one.button.isHidden()
    assert not other.button.isHidden()
    assert not one.maker.isHidden()
    assert not other.maker.isHidden()
    assert page.caption.text() == "about 2"


def test_that_the_chosen_entry_is_remembered(make, halves, settings):
    make(*halves).choose("benchmarks", "2")
    assert make(Section("studies", ONE), Section("benchmarks", ONE, TWO)).chosen == (
        "benchmarks",
        "2",
    )
    assert make(Section("studies", ONE), Section("benchmarks", ONE)).chosen == ("studies", "1")


def test_that_an_entry_stays_chosen_while_its_words_and_its_neighbours_change(make, halves):
    page = make(*halves)
    page.choose("benchmarks", "2")
    halves[1].have(ONE, LabEntry("2", "Two", "62 %", "running", running=True))
    assert page.list.line_at(("benchmarks", "2")).figure == "62 %"
    halves[0].have(ONE)
    assert page.chosen == ("benchmarks", "2")
    assert page.list.currentIndex().data() == "Two"
    halves[1].have(ONE)
    assert page.chosen == ("benchmarks", "1")
    assert halves[1].label.text() == "1"


def test_that_an_entry_is_shown_when_its_half_wants_it(make, halves):
    page = make(*halves)
    halves[0].kept = [ONE]
    halves[0].wanted.emit("1")
    assert page.chosen == ("studies", "1")
    assert page.views.currentWidget() is halves[0].label


def test_that_halves_are_kept_up_to_date_only_while_the_page_is_seen(make, halves):
    page = make(*halves)
    assert halves[1].life == ["watch"]
    page.hide()
    assert halves[1].life == ["watch", "rest"]


def test_that_an_entry_is_heard_with_its_figure_and_that_it_runs(make, halves):
    page = make(*halves)
    index = page.list.model().index(4, 0)
    assert index.data(Qt.ItemDataRole.AccessibleTextRole) == "Two, 4 of 6, running"
    assert said(ONE) == "One, 1.9 ×"
    heard = QAccessible.queryAccessibleInterface(page.list)
    assert heard.text(QAccessible.Text.Name) == "Studies and benchmarks"


def test_that_a_long_title_takes_two_lines_and_no_figure_is_cut(make):
    long = LabEntry("long", "One after another, and all at once", "3.97 × of 4")
    page = make(Section("benchmarks", ONE, long))
    model = page.list.model()
    short, tall = (page.list.sizeHintForIndex(model.index(row, 0)).height() for row in (1, 2))
    assert tall > short


def test_that_the_buttons_that_last_stand_at_the_right(make, halves):
    page = make(*halves)
    makers = [half.maker.x() for half in halves]
    for half in halves:
        page.choose(half.name, "1")
        assert all(half.button.x() < at for at in makers)
