"""The forecast card.

It shows obstacles, the logical devices with what a step takes of each, and warnings.
"""

from __future__ import annotations

from collections.abc import Sequence

from PySide6.QtCore import QRectF, QSize, Qt, QTimer, Signal
from PySide6.QtGui import QColor, QEnterEvent, QFocusEvent, QPainter, QPaintEvent
from PySide6.QtWidgets import QGridLayout, QSizePolicy, QVBoxLayout, QWidget

from gpu_studio.common.figures import plural
from gpu_studio.hardware.topology import Topology
from gpu_studio.placement.plan_facts import PlanFacts
from gpu_studio.plan.edits.change import Change
from gpu_studio.ui.kit import (
    GRID,
    LEFT,
    RIGHT,
    CardFrame,
    Label,
    Paragraph,
    Scrolled,
    ThemeManager,
    draw_focus,
    font,
    sentence,
)
from gpu_studio.ui.plan.cluster_examination import KEY, ClusterExamination
from gpu_studio.ui.plan.concerns import ConcernList, Obstacles, PlanConcern, warnings
from gpu_studio.ui.plan.form.tab_order import follow_layout
from gpu_studio.ui.plan.outlook import MemoryPart, MemoryRow, Prospect, facts, prospects
from gpu_studio.ui.plan.outlook_bar import shades
from gpu_studio.ui.plan.plan_facts import FactsBar, FactsReader
from gpu_studio.ui.plan.plan_view import PlanView, mistakes

_SIGN = 10


class PartLine(QWidget):
    """One part: its shade, its name, its bytes.

    Its formula is in its tooltip and its text for screen readers.
    """

    pointed = Signal(str)

    def __init__(self, theme: ThemeManager, number: int, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._theme = theme
        self._number = number
        self._place = 0
        self._part = MemoryPart()
        self.setFont(font("caption"))
        self.setFocusPolicy(Qt.FocusPolicy.StrongFocus)
        self.setSizePolicy(QSizePolicy.Policy.Expanding, QSizePolicy.Policy.Fixed)
        theme.changed.connect(self.update)

    @property
    def part(self) -> MemoryPart:
        """The part shown."""
        return self._part

    def show_part(self, part: MemoryPart, place: int, device: str) -> None:
        """Show a part of this device."""
        self._part, self._place = part, place
        self.setAccessibleName(f"{part.name} on {device}: {part.amount}")
        self.setAccessibleDescription(part.reported)
        self.setToolTip(part.reported)
        self.update()

    def sizeHint(self) -> QSize:  # noqa: N802 - Qt's name
        """One line."""
        return QSize(160, self.fontMetrics().height() + 4)

    def enterEvent(self, event: QEnterEvent) -> None:  # noqa: N802 - Qt's name
        """Report the pointer."""
        super().enterEvent(event)
        self.pointed.emit(self._part.name)

    def focusInEvent(self, event: QFocusEvent) -> None:  # noqa: N802 - Qt's name
        """Report the focus."""
        super().focusInEvent(event)
        self.pointed.emit(self._part.name)

    def paintEvent(self, event: QPaintEvent) -> None:  # noqa: N802 - Qt's name
        """Draw the line."""
        del event
        tokens = self._theme.tokens
        painter = QPainter(self)
        painter.setRenderHint(QPainter.RenderHint.Antialiasing)
        draw_focus(painter, self, tokens, 4)
        line = QRectF(self.rect()).adjusted(4, 0, -4, 0)
        sign = QRectF(line.left(), line.center().y() - _SIGN / 2, _SIGN, _SIGN)
        painter.setPen(QColor(tokens.line))
        painter.setBrush(QColor(shades(tokens.device_colour(self._place), tokens)[self._number]))
        painter.drawRoundedRect(sign, 2, 2)
        painter.setPen(QColor(tokens.muted))
        painter.drawText(line.adjusted(_SIGN + 6, 0, 0, 0), LEFT, self._part.name)
        painter.setPen(QColor(tokens.text))
        painter.drawText(line, RIGHT, self._part.amount)


class MemoryParts(QWidget):
    """The parts of the device that was pointed at last, and the formula of the last such part."""

    def __init__(self, theme: ThemeManager, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._theme = theme
        self.lines: list[PartLine] = []
        self._pointed = ""
        self._prospect: Prospect | None = None
        self.title = Paragraph(role="caption")
        self.formula = Paragraph(role="caption")
        self._column = QVBoxLayout(self)
        self._column.setContentsMargins(0, 0, 0, 0)
        self._column.setSpacing(0)
        self._column.addWidget(self.title)
        self._column.addWidget(self.formula)

    def show_prospect(self, prospect: Prospect | None) -> None:
        """Show the parts of this device; without any, hide."""
        self._prospect = prospect
        self.setVisible(prospect is not None and bool(prospect.parts))
        if prospect is None or not prospect.parts:
            return
        self.title.setText(f"{prospect.name}: the most that each part takes")
        while len(self.lines) < len(prospect.parts):
            self._add_line()
        for line, part in zip(self.lines, prospect.parts, strict=True):
            line.show_part(part, prospect.place, prospect.name)
        self._say()

    def _add_line(self) -> None:
        line = PartLine(self._theme, len(self.lines))
        line.pointed.connect(self._point)
        self._column.insertWidget(1 + len(self.lines), line)
        self.lines.append(line)

    def _point(self, name: str) -> None:
        self._pointed = name
        self._say()

    def _say(self) -> None:
        """Show the formula of the part pointed at, else of the total."""
        if self._prospect is not None:
            formulas = {part.name: f"{part.name}: {part.formula}" for part in self._prospect.parts}
            self.formula.setText(formulas.get(self._pointed, self._prospect.formula))


class OutlookCard(CardFrame):
    """`edited(Change)` is a remedy that the user chose.

    `set_facts` and `set_topology` bring what others know.
    """

    edited = Signal(object)

    def __init__(self, theme: ThemeManager, parent: QWidget | None = None) -> None:
        super().__init__("What will happen", parent)
        self._theme = theme
        self._view: PlanView | None = None
        # Several answers often come in one turn of the event loop: all are shown once, in the next.
        self._soon = QTimer(self)
        self._soon.setSingleShot(True)
        self._soon.setInterval(0)
        self._soon.timeout.connect(self._show)
        self._reader: FactsReader | None = None
        self._examination: ClusterExamination | None = None
        self._topology: Topology | None = None
        self._drawn: PlanFacts | None = None
        self._pointed = ""
        self._found = Obstacles()
        self._stops: tuple[tuple[str, ...], ...] = ()
        self.heading = Paragraph(role="strong")
        self.obstacles, self.warnings = ConcernList(theme, "bad"), ConcernList(theme, "warning")
        self.figures = _Figures()
        self.rows: dict[str, MemoryRow] = {}
        self.parts = MemoryParts(theme)
        self.waiting = FactsBar("what a step takes", offers_consent=False)
        for concerns in (self.obstacles, self.warnings):
            concerns.mending.connect(self._remedy)
            concerns.reading.connect(self._read)
        self._lay_out()

    def set_facts(self, reader: FactsReader) -> None:
        """Follow what TensorFlow says about the plan."""
        self._reader = reader
        reader.changed.connect(self._hear)

    def set_examination(self, examination: ClusterExamination) -> None:
        """Show what was found on the machines of a cluster plan."""
        self._examination = examination
        examination.changed.connect(self._show)

    def set_topology(self, topology: Topology | None) -> None:
        """Show how the cards are connected, as far as the driver has said."""
        self._topology = topology
        self._show()

    def show_view(self, view: PlanView) -> None:
        """Show the plan's obstacles, and its forecast on the machine."""
        self._view = view
        self._show()

    def _hear(self) -> None:
        """Show at once what is being asked, and soon what the facts say, if that is new."""
        known = self._known()
        self._show_reader(known)
        if known is not self._drawn:
            self._soon.start()

    def _known(self) -> PlanFacts | None:
        return self._reader.facts if self._reader else None

    def _show(self) -> None:
        view, known = self._view, self._known()
        if view is None:
            return
        self._soon.stop()
        self._drawn = known
        lacking, seen_to = self._of_machines(view)
        standing = (*self._found.of(view), *lacking)
        wrong = len(mistakes(view.problems)) + len(lacking)
        self.heading.setText(_heading(len(view.problems) + len(lacking), wrong))
        self.heading.setVisible(bool(standing))
        self.obstacles.show_concerns(standing)
        self.warnings.show_concerns((*warnings(view, known, self._topology), *seen_to))
        rows = facts(view.plan, view.machine, known.data if known else None)
        self.figures.show_rows((*rows, *self._examined(view)))
        self._show_devices(_devices(view, known))
        self._show_reader(known)
        self._order()

    def _of_machines(
        self, view: PlanView
    ) -> tuple[tuple[PlanConcern, ...], tuple[PlanConcern, ...]]:
        """What the workers' machines lack, and what is to be seen to there; for a sound plan."""
        if self._examination is None or view.problems:
            return (), ()
        return self._examination.concerns("bad"), self._examination.concerns("warning")

    def _examined(self, view: PlanView) -> tuple[tuple[str, str], ...]:
        well = self._examination is not None and self._examination.is_well and not view.problems
        return (("Examined for its workers", "all is well"),) if well else ()

    def _order(self) -> None:
        """Put widgets that were created late into the Tab order where they stand."""
        remedies = (f"{key} {len(view.others)}" for key, view in self.warnings.views.items())
        stops = tuple(self.rows), tuple(self.obstacles.views), tuple(remedies)
        if stops != self._stops:
            self._stops = stops
            follow_layout(self.waiting)

    def _show_devices(self, devices: Sequence[Prospect]) -> None:
        if [each.name for each in devices] != list(self.rows):
            self._rebuild(devices)
        for each in devices:
            self.rows[each.name].show_prospect(each)
        fullest = max(devices, key=lambda each: (each.total, -each.place), default=None)
        self.parts.show_prospect(
            next((each for each in devices if each.name == self._pointed), fullest)
        )

    def _rebuild(self, devices: Sequence[Prospect]) -> None:
        for row in self.rows.values():
            self._devices.removeWidget(row)
            row.hide()
            row.deleteLater()
        self.rows = {each.name: MemoryRow(self._theme, each) for each in devices}
        for name, row in self.rows.items():
            row.pointed.connect(lambda name=name: self._point(name))
            self._devices.addWidget(row)

    def _point(self, name: str) -> None:
        self._pointed = name
        self.parts.show_prospect(self.rows[name].prospect)

    def _show_reader(self, known: PlanFacts | None) -> None:
        """Show what is being waited for. The obstacles say why something is not available."""
        reported = known is not None and (known.model is not None or bool(known.data_error))
        if self._reader is not None:
            stands = bool(self._view and self._view.problems) and not self._reader.withheld
            self.waiting.show_reader(self._reader, known=reported or stands)

    def _remedy(self, concern: PlanConcern) -> None:
        if concern.mend is not None:
            label = concern.mend.label
            self.edited.emit(Change(concern.mend.make, f"{label[0].lower()}{label[1:]}"))
        elif concern.code is not None and self._reader is not None:
            self._reader.consent_wanted.emit(concern.code)
        elif concern.key.startswith(KEY) and self._examination is not None:
            self._examination.again()
        elif concern.refused and self._reader is not None:
            self._reader.retry(trains=concern.trains)

    def _read(self, concern: PlanConcern) -> None:
        # Imported when it is first opened, so that it does not delay the window's start.
        from gpu_studio.ui.kit import TraceDialog

        TraceDialog(sentence(concern.text), concern.details, concern.source, self.window()).show()

    def _lay_out(self) -> None:
        area = Scrolled()
        area.column.setContentsMargins(0, 0, GRID, 0)
        self._devices = QVBoxLayout()
        self._devices.setSpacing(2)
        for widget in (self.heading, self.obstacles, self.figures, self.warnings):
            area.column.addWidget(widget)
        area.column.addLayout(self._devices)
        area.column.addWidget(self.parts)
        area.column.addWidget(self.waiting)
        area.column.addStretch(1)
        self.body.addWidget(area, 1)


class _Figures(QWidget):
    """Names and values in two columns; labels are reused from plan to plan."""

    def __init__(self) -> None:
        super().__init__()
        self._labels: list[tuple[Label, Label]] = []
        self._grid = QGridLayout(self)
        self._grid.setContentsMargins(0, 0, 0, 0)
        self._grid.setVerticalSpacing(GRID // 2)

    def show_rows(self, rows: Sequence[tuple[str, str]]) -> None:
        """Show these."""
        while len(self._labels) < len(rows):
            pair = Label(role="muted"), Label(role="strong")
            self._grid.addWidget(pair[0], len(self._labels), 0)
            self._grid.addWidget(pair[1], len(self._labels), 1, Qt.AlignmentFlag.AlignRight)
            self._labels.append(pair)
        for place, (name, value) in enumerate(self._labels):
            for label, text in zip(
                (name, value), rows[place] if place < len(rows) else ("", ""), strict=True
            ):
                label.setText(text)
                label.setVisible(bool(text))


def _devices(view: PlanView, known: PlanFacts | None) -> tuple[Prospect, ...]:
    if known is None or view.problems:
        return prospects(view.of_known_layers, view.machine)
    # Imported only once something is known: it imports numpy, which would delay the window's start.
    from gpu_studio.placement.memory import predict

    return prospects(view.plan, view.machine, predict(view.plan, view.machine, known))


def _heading(count: int, wrong: int) -> str:
    if count and not wrong:
        return (
            "One thing is still to be named."
            if count == 1
            else f"{plural(count, 'thing')} are still to be named."
        )
    if count == 0:
        return ""
    return (
        "One thing stands in the way."
        if count == 1
        else f"{plural(count, 'thing')} stand in the way."
    )
