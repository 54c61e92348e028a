"""Parts of the Plan page without the page: their edits are applied to a document and shown."""

from __future__ import annotations

from typing import Any

from PySide6.QtCore import QPoint, Qt
from PySide6.QtTest import QTest
from PySide6.QtWidgets import QHBoxLayout, QWidget
from pytestqt.qtbot import QtBot

from gpu_studio.plan import Machine, Plan, validate
from gpu_studio.plan.edits.change import Change
from gpu_studio.ui.plan.carving.carve_bar import CarveBar
from gpu_studio.ui.plan.plan_document import PlanDocument
from gpu_studio.ui.plan.plan_view import PlanView

NO_MODIFIER = Qt.KeyboardModifier.NoModifier


class Bench(QWidget):
    """A window with the parts side by side. Counts what they want in `wanted`."""

    def __init__(self, plan: Plan, machine: Machine, *parts: Any) -> None:
        super().__init__()
        self.machine = machine
        self.parts = parts
        self.document = PlanDocument(self)
        self.wanted: list[Change] = []
        row = QHBoxLayout(self)
        for part in parts:
            row.addWidget(part)
            part.edited.connect(self._do)
        self.document.changed.connect(self.show_plan)
        self.document.begin(plan)

    @property
    def plan(self) -> Plan:
        """The plan as it is now."""
        assert self.document.plan is not None
        return self.document.plan

    def show_plan(self) -> None:
        """Show all parts the plan."""
        view = PlanView(self.plan, self.machine, tuple(validate(self.plan, self.machine)))
        for part in self.parts:
            part.show_view(view)

    def _do(self, change: Change) -> None:
        self.wanted.append(change)
        self.document.replace(change.make(self.plan), change.text, change.field)


def open_bench(
    qtbot: QtBot, plan: Plan, machine: Machine, *parts: Any, width: int, height: int
) -> Bench:
    """A bench on the screen, so large that one part has this size."""
    bench = Bench(plan, machine, *parts)
    bench.resize(width + 20, height + 20)
    qtbot.addWidget(bench)
    bench.show()
    bench.activateWindow()
    return bench


def x_of(bar: CarveBar, mib: int) -> int:
    """The pixel at which so many MiB of the card lie."""
    assert bar.track is not None
    return round(0.5 + (bar.width() - 1) * mib / bar.track.length)


def hold(bar: CarveBar, end: int) -> None:
    """Press the button of the mouse on the end of a slice."""
    assert bar.track is not None
    QTest.mousePress(bar, Qt.MouseButton.LeftButton, NO_MODIFIER, at(bar, bar.track.ends[end]))


def pull(bar: CarveBar, mib: int, held: Qt.KeyboardModifier = NO_MODIFIER) -> None:
    """Move the held end to so many MiB from the beginning of the bar."""
    move(bar, at(bar, mib), held)


def let_go(bar: CarveBar, mib: int) -> None:
    """Release the button of the mouse there."""
    QTest.mouseRelease(bar, Qt.MouseButton.LeftButton, NO_MODIFIER, at(bar, mib))


def drag(bar: CarveBar, end: int, mib: int, held: Qt.KeyboardModifier = NO_MODIFIER) -> None:
    """Drag the end of a slice to so many MiB from the beginning of the bar, in steps."""
    hold(bar, end)
    assert bar.track is not None
    half = (bar.track.ends[end] + mib) // 2
    for where in (half, mib):
        pull(bar, where, held)
    let_go(bar, mib)


def at(bar: CarveBar, mib: int) -> QPoint:
    """The point in the middle of the bar where so many MiB lie."""
    return QPoint(x_of(bar, mib), bar.height() // 2)


def move(widget: QWidget, to: QPoint, held: Qt.KeyboardModifier) -> None:
    """Move the pointer with the left button pressed. QTest's own moves carry no keys."""
    from PySide6.QtCore import QEvent, QPointF
    from PySide6.QtGui import QMouseEvent
    from PySide6.QtWidgets import QApplication

    event = QMouseEvent(
        QEvent.Type.MouseMove, QPointF(to), QPointF(widget.mapToGlobal(to)),
        Qt.MouseButton.NoButton, Qt.MouseButton.LeftButton, held,
    )  # fmt: skip
    QApplication.sendEvent(widget, event)


def type_over(widget: QWidget, text: str) -> None:
    """Type in place of all that stands in a field."""
    widget.setFocus()
    QTest.keyClick(widget, Qt.Key.Key_A, Qt.KeyboardModifier.ControlModifier)
    QTest.keyClicks(widget, text)
