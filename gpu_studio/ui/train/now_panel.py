"""The panel beside the plots: each device's present memory, and the numbers at the crosshair."""

from __future__ import annotations

from typing import Literal

from PySide6.QtCore import QEvent, QObject, QPointF, QRectF, QSize, Qt, Signal
from PySide6.QtGui import QColor, QGuiApplication, QPainter, QPaintEvent
from PySide6.QtWidgets import QFrame, QHBoxLayout, QScrollArea, QSizePolicy, QVBoxLayout, QWidget

from gpu_studio.ui.kit import (
    GRID,
    LEFT,
    RIGHT,
    CardFrame,
    FontRole,
    Label,
    OptionButton,
    Paragraph,
    ThemeManager,
    draw_bar,
    font,
    line_height,
    text_width,
)
from gpu_studio.ui.kit import HEIGHT as BAR
from gpu_studio.ui.train.device_figures import DeviceMemoryNow
from gpu_studio.ui.train.readout import Readout
from gpu_studio.ui.train.value_table import ValueTable

_DOT = 8
_NAME_LEFT = 15
_GAP = 4
Form = Literal["full", "dense", "line"]
FORMS: tuple[Form, ...] = ("full", "dense", "line")
"""From the highest to the lowest."""
_BELOW: dict[Form, int] = {"full": 10, "dense": 4, "line": 2}
_BESIDE = 8


class DeviceMeter(QWidget):
    """Paints one device.

    A dense meter leaves the caption to its tooltip; a one-line meter has its bar beside the name.
    """

    def __init__(
        self, theme: ThemeManager, now: DeviceMemoryNow, parent: QWidget | None = None
    ) -> None:
        super().__init__(parent)
        self._theme = theme
        self._now = now
        self._form: Form = "full"
        self.setSizePolicy(QSizePolicy.Policy.Expanding, QSizePolicy.Policy.Fixed)
        theme.changed.connect(self.update)
        self._tell()

    @property
    def now(self) -> DeviceMemoryNow:
        """What is shown."""
        return self._now

    def set_now(self, now: DeviceMemoryNow) -> None:
        """Show these figures of the same device."""
        if now != self._now:
            self._now = now
            self._tell()
            self.update()

    def set_form(self, form: Form) -> None:
        """Set the height to this form's."""
        if form != self._form:
            self._form = form
            self.updateGeometry()
            self.update()

    def height_if(self, form: Form) -> int:
        """The height in this form."""
        return _height(form, limited=bool(self._now.limit))

    def _tell(self) -> None:
        self.setAccessibleName(self._now.text)
        self.setToolTip(self._now.text)

    def sizeHint(self) -> QSize:  # noqa: N802 - Qt's name
        """As high as what is drawn."""
        return QSize(160, self.height_if(self._form))

    def paintEvent(self, event: QPaintEvent) -> None:  # noqa: N802 - Qt's name
        """Draw the device."""
        del event
        painter = QPainter(self)
        top = QRectF(0, 0, self.width(), _line("text"))
        self._paint_name(painter, top)
        bottom = top.bottom()
        if self._now.share is not None:
            area = self._bar_area(top)
            draw_bar(painter, area, self._now.share, self._colour(), self._theme.tokens)
            self._paint_peak(painter, area)
            bottom = area.bottom() + _GAP / 2
        if self._form == "full":
            self._paint_caption(
                painter, QRectF(0, bottom + _GAP / 2, self.width(), _line("caption"))
            )

    def _bar_area(self, name: QRectF) -> QRectF:
        """Under the name, or between it and the amount, as wide on every device."""
        if self._form != "line":
            return QRectF(0, name.bottom() + _GAP / 2, self.width(), BAR)
        left = _NAME_LEFT + text_width("mono", "GPU:00") + _BESIDE
        right = self.width() - text_width("text", "9,999 MiB") - _BESIDE
        return QRectF(left, name.center().y() - BAR / 2, max(right - left, 0), BAR)

    def _paint_name(self, painter: QPainter, area: QRectF) -> None:
        painter.setRenderHint(QPainter.RenderHint.Antialiasing)
        painter.setPen(Qt.PenStyle.NoPen)
        painter.setBrush(QColor(self._colour()))
        painter.drawEllipse(QPointF(_DOT / 2, area.center().y()), _DOT / 2, _DOT / 2)
        painter.setPen(QColor(self._theme.tokens.text))
        painter.setFont(font("mono"))
        painter.drawText(area.adjusted(_NAME_LEFT, 0, 0, 0), LEFT, self._now.name)
        painter.setFont(font("text"))
        painter.drawText(area, RIGHT, self._now.amount)

    def _paint_peak(self, painter: QPainter, area: QRectF) -> None:
        """A notch in the bar where the peak was."""
        share = self._now.peak_share or 0.0
        x = min(area.left() + share * area.width(), area.right() - 2)
        painter.fillRect(
            QRectF(x - 1, area.top(), 2, area.height()), QColor(self._theme.tokens.text)
        )

    def _paint_caption(self, painter: QPainter, area: QRectF) -> None:
        painter.setFont(font("caption"))
        painter.setPen(QColor(self._theme.tokens.muted))
        text = painter.fontMetrics().elidedText(
            self._now.caption, Qt.TextElideMode.ElideRight, int(area.width())
        )
        painter.drawText(area, LEFT, text)

    def _colour(self) -> str:
        tokens = self._theme.tokens
        return tokens.host if self._now.place is None else tokens.device_colour(self._now.place)


def _line(role: FontRole) -> int:
    return line_height(role) + 2


def _height(form: Form, *, limited: bool) -> int:
    """The height with name, bar and caption below each other, as far as there are such."""
    height = _line("text") + _BELOW[form]
    height += int(BAR) + _GAP if limited and form != "line" else 0
    return height + (_line("caption") + _GAP // 2 if form == "full" else 0)


WIDTH = 230
NOW, ENDED = "NOW", "AT THE END"
NO_FIGURES = "There are no figures to copy yet: wait for the first step."
WAITING = "What each device holds, and the newest figures, come with the first step."


class NowPanel(CardFrame):
    """Meters of the devices above the figures of a moment; they scroll if they do not fit.

    `reported` brings a message and its tone.
    """

    reported = Signal(str, str)

    def __init__(self, theme: ThemeManager, parent: QWidget | None = None) -> None:
        super().__init__("", parent)
        self.setAccessibleName("The run now")
        self.setFixedWidth(WIDTH)
        self._theme = theme
        self._meters: dict[str, DeviceMeter] = {}
        self._form: Form = FORMS[0]
        self.figures = ValueTable(theme)
        self.figures.copy_asked.connect(self.copy_figures)
        self.waiting = Paragraph(WAITING, "muted")
        self._holder = QWidget()
        self._holder.setObjectName("plain")
        self._column = QVBoxLayout(self._holder)
        self._column.setContentsMargins(0, 0, 0, 0)
        self._column.setSpacing(0)
        self.body.setContentsMargins(2 * GRID, GRID + 4, GRID, GRID + 4)
        self.title = Label(NOW, "section")
        self.fold = OptionButton.switch(
            "devices",
            theme,
            "Show the devices; without them there is space for the figures",
            on=True,
        )
        self.fold.toggled.connect(self._make_way)
        self._head = self._make_head()
        self.body.addWidget(self._head)
        self._scroll = self._scroller()
        self._scroll.installEventFilter(self)
        self.body.addWidget(self._scroll, 1)

    @property
    def meters(self) -> list[DeviceMeter]:
        """The meters, from the top."""
        return list(self._meters.values())

    def restart(self) -> None:
        """Forget the run that was shown."""
        self._make_meters([])
        self.set_readout(None)

    def set_live(self, live: bool) -> None:
        """Say whether the figures are current, or the last that came."""
        self.title.setText(NOW if live else ENDED)

    def set_devices(self, devices: list[DeviceMemoryNow]) -> None:
        """Show these devices."""
        if [device.name for device in devices] != list(self._meters):
            self._make_meters(devices)
        for device in devices:
            self._meters[device.name].set_now(device)

    def set_readout(self, readout: Readout | None) -> None:
        """Show these figures below the devices."""
        self.figures.set_readout(readout)
        self._fit()
        self._make_way()

    def copy_figures(self) -> None:
        """Copy the figures of the moment to the clipboard, in a form for spreadsheets."""
        found = self.figures.readout
        if found is None:
            self.reported.emit(NO_FIGURES, "bad")
            return
        QGuiApplication.clipboard().setText(
            "".join("\t".join(cells) + "\n" for cells in found.lines())
        )
        self.reported.emit(f"The figures ({found.title}) are on the clipboard.", "plain")

    def _make_meters(self, devices: list[DeviceMemoryNow]) -> None:
        for meter in self._meters.values():
            self._column.removeWidget(meter)
            meter.hide()  # until then it would be painted below the new ones
            meter.deleteLater()
        self._meters = {device.name: DeviceMeter(self._theme, device) for device in devices}
        for number, meter in enumerate(self._meters.values()):
            self._column.insertWidget(number, meter)
        self._fit()

    def eventFilter(self, watched: QObject, event: QEvent) -> bool:  # noqa: N802 - Qt's name
        """Omit the captions if they would make the devices scroll."""
        if event.type() == QEvent.Type.Resize:
            self._fit()
        return super().eventFilter(watched, event)

    def _make_way(self) -> None:
        """Hide the current meters if they leave no space for the figures at the crosshair.

        The same applies for a user who has folded them.
        """
        found, needed = self.figures.readout, self._height_of_meters(self._form)
        past = found is not None and found.past
        head = (
            0
            if self._head.isVisibleTo(self)
            else self._head.sizeHint().height() + self.body.spacing()
        )
        scrolls = needed + self.figures.sizeHint().height() + GRID > self._scroll.height() - head
        away = scrolls and (past or not self.fold.isChecked())
        self.fold.setVisible(scrolls and bool(self.meters))
        self._head.setVisible(not (scrolls and past))
        if away == self._holder.isVisibleTo(self):
            self._holder.setVisible(not away)

    def _fit(self) -> None:
        self.waiting.setVisible(not self._meters and self.figures.readout is None)
        area = self._scroll.height() - self.figures.sizeHint().height() - GRID // 2
        forms = (form for form in FORMS if self._height_of_meters(form) <= area)
        self._form = next(forms, FORMS[-1])
        for meter in self.meters:
            meter.set_form(self._form)

    def _height_of_meters(self, form: Form) -> int:
        """How high all meters are together; those with a limit are all as high as each other."""
        limited = sum(bool(meter.now.limit) for meter in self.meters)
        return limited * _height(form, limited=True) + (len(self._meters) - limited) * _height(
            form, limited=False
        )

    def _make_head(self) -> QWidget:
        head = QWidget()
        row = QHBoxLayout(head)
        row.setContentsMargins(0, 0, GRID, 0)
        row.addStrut(self.fold.sizeHint().height())
        row.addWidget(self.title, 1)
        row.addWidget(self.fold)
        self.fold.hide()
        return head

    def _scroller(self) -> QScrollArea:
        inside = QWidget()
        inside.setObjectName("plain")
        outer = QVBoxLayout(inside)
        outer.setContentsMargins(0, 0, GRID, 0)
        outer.setSpacing(GRID // 2)
        outer.addWidget(self.waiting)
        outer.addWidget(self._holder)
        outer.addWidget(self.figures)
        outer.addStretch(1)
        scroller = QScrollArea()
        scroller.setWidget(inside)
        scroller.setWidgetResizable(True)
        scroller.setFrameShape(QFrame.Shape.NoFrame)
        scroller.setHorizontalScrollBarPolicy(Qt.ScrollBarPolicy.ScrollBarAlwaysOff)
        # The figures in it take the focus, and the keys that they have no use for scroll.
        scroller.setFocusPolicy(Qt.FocusPolicy.NoFocus)
        scroller.setAccessibleName("Memory of each device now")
        return scroller
