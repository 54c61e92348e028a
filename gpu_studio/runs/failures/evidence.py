"""What else tells why a trainer is gone without a last word: the computer's start, its memory, its cards."""

from __future__ import annotations

import signal
import time
from contextlib import suppress
from datetime import datetime
from pathlib import Path

from gpu_studio import plan as plans
from gpu_studio.hardware import samples
from gpu_studio.plan.problems import listed
from gpu_studio.runs import lock
from gpu_studio.runs.directory import RunDirectory
from gpu_studio.runs.event_parts import Mend
from gpu_studio.runs.events import Code, Model, decode
from gpu_studio.runs.failures import kernel
from gpu_studio.runs.failures.explanation import DMESG, SMALLER, Explanation
from gpu_studio.runs.failures.failure_mends import against_want_of_memory
from gpu_studio.runs.failures.failure_texts import layer_of, refusal_in
from gpu_studio.runs.failures.full_disk import advice_for
from gpu_studio.runs.failures.lost_device import lost_device_in
from gpu_studio.runs.files import last_lines_if_any
from gpu_studio.runs.reading.lines import LineTail

_HAPPENED = b'{"sample":"happened"'
_RECORDING_BYTES = 1024 * 1024
_RECENT_SECONDS = 600.0


def told_no_more(run: RunDirectory) -> Explanation | None:
    """The trainer came to its end, but the disk did not take its last events."""
    words = lock.last_words(run.lock_file)
    return Explanation(f"The trainer has ended. {words}", (advice_for(words),)) if words else None


def own_code(run: RunDirectory, exit_code: int | None) -> Explanation | None:
    """Python code of the user's own was at work, the model was not built yet, and no signal has ended the trainer."""
    told = [event for line in LineTail(run.events_file).read_all() if isinstance(event := decode(line), Code | Model)]
    if not told or isinstance(told[-1], Model) or (exit_code or 0) < 0:
        return None
    files = list(dict.fromkeys(Path(code.file).name for code in told if isinstance(code, Code)))
    ended = f"ended with exit code {exit_code}" if exit_code is not None else "ended"
    were = "was" if len(files) == 1 else "were"
    return Explanation(
        f"The trainer {ended} while {listed(files)} {were} at work, and without a word.",
        (f"Look for os._exit in {listed(files)}, and for a library that may have crashed.",),
    )


def restarted(run: RunDirectory) -> Explanation | None:
    """The computer was started anew since the trainer began, and nothing else tells what ended it."""
    holder = lock.last_holder(run.lock_file)
    if holder is None or not holder.is_here or not holder.boot or not kernel.boot_id():
        return None
    if holder.boot == kernel.boot_id():
        return None
    return Explanation(
        "The trainer ended without a word, and the computer has been restarted since: most likely it went down, or "
        f"lost its power, while the run trained.{_last_seen(run)}"
    )


def out_of_memory(run: RunDirectory, log: str) -> Explanation | None:
    """An allocator had no room, and TensorFlow's native code did not survive it."""
    refusal = refusal_in(log)
    if refusal is None:
        return None
    layer = layer_of(refusal.operation, _layers(run))
    where = refusal.device or "the CPU"
    inside = f", in the layer {layer}" if layer else ""
    return Explanation(
        f"Out of memory on {where}{inside}: there was no room for another {refusal.size}, and TensorFlow crashed.",
        (SMALLER,),
        mends=_smaller(run, refusal.device),
    )


def card_failed(run: RunDirectory, log: str) -> Explanation | None:
    """A card failed, and TensorFlow's native code ended the trainer."""
    found = lost_device_in(log)
    if found is None:
        return None
    message = f"A card failed while it trained: {found.why} ({found.words}).{told_by_driver(run)}"
    return Explanation(message, found.suggestions)


def told_by_driver(run: RunDirectory) -> str:
    """What the driver told of a card last while the run was recorded, as a sentence; empty if it told of nothing."""
    for line in reversed(last_lines_if_any(run.hardware_file, _RECORDING_BYTES)):
        if line.startswith(_HAPPENED):
            with suppress(samples.SampleError):
                sample = samples.decode(line)
                if isinstance(sample, samples.Happened):
                    return f" The driver told of it: {sample.words}."
    return ""


def killed_for_memory(run: RunDirectory, exit_code: int | None) -> Explanation | None:
    """The kernel ended a process for want of memory since the trainer began, and the trainer was killed."""
    count = _memory_kills_since(run)
    if count <= 0 or exit_code not in (None, -signal.SIGKILL):
        return None
    # Of a run that ended long ago the count tells less: it may have grown since.
    sure = "most likely" if time.time() - _last_written(run) < _RECENT_SECONDS else "perhaps"
    processes = "process" if count == 1 else "processes"
    return Explanation(
        f"The trainer was killed, {sure} by the system because the computer had no memory left: since the run began, "
        f"the out-of-memory killer has ended {count} {processes}.",
        (SMALLER, "Close other programs that need much memory.", DMESG),
        mends=_smaller(run, None),
    )


def _memory_kills_since(run: RunDirectory) -> int:
    """How many processes were ended for want of memory since the trainer began; 0 also where that is not known."""
    holder, now = lock.last_holder(run.lock_file), kernel.memory_kills()
    if holder is None or holder.memory_kills is None or now is None:
        return 0
    return now - holder.memory_kills if holder.is_here and holder.boot == kernel.boot_id() else 0


def _last_written(run: RunDirectory) -> float:
    """When the trainer last told of anything, in seconds since 1970 (UTC); 0 if it never did."""
    try:
        return run.events_file.stat().st_mtime
    except OSError:
        return 0.0


def _last_seen(run: RunDirectory) -> str:
    """When the trainer last told of anything, as a sentence, on this computer's clock."""
    written = _last_written(run)
    moment = datetime.fromtimestamp(written).astimezone()
    return f" Its last sign of life is of {moment:%Y-%m-%d %H:%M:%S}." if written else ""


def _smaller(run: RunDirectory, device: str | None) -> tuple[Mend, ...]:
    try:
        plan = plans.load(run.plan_file)
    except plans.PlanError:
        return ()
    return tuple(against_want_of_memory(plan, device))


def _layers(run: RunDirectory) -> set[str]:
    """The names of the run's layers, which it told near its beginning."""
    tail = LineTail(run.events_file)
    try:
        for line in tail.read():
            event = decode(line)
            if isinstance(event, Model):
                return {layer.name for layer in event.layers}
    except OSError:
        return set()
    return set()
