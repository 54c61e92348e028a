"""The names of a plot's curves, each beside a piece of its line, with its newest value."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from PySide6.QtCore import QLineF, QPointF, QRect, QSize, Qt, Signal
from PySide6.QtGui import QColor, QFont, QFontMetrics, QKeyEvent, QMouseEvent, QPainter, QPaintEvent, QPen
from PySide6.QtWidgets import QSizePolicy, QWidget

from gpu_studio.ui.theme.fonts import font
from gpu_studio.ui.theme.manager import ThemeManager
from gpu_studio.ui.theme.palette import mix
from gpu_studio.ui.theme.tokens import Tokens
from gpu_studio.ui.widgets.plots.curve import Style

_LINE = 2.0
_LEAST, _ENOUGH = 80, 160
# From the roomiest form to the closest: how long the piece of line is, and what is between two entries.
_SAMPLES = (22, 22, 16, 11, 8)
_GAPS = (6, 6, 5, 4, 3)
_BETWEEN = (16, 16, 9, 6, 4)
_DEVICE = re.compile(r"[A-Z]+[: ](\d.*)")
ABOUT = "Click a name to hide or show its curve, double click for this one only. Keys: arrows, Space, Return."


@dataclass(frozen=True, slots=True)
class Entry:
    """A curve's name, how it looks, and its newest value as text (or nothing). `fixed` ones cannot be hidden here."""

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
class Place:
    """Where an entry is drawn, in how many words, beside a piece of line of `sample` pixels and a `gap`."""

    entry: Entry
    words: str
    left: int
    width: int
    sample: int
    gap: int


class Legend(QWidget):
    """A row of entries, in as few words as there is room for; its accessible name tells them all.

    Once it is `switchable`, entries can be hidden and shown with the mouse and the keys: `hidden_changed` says so.
    """

    hidden_changed = Signal()

    def __init__(self, theme: ThemeManager, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._theme = theme
        self._entries: tuple[Entry, ...] = ()
        self._names: tuple[str, ...] = ()
        self._wanted = 0
        self._hidden: frozenset[str] = frozenset()
        self._before: frozenset[str] = frozenset()
        self._doubled = self._switchable = False
        self._current = 0
        self.setFont(font("caption"))
        self.setSizePolicy(QSizePolicy.Policy.Preferred, QSizePolicy.Policy.Fixed)
        theme.changed.connect(self.update)

    @property
    def entries(self) -> tuple[Entry, ...]:
        """What is shown."""
        return self._entries

    @property
    def hidden(self) -> frozenset[str]:
        """The names of what a person has hidden; some may belong to no entry of now."""
        return self._hidden

    def set_entries(self, entries: Sequence[Entry]) -> None:
        """Show these entries."""
        if tuple(entries) != self._entries:
            self._entries = tuple(entries)
            self._tell()
            self._ask_for_room()
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
        """One line, as wide as the entries ever were."""
        return QSize(self._wanted, self.fontMetrics().height() + 4)

    def minimumSizeHint(self) -> QSize:  # noqa: N802 - Qt's name
        """Room for one short entry, or for several in the closest form."""
        closest = min(self._total(len(_SAMPLES) - 1), self._wanted)
        return QSize(min(max(_LEAST, closest), _ENOUGH), self.sizeHint().height())

    def places(self) -> list[Place]:
        """Where the entries are drawn: in the first form in which all have room, else as many as have room."""
        fits = (form for form in range(len(_SAMPLES)) if self._total(form) - _BETWEEN[form] <= self.width() + 1)
        form = next(fits, len(_SAMPLES) - 1)
        found, left = [], 0
        for entry in self._entries:
            width = self._width(entry, form)
            if left + width > self.width() + 1:
                break
            found.append(Place(entry, _words(entry, form), left, width, _SAMPLES[form], _GAPS[form]))
            left += width + _BETWEEN[form]
        return found

    def _hide(self, hidden: frozenset[str]) -> None:
        self._hidden = hidden
        self._tell()
        self.update()
        self.hidden_changed.emit()

    def _tell(self) -> None:
        told = (f"{entry.text}{' (hidden)' if entry.name in self._hidden else ''}" for entry in self._entries)
        names = ", ".join(told)
        self.setAccessibleName(f"Curves: {names}" if self._switchable else names)

    def _ask_for_room(self) -> None:
        """A new figure must not ask for a new layout each time: the room only grows, but for other curves."""
        wanted = self._total(0)
        names = tuple(entry.name for entry in self._entries)
        if wanted > self._wanted or names != self._names:
            self._wanted, self._names = wanted, names
            self._current = 0
            self.updateGeometry()

    def _total(self, form: int) -> int:
        return sum(self._width(entry, form) + _BETWEEN[form] for entry in self._entries)

    def _width(self, entry: Entry, form: int) -> int:
        return _SAMPLES[form] + _GAPS[form] + self.fontMetrics().horizontalAdvance(_words(entry, form))

    # What a person does

    def mousePressEvent(self, event: QMouseEvent) -> None:  # noqa: N802 - Qt's name
        """Take the press: the release counts."""
        event.setAccepted(self._switchable)

    def mouseReleaseEvent(self, event: QMouseEvent) -> None:  # noqa: N802 - Qt's name
        """Hide or show the entry under the pointer."""
        place = self._under(event)
        if self._doubled:
            self._doubled = False
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
        free = [entry for entry in self._entries if not entry.fixed]
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
        else:
            super().keyPressEvent(event)

    def _under(self, event: QMouseEvent) -> Place | None:
        x = event.position().x()
        hits = (place for place in self.places() if place.left - 4 <= x <= place.left + place.width + 4)
        found = next(hits, None) if self._switchable else None
        return None if found is None or found.entry.fixed else found

    # Drawing

    def paintEvent(self, event: QPaintEvent) -> None:  # noqa: N802 - Qt's name
        """Draw the entries that fit, from the left."""
        del event
        painter = QPainter(self)
        free = [entry for entry in self._entries if not entry.fixed]
        for place in self.places():
            paint_entry(painter, self._theme.tokens, place, self.rect(), hidden=place.entry.name in self._hidden)
            if self.hasFocus() and free and place.entry is free[self._current % len(free)]:
                painter.setPen(QColor(self._theme.tokens.accent))
                around = QRect(place.left, 0, place.width, self.height()).adjusted(-2, 0, 2, 0)
                painter.drawRoundedRect(around.intersected(self.rect()).adjusted(0, 0, -1, -1), 4, 4)


def paint_entry(painter: QPainter, tokens: Tokens, place: Place, room: QRect, *, hidden: bool = False) -> None:
    """Draw an entry in the height of `room`: a hidden one struck out, its line short and faint."""
    middle, style = room.center().y() + 0.5, place.entry.style
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
    _paint_words(painter, tokens, place, room, hidden=hidden)


def _paint_words(painter: QPainter, tokens: Tokens, place: Place, room: QRect, *, hidden: bool) -> None:
    usual = painter.font()
    if hidden:
        struck = QFont(usual)
        struck.setStrikeOut(True)
        painter.setFont(struck)
    painter.setPen(QColor(tokens.muted))
    words = QRect(place.left + place.sample + place.gap, room.top(), place.width, room.height())
    painter.drawText(words, Qt.AlignmentFlag.AlignVCenter | Qt.AlignmentFlag.AlignLeft, place.words)
    painter.setFont(usual)


def laid_out(entries: Sequence[Entry], metrics: QFontMetrics, left: int) -> list[Place]:
    """The places of entries in full, one after the other from `left` on."""
    found = []
    for entry in entries:
        width = _SAMPLES[0] + _GAPS[0] + metrics.horizontalAdvance(entry.text)
        found.append(Place(entry, entry.text, left, width, _SAMPLES[0], _GAPS[0]))
        left += width + _BETWEEN[0]
    return found


def _words(entry: Entry, form: int) -> str:
    return (entry.text, entry.name, *[entry.short] * 3)[form]
