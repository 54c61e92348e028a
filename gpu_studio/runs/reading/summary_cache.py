"""Cached summaries of ended runs, so that a folder of a thousand runs is listed at once."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from dataclasses import fields
from pathlib import Path
from typing import Any, Final

import msgspec
from platformdirs import user_cache_path

from gpu_studio import __version__
from gpu_studio.contract.files import make_private_directory, read_json, write_private
from gpu_studio.runs.reading.summary import Summary

WORTH_BYTES: Final = 8 * 1024 * 1024
"""Bytes of events that have to be read anew before it is worth while to write what came of them."""
Version = tuple[int, int]
"""Size in bytes and time of the last change, in nanoseconds, of the events of a run.

One that has ended keeps both.
"""
Known = dict[str, tuple[Version, Summary]]
_LARGEST: Final = 256 * 1024 * 1024
_FORMAT: Final = 2


class _Kept(msgspec.Struct):
    """What the file holds.

    Who wrote it, of which folder, and the summaries by the ids of the runs.
    """

    written_by: list[str]
    folder: str
    known: Known


def load(runs: Path) -> Known:
    """The cached summaries of this folder; none if unreadable or written by another version."""
    try:
        kept = read_json(_file(runs), _decoder.decode, _LARGEST)
    except OSError:
        return {}
    if kept.written_by != _writer() or kept.folder != str(runs):
        return {}
    return kept.known


def keep(runs: Path, known: Mapping[str, tuple[Version, Summary]]) -> None:
    """Replace the cache by these. A failure is ignored: they are then read again."""
    try:
        make_private_directory(_file(runs).parent)
        write_private(_file(runs), _encoder.encode(_Kept(_writer(), str(runs), dict(known))))
    except OSError:
        return


def _writer() -> list[str]:
    return [str(_FORMAT), __version__, *(field.name for field in fields(Summary))]


def _file(runs: Path) -> Path:
    digest = hashlib.sha256(str(runs).encode("utf-8", "surrogateescape")).hexdigest()
    return Path(user_cache_path("gpu-studio")) / "summaries" / f"{digest[:32]}.msgpack"


def _path_as_text(value: Any) -> str:
    if isinstance(value, Path):
        return str(value)
    raise NotImplementedError


def _text_as_path(kind: type, value: Any) -> Any:
    if kind is Path:
        return Path(value)
    raise NotImplementedError


_encoder = msgspec.msgpack.Encoder(enc_hook=_path_as_text)
_decoder = msgspec.msgpack.Decoder(_Kept, dec_hook=_text_as_path)
