"""What the user asks of a running trainer: pause, resume, checkpoint, stop, stop now."""

from __future__ import annotations

import os
import signal
import threading
import time
from collections.abc import Callable
from pathlib import Path
from types import FrameType
from typing import Literal

from gpu_studio.common.processes import take_signals
from gpu_studio.contract import CommandReader, RunDirectory

POLL_SECONDS = 0.05
LOOKS_A_CHECK = 20

Wish = Literal["pause", "stop", "checkpoint"]


class Control:
    """Listens to `commands.jsonl` and SIGTERM; the loop queries it between two calls.

    *Stop now* does not wait for the loop: `stop_now` is called on the listening thread, and must
    end the process. So must `abandon`, which is called once `is_gone` says that the run's folder is
    gone: nobody could see or stop the run any more. While `is_out_of_hand` says that the loop may
    never return, after a stop has waited for so many seconds, *stop* means *stop now*. `find` says
    where the run's lock is now: a folder that was moved is heard where it is.
    """

    def __init__(
        self,
        run: RunDirectory,
        stop_now: Callable[[], None],
        is_gone: Callable[[], bool] = lambda: False,
        abandon: Callable[[], None] = lambda: None,
        is_out_of_hand: Callable[[float], bool] = lambda _waited: False,
        find: Callable[[], Path | None] = lambda: None,
    ) -> None:
        self._run, self._find = run, find
        self._commands = CommandReader(run.commands_file)
        self._stop_now, self._is_gone, self._abandon = stop_now, is_gone, abandon
        self._is_out_of_hand = is_out_of_hand
        self._wishes: set[Wish] = set()
        self._changed = threading.Condition()
        self._over = threading.Event()
        self._thread = threading.Thread(target=self._listen, name="commands", daemon=True)

    @property
    def run(self) -> RunDirectory:
        """The run, where its folder is now."""
        found = self._find()
        run = self._run if found is None else RunDirectory(found.parent)
        # Else the lock alone was moved, to a folder that is none of a run's.
        return run if run.events_file.exists() else self._run

    def start(self) -> None:
        """Start listening. Call this on the main thread: no other thread can catch signals."""
        self.catch_signals()
        # Closing the terminal that started the run, or Ctrl+C in it, is no request to end the run.
        signal.signal(signal.SIGHUP, signal.SIG_IGN)
        signal.signal(signal.SIGINT, signal.SIG_IGN)
        take_signals()
        self._thread.start()

    def catch_signals(self) -> None:
        """Catch what asks for a stop, on the main thread.

        Again once TensorFlow has taken SIGTERM for itself, which Python does not notice.
        """
        signal.signal(signal.SIGTERM, self._terminated)

    def close(self) -> None:
        """Stop listening."""
        self._over.set()
        self._thread.join()

    @property
    def stopping(self) -> bool:
        """Whether a stop was requested."""
        return "stop" in self._wishes

    @property
    def pausing(self) -> bool:
        """Whether a pause was requested, and no stop since."""
        return "pause" in self._wishes and not self.stopping

    def take_checkpoint_wish(self) -> bool:
        """Return whether a checkpoint was requested since the last call."""
        with self._changed:
            asked = "checkpoint" in self._wishes
            self._wishes.discard("checkpoint")
            return asked

    def wait_while_paused(self) -> None:
        """Return when the pause is over, or when a checkpoint is requested."""
        with self._changed:
            # The timeout lets the main thread run its signal handlers.
            while self.pausing and "checkpoint" not in self._wishes:
                self._changed.wait(timeout=POLL_SECONDS)

    def stop(self) -> None:
        """Ask for a stop from within this process, on any thread, or in a signal's handler."""
        # Perhaps inside `with self._changed`: it must not take the lock.
        self._wishes.add("stop")

    def _terminated(self, _signal: int, _frame: FrameType | None) -> None:
        self.stop()

    def _listen(self) -> None:
        looks, asked = 0, 0.0
        while not self._over.wait(POLL_SECONDS):
            looks += 1
            if looks % LOOKS_A_CHECK == 0 and self._is_gone():
                self._abandon()
            self._hear()
            if self.stopping:
                asked = asked or time.monotonic()
                if self._is_out_of_hand(time.monotonic() - asked):
                    self._stop_now()

    def _hear(self) -> None:
        try:
            self._commands.follow(self.run.commands_file)
            commands = self._commands.read()
        except OSError:  # a file that cannot be read now may be readable next time
            return
        for command in commands:
            self._heed(command.action)

    def _heed(self, action: str) -> None:
        if action == "stop_now":
            self._stop_now()
        with self._changed:
            if action == "resume":
                self._wishes.discard("pause")
            elif action in ("pause", "stop", "checkpoint"):
                self._wishes.add(action)  # type: ignore[arg-type]
            self._changed.notify_all()


_before_fork = threading.local()
"""The signals that a thread which forks right now had `blocked`."""


def _hold_ends() -> None:
    # Until the child knows what to do with it: one that comes at once would be lost there.
    _before_fork.blocked = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGTERM})


def _let_ends_through() -> None:
    signal.pthread_sigmask(signal.SIG_SETMASK, _before_fork.blocked)


def _end_in_child_as_ever() -> None:
    """Have a child that is forked, as a pool of a user's own code has, end by SIGTERM.

    It would note a stop that nobody reads there, and who has ended a pool waits for it for ever.
    """
    if isinstance(getattr(signal.getsignal(signal.SIGTERM), "__self__", None), Control):
        signal.signal(signal.SIGTERM, signal.SIG_DFL)
    _let_ends_through()


os.register_at_fork(
    before=_hold_ends, after_in_parent=_let_ends_through, after_in_child=_end_in_child_as_ever
)
