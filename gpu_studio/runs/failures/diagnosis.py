"""Why a run ended: its own last word, or what the end of `trainer.log` tells about a trainer that had none."""

from __future__ import annotations

import re
import signal
from dataclasses import dataclass

from gpu_studio.runs.checkpoints import checkpoints
from gpu_studio.runs.directory import RunDirectory
from gpu_studio.runs.events import Failed
from gpu_studio.runs.failures.evidence import (
    card_failed,
    killed_for_memory,
    out_of_memory,
    own_code,
    restarted,
    told_by_driver,
    told_no_more,
)
from gpu_studio.runs.failures.explanation import DMESG, DRIVER, SMALLER
from gpu_studio.runs.failures.explanation import Explanation as Explanation
from gpu_studio.runs.failures.failure_texts import NO_ROOM_TO_LOAD, ROOM_TO_LOAD
from gpu_studio.runs.files import last_lines_if_any
from gpu_studio.runs.state import state_of, terminal_event

_LAST_BYTES = 64 * 1024
_DETAIL_LINES = 60
DEVICE_LOST = "device_lost"


@dataclass(frozen=True, slots=True)
class _Trace:
    """A way to die: the last line that matches `pattern` tells it; `message` may use the groups of the match."""

    pattern: re.Pattern[str]
    message: str
    suggestions: tuple[str, ...] = ()


def _trace(pattern: str, message: str, *suggestions: str) -> _Trace:
    return _Trace(re.compile(pattern, re.MULTILINE), message, suggestions)


# The most telling first. TensorFlow's failed checks end in abort(), so they stand before it.
_TRACES = (
    _trace(
        r"^(?:F\d{4} |\S+ \S+: F )[^\n]*?\] ?(?P<what>.+?) *$",
        "TensorFlow gave up on a failed check: {what}",
        DRIVER,
    ),
    _trace(
        r"^(?:MemoryError\b.*|.*std::bad_alloc.*)$",
        "The computer had no memory left for the trainer.",
        SMALLER,
    ),
    _trace(
        r"^Fatal Python error: Segmentation fault",
        "The trainer crashed in native code (a segmentation fault){where}.",
        DRIVER,
    ),
    _trace(r"^Fatal Python error: Aborted", "The trainer's native code gave up (abort){where}.", DRIVER),
    _trace(
        r"^Fatal Python error: Bus error",
        "The trainer lost memory that it had mapped from a file (a bus error){where}.",
        "See whether the disk is full, with: df -h",
    ),
    _trace(
        r"^Fatal Python error: Illegal instruction",
        "This processor cannot run the installed TensorFlow (an illegal instruction){where}.",
        "Install a TensorFlow built for this processor.",
    ),
    _trace(r"^Fatal Python error: (?P<what>.+)$", "The Python interpreter gave up: {what}{where}."),
    _trace(
        rf"^(?:\w+\.)*ImportError: (?P<what>.*(?:{NO_ROOM_TO_LOAD}).*)$",
        "There was not enough memory to load a library: {what}.",
        *ROOM_TO_LOAD,
    ),
    _trace(
        r"^(?:\w+\.)*(?P<what>ModuleNotFoundError: .+|ImportError: .+)$",
        "The trainer could not start: {what}",
        "Install what is missing into the Python that trains.",
    ),
    _trace(
        r"^(?P<what>(?:\w+\.)*\w+(?:Error|Exception|Interrupt|Exit)(?:: .+)?)$",
        "The trainer ended on an error before it could tell of it: {what}",
    ),
    _trace(r"^(?:.*: )? *(?:\d+ +)?Killed\b.*$", "The trainer was killed.", DMESG, SMALLER),
    _trace(r"core dumped", "The trainer crashed in native code.", DRIVER),
)
_FRAME = re.compile(r'^  File "(?P<file>[^"]+)", line (?P<line>\d+) in (?P<function>.+)$', re.MULTILINE)


def explain(run: RunDirectory, exit_code: int | None = None) -> Explanation:
    """Say why `run` ended. `exit_code` is the trainer's if the one who asks started it: negative for a signal.

    For a run that is alive or has finished it says that.
    """
    state = state_of(run)
    ending = terminal_event(run)
    if isinstance(ending, Failed):
        # The trainer knows nothing of the recording that is made beside it.
        also = told_by_driver(run) if ending.kind == DEVICE_LOST else ""
        return Explanation(ending.message + also, tuple(ending.suggestions), ending.traceback, tuple(ending.mends))
    if ending is not None:
        return Explanation(f"The run has finished: {ending.reason.replace('_', ' ')}.")
    if state != "lost":
        return Explanation("The run is alive.")
    return _lost(run, exit_code)


def _lost(run: RunDirectory, exit_code: int | None) -> Explanation:
    if not run.exists():
        return _DELETED
    log = _end_of_log(run)
    explanation = (
        told_no_more(run)
        or out_of_memory(run, log)
        or card_failed(run, log)
        or _from_log(log)
        or killed_for_memory(run, exit_code)
        or restarted(run)
        or own_code(run, exit_code)
        or _from_exit_code(exit_code)
        or _WITHOUT_A_WORD
    )
    return Explanation(
        explanation.message,
        (*_go_on(run), *explanation.suggestions, f"Read the end of the log: {run.log_file}"),
        "\n".join(log.splitlines()[-_DETAIL_LINES:]),
        explanation.mends,
    )


_DELETED = Explanation(
    "The folder of this run is no longer there: it was deleted, or moved away, while it trained.",
    ("Look in the trash, and put it back where it was.", "Else train its plan again."),
)
_WITHOUT_A_WORD = Explanation(
    "The trainer ended without a word: it was killed, or the computer went down.",
    (DMESG,),
)


def _from_log(log: str) -> Explanation | None:
    for trace in _TRACES:
        matches = list(trace.pattern.finditer(log))
        if matches:
            groups = {"where": _innermost_frame(log), **matches[-1].groupdict()}
            return Explanation(trace.message.format_map(groups), trace.suggestions)
    return None


def _from_exit_code(code: int | None) -> Explanation | None:
    if code is None or code == 0:
        return None
    if code > 0:
        return Explanation(f"The trainer ended with exit code {code} and without a word.")
    try:
        name = signal.Signals(-code).name
    except ValueError:
        name = f"signal {-code}"
    suggestions = (DMESG, SMALLER) if name == "SIGKILL" else ()
    return Explanation(f"The trainer was ended by {name}.", suggestions)


def _innermost_frame(log: str) -> str:
    """Where Python was when faulthandler wrote its stacks: the most recent call of the thread that crashed."""
    crash = log.rfind("Fatal Python error")
    current = log.find("Current thread", crash)
    frame = _FRAME.search(log, max(crash, current)) if crash >= 0 else None
    return f", called from {frame['function']} ({frame['file']}, line {frame['line']})" if frame else ""


def _go_on(run: RunDirectory) -> tuple[str, ...]:
    saved = checkpoints(run)
    if not saved:
        return ("It had written no checkpoint: train its plan again.",)
    return (f"Resume from the checkpoint of step {saved[-1].step:,}, with: gpu-studio resume {run.id}",)


def _end_of_log(run: RunDirectory) -> str:
    return b"\n".join(last_lines_if_any(run.log_file, _LAST_BYTES)).decode("utf-8", "replace")
