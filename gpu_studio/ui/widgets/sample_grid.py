"""Small pictures of samples, each over the words of its target."""

from __future__ import annotations

from collections.abc import Sequence

from PySide6.QtCore import QRect, QSize, Qt
from PySide6.QtGui import QColor, QImage, QPainter, QPaintEvent
from PySide6.QtWidgets import QSizePolicy, QWidget

from gpu_studio.placement.data_facts import Sample
from gpu_studio.ui.theme.fonts import font
from gpu_studio.ui.theme.manager import ThemeManager
from gpu_studio.ui.theme.tokens import GRID

PICTURE = 64
_FORMATS = {1: QImage.Format.Format_Grayscale8, 3: QImage.Format.Format_RGB888, 4: QImage.Format.Format_RGBA8888}


class SampleGrid(QWidget):
    """Paints images of 1, 3 or 4 channels, as many beside each other as there is room for.

    A small image is enlarged by whole pixels, so that each of its pixels is seen; a large one is made to fit.
    """

    def __init__(self, theme: ThemeManager, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._theme = theme
        self._samples: tuple[Sample, ...] = ()
        self._images: tuple[QImage, ...] = ()
        policy = QSizePolicy(QSizePolicy.Policy.Expanding, QSizePolicy.Policy.Fixed)
        policy.setHeightForWidth(True)
        self.setSizePolicy(policy)
        self.setFont(font("caption"))
        theme.changed.connect(self.update)

    def set_samples(self, samples: Sequence[Sample]) -> None:
        """Show those of these that are images."""
        shown = tuple(each for each in samples if each.image is not None and each.channels in _FORMATS)
        if shown == self._samples:
            return
        self._samples = shown
        self._images = tuple(picture(sample) for sample in shown)
        self.setAccessibleName(f"{len(shown)} samples: {', '.join(sample.label for sample in shown)}")
        self.setVisible(bool(shown))
        self.updateGeometry()
        self.update()

    @property
    def samples(self) -> tuple[Sample, ...]:
        """What is shown."""
        return self._samples

    def heightForWidth(self, width: int) -> int:  # noqa: N802 - Qt's name
        """As many rows as the pictures need."""
        rows = -(-len(self._samples) // self._columns(width)) if self._samples else 0
        return rows * self._step()

    def hasHeightForWidth(self) -> bool:  # noqa: N802 - Qt's name
        """The width says how many stand in a row."""
        return True

    def sizeHint(self) -> QSize:  # noqa: N802 - Qt's name
        """One row as wide as there is room."""
        return QSize(PICTURE, self.heightForWidth(max(PICTURE, self.width())))

    def paintEvent(self, event: QPaintEvent) -> None:  # noqa: N802 - Qt's name
        """Draw every picture and its words."""
        del event
        painter = QPainter(self)
        columns = self._columns(self.width())
        for place, (sample, image) in enumerate(zip(self._samples, self._images, strict=True)):
            left, top = place % columns * (PICTURE + GRID), place // columns * self._step()
            self._draw(painter, QRect(left, top, PICTURE, PICTURE), image, sample.label)

    def _draw(self, painter: QPainter, room: QRect, image: QImage, label: str) -> None:
        tokens = self._theme.tokens
        painter.fillRect(room, QColor(tokens.raised))
        place = QRect(room.topLeft(), image.size())
        place.moveCenter(room.center())
        painter.drawImage(place, image)
        painter.setPen(QColor(tokens.muted))
        line = QRect(room.left(), room.bottom() + 1, room.width(), self._step() - PICTURE - 2)
        text = self.fontMetrics().elidedText(label, Qt.TextElideMode.ElideRight, line.width())
        painter.drawText(line, Qt.AlignmentFlag.AlignHCenter | Qt.AlignmentFlag.AlignTop, text)

    def _columns(self, width: int) -> int:
        return max(1, (width + GRID) // (PICTURE + GRID))

    def _step(self) -> int:
        return PICTURE + self.fontMetrics().height() + GRID // 2


def picture(sample: Sample) -> QImage:
    """The image of a sample, at most 64 pixels high and wide. Raises KeyError for channels that make no image."""
    stride = sample.width * sample.channels
    image = QImage(sample.image or b"", sample.width, sample.height, stride, _FORMATS[sample.channels]).copy()
    longest = max(sample.width, sample.height, 1)
    if longest > PICTURE:
        mode = Qt.TransformationMode.SmoothTransformation
        return image.scaled(PICTURE, PICTURE, Qt.AspectRatioMode.KeepAspectRatio, mode)
    return image.scaled(image.size() * (PICTURE // longest))
