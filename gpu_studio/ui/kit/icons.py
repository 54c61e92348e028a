"""Icons, drawn from their SVG files in the colours of a theme."""

from __future__ import annotations

from functools import cache
from typing import Final

from PySide6.QtCore import QByteArray, QPoint, QRect, QRectF, QSize, Qt
from PySide6.QtGui import QIcon, QIconEngine, QPainter, QPixmap
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


class _ThemedIcon(QIconEngine):
    """Draws an icon once somebody looks at it, in that size: most of a window's are in menus."""

    def __init__(self, name: str, tokens: Tokens) -> None:
        super().__init__()
        self._name, self._tokens = name, tokens
        self._faint = mix(tokens.muted, tokens.surface, 0.6)

    def scaledPixmap(  # noqa: N802 - Qt's name
        self, size: QSize, mode: QIcon.Mode, state: QIcon.State, scale: float
    ) -> QPixmap:
        """The icon in the text colour, and faint where it is disabled."""
        del state
        colour = self._faint if mode == QIcon.Mode.Disabled else self._tokens.text
        return pixmap(self._name, colour, scale, min(size.width(), size.height()))

    def pixmap(self, size: QSize, mode: QIcon.Mode, state: QIcon.State) -> QPixmap:
        """The same for a screen of the usual density."""
        return self.scaledPixmap(size, mode, state, 1.0)

    def paint(self, painter: QPainter, rect: QRect, mode: QIcon.Mode, state: QIcon.State) -> None:
        """Draw the icon."""
        scale = painter.device().devicePixelRatioF()
        place = QRect(QPoint(), self.actualSize(rect.size(), mode, state))
        place.moveCenter(rect.center())
        painter.drawPixmap(place, self.scaledPixmap(place.size(), mode, state, scale))

    def actualSize(self, size: QSize, mode: QIcon.Mode, state: QIcon.State) -> QSize:  # noqa: N802
        """Icons are square."""
        del mode, state
        side = min(size.width(), size.height())
        return QSize(side, side)

    def clone(self) -> QIconEngine:
        """Another engine of this icon, which Qt asks for where a copy of an icon is changed.

        Qt deletes it, but does not tell Python that it is its owner.
        """
        made = _ThemedIcon(self._name, self._tokens)
        _CLONES.append(made)
        return made


_CLONES: Final[list[QIconEngine]] = []


@cache
def icon(name: str, tokens: Tokens) -> QIcon:
    """The icon in the text colour, and faint where it is disabled."""
    return QIcon(_ThemedIcon(name, tokens))


@cache
def coloured_icon(name: str, colour: str) -> QIcon:
    """The icon in one colour, whatever its state."""
    made = QIcon()
    for scale in _SCALES:
        drawn = pixmap(name, colour, scale)
        for mode in QIcon.Mode:
            made.addPixmap(drawn, mode)
    return made
