"""GPU Studio among the programs of one user's desktop: what is put where, and taken away again.

The shipped folder `resources/desktop` is laid out as `$XDG_DATA_HOME`: the entry of the menu, the
type of plan files, icons, and the description for software centres. It is copied as it is, but for
the entry, which gets the path of the program that is to be started; files that are made when it is
installed may come along. What the desktop keeps of such files in caches is made anew by the
desktop's own programs, where those are.
"""

from __future__ import annotations

import shutil
import subprocess
import sysconfig
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from types import MappingProxyType
from typing import Final

from platformdirs import user_data_path

from gpu_studio.common.paths import resource
from gpu_studio.common.safe_files import read_regular, read_text, replace_whole

PROGRAM: Final = "gpu-studio-window"
ENTRY: Final = Path("applications/gpu-studio.desktop")
_MOST: Final = 1 << 20
"""Bytes of the largest file that is read."""
_PERMISSIONS: Final = 0o644
"""Of what is installed: the desktop's programs may run as somebody else."""
_PATIENCE_S: Final = 60
_RESERVED: Final = frozenset(" \t\n\r\"'\\><~|&;$*?#()`%=")
"""An argument with one of these letters has to be quoted in a command line."""
_ESCAPES: Final = {"\\": "\\\\", "\n": "\\n", "\t": "\\t", "\r": "\\r"}
_OF_MIME: Final = (
    "XMLnamespaces", "aliases", "generic-icons", "globs", "globs2", "icons", "magic", "mime.cache",
    "subclasses", "treemagic", "types", "version",
)  # fmt: skip


class DesktopError(Exception):
    """The entry cannot be installed: why, and what to do, in words."""


@dataclass(frozen=True, slots=True)
class Cache:
    """What the desktop makes of the files in `folder`, below `$XDG_DATA_HOME`.

    `command` makes it anew, given that folder. Once none of the `sources` is left there, the
    `files` are of nothing.
    """

    folder: str
    command: tuple[str, ...]
    sources: str
    files: tuple[str, ...]


CACHES: Final = (
    Cache("mime", ("update-mime-database",), "packages/*.xml", _OF_MIME),
    Cache("applications", ("update-desktop-database", "-q"), "*.desktop", ("mimeinfo.cache",)),
    Cache(
        "icons/hicolor",
        ("gtk-update-icon-cache", "-q", "-t", "-f"),
        "*/*/*",
        ("icon-theme.cache",),
    ),
)


@dataclass(frozen=True, slots=True)
class Done:
    """What was done: the paths of the files, and the caches' programs that ran or are not here.

    `before` is the program that an entry of before started; empty if there was none.
    """

    files: tuple[Path, ...]
    refreshed: tuple[str, ...]
    missing: tuple[str, ...]
    before: str


def data_home() -> Path:
    """The folder `$XDG_DATA_HOME`, by default `~/.local/share`; it need not exist."""
    return user_data_path().absolute()


def program() -> Path:
    """The window's program of the Python that runs. Raises DesktopError if it was not installed."""
    found = Path(sysconfig.get_path("scripts")) / PROGRAM
    if not found.is_file():
        raise DesktopError(
            f"There is no {PROGRAM} beside this Python ({found.parent}): install GPU Studio with "
            "pip, uv or pipx, or run `make setup` in its source tree."
        )
    return found


def install(path: Path, home: Path, made: Mapping[Path, bytes] = MappingProxyType({})) -> Done:
    """Put all files below `home`, with an entry that starts the program at `path`.

    So are the `made` ones, by their places there. What is there already is replaced. Raises
    DesktopError if no entry can name that path, OSError if a file cannot be written.
    """
    source = resource("desktop")
    text = entry_for(path, read_text(source / ENTRY, _MOST, follow=True))
    before = installed_program(home)
    shipped = {file: read_regular(source / file, _MOST, follow=True) for file in _shipped()}
    files = {**shipped, ENTRY: text.encode(), **made}
    for file, whole in files.items():
        (home / file).parent.mkdir(parents=True, exist_ok=True)
        replace_whole(home / file, [whole], _PERMISSIONS)
    return Done(tuple(home / file for file in files), *_refreshed(home), before)


def remove(home: Path, made: Iterable[Path] = ()) -> Done:
    """Take all files away from below `home`, and the folders and caches that are left empty.

    `made` are the places of those that `install` was given. Raises OSError if a file cannot be
    removed.
    """
    before = installed_program(home)
    ours = (*_shipped(), *made)
    there = tuple(home / file for file in ours if (home / file).is_file())
    for file in there:
        file.unlink()
    refreshed, missing = _refreshed(home) if there else ((), ())
    for cache in CACHES:
        folder = home / cache.folder
        if not any(path.is_file() for path in folder.glob(cache.sources)):
            for name in cache.files:
                (folder / name).unlink(missing_ok=True)
    folders = {above for file in ours for above in file.parents} - {Path()}
    for folder in sorted({*folders, Path("mime/application")}, reverse=True):
        with suppress(OSError):  # not empty, or not there
            (home / folder).rmdir()
    return Done(there, refreshed, missing, before)


def installed_program(home: Path) -> str:
    """The program that the entry below `home` starts; empty if there is none."""
    with suppress(OSError):
        for line in read_text(home / ENTRY, _MOST).splitlines():
            if line.startswith("TryExec="):
                return _unescaped(line.partition("=")[2])
    return ""


def entry_for(path: Path, text: str) -> str:
    """The entry `text` with the program at `path` in place of its name.

    Raises DesktopError for a path that is no UTF-8, which an entry has to be.
    """
    try:
        str(path).encode()
    except UnicodeEncodeError:
        raise DesktopError(
            f"{path!r} cannot stand in an entry of the menu, because it is no UTF-8: move the "
            "environment to a folder with another name."
        ) from None
    begun = f"Exec={_escaped(_command(str(path)))}"
    lines = (
        line.replace(f"Exec={PROGRAM}", begun, 1) if line.startswith("Exec=") else line
        for line in text.splitlines()
    )
    return "\n".join(lines).replace(f"TryExec={PROGRAM}", f"TryExec={_escaped(str(path))}") + "\n"


def _command(path: str) -> str:
    """The beginning of a command line, by the rules of the Desktop Entry Specification 1.5.

    Its first word may hold no equals sign, and GLib looks for a program whose name has `%%` as it
    is written; so where the path has one of these, a shell starts it. It stands in quotes only
    where it must: outside of the large desktops `xdg-open` takes quotes for a part of the name.
    """
    word = quoted(path) if _RESERVED & set(path) else path
    return f"""/bin/sh -c {quoted('exec "$0" "$@"')} {word}""" if set("%=") & set(path) else word


def quoted(word: str) -> str:
    r"""One argument of a command line: in quotes, `"`, `` ` ``, `$`, `\` escaped, `%` doubled."""
    escaped = "".join(f"\\{letter}" if letter in '"`$\\' else letter for letter in word)
    return f'"{escaped}"'.replace("%", "%%")


def _escaped(value: str) -> str:
    """The value of a key as it stands in the file."""
    return "".join(_ESCAPES.get(letter, letter) for letter in value)


def _unescaped(value: str) -> str:
    letters = {escape[1]: letter for letter, escape in _ESCAPES.items()}
    parts = iter(value)
    return "".join(letters.get(next(parts, ""), "") if part == "\\" else part for part in parts)


def _shipped() -> Sequence[Path]:
    """What is installed, relative to `$XDG_DATA_HOME`."""
    source = resource("desktop")
    return sorted(path.relative_to(source) for path in source.rglob("*") if path.is_file())


def _refreshed(home: Path) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """Have the caches made anew; the names of the programs that did, and of those not here."""
    ran, missing = [], []
    for cache, folder in _with_folders(home):
        name, *options = cache.command
        if shutil.which(name) is None:
            missing.append(name)
            continue
        command = [name, *options, str(folder)]
        with suppress(OSError, subprocess.TimeoutExpired):
            if not subprocess.run(command, capture_output=True, timeout=_PATIENCE_S).returncode:
                ran.append(name)
    return tuple(ran), tuple(missing)


def _with_folders(home: Path) -> Iterator[tuple[Cache, Path]]:
    for cache in CACHES:
        if (home / cache.folder).is_dir():
            yield cache, home / cache.folder
