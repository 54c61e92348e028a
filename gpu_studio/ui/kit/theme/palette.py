"""The tokens as a QPalette, for what the style sheet does not reach.

It also mixes colours and computes their contrast.
"""

from __future__ import annotations

from PySide6.QtGui import QColor, QPalette

from gpu_studio.ui.kit.theme.tokens import Tokens

READABLE = 4.5
FAINT = 0.75
"""How much of the muted colour is in what cannot be used now.

Less than in captions, and still to be read.
"""
_Role = QPalette.ColorRole


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


def readable(colour: str, ground: str, text: str) -> str:
    """`colour` moved towards the `text` colour just as far as it can be read on `ground`, at 4.5.

    1.
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
