"""What the window remembers: each setting, declared once with its type and default."""

from __future__ import annotations

import errno
import re
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Generic, TypeVar

from PySide6.QtCore import QByteArray, QSettings

from gpu_studio.common.choices import RUNS_FOLDER, THOUSANDS, Choices, settings_path
from gpu_studio.common.safe_files import read_regular
from gpu_studio.contract import make_private_directory

__all__ = ["Setting", "Settings", "settings_path"]
T = TypeVar("T", str, float, bytes, tuple[str, ...])


@dataclass(frozen=True, slots=True)
class Setting(Generic[T]):
    """One thing remembered: its key in the file, what it is, and its default with its type.

    What is `chosen` by a person on purpose stands in a file of its own, for people to read.
    """

    key: str
    default: T
    meaning: str
    chosen: bool = False


GEOMETRY = Setting("window/geometry", b"", "Place and size of the window, as Qt saves them.")
GUIDE_GEOMETRY = Setting("guide/geometry", b"", "Place and size of the guide, as Qt saves them.")
PAGE = Setting("window/page", "", "The page that was shown last; empty for the first time.")
SHOWN_RUN = Setting("train/run", "", "The id of the run that the Train page showed last.")
THEME = Setting("window/theme", "system", "system, light or dark.", chosen=True)
LAST_PLAN = Setting(
    "plan/last", "", "Path of the plan that was open last; empty if it had no file."
)
QUIT = Setting(
    "window/quit",
    "ask",
    "ask, or leave: what closing the window does while runs are training.",
    chosen=True,
)
NOTIFY = Setting(
    "window/notify",
    "yes",
    "yes or no: whether the desktop shows a message when a run has ended.",
    chosen=True,
)
SECONDS = Setting(
    "devices/seconds", 1.0, "How many seconds pass between two looks at the cards.", chosen=True
)
RUNS = Setting(
    RUNS_FOLDER.replace(".", "/"),
    "",
    "The folder of runs from the next start on; empty: the usual.",
    chosen=True,
)
NUMBERS = Setting(
    THOUSANDS.replace(".", "/"),
    "comma",
    "comma, space or none: what stands between thousands, from the next start on.",
    chosen=True,
)
LAST_DRAFT = Setting(
    "plan/draft", "", "Which draft was open last, of a plan without a file; empty if it had one."
)
PLAN_TAB = Setting(
    "plan/tab", "", "The tab of the Plan page that was open last; empty for the first one."
)
PRACTICE = Setting(
    "devices/practice",
    "4x2GiB",
    "Which practice cards were chosen last, as --practice has them.",
)
LAB_ENTRY = Setting(
    "lab/entry",
    "",
    "What the Lab page showed last: its half and its entry, as `benchmarks/copies`.",
)
LAB_DEVICES = Setting(
    "lab/devices", "machine", "machine or plan: whose devices the benchmarks measure."
)
LAB_BY_HAND: Setting[tuple[str, ...]] = Setting(
    "lab/by-hand", (), "The operations that were placed by hand last, as --op has them."
)
RUNS_ORDER = Setting(
    "runs/order", "", "In which order runs stand: a column and `up` or `down`, as `started:down`."
)
RUNS_AXIS = Setting(
    "runs/axis", "step", "What the axis of the compared curves counts: step, epoch or time."
)
RUNS_SHARE = Setting(
    "runs/share",
    "",
    "The part (0 to 1) of the Runs page that its table was given; empty: the usual.",
)
QUEUE_FOLDED = Setting(
    "queue/folded", "no", "yes or no: whether only the head of the queue is shown."
)
RUNS_WIDTHS: Setting[tuple[str, ...]] = Setting(
    "runs/widths", (), "Columns that were made wider, as `run=240`."
)
LESSON_OFFER = Setting("lessons/offer", "yes", "yes or no: whether the lessons are offered.")
LESSON = Setting(
    "lessons/open",
    "",
    "The open lesson, its step from 0 on and when it was begun (s since 1970), as 2:0:1763900000.",
)
LESSONS: Setting[tuple[str, ...]] = Setting(
    "lessons/done", (), "The numbers of the lessons that were finished."
)
RECENT_PLANS: Setting[tuple[str, ...]] = Setting(
    "plan/recent", (), "Paths of plans, the last used first."
)


class Settings:
    """The settings file.

    A value of the wrong type, from a file written by hand, counts as not there.

    Where the file cannot be written, what is set is remembered for as long as this object lives.
    """

    def __init__(self, path: Path) -> None:
        with suppress(OSError):
            make_private_directory(path.parent)
            # Qt would make it for all to read; once it is there, Qt keeps whose it is.
            path.touch(mode=0o600)
        self._store = QSettings(str(_harmless(path)), QSettings.Format.IniFormat)
        self.choices = Choices(path.parent)
        self.folder = path.parent
        """Where else can be kept what the window remembers."""

    def get(self, setting: Setting[T]) -> T:
        """The value chosen or remembered, else the default."""
        value = self.choices.get(_dotted(setting)) if setting.chosen else None
        if value is None:  # older versions kept choices with what the window remembers
            value = _plain(self._store.value(setting.key), setting.default)
        if isinstance(setting.default, float) and type(value) is int:
            return float(value)
        return value if isinstance(value, type(setting.default)) else setting.default

    def now(self, setting: Setting[T]) -> T:
        """As `get`, with what other windows have remembered since: for what is added to."""
        self._store.sync()
        return self.get(setting)

    def set(self, setting: Setting[T], value: T) -> None:
        """Remember a value, unless it is there already.

        It is written to the file now, which takes a disk its time.
        """
        if setting.chosen:
            self._store.remove(setting.key)
            self._store.sync()
            self.choices.set(_dotted(setting), None if value == setting.default else value)
            return
        if self._store.contains(setting.key) and self.get(setting) == value:
            return
        stored: Any = value
        if isinstance(value, bytes):
            stored = QByteArray(value)
        elif isinstance(value, tuple):
            stored = list(value)
        self._store.setValue(setting.key, stored)
        self._store.sync()


def _dotted(setting: Setting[Any]) -> str:
    return setting.key.replace("/", ".")


def _plain(value: Any, default: Any) -> Any:
    """What QSettings gives back, as the type that went in; a list of one comes back as a string."""
    if isinstance(value, QByteArray):
        return bytes(value.data())
    if isinstance(default, tuple):
        several = [value] if isinstance(value, str) and value else value
        return tuple(str(each) for each in several) if isinstance(several, list) else None
    return value


_MOST = 4 << 20
_PUT_ASIDE = ".refused"
_ESCAPE = re.compile(rb"\\(?:x([0-9a-fA-F]*)|([0-7]+)|\r\n|\n\r|.)", re.DOTALL)
_SKIPPED = re.compile(rb"[^!#-~]")
"""What Qt may pass over within a value: quotes, blanks after one, a byte order mark."""
_OBJECTS = re.compile(rb"[=,]@(?:Variant|DateTime)\(")
"""Values that Qt makes objects of. PySide unpickles some, and a pickle runs what it says."""


def _harmless(path: Path) -> Path:
    """The path of the file, which gets another name if Qt would wait for it, or run what it holds.

    What the window remembers is then as at the first start. No value of ours is such an object.
    """
    try:
        if not _OBJECTS.search(_as_qt_reads(read_regular(path, _MOST, follow=True))):
            return path
    except OSError as error:
        if error.errno != errno.EINVAL:  # what cannot be opened, Qt does not open either
            return path
    with suppress(OSError):
        path.replace(path.with_name(path.name + _PUT_ASIDE))
        return path
    return path / path.name  # where nothing is, and nothing can be written


def _as_qt_reads(text: bytes) -> bytes:
    """The text of an INI file without what Qt skips, and with what its escapes stand for."""
    return _SKIPPED.sub(b"", _ESCAPE.sub(_meant, text))


def _meant(found: re.Match[bytes]) -> bytes:
    digits, base = (found[1], 16) if found[1] else (found[2], 8)
    return chr(int(digits, base) & 0xFFFF).encode("utf-8", "surrogatepass") if digits else b""
