"""`python -m gpu_studio.ui.window.start_failure TITLE TEXT`: a dialog, for want of a window."""

from __future__ import annotations

import sys

from PySide6.QtWidgets import QApplication

from gpu_studio.ui.kit import Dialog, Paragraph, ThemeManager
from gpu_studio.ui.window.display import NoWindowError, checked_display

_WIDTH = 560


def main() -> int:
    """Show it until it is closed; return the exit code: 1 if there is nowhere to show it.

    The last paragraph of the text says where it is noted.
    """
    title, text = sys.argv[1:3]
    try:
        with checked_display():
            application = QApplication(sys.argv[:1])
    except NoWindowError:
        return 1
    application.setApplicationName("gpu-studio")
    application.setDesktopFileName("gpu-studio")
    ThemeManager("system").dress(application)
    dialog = Dialog(title)
    dialog.setAccessibleName(title)
    dialog.setAccessibleDescription(text)
    said, _, place = text.rpartition("\n\n")
    dialog.column.addWidget(Paragraph(said))
    dialog.column.addWidget(Paragraph(place, "muted"))
    dialog.add_buttons().setDefault(True)
    dialog.fit(_WIDTH)
    dialog.show()
    return application.exec()


if __name__ == "__main__":
    sys.exit(main())
