"""Read columns of a Parquet file piece by piece, by pyarrow, which only those who read such need.

What is stored decides what a column is: whole numbers, fractions or texts. Nothing is unpickled:
columns of extension types are refused.
"""

from __future__ import annotations

import sys
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from gpu_studio.common.safe_files import opened
from gpu_studio.plan import printable
from gpu_studio.plan.columns import TableError
from gpu_studio.trainer.data.values import Array

if TYPE_CHECKING:
    import pyarrow as pa

_AGAIN = "fill it in, or leave the row out"
_BUFFER = 1 << 20
"""Bytes of a column that are read from the file at once; else it would be all of a row group."""


@dataclass(frozen=True, slots=True)
class Piece:
    """Some rows of a Parquet file, of which `first` is the number of the first, from 1.

    `cells` holds of each column int64, float32, or a list of texts.
    """

    first: int
    cells: Mapping[str, Array | list[str]]


def rows_in(path: Path) -> int:
    """How many rows the file at `path` says that it has. Raises TableError and OSError."""
    arrow = _arrow()
    with _damage_explained(arrow), opened(path, follow=True) as file:
        return int(arrow.parquet.ParquetFile(file).metadata.num_rows)


def pieces_of(
    path: Path, names: Sequence[str], texts: Collection[str], rows: int
) -> Iterator[Piece]:
    """Yield these columns of the file at `path`, `rows` rows at a time.

    Those in `texts` are texts, whatever they hold. Raises TableError for a column that is empty in
    some row or holds neither numbers nor texts, and for a file that is damaged; OSError;
    MemoryError.
    """
    arrow = _arrow()
    with _damage_explained(arrow), opened(path, follow=True) as file:
        source = arrow.parquet.ParquetFile(file, buffer_size=_BUFFER)
        schema, first = source.schema_arrow, 1
        for name in names:
            _check_kind(arrow, name, schema.field(name).type)
        for batch in _batches(source, names, rows):
            yield Piece(
                first,
                {
                    name: _cells(arrow, name, batch.column(name), first, as_text=name in texts)
                    for name in names
                },
            )
            first += len(batch)


def _batches(source: Any, names: Sequence[str], rows: int) -> Iterator[Any]:
    """Yield the rows of one row group after another.

    Asked for all at once, pyarrow keeps what it has read of each: in the end the whole table.
    """
    for group in range(source.metadata.num_row_groups):
        yield from source.iter_batches(
            rows, row_groups=[group], columns=list(names), use_threads=False
        )


def _arrow() -> Any:
    try:
        import pyarrow as pa
        import pyarrow.parquet
    except ImportError as error:
        raise TableError(
            "Parquet files are read by pyarrow, which is not installed",
            f'install it with {sys.executable} -m pip install "pyarrow>=20", or save the table as '
            "CSV",
        ) from error
    return pa


class _damage_explained:  # noqa: N801  (read as a function)
    """Raises TableError for what pyarrow says of a file."""

    def __init__(self, arrow: Any) -> None:
        self._arrow = arrow

    def __enter__(self) -> None:
        pass

    def __exit__(self, _kind: object, error: BaseException | None, _trace: object) -> None:
        # Texts are decoded by Python.
        damage = self._arrow.ArrowException | KeyError | UnicodeDecodeError
        if isinstance(error, damage) and not isinstance(error, MemoryError):
            said = " ".join(str(error).split())
            raise TableError(
                f"it cannot be read as a Parquet file ({said})", "make or copy it again"
            ) from error


def _check_kind(arrow: Any, name: str, kind: pa.DataType) -> None:
    types, held = arrow.types, f"the column {printable(name)} holds"
    if types.is_dictionary(kind):
        kind = kind.value_type
    if types.is_temporal(kind):
        raise TableError(
            f"{held} dates or times ({kind})",
            "save it as a number, such as days since the first one, or as a text",
        )
    if types.is_binary(kind) or types.is_large_binary(kind):
        raise TableError(f"{held} bytes", "save it as texts")
    if not any(has_it(kind) for has_it in _readable(types)):
        raise TableError(f"{held} {kind}", "save it as numbers or as texts")


def _readable(types: Any) -> tuple[Any, ...]:
    return (
        types.is_boolean,
        types.is_integer,
        types.is_floating,
        types.is_decimal,
        types.is_string,
        types.is_large_string,
        types.is_string_view,
    )


def _cells(
    arrow: Any, name: str, column: pa.Array, first: int, *, as_text: bool
) -> Array | list[str]:
    if column.null_count:
        empty = int(np.argmax(column.is_null().to_numpy(zero_copy_only=False)))
        raise TableError(f"row {first + empty}: {printable(name)} is empty", _AGAIN)
    types = arrow.types
    if types.is_dictionary(column.type):
        column = column.dictionary_decode()
    kind = column.type
    if not as_text and types.is_floating(kind):
        return _finite(name, column.to_numpy(zero_copy_only=False), first)
    if not as_text and types.is_integer(kind):
        return _whole(name, column.to_numpy(zero_copy_only=False), first)
    values = column.to_pylist()
    if types.is_boolean(kind):
        values = [*map(int, values)]
    if as_text or not (types.is_boolean(kind) or types.is_decimal(kind)):
        return [*map(str, values)]
    if types.is_boolean(kind):
        return np.array(values, np.int64)
    return _finite(name, np.array(values, np.float64), first)


def _finite(name: str, found: Array, first: int) -> Array:
    good = np.isfinite(found)
    if not good.all():
        place = int(np.argmin(good))
        wrong = f"row {first + place}: {printable(name)} is {found[place]}, no finite number"
        raise TableError(wrong, _AGAIN)
    with np.errstate(over="ignore"):  # what is too large for float32 is reported with its array
        return found.astype(np.float32, copy=False)


def _whole(name: str, found: Array, first: int) -> Array:
    most = np.iinfo(np.int64).max
    if found.dtype == np.uint64 and (found > most).any():
        place = int(np.argmax(found > most))
        raise TableError(
            f"row {first + place}: {printable(name)} is {found[place]}, more than {most}",
            "save the column as fractions (float64), or as texts",
        )
    return found.astype(np.int64, copy=False)
