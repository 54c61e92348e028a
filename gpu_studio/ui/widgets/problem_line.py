"""What is wrong with a field, said beside it: a sign and a sentence."""

from __future__ import annotations

from PySide6.QtCore import Qt
from PySide6.QtWidgets import QHBoxLayout, QLabel, QSizePolicy, QWidget

from gpu_studio.ui.theme.icons import pixmap
from gpu_studio.ui.theme.manager import ThemeManager
from gpu_studio.ui.units import sentence
from gpu_studio.ui.widgets.labels import Elided, Label, Paragraph

_SIGN = 14


class ProblemLine(QWidget):
    """One or more sentences; without any it takes no room. In one line it is cut, and its tooltip holds it all."""

    def __init__(self, theme: ThemeManager, parent: QWidget | None = None, *, one_line: bool = False) -> None:
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
        """What is said."""
        return self._text.text()

    def say(self, errors: tuple[str, ...], caution: str = "") -> None:
        """Say the errors; without any the caution, which is no error and has another colour."""
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
