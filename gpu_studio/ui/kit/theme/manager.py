"""The theme of the whole window, light or dark, and its one style sheet.

The system decides, unless the user has chosen.
"""

from __future__ import annotations

from functools import cache
from string import Template
from typing import Literal, get_args

from PySide6.QtCore import QObject, Qt, Signal
from PySide6.QtGui import QGuiApplication
from PySide6.QtWidgets import QApplication

from gpu_studio.common.resource_files import resource
from gpu_studio.ui.kit.theme.fonts import font, points
from gpu_studio.ui.kit.theme.palette import FAINT, make_palette, mix
from gpu_studio.ui.kit.theme.tokens import CAPTION_PX, CARD_RADIUS, DARK, LIGHT, Tokens


@cache
def _template() -> Template:
    return Template(resource("style/window.qss").read_text(encoding="utf-8"))


def make_style_sheet(tokens: Tokens) -> str:
    """The application's style sheet in these colours.

    Raises KeyError if the template names an unknown place.
    """
    return _template().substitute(_places(tokens))


def _places(tokens: Tokens) -> dict[str, str]:
    return {
        "name": tokens.name,
        "background": tokens.background,
        "surface": tokens.surface,
        "raised": tokens.raised,
        "line": tokens.line,
        "text": tokens.text,
        "muted": tokens.muted,
        "accent": tokens.accent,
        "on_accent": tokens.on_accent,
        "bad": tokens.bad,
        "warning": tokens.warning,
        "hover": mix(tokens.text, tokens.raised, 0.06),
        "pressed": mix(tokens.text, tokens.raised, 0.12),
        "accent_hover": mix(tokens.text, tokens.accent, 0.12),
        "tint": mix(tokens.accent, tokens.surface, 0.16),
        "warning_tint": mix(tokens.warning, tokens.surface, 0.14),
        "bad_tint": mix(tokens.bad, tokens.surface, 0.12),
        "faint": mix(tokens.muted, tokens.surface, FAINT),
        "scroll": mix(tokens.muted, tokens.surface, 0.4),
        "radius": f"{CARD_RADIUS}px",
        "caption": f"{points(CAPTION_PX):.3f}pt",
        "icons": resource("icons").as_posix(),
    }


Mode = Literal["system", "light", "dark"]
MODES: tuple[Mode, ...] = get_args(Mode)
_SCHEMES = {
    "system": Qt.ColorScheme.Unknown,
    "light": Qt.ColorScheme.Light,
    "dark": Qt.ColorScheme.Dark,
}


class ThemeManager(QObject):
    """Holds the tokens in force. `changed(tokens)` fires after the application wears new ones.

    Widgets that paint for themselves read `tokens` when they paint and repaint on `changed`; all
    others are dressed by the style sheet. Made once, after the QApplication, and handed to every
    page.
    """

    changed = Signal(object)

    def __init__(self, mode: Mode = "system", parent: QObject | None = None) -> None:
        super().__init__(parent)
        self._mode: Mode = mode
        self._tokens = self._wanted()
        QGuiApplication.styleHints().colorSchemeChanged.connect(self._follow)

    @property
    def tokens(self) -> Tokens:
        """The colours in force."""
        return self._tokens

    @property
    def mode(self) -> Mode:
        """What was chosen: to follow the system, or one theme always."""
        return self._mode

    def set_mode(self, mode: Mode) -> None:
        """Follow the system, or wear one theme always."""
        self._mode = mode
        # Asks the platform for title bars and native dialogs in the same scheme.
        QGuiApplication.styleHints().setColorScheme(_SCHEMES[mode])
        self._follow()

    def dress(self, application: QApplication) -> None:
        """Give the application the fonts, the palette and the style sheet of this theme, now."""
        application.setStyle("Fusion")
        application.setFont(font("text"))
        self._wear(application)

    def _follow(self) -> None:
        wanted = self._wanted()
        if wanted is self._tokens:
            return
        self._tokens = wanted
        application = QApplication.instance()
        if isinstance(application, QApplication) and application.styleSheet():
            self._wear(application)
        self.changed.emit(wanted)

    def _wear(self, application: QApplication) -> None:
        application.setPalette(make_palette(self._tokens))
        application.setStyleSheet(make_style_sheet(self._tokens))

    def _wanted(self) -> Tokens:
        if self._mode != "system":
            return DARK if self._mode == "dark" else LIGHT
        dark = QGuiApplication.styleHints().colorScheme() == Qt.ColorScheme.Dark
        return DARK if dark else LIGHT
