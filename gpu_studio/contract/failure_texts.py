"""Recognise the cause of a failure in the words of TensorFlow, CUDA and the system.

A refused allocation, with its device and layer; a card that failed; a full or refusing disk,
with advice. The texts are those of TensorFlow 2.20 and 2.21, in exceptions as well as in what
its native code prints.
"""

from __future__ import annotations

import errno
import os
import re
from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Final, Literal

from gpu_studio.common.figures import UNITS

_DEVICE = re.compile(r"device:((?:GPU|CPU):\d+)")
# Where a tensor finds no memory, its sender is named as well, and first: in the key of a rendezvous
# (`sender;incarnation;receiver;edge`), in a copy, in the attributes of a graph's receiving node.
_WITHOUT_MEMORY = (
    re.compile(r"OOM when allocating tensor[^\n]*? on \S*device:(?P<device>(?:GPU|CPU):\d+)"),
    re.compile(r"Key: [^;\s]+;[^;\s]*;\S*?device:(?P<device>(?:GPU|CPU):\d+);"),
    re.compile(r"[Cc]opying \w+ tensor from \S+ to \S*?device:(?P<device>(?:GPU|CPU):\d+)"),
    re.compile(r'recv_device="\S*?device:(?P<device>(?:GPU|CPU):\d+)"'),
)
NO_MEMORY_FOR_COPY = "Dst tensor is not initialized"
"""What a copy says that found no memory where it should go (tensorflow issue 7025)."""
_ALLOCATOR = re.compile(
    r"Allocator \((?P<allocator>[^)]+)\) ran out of memory trying to allocate "
    r"(?P<size>[\d.]+[KMGT]?i?B)(?: \(rounded to (?P<bytes>\d+)\))?"
)
_ASKED_BY = re.compile(r"requested by op (?P<operation>\S+)")
# An allocation that the caller can do without is reported in the same words, and is no failure.
_HARMLESS = "is not a failure"
# A name in brackets without `node` is an operation that only waited for the one that failed.
_NODES = re.compile(r"\{\{node ([^}]+)\}\}|Detected at node '?([^'\s]+)")
NO_MEMORY_TO_LOAD = r"failed to map segment|[Cc]annot allocate memory"
"""What the dynamic linker says if a library that is there gets no memory, or may not use enough."""
MEMORY_TO_LOAD = ("Close other programs, or raise the limit that `ulimit -v` shows.",)
NO_THREADS = r"can't start new thread|pthread_create(?:\(\))? failed"
"""What Python and native libraries say if a user, or a container, may start no more."""
NO_MORE_THREADS = "The system let the trainer start no further thread."
MORE_THREADS = (
    "End other programs, or raise the limit: `ulimit -u` shows the user's.",
    "A container and a Slurm job have a limit of their own (pids.max).",
)
_COPY_NUMBER = re.compile(r"_\d+$")


@dataclass(frozen=True, slots=True)
class AllocationRefusal:
    """An allocator (`GPU_0_bfc`) that could not give a size (`7.22MiB`) to an operation.

    The operation is "" if the message does not name it; `bytes` are those of the size where it
    does not give them.
    """

    allocator: str
    size: str
    operation: str
    bytes: int = 0

    @property
    def device(self) -> str | None:
        """The logical device that the memory belongs to; None for the host's."""
        found = re.fullmatch(r"(GPU)_(\d+)_bfc", self.allocator)
        return f"{found[1]}:{found[2]}" if found else None


def device_in(text: str) -> str | None:
    """The first logical device (`GPU:1`) that an error names, if any."""
    found = _DEVICE.search(text)
    return found[1] if found else None


def device_without_memory(text: str) -> str | None:
    """The logical device that had no memory, in the words of an error; the receiver of a tensor.

    None if the words do not say it: `device_in` may still name some device.
    """
    found = (each.search(text) for each in _WITHOUT_MEMORY)
    first = min((each for each in found if each), key=lambda each: each.start(), default=None)
    return first["device"] if first else None


def operations_in(text: str) -> Iterator[str]:
    """The operations that an error names, in order."""
    for groups in _NODES.findall(text):
        yield from filter(None, groups)


def layer_of(operation: str, layers: Collection[str]) -> str | None:
    """Return the layer, of `layers`, of an operation such as `while/cnn_1/conv_1/Conv2D`.

    The scopes in the operation's name are layers' names. Keras appends a number to the scope of a
    layer that was called before (`conv_1` is `conv` again), so an exact match is preferred to one
    without its number, and an inner scope to an outer one.
    """
    scopes = operation.split("/")[::-1]
    exact = next((scope for scope in scopes if scope in layers), None)
    return exact or next(
        (plain for scope in scopes if (plain := _COPY_NUMBER.sub("", scope)) in layers), None
    )


def refusals_in(log: str, missed: Collection[str] = ()) -> Iterator[AllocationRefusal]:
    """The allocations in a log that failed and that their callers could not do without, last first.

    Several devices, and several threads, may be refused at the same moment. Those of a size in
    `missed` (`28.10MiB`) count too where the log takes them for harmless: their caller failed.
    """
    for line in reversed(log.splitlines()):
        found = _ALLOCATOR.search(line)
        if found and (_HARMLESS not in line or found["size"] in missed):
            asked = _ASKED_BY.search(line)
            yield AllocationRefusal(
                found["allocator"],
                found["size"],
                asked["operation"] if asked else "",
                int(found["bytes"] or bytes_in(found["size"])),
            )


def bytes_in(size: str) -> int:
    """The bytes of a size as TensorFlow writes it, such as `28.10MiB`; 0 for other words."""
    found = re.fullmatch(r"(?P<number>\d+(?:\.\d+)?)(?P<unit>[KMGT]?i?B)", size)
    return round(float(found["number"]) * UNITS.get(found["unit"], 0)) if found else 0


def refusal_in(log: str) -> AllocationRefusal | None:
    """The last of `refusals_in`."""
    return next(refusals_in(log), None)


LibraryTask = Literal["start", "algorithm", "recurrent", "product"]
"""CUDA's own start on a card; cuDNN's search for an algorithm, and its recurrent layers; cuBLAS."""
_TASKS: Final[Mapping[LibraryTask, re.Pattern[str]]] = {
    "start": re.compile(r"cudaSetDevice\(\) on (?P<device>GPU:\d+) failed\. Status: out of memory"),
    "algorithm": re.compile(r"No algorithm worked!"),
    "recurrent": re.compile(r"Failed to call DoRnn(?:Forward|Backward)"),
    "product": re.compile(r"No blas support for stream"),
}
# An algorithm may also be refused by a card that lacks it, or by a cuDNN that cannot be loaded.
_TRY_WITHOUT_MEMORY = re.compile(
    r"RESOURCE_EXHAUSTED|Out of memory|CUDNN failed to allocate the scratch space"
    r"|Failed to allocate memory"
)
_TRIED = re.compile(r"Out of memory while trying to allocate (\d+(?:\.\d+)?[KMGT]?i?B)")


@dataclass(frozen=True, slots=True)
class LibraryFailure:
    """A task that CUDA or one of its libraries could not do, and its words.

    `without_room` if they say that it was for want of memory, of the `sizes` (`28.10MiB`) that were
    asked for in vain; `device` is the card (`GPU:0`) that they name. Those of cuBLAS and of cuDNN's
    recurrent layers never name a cause.
    """

    task: LibraryTask
    words: str
    without_memory: bool = False
    sizes: tuple[str, ...] = ()
    device: str | None = None


def library_failure_in(text: str) -> LibraryFailure | None:
    """What CUDA or a library of it could not do by the words of an error; None if none says so."""
    for task, words in _TASKS.items():
        found = words.search(text)
        if found and task == "start":
            return LibraryFailure(task, found[0], without_memory=True, device=found["device"])
        if found and task == "algorithm":
            sizes = tuple(dict.fromkeys(_TRIED.findall(text)))
            return LibraryFailure(task, found[0], bool(_TRY_WITHOUT_MEMORY.search(text)), sizes)
        if found:
            return LibraryFailure(task, found[0])
    return None


_CUDA_CODE = re.compile(r"(?:CUDA_ERROR|cudaError)_?(?P<code>\w+)")
# Without a CUDA error code: TensorFlow's event manager, its synchronisation, cuDNN, the driver.
_WORDS_WITHOUT_CODE = re.compile(
    r"Unexpected Event status: 1|GPU sync failed|CUDNN_STATUS_EXECUTION_FAILED|GPU "
    r"is lost|fallen off the bus"
    r"|GPU_IS_LOST|Failed to enqueue async memcpy"
)
# A machine without a card reports so at the start, with a CUDA error code, and trains on its CPU.
_CUDA_AT_START = re.compile(r"^.*cuInit.*$", re.MULTILINE)
_HARDWARE = "Look at the kernel's log for an XID, with: dmesg | grep -i xid"
_RESTART = "Restart the machine, or reset the card, with: sudo nvidia-smi --gpu-reset -i INDEX"
_DRIVER = "Look whether the driver was updated or reloaded under the run, with: nvidia-smi"

_MEANINGS_OF_CODES = (
    (
        "ECC_UNCORRECTABLE",
        "its memory has an error that could not be corrected (ECC)",
        (_RESTART, _HARDWARE),
    ),
    (
        "NVLINK_UNCORRECTABLE",
        "its NVLink has an error that could not be corrected",
        (_RESTART, _HARDWARE),
    ),
    ("HARDWARE_STACK_ERROR", "its hardware failed", (_RESTART, _HARDWARE)),
    (
        "LAUNCH_TIMEOUT",
        "the display's watchdog ended a computation that took too long",
        ("Train on a card that drives no display, or with a smaller training.batch_size.",),
    ),
    ("ILLEGAL_ADDRESS", "a computation reached beyond its memory", (_DRIVER, _HARDWARE)),
    ("ILLEGAL_INSTRUCTION", "it was given an instruction that it does not have", (_DRIVER,)),
    ("MISALIGNED_ADDRESS", "a computation reached beyond its memory", (_DRIVER, _HARDWARE)),
    ("LAUNCH_FAILED", "a computation on it crashed", (_HARDWARE, _DRIVER)),
    ("NO_DEVICE", "the driver no longer has it", (_RESTART, _HARDWARE)),
    ("DEVICE_UNAVAILABLE", "the driver no longer lets it be used", (_HARDWARE, _RESTART)),
    ("DevicesUnavailable", "the driver no longer lets it be used", (_HARDWARE, _RESTART)),
    ("UNKNOWN", "the driver gave no reason", (_HARDWARE, _RESTART)),
)
_OFF_THE_BUS = ("GPU is lost", "fallen off the bus", "GPU_IS_LOST")


@dataclass(frozen=True, slots=True)
class LostDevice:
    """What happened to a card: `why` (`a computation on it crashed`), and the reported words."""

    why: str
    words: str
    suggestions: tuple[str, ...]


def lost_device_in(text: str) -> LostDevice | None:
    """The card failure that an error or the end of a log reports; None if it reports none.

    Running out of memory (`CUDA_ERROR_OUT_OF_MEMORY`) is not such a failure.
    """
    text = _CUDA_AT_START.sub("", text)
    for found in _CUDA_CODE.finditer(text):
        for code, why, suggestions in _MEANINGS_OF_CODES:
            if found["code"].startswith(code):
                return LostDevice(why, found[0], suggestions)
    words = _WORDS_WITHOUT_CODE.search(text)
    if words is None:
        return None
    gone = words[0] in _OFF_THE_BUS
    return LostDevice(
        "it is off the bus" if gone else "a computation on it failed",
        words[0],
        (_HARDWARE, _RESTART),
    )


FULL = (errno.ENOSPC, errno.EDQUOT)
"""There is no space, on the disk or within the user's quota."""
LASTING = (errno.EROFS, errno.EFBIG, errno.EDQUOT)
"""A read-only disk, or a limit of this user or process is reached: waiting frees no space."""
_FREE_SPACE = (
    "Free space on the disk that holds the runs folder, or choose another "
    "with --runs-dir. Look with: df -h"
)
_MAKE_WRITABLE = (
    "Have the disk that holds the runs folder mounted for writing, "
    "or choose another with --runs-dir."
)
_LIFT_LIMIT = (
    "Take away the limit on the size of files, in the shell that "
    "starts the run: ulimit -f unlimited"
)
LEAST_SPACE = 64 * 1024
"""Bytes: with less than this a disk is as good as full."""
_DISK_IS_FULL = tuple(os.strerror(number) for number in FULL)


def refusal_of_disk(error: BaseException) -> str:
    """The system's reason why a disk refused a write; empty if `error` is about something else.

    For example `No space left on device`. TensorFlow writes some files itself, and then raises the
    exception that it also raises for a device without memory, with these words in it.
    """
    if isinstance(error, OSError) and error.errno is not None:
        return os.strerror(error.errno) if error.errno in (*FULL, *LASTING) else ""
    text = str(error)
    return next((words for words in _DISK_IS_FULL if words in text), "")


def advice_for(words: str) -> str:
    """What to do about a disk that refused for this reason, or for one in this sentence."""
    others = {errno.EROFS: _MAKE_WRITABLE, errno.EFBIG: _LIFT_LIMIT}
    return next(
        (advice for number, advice in others.items() if os.strerror(number) in words), _FREE_SPACE
    )


def is_disk_full(folder: Path) -> bool:
    """Whether the disk that holds `folder` is full for this user; false if that is not known."""
    try:
        disk = os.statvfs(folder)
    except OSError:
        return False
    return disk.f_blocks > 0 and disk.f_bavail * disk.f_frsize < LEAST_SPACE
