"""The legend of a plot: the curves' names, each with a piece of its line and its newest value."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from PySide6.QtCore import QEvent, QLineF, QPoint, QPointF, QRect, QSize, Qt, Signal
from PySide6.QtGui import (
    QColor,
    QContextMenuEvent,
    QFont,
    QFontMetrics,
    QKeyEvent,
    QMouseEvent,
    QPainter,
    QPaintEvent,
    QPen,
)
from PySide6.QtWidgets import QMenu, QSizePolicy, QWidget

from gpu_studio.ui.kit.plots.curve import Style
from gpu_studio.ui.kit.theme import ThemeManager, Tokens, font, mix

_LINE = 2.0
_DEVICE = re.compile(r"[A-Z]+[: ](\d.*)")


@dataclass(frozen=True, slots=True)
class LegendEntry:
    """A curve's name, how it looks, and its newest value as text (or nothing).

    `fixed` ones cannot be hidden here.
    """

    name: str
    style: Style
    value: str = ""
    fixed: bool = False

    @property
    def text(self) -> str:
        """What stands beside the piece of line."""
        return f"{self.name} {self.value}".rstrip()

    @property
    def short(self) -> str:
        """The number of a device, as `0–3` of `GPU:0–3`; all else keeps its name."""
        found = _DEVICE.fullmatch(self.name)
        return found[1] if found else self.name


@dataclass(frozen=True, slots=True)
class LegendPlace:
    """Where an entry is drawn.

    The line, the words, and the piece of its curve of `sample` pixels with a `gap`.
    """

    entry: LegendEntry
    words: str
    left: int
    width: int
    sample: int
    gap: int
    line: int = 0


def paint_entry(
    painter: QPainter, tokens: Tokens, place: LegendPlace, area: QRect, *, hidden: bool = False
) -> None:
    """Draw an entry in the height of `area`: a hidden one struck out, its line short and faint."""
    middle, style = area.center().y() + 0.5, place.entry.style
    colour = mix(tokens.muted, tokens.surface, 0.5) if hidden else style.colour(tokens)
    pen = QPen(QColor(colour), 1.0 if hidden else _LINE)
    pen.setCapStyle(Qt.PenCapStyle.FlatCap)
    if style.dash:
        pen.setDashPattern([part / _LINE for part in style.dash])
    painter.setPen(pen)
    painter.drawLine(QLineF(place.left, middle, place.left + place.sample, middle))
    if style.dots and not hidden:
        painter.setRenderHint(QPainter.RenderHint.Antialiasing)
        painter.setBrush(pen.color())
        painter.setPen(Qt.PenStyle.NoPen)
        painter.drawEllipse(QPointF(place.left + place.sample / 2, middle), 3.5, 3.5)
        painter.setBrush(Qt.BrushStyle.NoBrush)
    _paint_words(painter, tokens, place, area, hidden=hidden)


def _paint_words(
    painter: QPainter, tokens: Tokens, place: LegendPlace, area: QRect, *, hidden: bool
) -> None:
    usual = painter.font()
    if hidden:
        struck = QFont(usual)
        struck.setStrikeOut(True)
        painter.setFont(struck)
    painter.setPen(QColor(tokens.muted))
    words = QRect(place.left + place.sample + place.gap, area.top(), place.width, area.height())
    painter.drawText(words, Qt.AlignmentFlag.AlignVCenter | Qt.AlignmentFlag.AlignLeft, place.words)
    painter.setFont(usual)


# From the roomiest form to the closest: how long the piece of line is, and what is between two
# entries.
SAMPLES = (22, 22, 16, 11, 8)
GAPS = (6, 6, 5, 4, 3)
BETWEEN = (16, 16, 9, 6, 4)
CLOSEST = len(SAMPLES) - 1


def find_places(
    entries: Sequence[LegendEntry], metrics: QFontMetrics, width: int, lines: int
) -> list[LegendPlace]:
    """The places in so many lines of `width` pixels.

    In the first form in which all entries fit.

    Where there is none, as many as fit in the closest, with space behind them for the number of the
    others.
    """
    widths = [width] * lines
    for form in range(len(SAMPLES)):
        found = _placed(entries, form, metrics, widths)
        if len(found) == len(entries):
            return found
    # The count needs most width when it is largest.
    widths[-1] -= count_width(len(entries), metrics) + BETWEEN[CLOSEST]
    return _placed(entries, CLOSEST, metrics, widths)


def laid_out(entries: Sequence[LegendEntry], metrics: QFontMetrics, left: int) -> list[LegendPlace]:
    """The places of entries in full, one after the other from `left` on."""
    found = []
    for entry in entries:
        width = SAMPLES[0] + GAPS[0] + metrics.horizontalAdvance(entry.text)
        found.append(LegendPlace(entry, entry.text, left, width, SAMPLES[0], GAPS[0]))
        left += width + BETWEEN[0]
    return found


def entry_width(entry: LegendEntry, form: int, metrics: QFontMetrics) -> int:
    """How wide an entry is in a form, in pixels."""
    return SAMPLES[form] + GAPS[form] + metrics.horizontalAdvance(_words(entry, form))


def count_width(count: int, metrics: QFontMetrics) -> int:
    """How wide `+5` is, in pixels."""
    return metrics.horizontalAdvance(f"+{count}")


def _placed(
    entries: Sequence[LegendEntry], form: int, metrics: QFontMetrics, widths: Sequence[int]
) -> list[LegendPlace]:
    """The places in a form, as far as there are lines; `widths` are the widths of these."""
    found, left, line = [], 0, 0
    for entry in entries:
        width = entry_width(entry, form, metrics)
        if left and left + width > widths[line] + 1:
            left, line = 0, line + 1
        if line == len(widths) or left + width > widths[line] + 1:
            break
        found.append(
            LegendPlace(entry, _words(entry, form), left, width, SAMPLES[form], GAPS[form], line)
        )
        left += width + BETWEEN[form]
    return found


def _words(entry: LegendEntry, form: int) -> str:
    """An entry's text in a form: its name with the value, its name, or a short one."""
    return (entry.text, entry.name, *[entry.short] * 3)[form]


_LEAST, _ENOUGH = 80, 160
ABOUT = (
    "Click a name to hide or show its curve, double click for this one "
    "only, right click for a list of all. "
    "Keys: arrows, Space, Return; Down opens the list."
)


class Legend(QWidget):
    """A row of entries in the longest form that fits.

    Its accessible name lists them all.
    """

    hidden_changed = Signal()

    def __init__(self, theme: ThemeManager, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._theme = theme
        self._entries: tuple[LegendEntry, ...] = ()
        self._names: tuple[str, ...] = ()
        self._wanted = 0
        self._hidden: frozenset[str] = frozenset()
        self._before: frozenset[str] = frozenset()
        self._doubled = self._switchable = False
        self._current, self._lines = 0, 1
        self._known: tuple[object, list[LegendPlace]] | None = None
        self.setFont(font("caption"))
        self.setSizePolicy(QSizePolicy.Policy.Preferred, QSizePolicy.Policy.Fixed)
        theme.changed.connect(self.update)

    @property
    def entries(self) -> tuple[LegendEntry, ...]:
        """What is shown."""
        return self._entries

    @property
    def hidden(self) -> frozenset[str]:
        """The names of what a person has hidden; some may belong to no entry of now."""
        return self._hidden

    def set_entries(self, entries: Sequence[LegendEntry]) -> None:
        """Show these entries."""
        if tuple(entries) != self._entries:
            self._entries = tuple(entries)
            self._tell()
            self._request_width()
            self.update()

    def make_switchable(self, hidden: Iterable[str] = ()) -> None:
        """Let a person hide and show entries; these are hidden at the beginning."""
        self._switchable, self._hidden = True, frozenset(hidden)
        self.setFocusPolicy(Qt.FocusPolicy.TabFocus)
        self.setToolTip(ABOUT)
        self.setAccessibleDescription(ABOUT)
        self.setCursor(Qt.CursorShape.PointingHandCursor)
        self._tell()

    def toggle(self, name: str) -> None:
        """Hide an entry, or show it again."""
        self._hide(self._hidden ^ {name})

    def adopt(self, hidden: frozenset[str]) -> None:
        """Hide what is hidden in another legend, and nothing else."""
        if hidden != self._hidden:
            self._hide(hidden)

    def isolate(self, name: str) -> None:
        """Show this entry only; where it is the only one, all."""
        others = frozenset(entry.name for entry in self._entries if not entry.fixed) - {name}
        alone = others <= self._before and name not in self._before
        self._hide(self._hidden - others - {name} if alone else (self._hidden | others) - {name})

    def sizeHint(self) -> QSize:  # noqa: N802 - Qt's name
        """As many lines as it may have, as wide as the entries ever were."""
        return QSize(self._wanted, self._lines * self._line_height())

    def minimumSizeHint(self) -> QSize:  # noqa: N802 - Qt's name
        """Space for one short entry, or for several in the closest form."""
        closest = min(self._total(CLOSEST), self._wanted)
        return QSize(min(max(_LEAST, closest), _ENOUGH), self.sizeHint().height())

    def set_lines(self, lines: int) -> None:
        """Have space for so many lines of entries, one over the other."""
        if lines != self._lines:
            self._lines = lines
            self.updateGeometry()
            self.update()

    def places(self) -> list[LegendPlace]:
        """Where the entries are drawn, in the first form in which all fit, else as many as fit."""
        given = self._entries, self.width(), self._lines, self.fontMetrics().averageCharWidth()
        if self._known is None or self._known[0] != given:
            self._known = (
                given,
                find_places(self._entries, self.fontMetrics(), self.width(), self._lines),
            )
        return self._known[1]

    @property
    def left_out(self) -> tuple[LegendEntry, ...]:
        """The entries that do not fit now."""
        return self._entries[len(self.places()) :]

    def menu(self) -> QMenu:
        """All that can be hidden, to be hidden and shown one by one; it goes when it is closed."""
        menu = QMenu("Curves", self)
        menu.setAttribute(Qt.WidgetAttribute.WA_DeleteOnClose)
        for entry in self._free:
            action = menu.addAction(entry.text)
            action.setCheckable(True)
            action.setChecked(entry.name not in self._hidden)
            action.triggered.connect(lambda _on, name=entry.name: self.toggle(name))
        menu.addSeparator()
        every = menu.addAction("Show all")
        every.setEnabled(any(entry.name in self._hidden for entry in self._free))
        every.triggered.connect(
            lambda: self._hide(self._hidden - {entry.name for entry in self._free})
        )
        return menu

    @property
    def _free(self) -> list[LegendEntry]:
        return [entry for entry in self._entries if not entry.fixed]

    def _around(self, place: LegendPlace) -> QRect:
        line = self._area(place.line)
        return QRect(place.left, line.top(), place.width, line.height())

    def _area(self, line: int) -> QRect:
        return QRect(0, line * self._line_height(), self.width(), self._line_height())

    def _line_height(self) -> int:
        return self.fontMetrics().height() + 4

    def count_area(self) -> QRect:
        """Where the number of those left out stands; nowhere if there are none."""
        if not (count := len(self.left_out)):
            return QRect()
        places = self.places()
        left = places[-1].left + places[-1].width + BETWEEN[CLOSEST] if places else 0
        line = self._area(places[-1].line if places else 0)
        return QRect(left, line.top(), count_width(count, self.fontMetrics()), line.height())

    def _hide(self, hidden: frozenset[str]) -> None:
        self._hidden = hidden
        self._tell()
        self.update()
        self.hidden_changed.emit()

    def _tell(self) -> None:
        texts = (
            f"{entry.text}{' (hidden)' if entry.name in self._hidden else ''}"
            for entry in self._entries
        )
        names = ", ".join(texts)
        self.setAccessibleName(f"Curves: {names}" if self._switchable else names)

    def _request_width(self) -> None:
        """A new figure must not ask for a new layout each time.

        The width only grows, but for other curves.
        """
        wanted = self._total(0)
        names = tuple(entry.name for entry in self._entries)
        if wanted > self._wanted or names != self._names:
            self._wanted, self._names = wanted, names
            self._current = 0
            self.updateGeometry()

    def _total(self, form: int) -> int:
        return sum(
            entry_width(entry, form, self.fontMetrics()) + BETWEEN[form] for entry in self._entries
        )

    # The user's actions

    def mousePressEvent(self, event: QMouseEvent) -> None:  # noqa: N802 - Qt's name
        """Take the press: the release counts."""
        event.setAccepted(self._switchable)

    def mouseReleaseEvent(self, event: QMouseEvent) -> None:  # noqa: N802 - Qt's name
        """Hide or show the entry under the pointer."""
        place = self._under(event)
        if self._doubled:
            self._doubled = False
        elif self._switchable and self.count_area().contains(event.position().toPoint()):
            self._open_menu(self.count_area().bottomLeft())
        elif place is not None and event.button() == Qt.MouseButton.LeftButton:
            self._before = self._hidden
            self.toggle(place.entry.name)

    def mouseDoubleClickEvent(self, event: QMouseEvent) -> None:  # noqa: N802 - Qt's name
        """Show only the entry under the pointer."""
        place = self._under(event)
        if place is not None:
            self._doubled = True
            self.isolate(place.entry.name)

    def keyPressEvent(self, event: QKeyEvent) -> None:  # noqa: N802 - Qt's name
        """Go from entry to entry; hide, show, and isolate."""
        free = self._free
        step = {Qt.Key.Key_Left: -1, Qt.Key.Key_Right: 1}.get(Qt.Key(event.key()))
        if not self._switchable or not free:
            super().keyPressEvent(event)
        elif step is not None:
            self._current = (self._current + step) % len(free)
            self.update()
        elif event.key() == Qt.Key.Key_Space:
            self.toggle(free[self._current % len(free)].name)
        elif event.key() in (Qt.Key.Key_Return, Qt.Key.Key_Enter):
            self._before = self._hidden
            self.isolate(free[self._current % len(free)].name)
        elif event.key() == Qt.Key.Key_Down:
            self._open_menu(QPoint(self.count_area().left(), self.height()))
        else:
            super().keyPressEvent(event)

    def contextMenuEvent(self, event: QContextMenuEvent) -> None:  # noqa: N802 - Qt's name
        """List all that can be hidden."""
        if self._switchable and self._free:
            self._open_menu(event.pos())
        else:
            super().contextMenuEvent(event)

    def event(self, event: QEvent) -> bool:
        """Name in the tooltip what does not fit now."""
        if event.type() == QEvent.Type.ToolTip:
            missing = ", ".join(entry.text for entry in self.left_out)
            texts = f"Not visible here: {missing}." if missing else ""
            self.setToolTip("\n".join(filter(None, (texts, ABOUT if self._switchable else ""))))
        return super().event(event)

    def _open_menu(self, at: QPoint) -> None:
        self.menu().popup(self.mapToGlobal(at))

    def _under(self, event: QMouseEvent) -> LegendPlace | None:
        at = event.position().toPoint()
        hits = (
            place
            for place in self.places()
            if self._around(place).adjusted(-4, 0, 4, 0).contains(at)
        )
        found = next(hits, None) if self._switchable else None
        return None if found is None or found.entry.fixed else found

    # Drawing

    def paintEvent(self, event: QPaintEvent) -> None:  # noqa: N802 - Qt's name
        """Draw the entries that fit, from the left, and how many there are besides."""
        del event
        painter = QPainter(self)
        free, current = self._free, None
        if self.hasFocus() and free:
            current = free[self._current % len(free)]
        for place in self.places():
            hidden = place.entry.name in self._hidden
            paint_entry(painter, self._theme.tokens, place, self._area(place.line), hidden=hidden)
            if place.entry is current:
                self._paint_focus(painter, self._around(place))
        if missing := self.left_out:
            area = self.count_area()
            painter.setPen(QColor(self._theme.tokens.muted))
            painter.drawText(
                area, Qt.AlignmentFlag.AlignVCenter | Qt.AlignmentFlag.AlignLeft, f"+{len(missing)}"
            )
            if any(entry is current for entry in missing):
                self._paint_focus(painter, area)

    def _paint_focus(self, painter: QPainter, around: QRect) -> None:
        painter.setPen(QColor(self._theme.tokens.accent))
        ring = around.adjusted(-2, 0, 2, 0).intersected(self.rect())
        painter.drawRoundedRect(ring.adjusted(0, 0, -1, -1), 4, 4)
