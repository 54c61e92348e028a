"""Texts on the screen by role.

The role gives size and weight, the style sheet the colour.
"""

from __future__ import annotations

from typing import Literal

from PySide6.QtCore import QSize, Qt
from PySide6.QtGui import QPainter, QPaintEvent
from PySide6.QtWidgets import QLabel, QSizePolicy, QWidget

from gpu_studio.ui.kit.theme.fonts import FontRole, font

Role = Literal[
    "text", "strong", "heading", "title", "caption", "muted", "section", "mono", "mono_caption"
]


def _font_role(role: Role) -> FontRole:
    return "text" if role == "muted" else role


class Label(QLabel):
    """A line of plain text in one role.

    Text is never interpreted as rich text, so a name with `<` is shown as it is.
    """

    def __init__(self, text: str = "", role: Role = "text", parent: QWidget | None = None) -> None:
        super().__init__(text, parent)
        self.setTextFormat(Qt.TextFormat.PlainText)
        self.setProperty("role", role)
        self.setFont(font(_font_role(role)))

    def set_tone(self, tone: Literal["", "bad"]) -> None:
        """Colour the text as an error, or not."""
        self.setProperty("tone", tone)
        self.style().unpolish(self)
        self.style().polish(self)


_LONGEST_WORD = 24


class Paragraph(Label):
    """Wrapped text of several lines that can be selected and copied.

    A word that is too long for its place is cut itself, and makes nothing beside it wider than the
    window has room for.
    """

    def __init__(self, text: str = "", role: Role = "text", parent: QWidget | None = None) -> None:
        super().__init__(text, role, parent)
        self.setWordWrap(True)
        self.setTextInteractionFlags(Qt.TextInteractionFlag.TextSelectableByMouse)
        self.setFocusPolicy(Qt.FocusPolicy.NoFocus)

    def minimumSizeHint(self) -> QSize:  # noqa: N802 - Qt's name
        """Room for a word, but for no more than so many wide letters."""
        hint = super().minimumSizeHint()
        return QSize(
            min(hint.width(), self.fontMetrics().horizontalAdvance("M" * _LONGEST_WORD)),
            hint.height(),
        )


class Elided(Label):
    """A line that is elided at its end or middle if it does not fit.

    Its tooltip holds all of it.
    """

    def __init__(
        self,
        text: str = "",
        role: Role = "text",
        parent: QWidget | None = None,
        *,
        mode: Qt.TextElideMode = Qt.TextElideMode.ElideRight,
        letters: int = 3,
    ) -> None:
        """`letters` wide ones, or the text where it is shorter, are kept room for, whatever stands
        beside it.
        """
        super().__init__(text, role, parent)
        self.whole = ""
        """What the tooltip says where it is more than the text."""
        self._mode = mode
        self._letters = letters
        self.setSizePolicy(QSizePolicy.Policy.Maximum, QSizePolicy.Policy.Preferred)

    def minimumSizeHint(self) -> QSize:  # noqa: N802 - Qt's name
        """Room for its letters: the rest may be cut."""
        few = self.fontMetrics().horizontalAdvance(f"{'M' * self._letters}…")
        return QSize(min(few, super().sizeHint().width()), super().minimumSizeHint().height())

    def paintEvent(self, event: QPaintEvent) -> None:  # noqa: N802 - Qt's name
        """Draw what fits."""
        del event
        shown = self.fontMetrics().elidedText(self.text(), self._mode, self.width())
        self.setToolTip(self.whole or (self.text() if shown != self.text() else ""))
        painter = QPainter(self)
        self.style().drawItemText(
            painter,
            self.rect(),
            int(self.alignment()),
            self.palette(),
            self.isEnabled(),
            shown,
            self.foregroundRole(),
        )
