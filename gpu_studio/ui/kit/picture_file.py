"""Pictures to keep: what is drawn on the screen, as an image, a PNG file, or an SVG file."""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

from PySide6.QtCore import QBuffer, QByteArray, QIODevice, QRect, QSize
from PySide6.QtGui import QGuiApplication, QImage, QImageWriter, QPainter
from PySide6.QtSvg import QSvgGenerator

SHARPNESS: Final = 2
"""A picture of pixels has so many of them for each pixel of the window."""
Paint = Callable[[QPainter], None]
"""Draws a picture in the rectangle from (0, 0) to its size."""


def image_of(size: QSize, paint: Paint) -> QImage:
    """The picture in pixels, SHARPNESS times as many each way as `size` says."""
    image = QImage(size * SHARPNESS, QImage.Format.Format_ARGB32)
    image.setDevicePixelRatio(SHARPNESS)
    painter = QPainter(image)
    paint(painter)
    painter.end()
    return image


def png_of(size: QSize, paint: Paint) -> bytes:
    """The same as a PNG file."""
    buffer = QBuffer()
    buffer.open(QIODevice.OpenModeFlag.WriteOnly)
    QImageWriter(buffer, QByteArray(b"png")).write(image_of(size, paint))
    return bytes(buffer.data().data())


def svg_of(size: QSize, paint: Paint, title: str, description: str) -> bytes:
    """The picture as an SVG file of lines and letters, with words for those who do not see it."""
    content = QByteArray()
    made, device = QSvgGenerator(), QBuffer(content)
    made.setOutputDevice(device)
    made.setSize(size)
    made.setViewBox(QRect(0, 0, size.width(), size.height()))
    # The fonts are in points of this screen.
    made.setResolution(round(QGuiApplication.primaryScreen().logicalDotsPerInch()))
    made.setTitle(title)
    made.setDescription(description)
    painter = QPainter(made)
    paint(painter)
    painter.end()
    return bytes(content.data())
