"""Plan files that cannot be used: opened as text to be mended, and written only as a person says."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from PySide6.QtCore import QObject

from gpu_studio.output_files import write_output
from gpu_studio.plan import PlanError
from gpu_studio.plan.files import read_text
from gpu_studio.ui.units import plural

FILE = "file"
"""What a notice is about that goes once a plan was opened or saved."""

if TYPE_CHECKING:
    from gpu_studio.ui.main_window import MainWindow


class Repairs(QObject):
    """Brings such a file to the File tab, and what was mended there to the disk."""

    def __init__(self, window: MainWindow) -> None:
        super().__init__(window)
        self._window = window
        window.plan_files.broken.connect(self.begin)
        window.plan_page.repaired.connect(self.write)

    def begin(self, path: Path, error: PlanError) -> None:
        """Show the text of a file with what is wrong about it; of one that cannot be read as text, say why."""
        try:
            text = read_text(path)
        except PlanError:
            self._window.notice.say(str(error), "bad", about=FILE)
            return
        more = f" {plural(len(error.problems) - 1, 'more problem')} beside it." if len(error.problems) > 1 else ""
        said = f"{path.name} cannot be used: {error.problems[0]}{more} Its text is open on the File tab, to be mended."
        self._window.notice.say(said, "warning")
        self._window.show_page("plan")
        self._window.plan_page.repair(path, text)

    def save(self) -> None:
        """Save what the person has in front of him: the file that he mends, or else the open plan."""
        page = self._window.plan_page
        if page.mending is None or not page.is_mending:
            self._window.plan_files.save()
        elif not page.mending.save_now():
            self._window.notice.say("The text is no plan yet. Mend it, or press Save as it is.", "bad")

    def write(self, path: Path, read: str, text: str, opens: bool) -> None:
        """Write the mended text to the file, if that holds what was read from it, and open the plan in it."""
        if why := _why_not_written(path, read, text):
            self._window.notice.say(f"{path.name} was not saved: {why}.", "bad")
            return
        if self._window.plan_page.mending is not None:
            self._window.plan_page.mending.close_file()
        if opens:
            self._window.plan_files.change_to(path)


def _why_not_written(path: Path, read: str, text: str) -> str:
    """Write `text` to the file that held `read`; if that cannot be done, why. Empty where it is written."""
    try:
        if path.exists() and read_text(path) != read:
            return "another program has changed it meanwhile. Copy what you wrote, and open the file again"
        write_output(path, [text.encode()])
    except OSError as error:
        return error.strerror or str(error)
    except PlanError:
        return "it cannot be read any more"
    return ""
