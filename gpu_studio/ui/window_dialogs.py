"""What opens beside the window: the palette, the shortcuts, the doctor, and what this is."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from gpu_studio.ui.main_window import MainWindow

# Each is imported when it is first opened, because the window's start waits for this module.


def open_palette(window: MainWindow) -> None:
    """Open the list of all actions."""
    from gpu_studio.ui.widgets.asking.command_palette import CommandPalette

    palette = CommandPalette(window.actions_.all(), window)
    palette.move(window.mapToGlobal(window.rect().center()) - palette.rect().center())
    palette.show()
    palette.activateWindow()  # where no window manager does it, keys would go on to the window


def open_shortcuts(window: MainWindow) -> None:
    """Open the list of all shortcuts."""
    from gpu_studio.ui.widgets.asking.dialogs import shortcuts_dialog

    shortcuts_dialog(window.actions_.all(), window).show()


def open_doctor(window: MainWindow) -> None:
    """Examine what TensorFlow needs to use each card."""
    from gpu_studio.ui.pages.devices.doctor_dialog import DoctorDialog

    DoctorDialog(window.theme, window.checkup, window).show()


def open_about(window: MainWindow) -> None:
    """Say what this is."""
    from gpu_studio.ui.widgets.asking.dialogs import about_dialog

    about_dialog(window).show()
