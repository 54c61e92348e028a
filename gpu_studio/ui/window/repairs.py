"""Plan files that cannot be used.

They are opened as text to be corrected, and written only as the user says.
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from PySide6.QtCore import QObject, QTimer, Signal

from gpu_studio.common.figures import plural
from gpu_studio.common.safe_files import write_output
from gpu_studio.plan import PlanError
from gpu_studio.plan.files import read_text
from gpu_studio.ui.plan.drafts import Draft, Drafts, made_of_text, repair_id_of
from gpu_studio.ui.window import draft_keeper
from gpu_studio.ui.window.plan_files import PlanFiles, restored_in_words
from gpu_studio.ui.window.services import Pages, Services

if TYPE_CHECKING:
    from gpu_studio.ui.plan.repair_pane import RepairPane

FILE = "file"
"""What a notice is about that goes once a plan was opened or saved, or a broken file is left."""


class Repairs(QObject):
    """Brings such a file to the File tab, and what was mended there to the disk."""

    def __init__(self, services: Services, pages: Pages, plan_files: PlanFiles) -> None:
        super().__init__(services.window)
        self._pages, self._plan_page, self._plan_files = pages, pages.plan, plan_files
        self._notice = services.notice
        self.kept = RepairKeeper(plan_files.drafts.kept, self)
        self.kept.failed.connect(lambda text: self._notice.say(text, "bad"))
        self.kept.left.connect(lambda: self._notice.settle(FILE))
        plan_files.broken.connect(self.begin)
        plan_files.mending.connect(self.go_on_with)
        pages.plan.repaired.connect(self.write)

    def begin(self, path: Path, error: PlanError) -> None:
        """Show a file's text with what is wrong in it, or say why it cannot be read as text."""
        self.kept.write()
        if (draft := self.kept.of(path)) is not None:
            self.go_on_with(draft)
            return
        try:
            text = read_text(path)
        except PlanError:
            self._notice.say("\n".join(map(str, error.problems)), "bad", about=FILE)
            return
        more = (
            f" {plural(len(error.problems) - 1, 'more problem')} beside it."
            if len(error.problems) > 1
            else ""
        )
        said = (
            f"{path.name} cannot be used: {error.problems[0]}{more} Its text is open on the File "
            "tab, to be corrected."
        )
        self._notice.say(said, "warning", about=FILE)
        self._pages.turn_to("plan")
        self._show(path, text)

    def go_on_with(self, draft: Draft) -> None:
        """Show the text of a file as it was left unsaved."""
        self._pages.turn_to("plan")
        self._bring_back(draft)

    def begin_again(self, path: Path | None, *, turns: bool) -> None:
        """At a start without a plan `path` of its own, bring back the text that was being mended.

        The page with it is turned to if it `turns`.
        """
        draft = self.kept.last if path is None and not self._plan_page.is_repairing else None
        if draft is not None and turns:
            self.go_on_with(draft)
        elif draft is not None:
            self._bring_back(draft)

    def _bring_back(self, draft: Draft) -> None:
        self.kept.write()
        kept = self.kept.of(Path(draft.path)) or draft
        self.kept.take_up(kept)
        self._show(Path(kept.path), kept.base, kept.text)
        self._notice.say(restored_in_words(kept), about=FILE)

    def _show(self, path: Path, text: str, edited: str | None = None) -> None:
        page = self._plan_page
        page.repair(path, text, edited)
        if page.mending is not None:
            self.kept.follow(page.mending, path)

    def save(self) -> None:
        """Save the file that is being mended, or else the open plan."""
        page = self._plan_page
        if page.mending is None or not page.is_repairing:
            self._plan_files.save()
        elif not page.mending.save_now():
            said = "The text is no plan yet. Mend it, or press Save as it is."
            self._notice.say(said, "bad", about=FILE)

    def write(self, path: Path, read: str, text: str, opens: bool) -> None:
        """Write the mended text to the file if it still holds what was read, and open its plan.

        It is opened only if it `opens`, that is if it is a plan.
        """
        if why := _why_not_written(path, read, text):
            self._notice.say(f"{path.name} was not saved: {why}.", "bad", about=FILE)
            return
        if self._plan_page.mending is not None:
            self._plan_page.mending.close_file()
        if opens:
            self._plan_files.change_to(path)


class RepairKeeper(QObject):
    """Writes the text down while it differs from the file, until it is saved or left.

    `written` fires when it was written, `failed(text)` when it could not be, and `left` when the
    file is no longer mended.
    """

    written = Signal()
    failed = Signal(str)
    left = Signal()

    def __init__(self, drafts: Drafts, parent: QObject) -> None:
        super().__init__(parent)
        self._drafts = drafts
        self._pane: RepairPane | None = None
        self._path: Path | None = None
        self._timer = QTimer(self)
        self._timer.setSingleShot(True)
        self._timer.timeout.connect(self.write)

    @property
    def last(self) -> Draft | None:
        """The text that was edited last and neither saved nor left; None if there is none."""
        return next((draft for draft in self._drafts.all() if draft.mending), None)

    def of(self, path: Path) -> Draft | None:
        """The text of this file as it was left; None if there is none."""
        return self._drafts.get(repair_id_of(path))

    def take_up(self, draft: Draft) -> None:
        """Go on with the text of a file as it was left."""
        self._drafts.take_up(repair_id_of(Path(draft.path)), draft)

    def follow(self, pane: RepairPane, path: Path) -> None:
        """Keep what is written in the pane from now on, where the file at `path` is mended."""
        if self._pane is None:
            self._pane = pane
            pane.text.textChanged.connect(self._wait)
            pane.left.connect(self._forget)
        self._path = path

    def write(self) -> None:
        """Write the text down now; one that is as the file's needs no draft."""
        self._timer.stop()
        pane, path = self._pane, self._path
        if pane is None or path is None or pane.path != path:
            return
        if not pane.changed:
            self._drafts.remove(repair_id_of(path))
            return
        try:
            self._drafts.write(made_of_text(path, pane.written, pane.base))
        except (OSError, UnicodeError) as error:
            why = getattr(error, "strerror", None) or str(error)
            self.failed.emit(
                f"The text of {path.name} cannot be kept for the next start "
                f"({why}): save it as it is."
            )
        else:
            self.written.emit()

    def _wait(self) -> None:
        if not self._timer.isActive():
            self._timer.start(draft_keeper.WAIT_MS)

    def _forget(self) -> None:
        self._timer.stop()
        if self._path is not None:
            self._drafts.remove(repair_id_of(self._path))
        self._path = None
        self.left.emit()


def _why_not_written(path: Path, read: str, text: str) -> str:
    """Write `text` to the file if it still held `read`; else return why not, in words."""
    try:
        if path.exists() and read_text(path) != read:
            return (
                "another program has changed it meanwhile. Copy what you "
                "wrote, and open the file again"
            )
        write_output(path, [text.encode()])
    except OSError as error:
        return error.strerror or str(error)
    except PlanError:
        return "it cannot be read any more"
    return ""
