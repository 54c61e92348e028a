"""Plan files that cannot be used: opened as text to be mended, and written only as a person says."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from PySide6.QtCore import QObject

from gpu_studio.output_files import write_output
from gpu_studio.plan import PlanError
from gpu_studio.plan.files import read_text
from gpu_studio.ui.control.mending_keeper import MendingKeeper
from gpu_studio.ui.menus import restored_in_words
from gpu_studio.ui.models.plan.drafts import Draft
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
        self.kept = MendingKeeper(window.settings.folder / "drafts", self)
        self.kept.failed.connect(lambda text: window.notice.say(text, "bad"))
        window.plan_files.broken.connect(self.begin)
        window.plan_files.mending.connect(self.go_on_with)
        window.plan_page.repaired.connect(self.write)

    def begin(self, path: Path, error: PlanError) -> None:
        """Show the text of a file with what is wrong about it; of one that cannot be read as text, say why."""
        self.kept.write()
        if (draft := self.kept.of(path)) is not None:
            self.go_on_with(draft)
            return
        try:
            text = read_text(path)
        except PlanError:
            self._window.notice.say(str(error), "bad", about=FILE)
            return
        more = f" {plural(len(error.problems) - 1, 'more problem')} beside it." if len(error.problems) > 1 else ""
        said = f"{path.name} cannot be used: {error.problems[0]}{more} Its text is open on the File tab, to be mended."
        self._window.notice.say(said, "warning")
        self._window.show_page("plan")
        self._show(path, text)

    def go_on_with(self, draft: Draft) -> None:
        """Show the text of a file as it was left unsaved."""
        self._window.show_page("plan")
        self._bring_back(draft)

    def begin_again(self, path: Path | None, *, turns: bool) -> None:
        """At a start without a plan `path` of its own, bring back the text that was being mended.

        The page with it is turned to if it `turns`.
        """
        draft = self.kept.last if path is None and not self._window.plan_page.is_mending else None
        if draft is not None and turns:
            self.go_on_with(draft)
        elif draft is not None:
            self._bring_back(draft)

    def _bring_back(self, draft: Draft) -> None:
        self.kept.write()
        kept = self.kept.of(Path(draft.path)) or draft
        self._show(Path(kept.path), kept.base, kept.text)
        self._window.notice.say(restored_in_words(kept))

    def _show(self, path: Path, text: str, edited: str | None = None) -> None:
        page = self._window.plan_page
        page.repair(path, text, edited)
        if page.mending is not None:
            self.kept.follow(page.mending, path)

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
