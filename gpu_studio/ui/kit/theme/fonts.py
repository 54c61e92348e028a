"""The window's two type families and the sizes in which they are used.

Sizes are pixels on a 96 dpi screen, as the mockups give them, but are set in points, because Qt's
pixel sizes are whole numbers and a caption has 11.5. All digits have one width, so that a number
that changes does not make its line dance.
"""

from __future__ import annotations

from functools import cache
from typing import Literal

from PySide6.QtGui import QFont, QFontDatabase, QGuiApplication

from gpu_studio.common.resource_files import resource
from gpu_studio.ui.kit.theme.tokens import CAPTION_PX, HEADING_PX, TEXT_PX

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
    family, pixels, weight = _LOOKS[role]
    made = QFont(family)
    made.setStyleHint(QFont.StyleHint.Monospace if family == MONO else QFont.StyleHint.SansSerif)
    made.setPointSizeF(points(pixels))
    made.setWeight(weight)
    made.setFeature(QFont.Tag("tnum"), 1)
    return made


def points(pixels: float) -> float:
    """A size in device-independent pixels as points on this screen."""
    screen = QGuiApplication.primaryScreen()
    return pixels * 72.0 / (screen.logicalDotsPerInch() if screen is not None else 96.0)
