"""A real shared library that replaces the NVIDIA driver's, compiled for a test, with faults.

The library and the test share a page of memory through a file, so that a card can be lost while a
process that has the library loaded continues.
"""

from __future__ import annotations

import mmap
import os
import shutil
import struct
import subprocess
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

from patience import PATIENCE_S

SOURCE = Path(__file__).with_name("nvml_library.c")
NAME = "libnvidia-ml.so.1"
VARIABLE = "GPU_STUDIO_TEST_NVML"
HANG, CRASH, EVERY_CARD = -1, -2, -1
LOST, NO_PERMISSION, NOT_SUPPORTED, MISMATCH, UNINITIALISED = 15, 4, 3, 18, 1
HEAD, FAULT, MOST_FAULTS = struct.Struct("=Qiiii"), struct.Struct("=56sii"), 64
SIZE = HEAD.size + MOST_FAULTS * FAULT.size


def compiler() -> str | None:
    """The C compiler; None where there is none."""
    return shutil.which("cc") or shutil.which("gcc")


def compiled(source: Path, made: Path) -> Path:
    """Compile a file of C into the shared library `made`; its path. Raises CalledProcessError."""
    options = ("-shared", "-fPIC", "-O1", "-Wall", "-Werror", "-o", str(made), str(source), "-ldl")
    command = [compiler() or "cc", *options]
    subprocess.run(command, check=True, capture_output=True, timeout=PATIENCE_S)
    return made


def build(folder: Path) -> Path:
    """Compile the library into `folder`; the folder, for LD_LIBRARY_PATH."""
    return compiled(SOURCE, folder / NAME).parent


@dataclass
class NvmlLibrary:
    """The library in `folder`, with `cards` cards.

    A fault is put in by the name of the C function, for one or all.
    """

    folder: Path
    control: Path
    cards: int = 2
    _faults: list[tuple[str, int, int]] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.control.write_bytes(bytes(SIZE))
        with self.control.open("r+b") as file:
            self._memory = mmap.mmap(file.fileno(), SIZE)
        self._write_head()

    @property
    def environment(self) -> Mapping[str, str]:
        """The environment of a process that is to find this library."""
        return {"LD_LIBRARY_PATH": str(self.folder), VARIABLE: str(self.control)}

    @property
    def calls(self) -> int:
        """How often its functions were called so far, by all processes."""
        return int(HEAD.unpack_from(self._memory)[0])

    def fail(self, function: str, code: int, card: int = EVERY_CARD) -> None:
        """Let a function fail from now on."""
        self._faults.append((function, card, code))
        self._write_faults()

    def mend(self) -> None:
        """Let no function fail any more."""
        self._faults.clear()
        self._write_faults()

    def set_cards(self, cards: int) -> None:
        """Have another number of cards from now on."""
        self.cards = cards
        self._write_head()

    def raise_xid(self, card: int, xid: int) -> None:
        """Let an XID befall a card."""
        struct.pack_into("=ii", self._memory, 16, card, xid)

    def close(self) -> None:
        """Let go of the shared memory."""
        self._memory.close()

    def _write_head(self) -> None:
        struct.pack_into("=iiii", self._memory, 8, self.cards, len(self._faults), -1, 0)

    def _write_faults(self) -> None:
        struct.pack_into("=i", self._memory, 12, 0)
        for number, (function, card, code) in enumerate(self._faults):
            FAULT.pack_into(
                self._memory, HEAD.size + number * FAULT.size, function.encode(), card, code
            )
        struct.pack_into("=i", self._memory, 12, len(self._faults))


def with_library(library: NvmlLibrary) -> dict[str, str]:
    """This process's environment, so that what it starts finds `library`."""
    return {**os.environ, **library.environment}
