"""Explain why a run ended, from its last event, or else exit code, `trainer.log` and kernel."""

from __future__ import annotations

import json
import os
import re
import shlex
import signal
import time
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from gpu_studio import plan as plans
from gpu_studio.common.figures import dated, grouped
from gpu_studio.contract import (
    Code,
    Failed,
    LineTail,
    Model,
    RunDirectory,
    checkpoints,
    kernel,
    last_lines_if_any,
    lock,
    samples,
)
from gpu_studio.contract.event_parts import SuggestedChange
from gpu_studio.contract.events import decode
from gpu_studio.contract.failure_mends import against_want_of_memory
from gpu_studio.contract.failure_texts import (
    MEMORY_TO_LOAD,
    MORE_THREADS,
    NO_MEMORY_TO_LOAD,
    NO_MORE_THREADS,
    NO_THREADS,
    advice_for,
    layer_of,
    lost_device_in,
    refusal_in,
)
from gpu_studio.plan import listed
from gpu_studio.runs.failure_guide import place_of_failure
from gpu_studio.runs.paths import run_command
from gpu_studio.runs.state import state_of, terminal_event

DMESG = "See whether the kernel ended it for want of memory, with: dmesg | grep -i 'out of memory'"
SMALLER = "Make it need less memory: smaller batches, a smaller model, fewer slices."
DRIVER = "If it was on a card, try the CPU: if that works, look at the driver, with: nvidia-smi"


@dataclass(frozen=True, slots=True)
class Explanation:
    """What happened in a plain sentence, what to try, and the log lines that show it.

    `mends` are changes of the run's plan that may help; `kind` is that of the `Failed`, if any;
    `lost` says that no event tells it.
    """

    message: str
    suggestions: tuple[str, ...] = ()
    details: str = ""
    mends: tuple[SuggestedChange, ...] = ()
    kind: str = ""
    lost: bool = False

    @property
    def place(self) -> str:
        """Where the guide says what to do."""
        return place_of_failure(self.message, self.kind)

    @property
    def settings(self) -> tuple[str, ...]:
        """The mends for the command line: `Batch 128: --set training.batch_size=128`."""
        return tuple(
            f"{mend.text}: --set {shlex.quote(f'{mend.field}={_as_toml(mend.value)}')}"
            for mend in self.mends
        )


def _as_toml(value: Any) -> str:
    """A value as `--set` reads it: inline, on one line."""
    if isinstance(value, dict):
        pairs = (f"{_as_key(key)} = {_as_toml(each)}" for key, each in value.items())
        return "{ " + ", ".join(pairs) + " }"
    if isinstance(value, list | tuple):
        return "[" + ", ".join(map(_as_toml, value)) + "]"
    return json.dumps(value)


def _as_key(key: str) -> str:
    return key if re.fullmatch(r"[A-Za-z0-9_-]+", key) else json.dumps(key)


_HAPPENED = b'{"sample":"happened"'
_RECORDING_BYTES = 1024 * 1024
_RECENT_SECONDS = 600.0


def reported_no_more(run: RunDirectory) -> Explanation | None:
    """The trainer reached its end, but the disk did not take its last events."""
    words = lock.last_words(run.lock_file)
    return Explanation(f"The trainer has ended. {words}", (advice_for(words),)) if words else None


def own_code(run: RunDirectory, exit_code: int | None) -> Explanation | None:
    """The user's own code was running, the model was not built, and no signal ended the trainer."""
    reported = [
        event
        for line in LineTail(run.events_file).read_all()
        if isinstance(event := decode(line), Code | Model)
    ]
    if not reported or isinstance(reported[-1], Model) or (exit_code or 0) < 0:
        return None
    files = list(dict.fromkeys(Path(code.file).name for code in reported if isinstance(code, Code)))
    ended = f"ended with exit code {exit_code}" if exit_code is not None else "ended"
    were = "was" if len(files) == 1 else "were"
    return Explanation(
        f"The trainer {ended} while {listed(files)} {were} at work, and without a word.",
        (f"Look for os._exit in {listed(files)}, and for a library that may have crashed.",),
    )


def restarted(run: RunDirectory) -> Explanation | None:
    """The computer was restarted after the trainer began, and nothing else explains the end."""
    holder = lock.last_holder(run.lock_file)
    if holder is None or not holder.is_here or not holder.boot or not kernel.boot_id():
        return None
    if holder.boot == kernel.boot_id():
        return None
    return Explanation(
        "The trainer ended without a word, and the computer has been restarted since: most likely "
        f"it went down, or lost its power, while the run trained.{_last_seen(run)}"
    )


def read_only(run: RunDirectory, exit_code: int | None) -> Explanation | None:
    """Nothing can be written into the run's folder any more, and no signal is known to end it."""
    with suppress(OSError):
        mine = run.path.stat().st_uid == os.geteuid()
        if (exit_code or 0) >= 0 and mine and not os.access(run.path, os.W_OK):
            return Explanation(
                "The trainer ended without a word. Nothing can be written into its folder now: if "
                "that was so while it trained, there was no way to tell more.",
                ("See why, as with: dmesg | tail. It must be writable before you resume.",),
            )
    return None


def out_of_memory(run: RunDirectory, log: str) -> Explanation | None:
    """An allocation failed, and TensorFlow's native code aborted."""
    refusal = refusal_in(log)
    if refusal is None:
        return None
    model = _model(run)
    layer = layer_of(refusal.operation, {each.name for each in model.layers} if model else set())
    where = refusal.device or "the CPU"
    inside = f", in the layer {layer}" if layer else ""
    return Explanation(
        f"Out of memory on {where}{inside}: there was no room for another {refusal.size}, and "
        "TensorFlow crashed.",
        (SMALLER,),
        mends=_smaller(run),
    )


def card_failed(run: RunDirectory, log: str) -> Explanation | None:
    """A card failed, and TensorFlow's native code ended the trainer."""
    found = lost_device_in(log)
    if found is None:
        return None
    message = (
        f"A card failed while it trained: {found.why} ({found.words}).{reported_by_driver(run)}"
    )
    return Explanation(message, found.suggestions)


def reported_by_driver(run: RunDirectory) -> str:
    """The driver's last report about a card while the run was recorded, as a sentence.

    Empty if none.
    """
    for line in reversed(last_lines_if_any(run.hardware_file, _RECORDING_BYTES)):
        if line.startswith(_HAPPENED):
            with suppress(samples.SampleError):
                sample = samples.decode(line)
                if isinstance(sample, samples.Happened):
                    return f" The driver reported it: {sample.words}."
    return ""


def killed_for_memory(run: RunDirectory, exit_code: int | None) -> Explanation | None:
    """The trainer was killed, and the kernel has killed a process for lack of memory meanwhile."""
    count = _memory_kills_since(run)
    if count <= 0 or exit_code not in (None, -signal.SIGKILL):
        return None
    # For a run that ended long ago the count says less: it may have grown since.
    sure = "most likely" if time.time() - _last_written(run) < _RECENT_SECONDS else "perhaps"
    processes = "process" if count == 1 else "processes"
    return Explanation(
        f"The trainer was killed, {sure} by the system because the computer had no memory left: "
        f"since the run began, the out-of-memory killer has ended {count} {processes}.",
        (SMALLER, "Close other programs that need much memory.", DMESG),
        mends=_smaller(run),
    )


def _memory_kills_since(run: RunDirectory) -> int:
    """The number of processes killed for lack of memory since the trainer began; 0 if unknown."""
    holder, now = lock.last_holder(run.lock_file), kernel.memory_kills()
    if holder is None or holder.memory_kills is None or now is None:
        return 0
    return now - holder.memory_kills if holder.is_here and holder.boot == kernel.boot_id() else 0


def _last_written(run: RunDirectory) -> float:
    """When the trainer last wrote an event, in seconds since 1970 (UTC); 0 if it never did."""
    try:
        return run.events_file.stat().st_mtime
    except OSError:
        return 0.0


def _last_seen(run: RunDirectory) -> str:
    """When the trainer last wrote an event, as a sentence, on this computer's clock."""
    written = _last_written(run)
    moment = dated(written, "%Y-%m-%d %H:%M:%S")
    return f" Its last sign of life is of {moment}." if written else ""


def _smaller(run: RunDirectory) -> tuple[SuggestedChange, ...]:
    try:
        plan = plans.load(run.plan_file)
    except plans.PlanError:
        return ()
    model = _model(run)
    return tuple(against_want_of_memory(plan, cut=model is None or model.train_samples is not None))


def _model(run: RunDirectory) -> Model | None:
    """The run's model and the data it met, from an early event."""
    tail = LineTail(run.events_file)
    try:
        models = (each for each in map(decode, tail.read()) if isinstance(each, Model))
        return next(models, None)
    except OSError:
        return None


_LAST_BYTES = 64 * 1024
_DETAIL_LINES = 60
DEVICE_LOST = "device_lost"


@dataclass(frozen=True, slots=True)
class _Trace:
    """A cause of death, recognised by the last line matching `pattern`.

    `message` may use its groups.
    """

    pattern: re.Pattern[str]
    message: str
    suggestions: tuple[str, ...] = ()


def _trace(pattern: str, message: str, *suggestions: str) -> _Trace:
    return _Trace(re.compile(pattern, re.MULTILINE), message, suggestions)


# The most specific first. TensorFlow's failed checks end in abort(), so they come before it.
TRACES = (
    # Only what ends a process: OpenBLAS says so too, and goes on with fewer threads.
    _trace(
        rf"^(?:RuntimeError: |LLVM ERROR: |F\d{{4}} |\S+ \S+: F ).*(?:{NO_THREADS})",
        NO_MORE_THREADS,
        *MORE_THREADS,
    ),
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
    _trace(
        r"^Fatal Python error: Aborted", "The trainer's native code gave up (abort){where}.", DRIVER
    ),
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
        rf"^(?:\w+\.)*ImportError: (?P<what>.*(?:{NO_MEMORY_TO_LOAD}).*)$",
        "There was not enough memory to load a library: {what}.",
        *MEMORY_TO_LOAD,
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
_FRAME = re.compile(
    r'^  File "(?P<file>[^"]+)", line (?P<line>\d+) in (?P<function>.+)$', re.MULTILINE
)


def explain(run: RunDirectory, exit_code: int | None = None) -> Explanation:
    """Explain why `run` ended. `exit_code` is the trainer's if known: negative for a signal.

    For a run that is alive or has finished, say so.
    """
    state = state_of(run)
    ending = terminal_event(run)
    if isinstance(ending, Failed):
        # The trainer knows nothing about the recording of the machine.
        also = reported_by_driver(run) if ending.kind == DEVICE_LOST else ""
        words, mends = tuple(ending.suggestions), tuple(ending.mends)
        return Explanation(ending.message + also, words, ending.traceback, mends, ending.kind)
    if ending is not None:
        return Explanation(f"The run has finished: {ending.reason.replace('_', ' ')}.")
    if state != "lost":
        return Explanation("The run is alive.")
    return _lost(run, exit_code)


def _lost(run: RunDirectory, exit_code: int | None) -> Explanation:
    if not any(path.exists() for path in (run.plan_file, run.lock_file, run.log_file)):
        return DELETED  # but for what its trainer has written since
    log = _end_of_log(run)
    explanation = (
        reported_no_more(run)
        or out_of_memory(run, log)
        or card_failed(run, log)
        or _from_log(log)
        or killed_for_memory(run, exit_code)
        or restarted(run)
        or read_only(run, exit_code)
        or own_code(run, exit_code)
        or from_exit_code(exit_code)
        or WITHOUT_A_WORD
    )
    return Explanation(
        explanation.message,
        (*_go_on(run), *explanation.suggestions, f"Read the end of the log: {run.log_file}"),
        "\n".join(log.splitlines()[-_DETAIL_LINES:]),
        explanation.mends,
        lost=True,
    )


DELETED = Explanation(
    "The folder of this run is no longer there: it was deleted, or moved away, while it trained.",
    ("Look in the trash, and put it back where it was.", "Else train its plan again."),
)
WITHOUT_A_WORD = Explanation(
    "The trainer ended without a word: it was killed, or the computer went down.",
    (DMESG,),
)


def _from_log(log: str) -> Explanation | None:
    for trace in TRACES:
        matches = list(trace.pattern.finditer(log))
        if matches:
            groups = {"where": _innermost_frame(log), **matches[-1].groupdict()}
            return Explanation(trace.message.format_map(groups), trace.suggestions)
    return None


def from_exit_code(code: int | None) -> Explanation | None:
    """What the exit code alone says of an end without a word; None for code 0, or none."""
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


# faulthandler marks the thread that crashed; one that a native library made itself has no stack of
# Python, and all the stacks listed then are of other threads.
_CRASHED_THREAD = re.compile(
    r"^(?:Current thread|Stack) [^\n]*most recent call first", re.MULTILINE
)


def _innermost_frame(log: str) -> str:
    """The innermost frame of the crashed thread in faulthandler's stacks; none of another thread.

    Empty if the log has no such stacks.
    """
    crash = log.rfind("Fatal Python error")
    if crash < 0:
        return ""
    current = _CRASHED_THREAD.search(log, crash)
    if current is None:
        others = "most recent call first" in log[crash:]
        return ", in a thread of a native library that no Python called" if others else ""
    end = log.find("\n\n", current.end())
    frame = _FRAME.search(log, current.end(), end if end >= 0 else len(log))
    return (
        f", called from {frame['function']} ({frame['file']}, line {frame['line']})"
        if frame
        else ""
    )


def _go_on(run: RunDirectory) -> tuple[str, ...]:
    saved = checkpoints(run)
    if not saved:
        return ("It had written no checkpoint: train its plan again.",)
    resume = run_command("resume", run.path)
    return (f"Resume from the checkpoint of step {grouped(saved[-1].step)}, with: {resume}",)


def _end_of_log(run: RunDirectory) -> str:
    return b"\n".join(last_lines_if_any(run.log_file, _LAST_BYTES)).decode("utf-8", "replace")
