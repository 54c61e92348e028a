"""The names of a plot's curves, each beside a piece of its line, with its newest value."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from PySide6.QtCore import QEvent, QPoint, QRect, QSize, Qt, Signal
from PySide6.QtGui import QColor, QContextMenuEvent, QKeyEvent, QMouseEvent, QPainter, QPaintEvent
from PySide6.QtWidgets import QMenu, QSizePolicy, QWidget

from gpu_studio.ui.theme.fonts import font
from gpu_studio.ui.theme.manager import ThemeManager
from gpu_studio.ui.widgets.plots.legend_entry import Entry, Place, paint_entry
from gpu_studio.ui.widgets.plots.legend_places import BETWEEN, CLOSEST, count_width, entry_width, find_places

_LEAST, _ENOUGH = 80, 160
ABOUT = (
    "Click a name to hide or show its curve, double click for this one only, right click for a list of all. "
    "Keys: arrows, Space, Return; Down opens the list."
)


class Legend(QWidget):
    """A row of entries, in as few words as there is room for; its accessible name tells them all.

    Those for which there is no room are counted at the end, as `+5`; the tooltip names them. Once it is `switchable`,
    entries can be hidden and shown with the mouse and the keys, those left out in a menu: `hidden_changed` says so.
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
        self._current, self._lines = 0, 1
        self._known: tuple[object, list[Place]] | None = None
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
        """As many lines as it may have, as wide as the entries ever were."""
        return QSize(self._wanted, self._lines * self._line_height())

    def minimumSizeHint(self) -> QSize:  # noqa: N802 - Qt's name
        """Room for one short entry, or for several in the closest form."""
        closest = min(self._total(CLOSEST), self._wanted)
        return QSize(min(max(_LEAST, closest), _ENOUGH), self.sizeHint().height())

    def set_lines(self, lines: int) -> None:
        """Have room for so many lines of entries, one over the other."""
        if lines != self._lines:
            self._lines = lines
            self.updateGeometry()
            self.update()

    def places(self) -> list[Place]:
        """Where the entries are drawn: in the first form in which all have room, else as many as have room."""
        given = self._entries, self.width(), self._lines, self.fontMetrics().averageCharWidth()
        if self._known is None or self._known[0] != given:
            self._known = given, find_places(self._entries, self.fontMetrics(), self.width(), self._lines)
        return self._known[1]

    @property
    def left_out(self) -> tuple[Entry, ...]:
        """The entries for which there is no room now."""
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
        every.triggered.connect(lambda: self._hide(self._hidden - {entry.name for entry in self._free}))
        return menu

    @property
    def _free(self) -> list[Entry]:
        return [entry for entry in self._entries if not entry.fixed]

    def _around(self, place: Place) -> QRect:
        line = self._room(place.line)
        return QRect(place.left, line.top(), place.width, line.height())

    def _room(self, line: int) -> QRect:
        return QRect(0, line * self._line_height(), self.width(), self._line_height())

    def _line_height(self) -> int:
        return self.fontMetrics().height() + 4

    def _count_room(self) -> QRect:
        """Where the number of those left out stands; nowhere if there are none."""
        if not (count := len(self.left_out)):
            return QRect()
        places = self.places()
        left = places[-1].left + places[-1].width + BETWEEN[CLOSEST] if places else 0
        line = self._room(places[-1].line if places else 0)
        return QRect(left, line.top(), count_width(count, self.fontMetrics()), line.height())

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
        return sum(entry_width(entry, form, self.fontMetrics()) + BETWEEN[form] for entry in self._entries)

    # What a person does

    def mousePressEvent(self, event: QMouseEvent) -> None:  # noqa: N802 - Qt's name
        """Take the press: the release counts."""
        event.setAccepted(self._switchable)

    def mouseReleaseEvent(self, event: QMouseEvent) -> None:  # noqa: N802 - Qt's name
        """Hide or show the entry under the pointer."""
        place = self._under(event)
        if self._doubled:
            self._doubled = False
        elif self._switchable and self._count_room().contains(event.position().toPoint()):
            self._open_menu(self._count_room().bottomLeft())
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
            self._open_menu(QPoint(self._count_room().left(), self.height()))
        else:
            super().keyPressEvent(event)

    def contextMenuEvent(self, event: QContextMenuEvent) -> None:  # noqa: N802 - Qt's name
        """List all that can be hidden."""
        if self._switchable and self._free:
            self._open_menu(event.pos())
        else:
            super().contextMenuEvent(event)

    def event(self, event: QEvent) -> bool:
        """Name in the tooltip what there is no room for now."""
        if event.type() == QEvent.Type.ToolTip:
            missing = ", ".join(entry.text for entry in self.left_out)
            told = f"Not in sight here: {missing}." if missing else ""
            self.setToolTip("\n".join(filter(None, (told, ABOUT if self._switchable else ""))))
        return super().event(event)

    def _open_menu(self, at: QPoint) -> None:
        self.menu().popup(self.mapToGlobal(at))

    def _under(self, event: QMouseEvent) -> Place | None:
        at = event.position().toPoint()
        hits = (place for place in self.places() if self._around(place).adjusted(-4, 0, 4, 0).contains(at))
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
            paint_entry(painter, self._theme.tokens, place, self._room(place.line), hidden=hidden)
            if place.entry is current:
                self._paint_focus(painter, self._around(place))
        if missing := self.left_out:
            room = self._count_room()
            painter.setPen(QColor(self._theme.tokens.muted))
            painter.drawText(room, Qt.AlignmentFlag.AlignVCenter | Qt.AlignmentFlag.AlignLeft, f"+{len(missing)}")
            if any(entry is current for entry in missing):
                self._paint_focus(painter, room)

    def _paint_focus(self, painter: QPainter, around: QRect) -> None:
        painter.setPen(QColor(self._theme.tokens.accent))
        ring = around.adjusted(-2, 0, 2, 0).intersected(self.rect())
        painter.drawRoundedRect(ring.adjusted(0, 0, -1, -1), 4, 4)
