"""The error of a field, shown beside it: an icon and a sentence."""

from __future__ import annotations

from PySide6.QtCore import Qt
from PySide6.QtWidgets import QHBoxLayout, QLabel, QSizePolicy, QWidget

from gpu_studio.ui.kit.labels import Elided, Label, Paragraph
from gpu_studio.ui.kit.sentences import sentence
from gpu_studio.ui.kit.theme.icons import pixmap
from gpu_studio.ui.kit.theme.manager import ThemeManager

_SIGN = 14


class ProblemLine(QWidget):
    """One or more sentences; hidden if there are none.

    On a single line the text is elided, and the tooltip holds all of it.
    """

    def __init__(
        self, theme: ThemeManager, parent: QWidget | None = None, *, one_line: bool = False
    ) -> None:
        super().__init__(parent)
        self._theme = theme
        self._bad = False
        self._sign = QLabel()
        self._sign.setFixedWidth(_SIGN)
        self._text: Label = Elided(role="caption") if one_line else Paragraph(role="caption")
        self._text.setSizePolicy(QSizePolicy.Policy.Ignored if one_line else QSizePolicy.Policy.Preferred,
                                 QSizePolicy.Policy.Preferred)  # fmt: skip
        row = QHBoxLayout(self)
        row.setContentsMargins(0, 0, 0, 0)
        row.setSpacing(6)
        row.addWidget(self._sign, 0, Qt.AlignmentFlag.AlignTop)
        row.addWidget(self._text, 1)
        theme.changed.connect(self._draw_sign)
        self.hide()

    @property
    def text(self) -> str:
        """The text shown."""
        return self._text.text()

    def say(self, errors: tuple[str, ...], caution: str = "") -> None:
        """Show the errors or, if there are none, the caution, in another colour."""
        text = " ".join(sentence(each) for each in errors or filter(None, (caution,)))
        self.setVisible(bool(text))
        if text == self._text.text() and self._bad == bool(errors):
            return
        self._text.setText(text)
        self._text.set_tone("bad" if errors else "")
        self._bad = bool(errors)
        self._draw_sign()

    def _draw_sign(self) -> None:
        tokens = self._theme.tokens
        colour = tokens.bad if self._bad else tokens.warning
        self._sign.setPixmap(pixmap("warning", colour, self.devicePixelRatioF(), _SIGN))
