"""The environment of a trainer process: variables, output, profile folder, memory limit, cores.

Nothing here imports TensorFlow, which reads the variables only once, while it is imported.
"""

from __future__ import annotations

import ctypes
import io
import os
import resource
import shutil
import sys
import tempfile
import threading
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any, Final, TextIO

import psutil

from gpu_studio.common.figures import plural
from gpu_studio.contract.failure_texts import refusal_of_disk
from gpu_studio.plan import DeviceSettings, Plan, strategy_of
from gpu_studio.plan.rules.device_rules import allocator
from gpu_studio.trainer.cuda_libraries import HIDE_ALL, load_packaged
from gpu_studio.trainer.errors import PlanRefused


def settle(plan: Plan) -> None:
    """Prepare this process for `plan`, before `import tensorflow`. Raises PlanRefused.

    Its variables are set, and those CUDA libraries loaded that TensorFlow might not find.
    """
    for name, value in settings_for(plan, os.environ).items():
        if value is None:
            os.environ.pop(name, None)
        else:
            os.environ[name] = value
    load_packaged()


def settings_for(plan: Plan, environ: Mapping[str, str]) -> dict[str, str | None]:
    """Return the variables to set before `import tensorflow`, None to unset. Raises PlanRefused."""
    if next(allocator(plan, environ), None):
        raise PlanRefused(
            "TF_GPU_ALLOCATOR=cuda_malloc_async gives all slices of a card one common pool, so a "
            "carve has no limits.",
            ["Unset TF_GPU_ALLOCATOR.", "Or take the carve out of the plan."],
        )
    inherited = environ.get("CUDA_VISIBLE_DEVICES")
    # Workers of servers compute on the CPU.
    cards = HIDE_ALL if strategy_of(plan).serves else visible_cards(plan.devices, inherited)
    return {
        "CUDA_DEVICE_ORDER": "PCI_BUS_ID",
        "CUDA_VISIBLE_DEVICES": cards,
        "KERAS_BACKEND": "tensorflow",
        "TF_CPP_MIN_LOG_LEVEL": environ.get("TF_CPP_MIN_LOG_LEVEL", "1"),
        # A cluster left over in the environment would make TensorFlow wait for workers that this
        # run does not have. A process of a cluster has been given its own.
        "TF_CONFIG": environ.get("TF_CONFIG") if strategy_of(plan).clusters else None,
        "TF_USE_LEGACY_KERAS": None,
    }


def visible_cards(devices: DeviceSettings, inherited: str | None) -> str | None:
    """Return the CUDA_VISIBLE_DEVICES that shows TensorFlow just the plan's cards, in its order.

    `inherited` is its present value (from a scheduler, say): the plan's `GPU:k` is then the k-th
    card of that. None leaves the variable alone.
    """
    if not devices.visible:
        return inherited
    cards = [name for name in devices.visible if not name.startswith("CPU")]
    if not cards:
        return HIDE_ALL
    allowed = (
        [part.strip() for part in inherited.split(",") if part.strip()]
        if inherited is not None
        else None
    )
    return ",".join(_cuda_name(card, allowed) for card in cards)


def _cuda_name(card: str, allowed: list[str] | None) -> str:
    if not card.startswith("GPU:"):
        return card
    index = int(card.removeprefix("GPU:"))
    if allowed is None:
        return str(index)
    if index >= len(allowed):
        raise PlanRefused(
            f"The plan wants {card}, but CUDA_VISIBLE_DEVICES shows this process only "
            f"{plural(len(allowed), 'card')}.",
            [
                "Name another card in devices.visible.",
                "Or start GPU Studio with CUDA_VISIBLE_DEVICES unset.",
            ],
        )
    return allowed[index]


class ForgivingFile(io.FileIO):
    """A file that drops what its full disk refuses: that costs lines of the log, not the run."""

    def write(self, data: Any, /) -> int:
        """Write `data`, or as much as fits; a disk that takes no more is no error."""
        rest = memoryview(data).cast("B")
        size = len(rest)
        try:
            while rest:
                rest = rest[super().write(rest) :]
        except OSError as error:
            if not refusal_of_disk(error):
                raise
        return size


def forgive_full_disk() -> None:
    """Let nothing printed from here on, by Keras or the user's code, fail on a full disk."""
    sys.stdout, sys.stderr = _forgiving(sys.stdout), _forgiving(sys.stderr)


def leave(status: int) -> None:
    """End the process at once, after flushing its output.

    TensorFlow needs a second to take itself apart.
    """
    with suppress(OSError):  # a full disk must not prevent it
        sys.stdout.flush()
        sys.stderr.flush()
    ctypes.CDLL(None).fflush(
        None
    )  # what native code has printed, such as where operations were placed
    os._exit(status)


def _forgiving(stream: TextIO) -> TextIO:
    stream.flush()
    file: Any = ForgivingFile(stream.fileno(), "wb", closefd=False)
    # Unbuffered: what was printed must be in the log however the process ends.
    return io.TextIOWrapper(file, stream.encoding, "backslashreplace", write_through=True)


_FOLDER_NAME: Final = "gpu-studio-profile-"
_PATIENCE_S: Final = 1.0
"""A profile is written within a tenth of that."""

_folder_unused = threading.Event()
_folder_unused.set()


@contextmanager
def profile_folder() -> Iterator[Path]:
    """Create a folder and remove it in the end, along with those that killed processes left."""
    _folder_unused.clear()
    try:
        with tempfile.TemporaryDirectory(prefix=f"{_FOLDER_NAME}{os.getpid()}-") as folder:
            yield Path(folder)
    finally:
        _folder_unused.set()
    _remove_folders(lambda owner: not psutil.pid_exists(owner))


_last_acts: list[Callable[[], None]] = []


@contextmanager
def at_last(act: Callable[[], None]) -> Iterator[None]:
    """While entered, do this, too, when the process is about to end at once."""
    _last_acts.append(act)
    try:
        yield
    finally:
        _last_acts.remove(act)


def remove_own() -> None:
    """Remove this process's folder when the process is about to end at once, on any thread.

    This waits, a second at most, for what TensorFlow is just writing there: TensorFlow would create
    the folder again.
    """
    for act in _last_acts:
        act()
    _folder_unused.wait(_PATIENCE_S)
    _remove_folders(lambda owner: owner == os.getpid())


def _remove_folders(wanted: Callable[[int], bool]) -> None:
    for folder in Path(tempfile.gettempdir()).glob(f"{_FOLDER_NAME}*"):
        owner = folder.name.removeprefix(_FOLDER_NAME).partition("-")[0]
        if owner.isdigit() and wanted(int(owner)):
            shutil.rmtree(folder, ignore_errors=True)


_OOM_SCORE = Path("/proc/self/oom_score_adj")
_FIRST_TO_GO = "1000"


def limit_memory() -> None:
    """Limit this process to the memory that is free now, and let it be the first to be killed.

    Whatever asks for more gets a MemoryError, or TensorFlow's own words for it. Where the system
    knows no such limit, nothing is done.
    """
    with suppress(OSError):
        _OOM_SCORE.write_text(_FIRST_TO_GO)
    # The limit covers writable memory: neither libraries nor the address space that a driver
    # reserves count.
    kind = getattr(resource, "RLIMIT_DATA", None)
    if kind is not None:
        free = psutil.virtual_memory().available
        _, most = resource.getrlimit(kind)
        with suppress(OSError, ValueError):
            resource.setrlimit(
                kind, (free if most == resource.RLIM_INFINITY else min(free, most), most)
            )


def cores() -> int:
    """Return the number of cores.

    If this process is bound to some of the machine's cores, only those count.
    """
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
