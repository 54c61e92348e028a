"""Why a run ended: its own last word, or what the end of `trainer.log` tells about a trainer that had none."""

from __future__ import annotations

import os
import re
import signal
from dataclasses import dataclass

from gpu_studio.runs.checkpoints import checkpoints
from gpu_studio.runs.directory import RunDirectory
from gpu_studio.runs.events import Failed
from gpu_studio.runs.state import state_of, terminal_event

_LAST_BYTES = 64 * 1024
_DETAIL_LINES = 60
_DMESG = "See whether the kernel ended it for want of memory, with: dmesg | grep -i 'out of memory'"
_SMALLER = "Make it need less memory: a smaller training.batch_size, a smaller model, fewer slices."
_DRIVER = "Train the same plan on the CPU: if it works there, look at the driver, with: nvidia-smi"


@dataclass(frozen=True, slots=True)
class Explanation:
    """What happened in a plain sentence, what to try, and the lines it was told from."""

    message: str
    suggestions: tuple[str, ...] = ()
    details: str = ""


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
        _DRIVER,
    ),
    _trace(
        r"^(?:MemoryError\b.*|.*std::bad_alloc.*)$",
        "The computer had no memory left for the trainer.",
        _SMALLER,
    ),
    _trace(
        r"^Fatal Python error: Segmentation fault",
        "The trainer crashed in native code (a segmentation fault){where}.",
        _DRIVER,
    ),
    _trace(r"^Fatal Python error: Aborted", "The trainer's native code gave up (abort){where}.", _DRIVER),
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
        r"^(?:\w+\.)*(?P<what>ModuleNotFoundError: .+|ImportError: .+)$",
        "The trainer could not start: {what}",
        "Install what is missing into the Python that trains.",
    ),
    _trace(
        r"^(?P<what>(?:\w+\.)*\w+(?:Error|Exception|Interrupt|Exit)(?:: .+)?)$",
        "The trainer ended on an error before it could tell of it: {what}",
    ),
    _trace(r"^(?:.*: )? *(?:\d+ +)?Killed\b.*$", "The trainer was killed.", _DMESG, _SMALLER),
    _trace(r"core dumped", "The trainer crashed in native code.", _DRIVER),
)
_FRAME = re.compile(r'^  File "(?P<file>[^"]+)", line (?P<line>\d+) in (?P<function>.+)$', re.MULTILINE)


def explain(run: RunDirectory, exit_code: int | None = None) -> Explanation:
    """Say why `run` ended. `exit_code` is the trainer's if the one who asks started it: negative for a signal.

    For a run that is alive or has finished it says that.
    """
    state = state_of(run)
    ending = terminal_event(run)
    if isinstance(ending, Failed):
        return Explanation(ending.message, tuple(ending.suggestions), ending.traceback)
    if ending is not None:
        return Explanation(f"The run has finished: {ending.reason.replace('_', ' ')}.")
    if state != "lost":
        return Explanation("The run is alive.")
    return _lost(run, exit_code)


def _lost(run: RunDirectory, exit_code: int | None) -> Explanation:
    log = _end_of_log(run)
    explanation = _from_log(log) or _from_exit_code(exit_code) or _WITHOUT_A_WORD
    return Explanation(
        explanation.message,
        (*_go_on(run), *explanation.suggestions, f"Read the end of the log: {run.log_file}"),
        "\n".join(log.splitlines()[-_DETAIL_LINES:]),
    )


_WITHOUT_A_WORD = Explanation(
    "The trainer ended without a word: it was killed, or the computer went down.",
    (_DMESG,),
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
    suggestions = (_DMESG, _SMALLER) if name == "SIGKILL" else ()
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
    return (f"Resume from the checkpoint of step {saved[-1].step}, with: gpu-studio resume {run.id}",)


def _end_of_log(run: RunDirectory) -> str:
    try:
        with run.log_file.open("rb") as file:
            size = file.seek(0, os.SEEK_END)
            file.seek(max(0, size - _LAST_BYTES))
            return file.read().decode("utf-8", "replace")
    except OSError:
        return ""
