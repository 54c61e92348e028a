"""The window's control of the queue: show it while it is visible, and change it."""

from __future__ import annotations

import subprocess
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, TypeVar

from PySide6.QtCore import QFileSystemWatcher, QObject, QTimer, Signal

from gpu_studio.plan import AbsolutePlan, Plan, PlanError
from gpu_studio.runs.queue_entry import FORSAKEN, Wait
from gpu_studio.ui.kit import UNDO
from gpu_studio.ui.runs.queue_model import QueueModel, QueueRow
from gpu_studio.ui.window.run_control import CodeConsent
from gpu_studio.ui.window.services import Pages, Services

if TYPE_CHECKING:
    from gpu_studio.runs.queue import Queue
    from gpu_studio.runs.queue_entry import QueueEntry

Done = TypeVar("Done")
SETTLE_MS = 50
PULSE_MS = 2000
"""So often it is asked whether somebody still works the queue, while plans in it are seen."""
WAITING = "queue"
"""What a notice is about that goes once nothing waits any more."""
NONE_SELECTED = "Select a plan in the queue, on the Runs page"
NOTHING_TO_GO_ON = "Nothing waits in the queue, or it is being worked off"
ANYWAY = (
    "Make the batch or the slices smaller, or choose another card; or start it now, if the "
    "prediction seems wrong."
)
_OF_SELECTED = ("queue_up", "queue_down", "queue_hold", "queue_pass", "queue_start", "queue_remove")


class QueueControl(QObject):
    """Holds the rows, and which of them the actions are about. `changed` fires after each reading.

    It reads when it is shown, when the queue's folder changes while it is, when whoever works the
    queue off has gone, and after its own changes; never else. `forsaken` says that plans could
    start, and nobody is there to start them. `runner_started(Popen)` brings the process that works
    the queue off, when it was started here.
    """

    changed = Signal()
    runner_started = Signal(object)

    def __init__(self, services: Services, pages: Pages, consent: CodeConsent) -> None:
        super().__init__(services.window)
        self._services, self._pages, self._consent = services, pages, consent
        self._runs_dir = services.runs_dir
        self._needs: dict[str, str] = {}
        self.model = QueueModel(self)
        self.selected = ""
        self.forsaken = False
        self.runner: subprocess.Popen[bytes] | None = None
        self.model.dropped.connect(self.move)
        self._files: QFileSystemWatcher | None = None
        self._watching = False
        self._soon = QTimer(self)
        self._soon.setSingleShot(True)
        self._soon.setInterval(SETTLE_MS)
        self._soon.timeout.connect(self.read)
        self._pulse = QTimer(self)
        self._pulse.setInterval(PULSE_MS)
        self._pulse.timeout.connect(self.look)

    @property
    def queue(self) -> Queue:
        """The queue on disk."""
        # Imported when it is first needed: the window's start waits for this module.
        from gpu_studio.runs.queue import Queue

        return Queue(self._runs_dir)

    @property
    def startable(self) -> int:
        """How many plans wait that would start without the window."""
        return len(self.queue.startable())

    def attend(self) -> None:
        """See that somebody works off what waits, as after the machine was started anew.

        Free if there is no queue.
        """
        self._allow()
        if self.queue.folder.is_dir():
            self._see_to_runner()

    def watch(self) -> None:
        """Show the queue, and follow its folder."""
        if self._files is None:
            self._files = QFileSystemWatcher(self)
            self._files.directoryChanged.connect(lambda _: self._soon.start())
        self._watching = True
        self._see_to_runner()
        self.read()

    def rest(self) -> None:
        """Read no more until somebody looks again."""
        self._watching = False
        self._soon.stop()
        self._pulse.stop()
        if self._files is not None and (followed := self._files.directories()):
            self._files.removePaths(followed)

    def read(self) -> None:
        """Show the queue as it is on disk now."""
        queue = self.queue
        if self._files is not None and self._watching:
            _follow(self._files, self._runs_dir, queue.folder)
        entries, self.forsaken = queue.entries(), self._is_forsaken(queue)
        waits = {each.id: Wait(FORSAKEN) for each in entries} if self.forsaken else queue.waits()
        self._needs = {
            each.id: self._needs.get(each.id) or self._needs_of(queue, each) for each in entries
        }
        self.model.set_rows(
            [QueueRow(each, self._needs[each.id], waits.get(each.id)) for each in entries]
        )
        if self.model.place_of(self.selected) is None:
            self.selected = ""
        if not entries:
            self._services.notice.settle(WAITING)
        if self._watching and entries:
            self._pulse.start()
        else:
            self._pulse.stop()
        self._allow()
        self.changed.emit()

    def look(self) -> None:
        """See whether somebody still works the queue, and show it if that has changed."""
        if self._is_forsaken(self.queue) != self.forsaken:
            self.read()

    def go_on(self) -> None:
        """Have the queue worked off again."""
        try:
            self._start_runner()
        except OSError as error:
            text = f"The queue cannot be worked off: {error.strerror or error}."
            self._services.notice.say(
                f"{text} Check whether {self._runs_dir} has free space, and who owns it.", "bad"
            )
        self.read()

    def select(self, name: str) -> None:
        """Let the actions be about this entry."""
        if name != self.selected:
            self.selected = name
            self._allow()
            self.changed.emit()

    def add_plan(self) -> None:
        """Put the open plan at the end of the queue."""
        plan = self._services.document.absolute
        if plan is not None and not self._services.readiness.why_not:
            self._consent.obtain(plan, self._add_plan)

    def _add_plan(self) -> None:
        document = self._services.document
        plan = document.absolute
        if plan is None:
            return
        base, target = document.folder, self._services.resuming.target
        bytes_, incomplete, bounds = self._predicted(plan)
        if reason := self._never_fits(plan, bytes_):
            self._services.notice.say(
                f"{plan.name} {reason}: it would wait for ever. {ANYWAY}", "warning"
            )
        elif self._do(
            lambda: self.queue.add(
                plan,
                base,
                predicted=bytes_,
                incomplete=incomplete,
                bounds=bounds,
                resume=target,
            )
        ):
            self._services.resuming.end()
            self._services.notice.say(
                f"{plan.name} is in the queue: it starts when its devices have the memory "
                "it needs.",
                label="Show",
                action=lambda: self._pages.turn_to("runs"),
                about=WAITING,
            )

    def move(self, name: str, place: int) -> None:
        """Have an entry stand at a place."""
        self._do(lambda: self.queue.move(name, place))

    def shift(self, by: int) -> None:
        """Move the selected entry down by so many places; up where that is negative."""
        self._do(lambda: self.queue.shift(self.selected, by))

    def toggle_hold(self) -> None:
        """Hold the selected entry, or let it go."""
        if (row := self._row()) is not None:
            name = row.entry.id
            if row.entry.held:
                self._once_allowed(row.entry, lambda: self._do(lambda: self.queue.release(name)))
            else:
                self._do(lambda: self.queue.hold(name))

    def toggle_pass(self) -> None:
        """Let others pass the selected entry, or have what it waits for kept for it."""
        if (row := self._row()) is not None:
            change = self.queue.keep if row.entry.lets_pass else self.queue.let_pass
            self._do(lambda: change(row.entry.id))

    def start_now(self) -> None:
        """Start the selected entry, whatever is free."""
        if (row := self._row()) is not None:
            name = row.entry.id
            self._once_allowed(row.entry, lambda: self._do(lambda: self.queue.start_now(name)))

    def remove(self) -> None:
        """Take the selected entry out, and offer to put it back."""
        queue, name = self.queue, self.selected
        taken = self._do(lambda: queue.remove(name))
        if taken is not None:
            self._services.notice.say(
                f"{taken.entry.name} was taken out of the queue.",
                label=UNDO,
                action=lambda: self._do(lambda: queue.restore(taken)),
                stays=True,
            )

    def close(self) -> None:
        """Follow nothing any more. The runner goes on."""
        self.rest()

    def _do(self, action: Callable[[], Done]) -> Done | None:
        """Change the queue; if that cannot be, say why.

        Returns what the action gave; None if it failed.
        """
        from gpu_studio.runs.queue import QueueError

        done: Done | None = None
        try:
            done = action()
        except QueueError as error:
            self._services.notice.say(str(error), "warning")
        except OSError as error:
            text = f"The queue in {self._runs_dir} cannot be changed: {error.strerror or error}."
            self._services.notice.say(
                f"{text} Check whether there is free space, and who owns the folder.", "bad"
            )
        self.read()
        self._see_to_runner()
        # The folder of the runs may be there only now.
        self._services.live_watch.look()
        return done

    def _once_allowed(self, entry: QueueEntry, then: Callable[[], object]) -> None:
        """Do `then` once all Python that an entry's plan names is allowed."""
        try:
            plan = self.queue.plan_of(entry)
        except PlanError:
            then()
        else:
            self._consent.obtain(plan, then)

    def _see_to_runner(self) -> None:
        # Where it cannot be started, nobody works the queue, which is seen.
        with suppress(OSError):
            self._start_runner()

    def _start_runner(self) -> None:
        """Start the runner, if it is wanted and not there. Raises OSError."""
        from gpu_studio.runs.queue import ensure_runner

        if not self._is_starting and (process := ensure_runner(self._runs_dir)) is not None:
            self.runner = process
            self.runner_started.emit(process)

    @property
    def _is_starting(self) -> bool:
        """Whether the runner that was started here is alive.

        It takes a moment until it has the queue.
        """
        return self.runner is not None and self.runner.poll() is None

    def _is_forsaken(self, queue: Queue) -> bool:
        return not self._is_starting and queue.is_forsaken

    def _needs_of(self, queue: Queue, entry: QueueEntry) -> str:
        from gpu_studio.runs.queue_choice import in_words, needs_of

        machine = self._services.readiness.machine
        if machine is None:
            return ""
        try:
            return in_words(needs_of(queue.plan_of(entry), machine, entry.predicted))
        except PlanError:
            return "not known"

    def _never_fits(self, plan: Plan, predicted: dict[str, int]) -> str:
        from gpu_studio.runs.queue_choice import needs_of, never_fits

        machine = self._services.readiness.machine
        return "" if machine is None else never_fits(needs_of(plan, machine, predicted), machine)

    def _predicted(
        self, plan: AbsolutePlan
    ) -> tuple[dict[str, int], tuple[str, ...], tuple[str, ...]]:
        """What the open plan takes of each logical device, as far as TensorFlow has reported it.

        With the devices on which cuDNN's workspaces come besides, or XLA changes it, and those of
        which it is a bound.
        """
        machine, facts = self._services.readiness.machine, self._services.facts.known_of(plan)
        if machine is None or facts is None:
            return {}, (), ()
        from gpu_studio.placement.memory import predict

        used = [each for each in predict(facts.completed(plan), machine, facts) if each.total]
        beside = tuple(each.device for each in used if each.without)
        bounds = tuple(each.device for each in used if each.bound)
        return {each.device: each.total for each in used}, beside, bounds

    def _row(self) -> QueueRow | None:
        place = self.model.place_of(self.selected)
        return None if place is None else self.model.rows[place]

    def _allow(self) -> None:
        actions, row = self._services.actions, self._row()
        actions.allow("queue_go_on", "" if self.forsaken else NOTHING_TO_GO_ON)
        for name in _OF_SELECTED:
            actions.allow(name, "" if row else NONE_SELECTED)
        actions["queue_hold"].setText(
            "Release queued plan" if row and row.entry.held else "Hold queued plan"
        )
        passes = bool(row and row.entry.lets_pass)
        actions["queue_pass"].setText(
            "Keep devices for queued plan" if passes else "Let others pass queued plan"
        )
        if row is not None:
            place = self.model.place_of(row.entry.id)
            actions.allow("queue_up", "It is the first already" if place == 0 else "")
            actions.allow(
                "queue_down", "It is the last already" if place == len(self.model.rows) - 1 else ""
            )


def _follow(files: QFileSystemWatcher, *folders: Path) -> None:
    """Follow those of the folders that are there, and not followed yet."""
    new = [str(path) for path in folders if path.is_dir() and str(path) not in files.directories()]
    if new:
        files.addPaths(new)
