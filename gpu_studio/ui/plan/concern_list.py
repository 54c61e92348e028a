"""A list of problems and warnings, each with a button for its remedy if there is one."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal

from PySide6.QtCore import Qt, Signal
from PySide6.QtGui import QAction
from PySide6.QtWidgets import QFrame, QGridLayout, QHBoxLayout, QLabel, QVBoxLayout, QWidget

from gpu_studio.ui.kit.button import ActionButton, Button
from gpu_studio.ui.kit.focus import holds_focus
from gpu_studio.ui.kit.labels import Elided, Paragraph
from gpu_studio.ui.kit.sentences import sentence
from gpu_studio.ui.kit.theme.icons import pixmap
from gpu_studio.ui.kit.theme.manager import ThemeManager
from gpu_studio.ui.kit.theme.tokens import GRID
from gpu_studio.ui.plan.concerns import PlanConcern

Tone = Literal["bad", "warning", "plain"]
_SIGN = 14
IN_A_ROW = 2
QUEUE_IT = "Wait in the queue"


class ConcernView(QFrame):
    """One concern: an icon, its field if any, what it is, what it means, and a button per remedy.

    `mending(Concern)` carries the chosen remedy as its mend.
    """

    mending = Signal(object)

    def __init__(
        self,
        theme: ThemeManager,
        tone: Tone,
        queue: QAction | None = None,
        parent: QWidget | None = None,
    ) -> None:
        super().__init__(parent)
        self._theme = theme
        self._tone = tone
        self.concern = PlanConcern("", "")
        self.setObjectName("notice")
        self._sign = QLabel()
        # A long field is elided in its middle: its end matters most, and it cannot be wrapped.
        self._field = Elided(role="mono", mode=Qt.TextElideMode.ElideMiddle)
        self._text, self._why = Paragraph(), Paragraph(role="caption")
        self.button, self.more = Button("", small=True), Button("Details", small=True)
        self.more.setToolTip("Show the traceback, which can be copied")
        self.others: list[Button] = []
        self._queue = queue
        self._foot = QGridLayout()
        theme.changed.connect(self._draw_sign)
        self._lay_out()
        self._wear(tone)

    def show_concern(self, concern: PlanConcern) -> None:
        """Show this one."""
        if concern == self.concern:
            return
        self.concern = concern
        self._wear("plain" if concern.awaited else self._tone)
        self.setAccessibleName(concern.said)
        # After a field the sentence continues: `training.batch_size` is 0.
        text = concern.text if concern.field else sentence(concern.text)
        for label, words in (
            (self._field, concern.field),
            (self._text, text),
            (self._why, sentence(concern.why)),
        ):
            label.setText(words)
            label.setVisible(bool(words))
        self.button.setVisible(bool(concern.action))
        self.button.setText(concern.action)
        self.button.setAccessibleName(f"{concern.action}, because {concern.said}")
        self.more.setVisible(bool(concern.details))
        self.more.setAccessibleName(f"Details of {concern.field}")
        self._show_others(concern)

    def _show_others(self, concern: PlanConcern) -> None:
        """Show the further remedies and, if it helps, the queue as the last one.

        Buttons that stay keep the focus.
        """
        labels = [mend.label for mend in concern.others]
        labels += [QUEUE_IT] if concern.waits and self._queue is not None else []
        if labels == [button.text() for button in self.others]:
            return
        for button in self.others:
            self._foot.removeWidget(button)
            button.hide()
            button.deleteLater()
        self.others = [
            self._remedy_button(place, mend.label) for place, mend in enumerate(concern.others)
        ]
        if len(labels) > len(self.others) and self._queue is not None:
            self.others.append(ActionButton(self._queue, text=QUEUE_IT, small=True))
        for place, button in enumerate(self.others, int(bool(concern.action))):
            self._foot.addWidget(button, place // IN_A_ROW, place % IN_A_ROW)

    def _remedy_button(self, place: int, label: str) -> Button:
        button = Button(label, small=True)
        button.setAccessibleName(f"{label}, because {self.concern.said}")
        button.clicked.connect(lambda: self.mending.emit(self.concern.by_other(place)))
        return button

    def _lay_out(self) -> None:
        words = QVBoxLayout()
        words.setSpacing(2)
        for widget in (self._field, self._text, self._why):
            words.addWidget(widget)
        self._foot.setContentsMargins(0, GRID // 2, 0, 0)
        self._foot.setSpacing(GRID // 2)
        self._foot.addWidget(self.button, 0, 0)
        # A refusal has details, and no further remedies.
        self._foot.addWidget(self.more, 0, 1)
        self._foot.setColumnStretch(IN_A_ROW, 1)
        self.button.clicked.connect(lambda: self.mending.emit(self.concern))
        words.addLayout(self._foot)
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
        colour = (
            self._theme.tokens.muted
            if self.concern.awaited
            else getattr(self._theme.tokens, self._tone)
        )
        self._sign.setPixmap(pixmap("warning", colour, self.devicePixelRatioF(), _SIGN))


class ConcernList(QWidget):
    """The concerns, one below the other; views of concerns that stay are kept.

    `mending(Concern)` fires when a remedy's button is pressed, `reading(Concern)` when the user
    asks for details.
    """

    mending = Signal(object)
    reading = Signal(object)

    def __init__(self, theme: ThemeManager, tone: Tone, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._theme = theme
        self._tone: Tone = tone
        self.queue: QAction | None = None
        """What puts the plan into the queue, for what can be waited for there."""
        self.views: dict[str, ConcernView] = {}
        self._column = QVBoxLayout(self)
        self._column.setContentsMargins(0, 0, 0, 0)
        self._column.setSpacing(GRID)

    def show_concerns(self, concerns: Sequence[PlanConcern]) -> None:
        """Show these; if the focused button goes, the focus moves to the next one."""
        before = self.views
        focused = next(
            (place for place, view in enumerate(before.values()) if holds_focus(view.button)), None
        )
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
        view = ConcernView(self._theme, self._tone, self.queue)
        view.mending.connect(self.mending)
        view.more.clicked.connect(lambda: self.reading.emit(view.concern))
        return view

    def _pass_on_focus(self, focused: int | None, gone: Sequence[ConcernView]) -> None:
        if focused is None or not any(holds_focus(view.button) for view in gone):
            return
        buttons = [view.button for view in self.views.values() if view.concern.action]
        if buttons:
            buttons[min(focused, len(buttons) - 1)].setFocus()
        else:
            # Qt itself would move the focus to whatever field comes next.
            self.window().setFocus()
