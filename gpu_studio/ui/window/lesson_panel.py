"""What a lesson shows: its text beside the pages, and a ring around what it points at.

Which step is shown, and whether it was done, is decided elsewhere.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Final

from PySide6.QtCore import QEvent, QObject, QPoint, QRect, QRectF, Qt, Signal
from PySide6.QtGui import QColor, QKeyEvent, QPainter, QPaintEvent, QPen, QResizeEvent
from PySide6.QtWidgets import (
    QAbstractButton,
    QDockWidget,
    QFrame,
    QHBoxLayout,
    QMainWindow,
    QMenuBar,
    QTabBar,
    QVBoxLayout,
    QWidget,
)

from gpu_studio.common.guide import guide
from gpu_studio.runs.lessons import Lesson, LessonStep
from gpu_studio.ui.kit import (
    GRID,
    GUIDE_PLACE,
    Button,
    Label,
    Paragraph,
    ThemeManager,
    bring_into_view,
    let_go_of_focus,
)
from gpu_studio.ui.window.guide_view import GuideView

WIDTH_PX: Final = 300
HEIGHT_PX: Final = 330
RAIL_PX: Final = 84
NARROW_PX: Final = 1180
"""In a narrower window the pages keep their width, and the lesson floats over a corner of them."""


class LessonPanel(QDockWidget):
    """A step beside the pages. Its signals are what its buttons ask for.

    `left` fires when it is closed.
    """

    back = Signal()
    on = Signal()
    helped = Signal()
    left = Signal()
    wanted = Signal(str)

    def __init__(self, theme: ThemeManager, parent: QWidget) -> None:
        super().__init__("Lesson", parent)
        self.setObjectName("lesson")
        self._whole = QFrame()
        self._floats: bool | None = None
        self._width = WIDTH_PX
        self.setFeatures(QDockWidget.DockWidgetFeature.NoDockWidgetFeatures)
        self.setTitleBarWidget(QWidget())  # its own head says more, and is as the pages' cards are
        self.progress, self.title = Label(role="section"), Paragraph(role="muted")
        self.head = Paragraph(role="strong")
        self.text = GuideView(guide(), theme)
        self.text.setAccessibleName("text of the lesson")
        self.text.document().setDocumentMargin(0)
        self.standing = Paragraph(role="muted")
        self.close_button = Button("Leave", "quiet", small=True)
        self.back_button = Button("Back", small=True)
        self.help_button = Button("Do it for me", small=True)
        self.next_button = Button("Next", "primary", small=True)
        self._lay_out()
        self.text.wanted.connect(self.wanted)
        self.back_button.clicked.connect(self.back)
        self.next_button.clicked.connect(self.on)
        self.help_button.clicked.connect(self.helped)
        self.close_button.clicked.connect(self.left)
        self.close_button.setToolTip("Close the lesson; Help ▸ Lessons goes on with it (Esc)")
        self.hide()

    def show_step(
        self, lesson: Lesson, index: int, missing: Sequence[str], *, done: bool, trains: bool
    ) -> None:
        """Show a step: what is `missing` of it, or that it is `done`.

        Nothing is to be done for it while the run `trains` that it asks for.
        """
        step, count = lesson.steps[index], len(lesson.steps)
        last = index + 1 == count
        self.setProperty(GUIDE_PLACE, lesson.about)
        self.progress.setText(f"Lesson {lesson.number} · {index + 1} of {count}")
        self.title.setText(lesson.title)
        self.title.setToolTip(lesson.goal)
        self.head.setText(step.title)
        self.text.show_text(f"{step.text}\n\n{step.then}" if done and step.then else step.text)
        self.standing.setText(_standing(step, missing, done=done))
        self.standing.setVisible(bool(self.standing.text()))
        self.back_button.setEnabled(index > 0)
        can_be_done = (step.edits or bool(step.action)) and not trains
        self.help_button.setVisible(not done and can_be_done)
        words = "Finish" if last else "Next" if done else "Skip"
        self.next_button.setText(words)
        self.next_button.setAccessibleName(words)
        kind = "primary" if done else "plain"
        if self.next_button.property("kind") != kind:
            self.next_button.setProperty("kind", kind)
            self.next_button.style().unpolish(self.next_button)
            self.next_button.style().polish(self.next_button)
        self.setAccessibleName(
            f"Lesson {lesson.number}, {lesson.title}: step {index + 1} of {count}, {step.title}"
        )

    def keyPressEvent(self, event: QKeyEvent) -> None:  # noqa: N802 - Qt's name
        """Escape leaves the lesson."""
        if event.key() == Qt.Key.Key_Escape:
            self.left.emit()
        else:
            super().keyPressEvent(event)

    def place(self, window: QMainWindow, pointed: QRect) -> None:
        """Be beside the pages of a window, or over that corner where nothing is `pointed` at."""
        docked = window.dockWidgetArea(self) != Qt.DockWidgetArea.NoDockWidgetArea
        if window.width() >= NARROW_PX:
            if not docked:
                self._show_floating(False)
                window.addDockWidget(Qt.DockWidgetArea.RightDockWidgetArea, self)
                window.resizeDocks([self], [self._width], Qt.Orientation.Horizontal)
                self.show()
            return
        if docked or self._floats is not True:
            window.removeDockWidget(self)
            self.setParent(window)
            self._show_floating(True)
        centre = window.centralWidget()
        pages = (centre.geometry() if centre else window.rect()).adjusted(RAIL_PX, 0, 0, 0)
        corner = QRect(0, 0, WIDTH_PX, HEIGHT_PX)
        corner.moveBottomRight(pages.bottomRight() - QPoint(GRID, GRID))
        if corner.intersects(pointed):
            corner.moveLeft(pages.left() + GRID)
        if corner.intersects(pointed):
            corner.moveTopRight(pages.topRight() + QPoint(-GRID, GRID))
        self.setGeometry(corner)
        self.show()
        self.raise_()

    def resizeEvent(self, event: QResizeEvent) -> None:  # noqa: N802 - Qt's name
        """Note how wide it was made, for when it is shown again."""
        super().resizeEvent(event)
        if self._floats is False and self.isVisible():
            self._width = self.width()

    def _show_floating(self, floats: bool) -> None:
        self._floats = floats
        self._whole.setProperty("floats", floats)
        self._whole.style().unpolish(self._whole)
        self._whole.style().polish(self._whole)

    def leave(self) -> None:
        """Hide, without keeping the focus."""
        let_go_of_focus(self)
        self.hide()

    def _lay_out(self) -> None:
        whole = self._whole
        whole.setObjectName("lesson_panel")
        column, top, bottom = QVBoxLayout(whole), QHBoxLayout(), QHBoxLayout()
        column.setContentsMargins(GRID + 4, GRID + 4, GRID + 4, GRID + 4)
        column.setSpacing(GRID)
        top.setSpacing(GRID)
        top.addWidget(self.progress, 1)
        top.addWidget(self.close_button)
        column.addLayout(top)
        column.addWidget(self.title)
        column.addWidget(self.head)
        column.addWidget(self.text, 1)
        column.addWidget(self.standing)
        bottom.setSpacing(GRID)
        bottom.addWidget(self.back_button)
        bottom.addStretch(1)
        bottom.addWidget(self.help_button)
        bottom.addWidget(self.next_button)
        column.addLayout(bottom)
        self.setWidget(whole)


def _standing(step: LessonStep, missing: Sequence[str], *, done: bool) -> str:
    if step.until is None:
        return ""
    return "✔ Done" if done else f"Waiting for: {'; '.join(missing)}"


class Ring(QWidget):
    """A ring around a part of the window, that takes no clicks and follows the part."""

    def __init__(self, theme: ThemeManager, window: QWidget) -> None:
        super().__init__(window)
        self._theme, self._window = theme, window
        self._around: QWidget | None = None
        self.within: QRect | None = None
        self._watched: list[QWidget] = []
        self.setAttribute(Qt.WidgetAttribute.WA_TransparentForMouseEvents)
        self.setFocusPolicy(Qt.FocusPolicy.NoFocus)
        theme.changed.connect(self.update)
        self.hide()

    @property
    def around(self) -> QWidget | None:
        """The part that it is around; None while it is around nothing."""
        return self._around

    def point(self, target: tuple[QWidget, QRect] | None) -> None:
        """Be around a part, or a rectangle in it; around nothing with None."""
        around, within = target if target is not None else (None, None)
        if around is not self._around:
            for each in self._watched:
                each.removeEventFilter(self)
                each.destroyed.disconnect(self._lose)
            self._watched = list(_with_parents(around))
            for each in self._watched:
                each.installEventFilter(self)
                each.destroyed.connect(self._lose)
            if around is not None:
                bring_into_view(around)
        self._around, self.within = around, within
        self._follow()

    def eventFilter(self, watched: QObject, event: QEvent) -> bool:  # noqa: N802 - Qt's name
        """Follow the part wherever it goes."""
        if event.type() in _MOVING:
            self._follow()
        return super().eventFilter(watched, event)

    def paintEvent(self, _event: QPaintEvent) -> None:  # noqa: N802 - Qt's name
        """Draw it: two lines, so that it is seen on what has its own colour."""
        painter = QPainter(self)
        painter.setRenderHint(QPainter.RenderHint.Antialiasing)
        tokens = self._theme.tokens
        for colour, width, inset in ((tokens.surface, 5.0, 3.0), (tokens.accent, 2.5, 3.0)):
            painter.setPen(QPen(QColor(colour), width))
            inside = QRectF(self.rect()).adjusted(inset, inset, -inset, -inset)
            painter.drawRoundedRect(inside, GRID, GRID)

    def _lose(self) -> None:
        self._around, self._watched = None, []
        self.hide()

    def _follow(self) -> None:
        part = self._around
        shown = self._shown(part, self.within or part.rect()) if part is not None else QRect()
        if part is None or not part.isVisible() or shown.isEmpty():
            self.hide()
            return
        shown = shown.adjusted(-6, -6, 6, 6) & self._window.rect()
        if self.geometry() != shown:
            self.setGeometry(shown)
        self.show()
        self.raise_()

    def _shown(self, part: QWidget, shown: QRect) -> QRect:
        """What can be seen of a rectangle of a part, in the window; empty if it is scrolled away.

        Not `visibleRegion`, which leaves out what a part's own children are painted on.
        """
        for widget in _with_parents(part):
            if widget is self._window:
                break
            shown = (shown & widget.rect()).translated(widget.pos())
        return shown


_MOVING: Final = (
    QEvent.Type.Move,
    QEvent.Type.Resize,
    QEvent.Type.Show,
    QEvent.Type.Hide,
    QEvent.Type.LayoutRequest,
)


def _with_parents(widget: QWidget | None) -> Iterable[QWidget]:
    while widget is not None:
        yield widget
        widget = None if widget.isWindow() else widget.parentWidget()


def find_place(window: QWidget, places: Sequence[str]) -> tuple[QWidget, QRect] | None:
    """The first of the places that can be seen, and which part of it is meant.

    A place is the class of a widget, `name:Train` by its accessible name, where `*` may end it,
    `key:training.epochs` the field of a key of the plan, `tab:Layers` a tab, or `menu:Run` a menu.
    The way to a page or a tab is none where one is there already.
    """
    seen = [each for each in window.findChildren(QWidget) if each.isVisible()]
    for place in places:
        for widget in seen:
            if (rect := _rect(widget, place)) is not None:
                return widget, rect
    return None


def _rect(widget: QWidget, place: str) -> QRect | None:
    kind, name = place.split(":", 1) if ":" in place else ("", place)
    if kind == "tab":
        tabs = widget if isinstance(widget, QTabBar) else None
        texts = [tabs.tabText(index) for index in range(tabs.count())] if tabs else []
        there = tabs is None or name not in texts or tabs.currentIndex() == texts.index(name)
        return None if tabs is None or there else tabs.tabRect(texts.index(name))
    if kind == "menu":
        return _menu_rect(widget, name) if isinstance(widget, QMenuBar) else None
    said = widget.accessibleName()
    if isinstance(widget, QAbstractButton) and widget.group() and widget.isChecked():
        return None
    found = {
        "": type(widget).__name__ == name,
        "name": said == name or (name.endswith("*") and said.startswith(name[:-1])),
        "key": widget.property("plan_key") == name,
    }
    return widget.rect() if found[kind] else None


def _menu_rect(bar: QMenuBar, name: str) -> QRect | None:
    """Where a menu's name stands in the bar; None if there is none."""
    named = (each for each in bar.actions() if each.text().replace("&", "") == name)
    return next((bar.actionGeometry(each) for each in named), None)
