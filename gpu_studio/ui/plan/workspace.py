"""The large card of the Plan page: a tab for each part of a plan, with all of its settings.

Each tab is created, and its module imported, when it is first opened: all together they would
delay the window's start by a tenth of a second.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Protocol

from PySide6.QtCore import QSize, Qt, Signal
from PySide6.QtWidgets import QStackedWidget, QWidget

from gpu_studio.ui.kit import GRID, ActionSet, CardFrame, MarkedTabs, ThemeManager, tab_after
from gpu_studio.ui.machine.checkup import Checkup
from gpu_studio.ui.plan.form.tab_order import as_read
from gpu_studio.ui.plan.plan_facts import FactsReader
from gpu_studio.ui.plan.plan_view import PlanView, problems_of_parts

_CLOSE_TABS = "QTabBar::tab { padding: 6px 9px; margin-right: 2px; }"
"""In the smallest window the tabs must leave space for what stands beside them."""


class Editor(Protocol):
    """A tab's widget: it shows a plan, and its signal `edited(Change)` is the user's change."""

    edited: Signal

    def show_view(self, view: PlanView) -> None:
        """Show the plan, without reporting it as an edit."""


class Workspace(CardFrame):
    """Shows the plan in the open tab.

    A tab is created when it is first opened, so that the window starts fast. Each tab whose part of
    the plan has a problem is marked, whether it is open or not. `edited(Change)` comes from the
    editors; `opened(str)` names the tab that the user opened.
    """

    edited = Signal(object)
    opened = Signal(str)

    def __init__(self, theme: ThemeManager, parent: QWidget | None = None) -> None:
        super().__init__("", parent)
        self.setAccessibleName("Parts of the plan")
        self.tabs = MarkedTabs("part of the plan", theme)
        self.tabs.setStyleSheet(_CLOSE_TABS)
        self._pages = QStackedWidget()
        self._makers: dict[str, Callable[[QWidget], QWidget]] = {}
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

    def add(self, name: str, make: Callable[[QWidget], QWidget], tip: str) -> None:
        """Add a tab; `make` returns its editor, made with the parent that it gets.

        With another parent, or none, Qt would polish each of its widgets twice.
        """
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
        """Open a tab and return its editor. Raises KeyError if there is none of that name."""
        names = list(self._makers)
        if name not in names:
            raise KeyError(name)
        self.tabs.setCurrentIndex(names.index(name))
        return self.editor(name)

    def enter(self, name: str) -> None:
        """Open a tab and go to its first field. Raises KeyError if there is none of that name."""
        first = next(
            (
                part
                for part in as_read(self.open(name))
                if _is_stop(part, self) and part.isVisible()
            ),
            None,
        )
        # Without selecting its text: the next key must not replace it. Where nothing can be set the
        # tabs have the focus, or what was hidden would hand it to a part beside this one.
        (first or self.tabs).setFocus(Qt.FocusReason.OtherFocusReason)

    def editor(self, name: str) -> QWidget:
        """Return the editor in a tab, creating it if needed.

        Raises KeyError if there is none of that name.
        """
        if name not in self._editors:
            editor = self._makers[name](self._pages)
            editor.edited.connect(self.edited)  # type: ignore[attr-defined]
            self._pages.addWidget(editor)
            # Qt puts widgets that are created late at the end of the Tab order.
            tab_after(self.tabs, [part for part in as_read(editor) if _is_stop(part, self)])
            self._editors[name] = editor
        return self._editors[name]

    def made(self, name: str) -> QWidget | None:
        """Return the editor in a tab if it has been opened."""
        return self._editors.get(name)

    def sizeHint(self) -> QSize:  # noqa: N802 - Qt's name
        """A size that preserves the page's shape, whatever is in the tab."""
        return QSize(720, 400)

    def minimumSizeHint(self) -> QSize:  # noqa: N802 - Qt's name
        """The tabs and some lines: an editor scrolls."""
        return QSize(self.tabs.sizeHint().width() + 2 * GRID, 160)

    def begin_with(self, name: str) -> None:
        """Open a tab once there is a plan; a tab that no longer exists is ignored."""
        if name in self._makers:
            self.tabs.setCurrentIndex(list(self._makers).index(name))

    def step(self, by: int) -> None:
        """Open the tab that many further on; the first follows the last."""
        self.tabs.setCurrentIndex((self.tabs.currentIndex() + by) % max(1, self.tabs.count()))

    def _open(self, index: int) -> None:
        if index >= 0:
            self._show()
            self.opened.emit(self.current)

    def _show(self) -> None:
        if self._view is None or not self.current:
            return
        editor = self.editor(self.current)
        if self._shown.get(self.current) is not self._view:
            self._shown[self.current] = self._view
            editor.show_view(self._view)  # type: ignore[attr-defined]
        # Only now: what waits until it is seen is then filled once, with this plan.
        self._pages.setCurrentWidget(editor)


def _is_stop(widget: QWidget, beside: QWidget) -> bool:
    """Return whether Tab stops there.

    The list of a combo box is a window of its own.
    """
    takes = bool(widget.focusPolicy() & Qt.FocusPolicy.TabFocus) and widget.focusProxy() is None
    return takes and widget.window() is beside.window()


_TIPS = {
    "Devices": "What TensorFlow sees of each device, and in which slices",
    "Model": "Which model, with which options, and its layers",
    "Data": "Which data, and what they look like",
    "Training": "How long, how fast, and with which optimizer it learns",
    "Strategy": "How the work is spread over the devices",
    "Layers": "Which layer runs on which device",
    "File": "The plan as the text of its file",
    "Changes": "What is different from the plan's file, or another plan",
}


def add_tabs(
    workspace: Workspace,
    theme: ThemeManager,
    facts: FactsReader,
    checkup: Checkup,
    actions: ActionSet,
    runs: Path | None = None,
) -> None:
    """Add the tabs to the workspace.

    `runs` is the folder of runs, of which one may have measured what a plan predicts.
    """
    tabs: dict[str, Callable[[QWidget], QWidget]] = {
        "Devices": partial(_devices, theme, actions),
        "Model": _with_facts(facts, _model, theme),
        "Data": _with_facts(facts, _data, theme),
        "Training": _with_facts(facts, _training, theme),
        "Strategy": _with_facts(facts, _strategy, theme, checkup),
        "Layers": _with_facts(facts, _layers, theme, runs),
        "File": partial(_file, actions, theme),
        "Changes": partial(_changes, actions),
    }
    for name, make in tabs.items():
        workspace.add(name, make, _TIPS[name])


def _with_facts(
    facts: FactsReader, make: Callable[..., QWidget], *given: object
) -> Callable[[QWidget], QWidget]:
    def made(parent: QWidget) -> QWidget:
        editor = make(*given, parent)
        editor.set_facts(facts)  # type: ignore[attr-defined]
        return editor

    return made


def _devices(theme: ThemeManager, actions: ActionSet, parent: QWidget) -> QWidget:
    from gpu_studio.ui.plan.devices_tab import DevicesTab

    return DevicesTab(theme, actions["practise"], parent)


def _model(theme: ThemeManager, parent: QWidget) -> QWidget:
    from gpu_studio.ui.plan.model_tab import ModelTab

    return ModelTab(theme, parent)


def _data(theme: ThemeManager, parent: QWidget) -> QWidget:
    from gpu_studio.ui.plan.data_tab import DataTab

    return DataTab(theme, parent)


def _training(theme: ThemeManager, parent: QWidget) -> QWidget:
    from gpu_studio.ui.plan.training_tab import TrainingTab

    return TrainingTab(theme, parent)


def _strategy(theme: ThemeManager, checkup: Checkup, parent: QWidget) -> QWidget:
    from gpu_studio.ui.plan.strategy_tab import StrategyTab

    tab = StrategyTab(theme, parent)
    checkup.follow_topology(tab.set_topology)
    return tab


def _layers(theme: ThemeManager, runs: Path | None, parent: QWidget) -> QWidget:
    from gpu_studio.ui.plan.layers.layers_tab import LayersTab

    return LayersTab(theme, runs=runs, parent=parent)


def _file(actions: ActionSet, theme: ThemeManager, parent: QWidget) -> QWidget:
    from gpu_studio.ui.plan.file_tabs import FileTab

    return FileTab(actions["copy_plan"], theme, parent)


def _changes(actions: ActionSet, parent: QWidget) -> QWidget:
    from gpu_studio.ui.plan.file_tabs import ChangesTab

    return ChangesTab(actions["compare_plan"], parent)
