"""The large card of the Plan page: a tab for each part of a plan, with everything that can be said of it."""

from __future__ import annotations

from collections.abc import Callable
from typing import Protocol

from PySide6.QtCore import QSize, Qt, Signal
from PySide6.QtWidgets import QStackedWidget, QWidget

from gpu_studio.ui.models.plan.parts import problems_of_parts
from gpu_studio.ui.models.plan.plan_view import PlanView
from gpu_studio.ui.pages.plan.form.tab_order import as_read
from gpu_studio.ui.theme.manager import ThemeManager
from gpu_studio.ui.theme.tokens import GRID
from gpu_studio.ui.widgets.card import Card
from gpu_studio.ui.widgets.marked_tabs import MarkedTabs
from gpu_studio.ui.widgets.tab_order import tab_after

_CLOSE_TABS = "QTabBar::tab { padding: 6px 9px; margin-right: 2px; }"
"""In the smallest window the tabs must leave room for what stands beside them."""


class Editor(Protocol):
    """What stands in a tab: a widget that shows a plan and says by its signal `edited(Change)` what is wanted."""

    edited: Signal

    def show_view(self, view: PlanView) -> None:
        """Show the plan, without reporting what is shown as an edit."""


class Workspace(Card):
    """Shows the plan in the tab that is open. A tab is made when it is first opened, because the window must start.

    Each tab whose part of the plan has a problem is marked, whether it is open or not.
    `edited(Change)` is what the editors say; `opened(str)` names the tab that a person opened.
    """

    edited = Signal(object)
    opened = Signal(str)

    def __init__(self, theme: ThemeManager, parent: QWidget | None = None) -> None:
        super().__init__("", parent)
        self.setAccessibleName("Parts of the plan")
        self.tabs = MarkedTabs("part of the plan", theme)
        self.tabs.setStyleSheet(_CLOSE_TABS)
        self._pages = QStackedWidget()
        self._makers: dict[str, Callable[[], QWidget]] = {}
        self._editors: dict[str, QWidget] = {}
        self._view: PlanView | None = None
        self._shown: dict[str, PlanView] = {}
        self.tabs.currentChanged.connect(self._open)
        self.body.setContentsMargins(GRID + 4, GRID, GRID + 4, GRID)
        self.body.setSpacing(GRID // 2)
        self.header.addWidget(self.tabs)
        self.header.addStretch(1)
        self.body.addLayout(self.header)
        self.body.addWidget(self._pages, 1)

    @property
    def current(self) -> str:
        """The name of the open tab."""
        return self.tabs.tabText(self.tabs.currentIndex())

    def add(self, name: str, make: Callable[[], QWidget], tip: str) -> None:
        """A tab; `make` gives its editor."""
        self._makers[name] = make
        self.tabs.add(name, tip)

    def show_view(self, view: PlanView) -> None:
        """Show the plan."""
        self._view = view
        wrong = problems_of_parts(view.problems)
        for index, name in enumerate(self._makers):
            self.tabs.mark(index, wrong.get(name, ""))
        self._show()

    def open(self, name: str) -> QWidget:
        """Open a tab, and return its editor. Raises KeyError if there is none of the name."""
        names = list(self._makers)
        if name not in names:
            raise KeyError(name)
        self.tabs.setCurrentIndex(names.index(name))
        return self.editor(name)

    def enter(self, name: str) -> None:
        """Open a tab, and go to its first field. Raises KeyError if there is none of the name."""
        first = next((part for part in as_read(self.open(name)) if _is_stop(part, self) and part.isVisible()), None)
        if first is not None:
            # Without its text selected: the next key is not to replace it.
            first.setFocus(Qt.FocusReason.OtherFocusReason)

    def editor(self, name: str) -> QWidget:
        """The editor in a tab, made if it was not yet. Raises KeyError if there is none of the name."""
        if name not in self._editors:
            editor = self._makers[name]()
            editor.edited.connect(self.edited)  # type: ignore[attr-defined]
            self._pages.addWidget(editor)
            # Qt lets Tab come last to what is made late.
            tab_after(self.tabs, [part for part in as_read(editor) if _is_stop(part, self)])
            self._editors[name] = editor
        return self._editors[name]

    def made(self, name: str) -> QWidget | None:
        """The editor in a tab, if somebody has opened it."""
        return self._editors.get(name)

    def sizeHint(self) -> QSize:  # noqa: N802 - Qt's name
        """A width and height that leave the page its shape, whatever is in the tab."""
        return QSize(720, 400)

    def minimumSizeHint(self) -> QSize:  # noqa: N802 - Qt's name
        """The tabs and some lines: an editor scrolls."""
        return QSize(self.tabs.sizeHint().width() + 2 * GRID, 160)

    def begin_with(self, name: str) -> None:
        """Open a tab as soon as there is a plan; one that there is not any more is not missed."""
        if name in self._makers:
            self.tabs.setCurrentIndex(list(self._makers).index(name))

    def step(self, by: int) -> None:
        """Open the tab so many further on; after the last one comes the first."""
        self.tabs.setCurrentIndex((self.tabs.currentIndex() + by) % max(1, self.tabs.count()))

    def _open(self, index: int) -> None:
        if index >= 0:
            self._show()
            self.opened.emit(self.current)

    def _show(self) -> None:
        if self._view is None or not self.current:
            return
        editor = self.editor(self.current)
        self._pages.setCurrentWidget(editor)
        if self._shown.get(self.current) is not self._view:
            self._shown[self.current] = self._view
            editor.show_view(self._view)  # type: ignore[attr-defined]


def _is_stop(widget: QWidget, beside: QWidget) -> bool:
    """Whether Tab stops there, as it does beside it; the list of a combo box is a window of its own."""
    takes = bool(widget.focusPolicy() & Qt.FocusPolicy.TabFocus) and widget.focusProxy() is None
    return takes and widget.window() is beside.window()
