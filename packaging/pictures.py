"""Make the guide's pictures anew from the real window: `make pictures`.

Two plans of the guide are trained for real, in a folder that is removed afterwards. The window then
shows these runs, on an invented machine with two cards, which it marks as simulated. Each picture
is taken in light and in dark.
"""

from __future__ import annotations

import os
import re
import struct
import subprocess
import sys
import tempfile
import time
import zlib
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Final, Literal

from gpu_studio.common.guide import guide

if TYPE_CHECKING:
    from PySide6.QtGui import QImage
    from PySide6.QtWidgets import QWidget

    from gpu_studio.ui.kit.theme import ThemeManager
    from gpu_studio.ui.window.main_window import MainWindow

WIDTH, HEIGHT = 1024, 700
PATIENCE_S = 300.0
STUDY: Final = "batches.study.toml"
SIMULATE: Final = "GPU_STUDIO_SIMULATE"
DRESSING_S = 1.0
THEMES: Final[tuple[Literal["light"], Literal["dark"]]] = ("light", "dark")
_PLAN = re.compile(r"```toml\n(.*?)```", re.DOTALL)

_CARVE = re.compile(r"\[\[devices.carve\]\].*?(?=\n\[)", re.DOTALL)


def main() -> None:
    """Train, show, and write the pictures into the guide."""
    with tempfile.TemporaryDirectory() as scratch:
        home = Path(scratch)
        os.environ |= {"HOME": scratch, "XDG_RUNTIME_DIR": scratch, "QT_QPA_PLATFORM": "offscreen"}
        for name in ("XDG_CONFIG_HOME", "XDG_DATA_HOME", "XDG_STATE_HOME", "XDG_CACHE_HOME"):
            os.environ.pop(name, None)
        for page in ("plan", "placement"):
            _train(home, page)
        on_cards = _CARVE.sub("", _plan_of("placement")).replace("CPU:", "GPU:")
        (home / "shown.plan.toml").write_text(on_cards, encoding="utf-8")
        os.environ[SIMULATE] = "2xRTX4090"
        _show(home)


def _train(home: Path, page: str) -> None:
    """Train the plan that a page of the guide shows."""
    plan = home / f"{page}.plan.toml"
    plan.write_text(_plan_of(page), encoding="utf-8")
    command = (sys.executable, "-m", "gpu_studio", "train", str(plan), "--runs-dir", f"{home}/runs")
    subprocess.run(command, check=True, stdout=subprocess.DEVNULL)


def _plan_of(page: str) -> str:
    found = _PLAN.search(guide().pages[page])
    assert found is not None
    return found[1]


def _show(home: Path) -> None:
    """Open the window on the runs, and take each picture."""
    from gpu_studio.runs.catalogue import find
    from gpu_studio.ui.devices.side_card import SideCard
    from gpu_studio.ui.kit.theme import ThemeManager
    from gpu_studio.ui.window.app import make_application
    from gpu_studio.ui.window.main_window import MainWindow

    theme = ThemeManager("light")
    theme.dress(make_application())
    window = MainWindow(home / "runs", home / "shown.plan.toml", theme)
    camera = Camera(window, theme)
    window.resize(WIDTH, HEIGHT)
    window.inventory.refresh()
    window.show()
    camera.wait(lambda: window.inventory.machine is not None and window.document.plan is not None)
    window.show_page("devices")
    camera.wait(lambda: bool(window.findChildren(SideCard)))
    window.findChildren(SideCard)[0].tabs.setCurrentIndex(1)  # not whatever else runs here
    camera.take("devices", lambda: "cards" in window.sampler.picture.seen, 20.0)
    window.show_page("plan")
    window.plan_page.workspace.open("Devices")
    camera.take("plan", lambda: True, 20.0)
    window.plan_page.workspace.open("Layers")
    camera.take("layers", lambda: True, 2.0)
    run = find(home / "runs", "latest")
    window.show_run(run)
    camera.take("train", lambda: window.shown_run is not None, 4.0)
    window.show_page("runs")
    page = window.run_list.page
    camera.wait(lambda: len(page.model.all) > 1)
    page.select(*(row.id for row in page.model.all))
    camera.take("runs", lambda: True, 4.0)
    camera.show_study(home, home / "plan.plan.toml")
    camera.take("lab", lambda: True, 3.0)
    window.close()


def _measure(home: Path, plan: Path) -> None:
    """Search the largest batch of a plan, train a study of it, and run benchmarks, all for real."""
    command = (sys.executable, "-m", "gpu_studio", "--runs-dir", f"{home}/runs")
    real = {name: value for name, value in os.environ.items() if name != SIMULATE}
    for words in (
        ("study", "new", "batch", str(plan), "--to", str(home / STUDY)),
        ("study", "run", str(home / STUDY)),
        ("lab", "run", "launched"),
        ("lab", "run", "together"),
    ):
        subprocess.run([*command, *words], check=True, stdout=subprocess.DEVNULL, env=real)


class Camera:
    """Takes pictures of a window, each in both themes."""

    def __init__(self, window: MainWindow, theme: ThemeManager) -> None:
        self._window, self._theme = window, theme

    def wait(self, ready: Callable[[], bool], more_s: float = 0.0) -> None:
        """Let the window work until it is ready, and this long afterwards."""
        from PySide6.QtWidgets import QApplication

        begun = time.monotonic()
        while not ready():
            QApplication.processEvents()
            if time.monotonic() > begun + PATIENCE_S:
                raise TimeoutError("The window did not show what the picture is to show.")
        begun = time.monotonic()
        while time.monotonic() < begun + more_s:
            QApplication.processEvents()

    def show_study(self, home: Path, plan: Path) -> None:
        """Measure batches of a plan, and show that on the Lab page."""
        _measure(home, plan)
        studies = self._window.studies
        studies.show_study(home / STUDY)
        self.wait(lambda: studies.snapshot is not None and studies.snapshot.done > 0)

    def take(self, name: str, ready: Callable[[], bool], more_s: float = 0.0) -> None:
        """Write the picture of this name, light and dark, once the window is ready."""
        from gpu_studio.ui.window.guide_view import picture_in

        self.wait(ready, more_s)
        # Without the status bar, which tells where the environment lies.
        whole = self._window.pages.parentWidget()
        assert whole is not None
        for mode in THEMES:
            self._theme.set_mode(mode)
            self.wait(lambda: True, DRESSING_S)
            path = guide().folder / picture_in(f"images/{name}.png", self._theme.tokens)
            self.keep(whole, path)
        self._theme.set_mode(THEMES[0])

    @staticmethod
    def keep(part: QWidget, path: Path) -> None:
        """Write what a part shows into a file, as small as can be."""
        path.parent.mkdir(exist_ok=True)
        path.write_bytes(png_of(part.grab().toImage()))


def png_of(image: QImage) -> bytes:
    """The image as PNG without alpha or filters: plain areas and letters take a quarter less so."""
    width, height = image.width(), image.height()
    held = image.convertToFormat(image.Format.Format_RGB888)
    pixels, line = bytes(held.constBits()), held.bytesPerLine()
    lines = b"".join(b"\0" + pixels[y * line : y * line + 3 * width] for y in range(height))
    header = struct.pack(">2I5B", width, height, 8, 2, 0, 0, 0)
    parts = ((b"IHDR", header), (b"IDAT", zlib.compress(lines, 9)), (b"IEND", b""))
    chunks = (
        struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))
        for kind, data in parts
    )
    return b"\x89PNG\r\n\x1a\n" + b"".join(chunks)


if __name__ == "__main__":
    main()
