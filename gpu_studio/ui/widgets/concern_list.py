"""Things to see to, each with a button that mends it where that is possible."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal

from PySide6.QtCore import Qt, Signal
from PySide6.QtWidgets import QFrame, QHBoxLayout, QLabel, QVBoxLayout, QWidget

from gpu_studio.ui.models.plan.concerns import Concern
from gpu_studio.ui.theme.icons import pixmap
from gpu_studio.ui.theme.manager import ThemeManager
from gpu_studio.ui.theme.tokens import GRID
from gpu_studio.ui.units import sentence
from gpu_studio.ui.widgets.button import Button
from gpu_studio.ui.widgets.labels import Elided, Paragraph

Tone = Literal["bad", "warning", "plain"]
_SIGN = 14


class ConcernView(QFrame):
    """One of them: a sign, the field if there is one, what it is, what it means, and the button."""

    def __init__(self, theme: ThemeManager, tone: Tone, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._theme = theme
        self._tone = tone
        self.concern = Concern("", "")
        self.setObjectName("notice")
        self._sign = QLabel()
        # A long field gives way in its middle: its end is what it is about, and it has no place to break at.
        self._field = Elided(role="mono", mode=Qt.TextElideMode.ElideMiddle)
        self._text, self._why = Paragraph(), Paragraph(role="caption")
        self.button = Button("", small=True)
        theme.changed.connect(self._draw_sign)
        self._lay_out()
        self._wear(tone)

    def show_concern(self, concern: Concern) -> None:
        """Show this one."""
        if concern == self.concern:
            return
        self.concern = concern
        self._wear("plain" if concern.awaited else self._tone)
        self.setAccessibleName(concern.said)
        # After a field the text goes on: `training.batch_size` is 0.
        text = concern.text if concern.field else sentence(concern.text)
        for label, words in ((self._field, concern.field), (self._text, text), (self._why, sentence(concern.why))):
            label.setText(words)
            label.setVisible(bool(words))
        self.button.setVisible(bool(concern.deed))
        self.button.setText(concern.deed)
        self.button.setAccessibleName(f"{concern.deed}, because {concern.said}")

    def _lay_out(self) -> None:
        words = QVBoxLayout()
        words.setSpacing(2)
        for widget in (self._field, self._text, self._why):
            words.addWidget(widget)
        foot = QHBoxLayout()
        foot.setContentsMargins(0, GRID // 2, 0, 0)
        foot.addWidget(self.button)
        foot.addStretch(1)
        words.addLayout(foot)
        row = QHBoxLayout(self)
        row.setContentsMargins(GRID + 2, GRID, GRID + 2, GRID)
        row.setSpacing(GRID)
        top = QVBoxLayout()
        top.addWidget(self._sign)
        top.addStretch(1)
        row.addLayout(top)
        row.addLayout(words, 1)

    def _wear(self, tone: Tone) -> None:
        if self.property("tone") != tone:
            self.setProperty("tone", tone)
            self.style().unpolish(self)
            self.style().polish(self)
        self._draw_sign()

    def _draw_sign(self) -> None:
        colour = self._theme.tokens.muted if self.concern.awaited else getattr(self._theme.tokens, self._tone)
        self._sign.setPixmap(pixmap("warning", colour, self.devicePixelRatioF(), _SIGN))


class ConcernList(QWidget):
    """Under each other; the views of those that stay are kept. `mending(Concern)` fires when a button is pressed."""

    mending = Signal(object)

    def __init__(self, theme: ThemeManager, tone: Tone, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._theme = theme
        self._tone: Tone = tone
        self.views: dict[str, ConcernView] = {}
        self._column = QVBoxLayout(self)
        self._column.setContentsMargins(0, 0, 0, 0)
        self._column.setSpacing(GRID)

    def show_concerns(self, concerns: Sequence[Concern]) -> None:
        """Show these; the focus goes on to the next button if its own goes."""
        before = self.views
        focused = next((place for place, view in enumerate(before.values()) if view.button.hasFocus()), None)
        self.views = {concern.key: before.get(concern.key) or self._made() for concern in concerns}
        for place, concern in enumerate(concerns):
            view = self.views[concern.key]
            if self._column.indexOf(view) != place:
                self._column.insertWidget(place, view)
            view.show_concern(concern)
        self.setVisible(bool(concerns))
        gone = [view for key, view in before.items() if key not in self.views]
        self._pass_on_focus(focused, gone)
        for view in gone:
            self._column.removeWidget(view)
            view.hide()
            view.deleteLater()

    def _made(self) -> ConcernView:
        view = ConcernView(self._theme, self._tone)
        view.button.clicked.connect(lambda: self.mending.emit(view.concern))
        return view

    def _pass_on_focus(self, focused: int | None, gone: Sequence[ConcernView]) -> None:
        if focused is None or not any(view.button.hasFocus() for view in gone):
            return
        buttons = [view.button for view in self.views.values() if view.concern.deed]
        if buttons:
            buttons[min(focused, len(buttons) - 1)].setFocus()
