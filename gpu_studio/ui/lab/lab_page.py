"""The Lab page: a list of what can be measured and what was, and beside it what is chosen there.

It is put together of sections (`LabSection`), which know nothing of each other.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import partial

from PySide6.QtCore import Signal
from PySide6.QtGui import QHideEvent, QResizeEvent, QShowEvent
from PySide6.QtWidgets import QHBoxLayout, QStackedWidget, QWidget

from gpu_studio.ui.kit import GAP, GRID, CardFrame, Page, ThemeManager
from gpu_studio.ui.kit.settings import LAB_ENTRY, Settings
from gpu_studio.ui.lab.lab_list import LabList, Line
from gpu_studio.ui.lab.lab_section import LabSection

_LIST, _NARROW_LIST, _ROOMY = 268, 224, 1100
_BETWEEN = "/"


class LabPage(Page):
    """Sections of entries, of which one is chosen and shown. Read only while it is seen.

    `turned` fires when another entry is shown.
    """

    turned = Signal()

    def __init__(
        self,
        theme: ThemeManager,
        settings: Settings,
        sections: Sequence[LabSection],
        parent: QWidget | None = None,
    ) -> None:
        super().__init__("Lab", parent)
        self._settings = settings
        self.sections = {section.name: section for section in sections}
        self._shown = ""
        self.list = LabList(theme)
        self.views = QStackedWidget()
        self._card = CardFrame()
        self._lay_out()
        self.list.chosen.connect(self._show)
        for section in sections:
            self._add(section)
        for button in (each for section in sections for each in section.lasting_buttons):
            self.add_button(button)
        self._fill()
        self._recall()

    @property
    def chosen(self) -> tuple[str, str] | None:
        """The section and the key of the entry that is shown; None if there is none."""
        return self.list.place

    def choose(self, section: str, key: str) -> None:
        """Show this entry of a section, if it is there."""
        self.list.choose(section, key)

    def showEvent(self, event: QShowEvent) -> None:  # noqa: N802 - Qt's name
        """Keep up to date while the page is seen."""
        super().showEvent(event)
        if self.focusWidget() is None:
            self.list.setFocus()
        for section in self.sections.values():
            section.watch()

    def hideEvent(self, event: QHideEvent) -> None:  # noqa: N802 - Qt's name
        """Read nothing more."""
        super().hideEvent(event)
        for section in self.sections.values():
            section.rest()

    def resizeEvent(self, event: QResizeEvent) -> None:  # noqa: N802 - Qt's name
        """Leave the pictures more of a small window."""
        super().resizeEvent(event)
        self._card.setFixedWidth(_LIST if self.width() >= _ROOMY else _NARROW_LIST)

    def close_parts(self) -> None:
        """Let go of what the sections watch."""
        for section in self.sections.values():
            section.close_parts()

    def _lay_out(self) -> None:
        self._card.setAccessibleName("What can be measured")
        self._card.setFixedWidth(_LIST)
        self._card.body.setContentsMargins(GRID + 2, GRID, GRID + 2, GRID)
        self._card.body.addWidget(self.list)
        row = QHBoxLayout()
        row.setSpacing(GAP)
        row.addWidget(self._card)
        row.addWidget(self.views, 1)
        self.column.addLayout(row, 1)

    def _add(self, section: LabSection) -> None:
        section.setParent(self)
        self.views.addWidget(section.view)
        for button in section.buttons:
            self.add_button(button)
            button.hide()
        section.changed.connect(self._fill)
        section.wanted.connect(partial(self._want, section))
        section.line_changed.connect(self._tell)

    def _want(self, section: LabSection, key: str) -> None:
        self._fill()
        self.list.choose(section.name, key)

    def _fill(self) -> None:
        self.list.set_lines([line for each in self.sections.values() for line in _lines(each)])

    def _recall(self) -> None:
        """Choose what was chosen last, or else the first."""
        section, _, key = self._settings.get(LAB_ENTRY).partition(_BETWEEN)
        self.list.choose(section, key)
        if self.list.place is None and self.list.places:
            self.list.choose(*self.list.places[0])

    def _show(self, name: str, key: str) -> None:
        section = self.sections[name]
        if name != self._shown:
            for each in self.sections.values():
                for button in each.buttons:
                    button.setVisible(each is section)
            self._shown = name
        section.show_entry(key)
        self.views.setCurrentWidget(section.view)
        self._settings.set(LAB_ENTRY, f"{name}{_BETWEEN}{key}")
        self._tell()
        self.turned.emit()

    def _tell(self) -> None:
        shown = self.sections.get(self._shown)
        self.caption.setText(shown.caption if shown is not None else "")


def _lines(section: LabSection) -> Iterator[Line]:
    yield Line(section.name, section.heading, heads=True)
    for entry in section.entries:
        yield Line(section.name, entry=entry)
    if not section.entries:
        yield Line(section.name, section.nothing)
