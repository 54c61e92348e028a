"""Draw the desktop's icons in every size from their SVG files: `python packaging/icons.py`.

They are part of the repository, since whoever installs the program need not have what draws them.
"""

from __future__ import annotations

import os
import sys
from pathlib import Path
from typing import Final

from PySide6.QtCore import QRectF
from PySide6.QtGui import QGuiApplication, QImage, QPainter
from PySide6.QtSvg import QSvgRenderer

FOLDER: Final = Path(__file__).resolve().parents[1] / "resources/desktop/icons/hicolor"
SIZES: Final = (16, 22, 24, 32, 48, 64, 128, 256, 512)
ICONS: Final = (
    "apps/gpu-studio",
    "mimetypes/application-x-gpu-studio-plan",
    "mimetypes/application-x-gpu-studio-study",
)


def path_of(name: str, size: int) -> Path:
    """Where the icon `name`, as `apps/gpu-studio`, of `size` pixels lies."""
    return FOLDER / f"{size}x{size}" / f"{name}.png"


def drawn(name: str, size: int) -> QImage:
    """The icon of `size` by `size` pixels. Needs a QGuiApplication."""
    image = QImage(size, size, QImage.Format.Format_ARGB32)
    image.fill(0)
    painter = QPainter(image)
    QSvgRenderer(str(FOLDER / "scalable" / f"{name}.svg")).render(painter, QRectF(0, 0, size, size))
    painter.end()
    return image


def main() -> int:
    """Draw all of them; return the exit code."""
    os.environ.setdefault("QT_QPA_PLATFORM", "offscreen")
    application = QGuiApplication(sys.argv[:1])
    for name in ICONS:
        for size in SIZES:
            path_of(name, size).parent.mkdir(parents=True, exist_ok=True)
            if not drawn(name, size).save(str(path_of(name, size))):
                return 1
    del application
    return 0


if __name__ == "__main__":
    sys.exit(main())
