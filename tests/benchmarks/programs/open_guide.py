"""How long it takes to make the guide's window and paint a page, each time with nothing kept."""

from __future__ import annotations

import json
import sys
import tempfile
import time
from pathlib import Path

from PySide6.QtWidgets import QWidget

from gpu_studio.common.guide import guide
from gpu_studio.ui.kit.settings import Settings
from gpu_studio.ui.kit.theme import ThemeManager
from gpu_studio.ui.window import guide_view
from gpu_studio.ui.window.app import make_application
from gpu_studio.ui.window.guide_window import GuideWindow


def main(times: int) -> None:
    """Print the milliseconds of each page as JSON."""
    application, theme = make_application(), ThemeManager("light")
    theme.dress(application)
    settings = Settings(Path(tempfile.mkdtemp()) / "window.ini")
    taken: dict[str, list[float]] = {}
    for page in guide().pages:
        for _ in range(times):
            guide.cache_clear()
            guide_view.as_html.cache_clear()
            parent, begun = QWidget(), time.perf_counter()
            window = GuideWindow(theme, settings, parent)
            window.show_place(page)
            window.show()
            window.grab()
            taken.setdefault(page, []).append(1000 * (time.perf_counter() - begun))
    print(json.dumps(taken))


main(int(sys.argv[1]))
