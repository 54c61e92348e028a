"""A preloaded shared library that simulates faults: a full or read-only disk, a clock set back.

The library and the test share a page of memory through a file, so that a fault can come and go
while a process runs.
"""

from __future__ import annotations

import errno
import mmap
import struct
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from nvml_library import compiled

SOURCE = Path(__file__).with_name("fault_library.c")
NAME = "faults.so"
VARIABLE = "GPU_STUDIO_TEST_FAULTS"
_SECONDS, _ERRORS, _REFUSED, _FOLDER = 0, 8, 16, 24
_SIZE = _FOLDER + 1024


def build(folder: Path) -> Path:
    """Compile the library into `folder`; its path, for LD_PRELOAD."""
    return compiled(SOURCE, folder / NAME)


@dataclass
class Faults:
    """What processes that have `library` loaded meet. Nothing, at first."""

    library: Path
    control: Path

    def __post_init__(self) -> None:
        self.control.write_bytes(bytes(_SIZE))
        with self.control.open("r+b") as file:
            self._memory = mmap.mmap(file.fileno(), _SIZE)

    @property
    def environment(self) -> Mapping[str, str]:
        """The environment of a process that is to meet them."""
        return {"LD_PRELOAD": str(self.library), VARIABLE: str(self.control)}

    @property
    def refused(self) -> int:
        """How many calls were refused so far, by all processes."""
        return int(struct.unpack_from("=q", self._memory, _REFUSED)[0])

    def set_clock(self, seconds: int) -> None:
        """Have the clock of the day off by so many seconds."""
        struct.pack_into("=q", self._memory, _SECONDS, seconds)

    @contextmanager
    def full(self, folder: Path) -> Iterator[None]:
        """Let there be no room for what is written below `folder`."""
        yield from self._failing(folder, (errno.ENOSPC, 0))

    @contextmanager
    def read_only(self, folder: Path) -> Iterator[None]:
        """Let nothing below `folder` be made, or opened to be changed."""
        yield from self._failing(folder, (0, errno.EROFS))

    def close(self) -> None:
        """Let go of the shared memory."""
        self._memory.close()

    def _failing(self, folder: Path, errors: tuple[int, int]) -> Iterator[None]:
        struct.pack_into("=1024s", self._memory, _FOLDER, f"{folder}/".encode())
        struct.pack_into("=ii", self._memory, _ERRORS, *errors)
        try:
            yield
        finally:
            struct.pack_into("=ii", self._memory, _ERRORS, 0, 0)
