"""Icons, drawn from their SVG files in the colours of a theme."""

from __future__ import annotations

from functools import cache

from PySide6.QtCore import QByteArray, QRectF, QSize, Qt
from PySide6.QtGui import QIcon, QPainter, QPixmap
from PySide6.QtSvg import QSvgRenderer

from gpu_studio.common.paths import resource
from gpu_studio.ui.kit.theme import Tokens, mix

SIZE = 20
_SCALES = (1.0, 2.0, 3.0)


@cache
def _source(name: str) -> str:
    return resource(f"icons/{name}.svg").read_text(encoding="utf-8")


@cache
def pixmap(name: str, colour: str, scale: float = 1.0, size: int = SIZE) -> QPixmap:
    """The icon in `size` device-independent pixels for a screen of this scale.

    Raises OSError if there is none.
    """
    renderer = QSvgRenderer(QByteArray(_source(name).replace("currentColor", colour).encode()))
    made = QPixmap(QSize(size, size) * scale)
    made.fill(Qt.GlobalColor.transparent)
    painter = QPainter(made)
    renderer.render(painter, QRectF(made.rect()))
    painter.end()
    made.setDevicePixelRatio(scale)
    return made


@cache
def icon(name: str, tokens: Tokens) -> QIcon:
    """The icon in the text colour, and faint where it is disabled."""
    made = QIcon()
    faint = mix(tokens.muted, tokens.surface, 0.6)
    for mode, colour in ((QIcon.Mode.Normal, tokens.text), (QIcon.Mode.Disabled, faint)):
        for scale in _SCALES:
            made.addPixmap(pixmap(name, colour, scale), mode, QIcon.State.Off)
    return made


@cache
def coloured_icon(name: str, colour: str) -> QIcon:
    """The icon in one colour, whatever its state."""
    made = QIcon()
    for scale in _SCALES:
        drawn = pixmap(name, colour, scale)
        for mode in QIcon.Mode:
            made.addPixmap(drawn, mode)
    return made
