"""The Placement tab.

It shows where each layer was placed and where it ran, what was sent, and a measured step.
"""

from __future__ import annotations

from collections.abc import Mapping

from PySide6.QtCore import QMarginsF, QPointF, QRectF, Qt, Signal
from PySide6.QtGui import QColor, QGuiApplication, QPainter, QResizeEvent
from PySide6.QtWidgets import QHBoxLayout, QVBoxLayout, QWidget

from gpu_studio.common import figures
from gpu_studio.common.figures import grouped
from gpu_studio.contract import Placement, Timeline
from gpu_studio.runs.reading.history import History
from gpu_studio.runs.reading.placements import NONE, Judgement, Verdict, choice, headline, judged
from gpu_studio.ui.kit import (
    GRID,
    HEADER,
    LEFT,
    Elided,
    Index,
    Note,
    PaintedCell,
    Table,
    ThemeManager,
    Tokens,
    font,
    model_as_text,
)
from gpu_studio.ui.kit.step_view import StepView, measured_picture
from gpu_studio.ui.kit.table import SIDE
from gpu_studio.ui.train.card_record import CardRecord
from gpu_studio.ui.train.device_figures import places
from gpu_studio.ui.train.placement_rows import (
    ASKED,
    BETWEEN,
    BYTES,
    EDGE,
    LAYER,
    PASS,
    SIGN_ROLE,
    SPOTS_ROLE,
    TENSORS,
    CrossingsModel,
    PlacementModel,
    Spot,
)

_DOT, _AFTER_DOT, _AFTER_NAME, _BETWEEN = 4.0, 12.0, 3.0, 6.0
_SIGNS: dict[Verdict, str] = {
    "as asked": "✓",
    "joined": "✓",
    "elsewhere": "⚠",
    "no operations": "–",
    "not asked": "?",
}
_SIGN_WIDTH = 20.0


class _Cell(PaintedCell):
    margins = QMarginsF(SIDE, 0, 2, 1)


class SignCell(_Cell):
    """The icon of a layer's verdict, and the layer's name."""

    def draw(self, painter: QPainter, area: QRectF, index: Index, text: str) -> None:
        """A sign of its own for each verdict, in a colour that says the same."""
        verdict: Verdict = index.data(SIGN_ROLE)
        tokens = self._theme.tokens
        _write(painter, area, _SIGNS[verdict], _colour_of(verdict, tokens))
        painter.setFont(font("strong" if verdict == "elsewhere" else "text"))
        _write(painter, area.adjusted(_SIGN_WIDTH, 0, 0, 0), text, tokens.text)


class SpotsCell(_Cell):
    """Devices side by side; one where operations strayed to has an icon and the error colour."""

    def draw(self, painter: QPainter, area: QRectF, index: Index, text: str) -> None:
        """Draw as many as fit, and an ellipsis for the others."""
        spots: tuple[Spot, ...] = index.data(SPOTS_ROLE)
        tokens = self._theme.tokens
        if not spots:
            _write(painter, area, text or NONE, tokens.muted)
        for number, spot in enumerate(spots):
            if area.width() < _AFTER_DOT + 24:
                _write(painter, area, "…", tokens.muted)
                return
            is_last = number == len(spots) - 1
            wide = _draw_spot(painter, area, spot, tokens)
            area = area.adjusted(wide + (0 if is_last else _BETWEEN), 0, 0, 0)


def _draw_spot(painter: QPainter, area: QRectF, spot: Spot, tokens: Tokens) -> float:
    """Draw a device at the left of the space; return its width."""
    colour = tokens.muted if spot.place is None else tokens.device_colour(spot.place)
    if spot.wrong:
        _write(painter, area, "⚠", tokens.bad)
    else:
        painter.setRenderHint(QPainter.RenderHint.Antialiasing)
        painter.setPen(Qt.PenStyle.NoPen)
        painter.setBrush(QColor(colour))
        painter.drawEllipse(QPointF(area.left() + _DOT, area.center().y()), _DOT, _DOT)
    wide = _AFTER_DOT + (4 if spot.wrong else 0)
    painter.setFont(font("mono_caption"))
    wide += _write(
        painter,
        area.adjusted(wide, 0, 0, 0),
        spot.device,
        tokens.bad if spot.wrong else tokens.text,
    )
    if spot.words:
        painter.setFont(font("caption"))
        beside = area.adjusted(wide + _AFTER_NAME, 0, 0, 0)
        wide += _AFTER_NAME + _write(
            painter, beside, spot.words, tokens.bad if spot.wrong else tokens.muted
        )
    return wide


def _write(painter: QPainter, area: QRectF, text: str, colour: str) -> float:
    """Write as much of a text as fits; return its width."""
    painter.setPen(QColor(colour))
    shown = painter.fontMetrics().elidedText(
        text, Qt.TextElideMode.ElideRight, max(0, int(area.width()))
    )
    painter.drawText(area, LEFT, shown)
    return float(painter.fontMetrics().horizontalAdvance(shown))


def _colour_of(verdict: Verdict, tokens: Tokens) -> str:
    return {"elsewhere": tokens.bad, "as asked": tokens.good, "joined": tokens.good}.get(
        verdict, tokens.muted
    )


_ROW = 28
_MOST_ROWS, _CROSSING_ROWS = 7, 3
_AROUND = 88
"""The tabs, the headline, and the card's margins."""
_WIDE = 1000
_ASKED_WIDTH, _PASS_WIDTH, _CROSSING_WIDTHS = 138, 144, {BETWEEN: 116, PASS: 84, BYTES: 80}
_NARROW_ASKED, _NARROW_PASS, _NARROW_CROSSINGS = 108, 98, {BETWEEN: 112, BYTES: 80}


class PlacementPane(QWidget):
    """Shows a run's `placement` event with verdicts, and its `timeline` event if there is one.

    `changed` fires when another placement is shown, or none.
    """

    changed = Signal()

    def __init__(self, theme: ThemeManager, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.found: Judgement | None = None
        self._placement: Placement | None = None
        self._devices: dict[str, int] = {}
        self._timeline: Timeline | None = None
        self.model, self.crossings_model = PlacementModel(), CrossingsModel()
        for model in (self.model, self.crossings_model):
            model.setParent(self)
        self.alarm, self.line = Note(), Elided("", "muted")
        self.table = Table(self.model, "Where each layer ran")
        self.crossings = Table(self.crossings_model, "What crosses from device to device in a step")
        self.total, self.step = Elided("", "section"), StepView(theme)
        self._shape_tables(theme)
        self._lay_out()

    @property
    def wanted_height(self) -> int:
        """A height in pixels that shows most of the layers."""
        layers = HEADER + _ROW * min(_MOST_ROWS, self.model.rowCount())
        step = self.step.sizeHint().height() if self._timeline is not None else 0
        beside = (
            step + 3 * GRID + HEADER + _ROW * min(_CROSSING_ROWS, self.crossings_model.rowCount())
        )
        return _AROUND + max(layers, beside)

    @property
    def there(self) -> bool:
        """Whether there is a placement to show."""
        return self.found is not None

    @property
    def words(self) -> str:
        """Whether the layers ran as placed, in a sentence; empty without a placement."""
        return headline(self.found) if self.found else ""

    @property
    def mark(self) -> str:
        """What the tab says besides its name: how much ran elsewhere."""
        if self.found is None or not self.found.wrong:
            return ""
        return f" · {grouped(sum(each.operations for each in self.found.wrong))} elsewhere"

    def restart(self) -> None:
        """Clear the run."""
        self.found = self._placement = self._timeline = None
        self.show_step(None, {})
        self.changed.emit()

    def copy(self) -> None:
        """Copy where each layer ran, and below it what is sent, to the clipboard.

        The form is that for spreadsheets.
        """
        both = (
            model_as_text(model, range(model.rowCount()))
            for model in (self.model, self.crossings_model)
        )
        QGuiApplication.clipboard().setText("\n\n".join(both) + "\n")

    def refresh(self, history: History, record: CardRecord) -> bool:
        """Show news of a run and of its cards; return whether its placement is new."""
        devices = places(history, record)
        recoloured, self._devices = devices != self._devices, devices
        if history.timeline is not self._timeline or recoloured:
            self._timeline = history.timeline
            self.show_step(history.timeline, devices)
        if history.placement is None or (history.placement is self._placement and not recoloured):
            return False
        self._placement = history.placement
        self.show_placement(history.placement, devices)
        return True

    def show_placement(self, placement: Placement, devices: Mapping[str, int]) -> None:
        """Show where the layers ran.

        `devices` has the place of each logical one by its name, in order.
        """
        self.found = found = judged(placement)
        self.model.places = self.crossings_model.places = dict(devices)
        self.model.set_rows(found.layers)
        self.crossings_model.set_rows(found.crossings)
        said = headline(found)
        self.alarm.say(f"⚠ {said}" if found.wrong else "", "bad")
        text = "" if found.wrong else f"✓ {said}"
        self.line.setText(" ".join(filter(None, (text, choice(found)))))
        self.line.setVisible(bool(self.line.text()))
        self._show_total(found)
        self._show_first_wrong(found)
        self.changed.emit()

    def show_step(self, timeline: Timeline | None, devices: Mapping[str, int]) -> None:
        """Show a measured step, or none."""
        self.step.setVisible(timeline is not None)
        if timeline is not None:
            self.step.show_picture(measured_picture(timeline, devices), timeline.seconds, low=True)

    def resizeEvent(self, event: QResizeEvent) -> None:  # noqa: N802 - Qt's name
        """Leave the pass of what is sent to its tooltip if the pane is narrow."""
        super().resizeEvent(event)
        wide = self.width() >= _WIDE
        passes = range(ASKED + 1, self.model.columnCount())
        widths = dict.fromkeys(passes, _PASS_WIDTH if wide else _NARROW_PASS)
        self.table.set_widths(
            {ASKED: _ASKED_WIDTH if wide else _NARROW_ASKED, **widths}, stretch=LAYER
        )
        self.crossings.set_widths(_CROSSING_WIDTHS if wide else _NARROW_CROSSINGS, stretch=EDGE)
        self.crossings.setColumnHidden(PASS, not wide)
        self.crossings.setColumnHidden(TENSORS, True)

    def _show_total(self, found: Judgement) -> None:
        self.crossings.setVisible(bool(found.crossings))
        self._rest.setVisible(not found.crossings)
        if not found.crossings:
            self.total.setText("NOTHING CROSSES DEVICES")
            return
        least = "AT LEAST " if found.crossing_is_least else ""
        self.total.setText(f"CROSSES DEVICES · {least}{figures.size(found.crossing_bytes)} A STEP")

    def _show_first_wrong(self, found: Judgement) -> None:
        first = next((row for row, layer in enumerate(found.layers) if layer.wrong), None)
        if first is not None:
            self.table.scrollTo(self.model.index(first, 0))

    def _shape_tables(self, theme: ThemeManager) -> None:
        passes = range(ASKED + 1, self.model.columnCount())
        self._signs, self._spots = SignCell(theme, self), SpotsCell(theme, self)
        self.table.setItemDelegateForColumn(LAYER, self._signs)
        for column in (ASKED, *passes):
            self.table.setItemDelegateForColumn(column, self._spots)
        self.crossings.setItemDelegateForColumn(BETWEEN, self._spots)
        for table in (self.table, self.crossings):
            table.set_row_height(_ROW)
            theme.changed.connect(table.viewport().update)

    def _lay_out(self) -> None:
        beside = QVBoxLayout()
        beside.setSpacing(GRID // 2)
        beside.addWidget(self.step)
        beside.addWidget(self.total)
        beside.addWidget(self.crossings, 1)
        # In the table's place, so that what is above stays above.
        self._rest = QWidget()
        self._rest.hide()
        beside.addWidget(self._rest, 1)
        self.crossings.setMinimumHeight(HEADER)
        row = QHBoxLayout()
        row.setSpacing(3 * GRID)
        row.addWidget(self.table, 13)
        row.addLayout(beside, 8)
        column = QVBoxLayout(self)
        column.setContentsMargins(0, 0, 0, 0)
        column.setSpacing(GRID // 2)
        column.addWidget(self.alarm)
        column.addWidget(self.line)
        column.addLayout(row, 1)
        self.step.hide()
