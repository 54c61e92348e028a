"""The arrays in an `.npz` archive, as their headers tell of them: read, or mapped where nothing is compressed."""

from __future__ import annotations

import math
import struct
import zipfile
from dataclasses import dataclass
from typing import IO, Any

import numpy as np

from gpu_studio.trainer.data.mapped_file import MappedFile
from gpu_studio.trainer.data.values import Array

MAPPED_BYTES = 1 << 26
"""Arrays of at least this size are mapped: of a smaller one nothing would be gained."""
_LOCAL_HEADER = struct.Struct("<4s22xHH")
_MAGIC = b"PK\x03\x04"
_PIECE = 1 << 20


class NoArrayError(Exception):
    """A member of the archive is no array."""


@dataclass(frozen=True, slots=True)
class Member:
    """An array of an archive. `skipped` bytes of the member come before its numbers."""

    archive: zipfile.ZipFile
    info: zipfile.ZipInfo
    shape: tuple[int, ...]
    dtype: np.dtype[Any]
    columns_first: bool
    skipped: int

    @property
    def size(self) -> int:
        """The bytes of its numbers."""
        return math.prod(self.shape) * self.dtype.itemsize

    @property
    def mapped(self) -> bool:
        """Whether the archive's file can stand for it."""
        as_it_is = self.info.compress_type == zipfile.ZIP_STORED and not self.info.flag_bits & 1
        return as_it_is and not self.columns_first and self.size >= MAPPED_BYTES

    def read(self) -> Array:
        """The array, in memory. Raises what zipfile and NumPy raise of a damaged one, and MemoryError."""
        with self.archive.open(self.info) as file:
            array: Array = np.lib.format.read_array(file, allow_pickle=False)
        return array

    def map(self, file: MappedFile, opened: IO[bytes]) -> Array:
        """The array as it stands in the file, all of which is read once for its checksum."""
        with self.archive.open(self.info) as member:
            there = sum(map(len, iter(lambda: member.read(_PIECE), b"")))
        if there < self.skipped + self.size:
            raise zipfile.BadZipFile(f"{self.info.filename} is cut off")
        return file.array(self.dtype, self.shape, self._begin(opened) + self.skipped)

    def _begin(self, opened: IO[bytes]) -> int:
        """Where the member's bytes begin: the header before them, which zipfile has checked, tells how long it is."""
        opened.seek(self.info.header_offset)
        magic, name, extra = _LOCAL_HEADER.unpack(opened.read(_LOCAL_HEADER.size))
        if magic != _MAGIC:
            raise zipfile.BadZipFile("a member is not where the table of contents has it")
        return int(self.info.header_offset) + _LOCAL_HEADER.size + int(name) + int(extra)


def member_of(archive: zipfile.ZipFile, name: str) -> Member:
    """The member called `name` or `name.npy`, of which only the header is read.

    Raises NoArrayError, and ValueError for an array of Python objects or one that says to be larger than it is.
    """
    info = archive.getinfo(name if name in archive.namelist() else f"{name}.npy")
    with archive.open(info) as file:
        if file.read(len(np.lib.format.MAGIC_PREFIX)) != np.lib.format.MAGIC_PREFIX:
            raise NoArrayError(name)
        file.seek(0)
        version = np.lib.format.read_magic(file)
        read = np.lib.format.read_array_header_1_0 if version == (1, 0) else np.lib.format.read_array_header_2_0
        shape, columns_first, dtype = read(file)
        skipped = file.tell()
    if dtype.hasobject:
        raise ValueError("it holds pickled objects")
    member = Member(archive, info, shape, dtype, columns_first, skipped)
    if member.size > info.file_size - skipped:
        raise ValueError(f"{name} says that it has {member.size:,} bytes, but {info.file_size - skipped:,} are there")
    return member
