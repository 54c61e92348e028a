"""One asking about a plan, in a thread that waits for the process that answers."""

from __future__ import annotations

import threading
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from queue import Empty, SimpleQueue
from typing import Any

from gpu_studio.placement.plan_facts import PlanFacts, decoded
from gpu_studio.plan import Plan
from gpu_studio.runs.ask import AskError
from gpu_studio.runs.plan_question import ask_about


@dataclass(frozen=True, slots=True)
class Progress:
    """What is waited for now."""

    text: str


@dataclass(frozen=True, slots=True)
class Ended:
    """Nothing more will be told; `error` says why, and is empty if everything has been."""

    error: str = ""


Told = Progress | PlanFacts | Ended


class Inquiry:
    """Asks once, from when it is made on. `told` gives what has been told since it was called last.

    The thread touches no Qt object: whoever asked looks now and then, so that nobody can be gone when it speaks.
    """

    def __init__(self, plan: Plan, base: Path, command: Sequence[str] | None) -> None:
        self._plan, self._base, self._command = plan, base, command
        self._told: SimpleQueue[Told] = SimpleQueue()
        self._cancelled = threading.Event()
        self._thread = threading.Thread(target=self._run, name="plan-facts", daemon=True)
        self._thread.start()

    @property
    def alive(self) -> bool:
        """Whether its thread has not ended yet."""
        return self._thread.is_alive()

    def told(self) -> Iterator[Told]:
        """Everything that was told since the last call, in order; `Ended` exactly once, and last."""
        while True:
            try:
                yield self._told.get_nowait()
            except Empty:
                return

    def cancel(self) -> None:
        """Give up; the process is ended soon after."""
        self._cancelled.set()

    def wait(self) -> None:
        """Wait until the thread has ended, which after `cancel` is a matter of a moment."""
        self._thread.join()

    def _run(self) -> None:
        error = ""
        try:
            self._told.put(decoded(self._asked()))
        except AskError as failure:
            error = _sentence(failure)
        except ValueError as failure:
            error = f"The answer about the plan cannot be read: {failure}."
        except OSError as failure:
            error = f"The plan could not be asked about: {failure.strerror or failure}."
        self._told.put(Ended(error))

    def _asked(self) -> dict[str, Any]:
        return ask_about(
            self._plan,
            self._base,
            command=self._command,
            told=lambda answer: self._told.put(decoded(answer)),
            progress=lambda text: self._told.put(Progress(text)),
            cancel=self._cancelled,
        )


def _sentence(failure: AskError) -> str:
    text = str(failure).rstrip(".")
    return f"{text[:1].upper()}{text[1:]}."
