"""Make README's screenshots anew from the real window on this machine: part of `make pictures`.

Three small plans are trained for real, in a folder that is removed afterwards. The window shows
these runs, and a fourth plan whose layers are placed.
"""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING, Final

from pictures import Camera

if TYPE_CHECKING:
    from gpu_studio.ui.kit.theme import Mode

ROOT: Final = Path(__file__).resolve().parents[1]
FOLDER: Final = ROOT / "packaging" / "screenshots"
WIDTH, HEIGHT = 1280, 800
_PLAN: Final = """
version = 1
name = "{name}"
[[devices.carve]]
device = "CPU:0"
slices_mib = [0, 0]
[model]
name = "mlp"
options = {{ hidden = [256, 256, 256] }}
[data]
name = "digits"
[training]
epochs = {epochs}
batch_size = {batch}
optimizer = "{optimizer}"
[distribution]
"""
_MIRRORED: Final = 'strategy = "mirrored"\n'
_PLACED: Final = """strategy = "placed"
[distribution.placed]
micro_batches = 4
layers = { dense = "CPU:0", dense_1 = "CPU:0", dense_2 = "CPU:1", outputs = "CPU:1" }
"""
_TRAINED: Final = (
    ("digits, smaller batch", 30, 32, "adam"),
    ("digits, sgd", 30, 64, "sgd"),
    ("digits on two logical CPUs", 60, 64, "adam"),
)


def main() -> None:
    """Train, show, and write the screenshots."""
    with tempfile.TemporaryDirectory() as scratch:
        home = Path(scratch)
        # The window names the environment's folder, below a home of nobody's.
        os.environ |= {"HOME": str(ROOT), "QT_QPA_PLATFORM": "offscreen"}
        for name in ("CONFIG", "DATA", "STATE", "CACHE"):
            os.environ[f"XDG_{name}_HOME"] = str(home / name.lower())
        os.environ["XDG_RUNTIME_DIR"] = scratch
        for name, epochs, batch, optimizer in _TRAINED:
            _train(home, _written(home, name, epochs, batch, optimizer))
        _show(home, _written(home, "digits, layers placed", 20, 64, "adam", _PLACED))


def _written(
    home: Path, name: str, epochs: int, batch: int, optimizer: str, how: str = _MIRRORED
) -> Path:
    path = home / f"{name.split(',')[-1].strip().replace(' ', '-')}.plan.toml"
    text = _PLAN.format(name=name, epochs=epochs, batch=batch, optimizer=optimizer)
    path.write_text(text + how)
    return path


def _train(home: Path, plan: Path) -> None:
    command = (sys.executable, "-m", "gpu_studio", "train", str(plan), "--runs-dir", f"{home}/runs")
    subprocess.run(command, check=True, stdout=subprocess.DEVNULL)


def _show(home: Path, plan: Path) -> None:
    """Open the window on the runs, and take each screenshot."""
    from gpu_studio.runs.catalogue import find
    from gpu_studio.ui.kit.theme import ThemeManager
    from gpu_studio.ui.window.app import make_application
    from gpu_studio.ui.window.main_window import MainWindow

    theme = ThemeManager("dark")
    theme.dress(make_application())
    window = MainWindow(home / "runs", plan, theme)
    camera = Camera(window, theme)
    window.resize(WIDTH, HEIGHT)
    window.inventory.refresh()
    window.show()

    def take(name: str, mode: Mode, more_s: float) -> None:
        theme.set_mode(mode)
        camera.wait(lambda: True, more_s)
        camera.keep(window, FOLDER / f"{name}-{mode}.png")

    camera.wait(lambda: window.inventory.machine is not None and window.document.plan is not None)
    window.show_run(find(home / "runs", "latest"))
    camera.wait(lambda: window.shown_run is not None)
    take("train", "dark", 6.0)
    window.show_page("plan")
    window.plan_page.workspace.open("Layers")
    take("plan", "dark", 25.0)
    window.show_page("runs")
    page = window.run_list.page
    camera.wait(lambda: len(page.model.all) == len(_TRAINED))
    page.select(page.model.all[0].id, page.model.all[-1].id)
    take("runs", "light", 6.0)
    camera.show_study(home, _written(home, "digits, batches", 6, 64, "adam", ""))
    take("lab", "light", 3.0)
    window.close()


if __name__ == "__main__":
    main()
