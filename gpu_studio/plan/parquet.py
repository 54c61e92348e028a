"""The columns of a Parquet file, from its footer, without the library that reads the rows.

So the window names columns at every keystroke, whatever is installed, and no native library reads
a stranger's file there. The footer is Thrift in its compact form:
https://github.com/apache/parquet-format and
https://github.com/apache/thrift/blob/master/doc/specs/thrift-compact-protocol.md.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, BinaryIO

SUFFIX = ".parquet"
_MARK, _LOCKED = b"PAR1", b"PARE"
_MOST_BYTES = 1 << 26
"""The schema stands first in the footer: no more of it than this is read."""
_TRUE, _FALSE, _BYTE, _DOUBLE, _BINARY, _MAP, _STRUCT = 1, 2, 3, 7, 8, 11, 12
_LISTS = (9, 10)
_INTEGERS = (4, 5, 6)
_SCHEMA = 2
_REPETITION, _NAME, _CHILDREN = 3, 4, 5
_REPEATED = 2


class FooterError(ValueError):
    """Why the footer cannot be read, as the end of a sentence, and what to do."""

    def __init__(self, what: str, advice: str) -> None:
        super().__init__(f"{what}: {advice}")
        self.what, self.advice = what, advice


def names_in(file: BinaryIO) -> tuple[str, ...]:
    """The names of the columns that hold one value in each row, in order.

    Lists, maps and structures are no such columns. Raises FooterError and OSError.
    """
    try:
        return tuple(_names(_Thrift(_footer(file)).schema()))
    except FooterError:
        raise
    except (LookupError, ValueError, RecursionError, AttributeError, TypeError) as error:
        raise _damaged() from error


def _damaged() -> FooterError:
    return FooterError(
        "it is no Parquet file, or it is cut off",
        "make or copy it again",
    )


def _footer(file: BinaryIO) -> bytes:
    whole = file.seek(0, os.SEEK_END)
    file.seek(max(0, whole - 8))
    end = file.read(8)
    if end[4:] == _LOCKED:
        raise FooterError("it is encrypted", "write it without encryption")
    length = int.from_bytes(end[:4], "little")
    if end[4:] != _MARK or length + 12 > whole:
        raise _damaged()
    file.seek(whole - 8 - length)
    return file.read(min(length, _MOST_BYTES))


def _names(schema: list[dict[int, Any]]) -> Iterator[str]:
    """Of the tree, which stands root first, the leaves right below the root."""
    place = 1
    for _ in range(schema[0][_CHILDREN]):
        each = schema[place]
        end = _end(schema, place)
        if end == place + 1 and each.get(_REPETITION) != _REPEATED:
            yield each[_NAME].decode()
        place = end


def _end(schema: list[dict[int, Any]], place: int) -> int:
    """The place after this element and all below it."""
    left = 1
    while left:
        left += schema[place].get(_CHILDREN, 0) - 1
        place += 1
    return place


@dataclass(slots=True)
class _Thrift:
    """Reads values from the front. Raises IndexError where the bytes end."""

    data: bytes
    place: int = 0

    def schema(self) -> list[dict[int, Any]]:
        """The elements of the schema. Raises KeyError if there is none."""
        for number, kind in self._fields():
            found = self._value(kind)
            if number == _SCHEMA:
                elements: list[dict[int, Any]] = found
                return elements
        raise KeyError(_SCHEMA)

    def _fields(self) -> Iterator[tuple[int, int]]:
        number = 0
        while head := self._byte():
            number = number + (head >> 4) if head >> 4 else self._integer()
            yield number, head & 15

    def _value(self, kind: int) -> Any:
        if kind in (_TRUE, _FALSE):
            return kind == _TRUE
        if kind in _INTEGERS:
            return self._integer()
        if kind in (_BYTE, _DOUBLE):
            return self._bytes(1 if kind == _BYTE else 8)
        if kind == _BINARY:
            return self._bytes(self._count())
        if kind == _STRUCT:
            return {number: self._value(inner) for number, inner in self._fields()}
        if kind in _LISTS:
            return self._list()
        if kind == _MAP:
            return self._map()
        raise KeyError(kind)

    def _list(self) -> list[Any]:
        head = self._byte()
        size, kind = head >> 4, head & 15
        size = self._count() if size == 15 else size
        if kind in (_TRUE, _FALSE):  # unlike a field, an element has a byte of its own
            kind = _BYTE
        return [self._value(kind) for _ in range(size)]

    def _map(self) -> None:
        size = self._count()
        kinds = self._byte() if size else 0
        for _ in range(size):
            self._value(kinds >> 4)
            self._value(kinds & 15)

    def _byte(self) -> int:
        self.place += 1
        return self.data[self.place - 1]

    def _bytes(self, size: int) -> bytes:
        self.place += size
        if self.place > len(self.data):
            raise IndexError(size)
        return self.data[self.place - size : self.place]

    def _count(self) -> int:
        found = 0
        for shift in range(0, 70, 7):
            byte = self._byte()
            found |= (byte & 127) << shift
            if byte < 128:
                return found
        raise IndexError(found)

    def _integer(self) -> int:
        found = self._count()
        return (found >> 1) ^ -(found & 1)
