"""Line icons, drawn in the theme's colours at any scale from the SVG files in `resources/icons`."""

from __future__ import annotations

from functools import cache

from PySide6.QtCore import QByteArray, QRectF, QSize, Qt
from PySide6.QtGui import QIcon, QPainter, QPixmap
from PySide6.QtSvg import QSvgRenderer

from gpu_studio.common.resource_files import resource
from gpu_studio.ui.kit.theme.palette import mix
from gpu_studio.ui.kit.theme.tokens import Tokens

SIZE = 20
_SCALES = (1.0, 2.0, 3.0)


@cache
def _source(name: str) -> str:
    return resource(f"icons/{name}.svg").read_text(encoding="utf-8")


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
    """The icon in the text colour, faint where it is disabled and in the accent where it is
    checked.
    """
    made = QIcon()
    faint = mix(tokens.muted, tokens.surface, 0.6)
    for scale in _SCALES:
        made.addPixmap(pixmap(name, tokens.text, scale), QIcon.Mode.Normal, QIcon.State.Off)
        made.addPixmap(pixmap(name, faint, scale), QIcon.Mode.Disabled, QIcon.State.Off)
    return made


@cache
def coloured_icon(name: str, colour: str) -> QIcon:
    """The icon in one colour, whatever its state."""
    made = QIcon()
    for scale in _SCALES:
        drawn = pixmap(name, colour, scale)
        for mode in (
            QIcon.Mode.Normal,
            QIcon.Mode.Disabled,
            QIcon.Mode.Selected,
            QIcon.Mode.Active,
        ):
            made.addPixmap(drawn, mode)
    return made
