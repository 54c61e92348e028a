"""How the window looks, light or dark: colours and measures, fonts, icons, the style sheet.

All painting uses the tokens. `ThemeManager` holds those in force: the system decides, unless
the user has chosen. Font sizes are pixels on a 96 dpi screen, as the mockups give them, but are
set in points, because Qt's pixel sizes are whole numbers and a caption has 11.5. All digits
have one width, so that a number that changes does not move its line.
"""

from __future__ import annotations

from dataclasses import asdict, dataclass
from functools import cache
from string import Template
from typing import TYPE_CHECKING, Literal, get_args

from PySide6.QtCore import QObject, Qt, Signal
from PySide6.QtGui import (
    QColor,
    QFont,
    QFontDatabase,
    QFontMetrics,
    QGuiApplication,
    QPalette,
)
from PySide6.QtWidgets import QApplication

from gpu_studio.common.paths import resource
from gpu_studio.ui.kit.device_place import HOST

if TYPE_CHECKING:
    from gpu_studio.contract import State

GRID = 8
CARD_RADIUS = 12
HEADING_PX = 19
TEXT_PX = 13
CAPTION_PX = 11.5

# Dash patterns by device, in pen widths; an empty one is a solid line. With the colour they tell
# devices apart, so that colour is never the only sign.
DASHES: tuple[tuple[int, ...], ...] = (
    (),
    (7, 4),
    (2, 3),
    (9, 3, 2, 3),
    (12, 4),
    (4, 2),
    (1, 2),
    (12, 3, 2, 3, 2, 3),
)
_SHIFT = 3


@dataclass(frozen=True, slots=True)
class Tokens:
    """One theme. Colours are `#rrggbb`."""

    name: str
    background: str
    surface: str
    raised: str
    line: str
    text: str
    muted: str
    accent: str
    on_accent: str
    good: str
    warning: str
    bad: str
    host: str
    devices: tuple[str, ...]

    def device_colour(self, index: int) -> str:
        """The colour of a device by its place among the logical devices, the same everywhere."""
        return self.host if index >= HOST else self.devices[index % len(self.devices)]

    @staticmethod
    def device_dash(index: int) -> tuple[int, ...]:
        """The dash of the device number `index`, in pen widths; empty is solid.

        Where the colours begin anew the dashes do not: no two of many devices look the same.
        """
        return (
            () if index >= HOST else DASHES[(index + _SHIFT * (index // len(DASHES))) % len(DASHES)]
        )


DARK = Tokens(
    name="dark",
    background="#15171b",
    surface="#1b1e24",
    raised="#23272f",
    line="#2e333d",
    text="#e7e9ee",
    muted="#98a1b0",
    accent="#5b9dff",
    on_accent="#0b1220",
    good="#3dbe8b",
    warning="#f0b03f",
    bad="#ff6b62",
    host="#8b94a3",
    devices=(
        "#4c9aff",
        "#f59e3c",
        "#3dbe8b",
        "#e06cb0",
        "#a98bff",
        "#3fc1d6",
        "#d6c14a",
        "#ff8a73",
    ),
)
LIGHT = Tokens(
    name="light",
    background="#f4f5f8",
    surface="#ffffff",
    raised="#f0f2f6",
    line="#dde1e8",
    text="#1b1f26",
    muted="#5a6372",
    accent="#1f6feb",
    on_accent="#ffffff",
    good="#138a5b",
    warning="#a86500",
    bad="#c62f27",
    host="#6b7482",
    devices=(
        "#1f6feb",
        "#c46a00",
        "#138a5b",
        "#b0387f",
        "#6b46d6",
        "#0e7f95",
        "#857300",
        "#c2452d",
    ),
)


READABLE = 4.5
FAINT = 0.75
"""How much of the muted colour is in what cannot be used now.

Less than in captions, and still to be read.
"""
_Role = QPalette.ColorRole


@cache
def mix(colour: str, ground: str, share: float) -> str:
    """`share` (0…1) of `colour` laid over `ground`, as an opaque `#rrggbb`."""
    over, under = QColor(colour), QColor(ground)
    channels = zip(_channels(over), _channels(under), strict=True)
    return QColor(*(round(top * share + bottom * (1 - share)) for top, bottom in channels)).name()


def _channels(colour: QColor) -> tuple[int, int, int]:
    return colour.red(), colour.green(), colour.blue()


def contrast(one: str, other: str) -> float:
    """The contrast ratio of two colours, 1…21, as WCAG 2.2 defines it under "contrast ratio"."""
    bright, dim = sorted((_luminance(QColor(one)), _luminance(QColor(other))), reverse=True)
    return (bright + 0.05) / (dim + 0.05)


@cache
def readable(colour: str, ground: str, text: str) -> str:
    """`colour`, moved towards the `text` colour just as far as it takes to be read on `ground`.

    That is, to a contrast of 4.5:1.
    """
    inks = (mix(text, colour, step / 20) for step in range(21))
    return next((ink for ink in inks if contrast(ink, ground) >= READABLE), text)


def make_palette(tokens: Tokens) -> QPalette:
    """The palette of the whole application."""
    palette = QPalette()
    for role, colour in _roles(tokens).items():
        palette.setColor(role, QColor(colour))
    faint = QColor(mix(tokens.muted, tokens.surface, FAINT))
    for role in (_Role.WindowText, _Role.Text, _Role.ButtonText):
        palette.setColor(QPalette.ColorGroup.Disabled, role, faint)
    return palette


def _luminance(colour: QColor) -> float:
    """Relative luminance, WCAG 2.2."""
    shares = (channel / 255 for channel in _channels(colour))
    red, green, blue = (
        share / 12.92 if share <= 0.04045 else ((share + 0.055) / 1.055) ** 2.4 for share in shares
    )
    return 0.2126 * red + 0.7152 * green + 0.0722 * blue


def _roles(tokens: Tokens) -> dict[QPalette.ColorRole, str]:
    return {
        _Role.Window: tokens.background,
        _Role.WindowText: tokens.text,
        _Role.Base: tokens.surface,
        _Role.AlternateBase: tokens.raised,
        _Role.Text: tokens.text,
        _Role.PlaceholderText: tokens.muted,
        _Role.Button: tokens.raised,
        _Role.ButtonText: tokens.text,
        _Role.BrightText: tokens.bad,
        _Role.ToolTipBase: tokens.raised,
        _Role.ToolTipText: tokens.text,
        _Role.Highlight: tokens.accent,
        _Role.HighlightedText: tokens.on_accent,
        _Role.Link: tokens.accent,
        _Role.Light: tokens.raised,
        _Role.Midlight: tokens.line,
        _Role.Mid: tokens.line,
        _Role.Dark: tokens.line,
    }


FontRole = Literal[
    "text", "strong", "heading", "title", "caption", "section", "mono", "mono_caption"
]

SANS = "Inter"
MONO = "JetBrains Mono"
_FILES = (
    "Inter-Regular.otf",
    "Inter-Medium.otf",
    "Inter-SemiBold.otf",
    "JetBrainsMono-Regular.ttf",
)
_LOOKS: dict[FontRole, tuple[str, float, QFont.Weight]] = {
    "text": (SANS, TEXT_PX, QFont.Weight.Normal),
    "strong": (SANS, TEXT_PX, QFont.Weight.DemiBold),
    "heading": (SANS, HEADING_PX, QFont.Weight.DemiBold),
    "title": (SANS, TEXT_PX, QFont.Weight.DemiBold),
    "caption": (SANS, CAPTION_PX, QFont.Weight.Normal),
    "section": (SANS, CAPTION_PX, QFont.Weight.DemiBold),
    "mono": (MONO, 12.0, QFont.Weight.Normal),
    "mono_caption": (MONO, 11.0, QFont.Weight.Normal),
}


@cache
def load_fonts() -> tuple[str, ...]:
    """Register the bundled fonts, once a process.

    Returns the families that Qt now knows; needs a QApplication.
    """
    loaded = (QFontDatabase.addApplicationFont(str(resource(f"fonts/{name}"))) for name in _FILES)
    families = {
        family for handle in loaded for family in QFontDatabase.applicationFontFamilies(handle)
    }
    return tuple(sorted(families))


def font(role: FontRole) -> QFont:
    """The font for this role.

    Where the bundled family is missing, the system's own sans or fixed-width font.
    """
    load_fonts()
    return QFont(_made(role, points(_LOOKS[role][1])))


@cache
def _made(role: FontRole, size: float) -> QFont:
    """A font is made once for each size: a window asks for one hundreds of times."""
    family, _, weight = _LOOKS[role]
    made = QFont(family)
    made.setStyleHint(QFont.StyleHint.Monospace if family == MONO else QFont.StyleHint.SansSerif)
    made.setPointSizeF(size)
    made.setWeight(weight)
    made.setFeature(QFont.Tag("tnum"), 1)
    return made


def line_height(role: FontRole) -> int:
    """How high a line of this font is, in pixels."""
    return _height(role, points(_LOOKS[role][1]))


@cache
def _height(role: FontRole, size: float) -> int:
    return QFontMetrics(_made(role, size)).height()


def text_width(role: FontRole, text: str) -> int:
    """How wide a text that is often measured is in this font, in pixels."""
    return _width(role, points(_LOOKS[role][1]), text)


@cache
def _width(role: FontRole, size: float, text: str) -> int:
    return QFontMetrics(_made(role, size)).horizontalAdvance(text)


def points(pixels: float) -> float:
    """A size in device-independent pixels as points on this screen."""
    screen = QGuiApplication.primaryScreen()
    return pixels * 72.0 / (screen.logicalDotsPerInch() if screen is not None else 96.0)


ICONS: dict[State, str] = {
    "starting": "hourglass",
    "running": "dot",
    "paused": "pause",
    "stopping": "hourglass",
    "finished": "check",
    "stopped": "stop",
    "failed": "cross",
    "lost": "question",
}


def state_token(state: State) -> str:
    """The name of the token that colours a state. The word or the icon always stands beside it."""
    if state in ("running", "finished"):
        return "good"
    if state in ("failed", "lost"):
        return "bad"
    return "warning" if state in ("paused", "stopping", "stopped") else "accent"


def state_colour(state: State, tokens: Tokens) -> str:
    """The colour of a state in this theme, `#rrggbb`."""
    colour: str = getattr(tokens, state_token(state))
    return colour


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
        **{name: value for name, value in asdict(tokens).items() if isinstance(value, str)},
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
        _forget_polished(application)
        application.setStyleSheet(make_style_sheet(self._tokens))

    def _wanted(self) -> Tokens:
        if self._mode != "system":
            return DARK if self._mode == "dark" else LIGHT
        dark = QGuiApplication.styleHints().colorScheme() == Qt.ColorScheme.Dark
        return DARK if dark else LIGHT


def _forget_polished(application: QApplication) -> None:
    """Have the next style sheet polish each widget once.

    Qt polishes each widget that it remembers with all that is in it: a widget within ten others
    eleven times. So it is made to remember only those widgets that are in no other.
    """
    style = application.style()
    style.unpolish(application)
    for widget in application.topLevelWidgets():
        if widget.parentWidget() is None:
            style.polish(widget)
