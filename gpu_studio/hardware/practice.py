"""Build the native library of the practice cards, once for each TensorFlow, and give it to others.

The library stands on C++ that TensorFlow does not promise to keep: it is compiled against the very
TensorFlow that will load it, and kept in the user's cache under a name made of both.
"""

from __future__ import annotations

import fcntl
import hashlib
import importlib.util
import os
import shutil
import signal
import subprocess
import tempfile
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from pathlib import Path

from platformdirs import user_cache_path

from gpu_studio.common.paths import resource
from gpu_studio.common.practice import (
    CARD_NAME,
    CARDS_FILE,
    COUNT,
    DRIVER_FILE,
    LIBRARY,
    MEMORY_MIB,
    NAME,
    PRACTICE,
    STATE,
    PracticeCards,
    PracticeError,
    library,
)
from gpu_studio.common.safe_files import in_turn, open_regular, read_regular
from gpu_studio.contract import make_private_directory

KNOWN_TENSORFLOW = ("2.21",)
"""The versions of TensorFlow that the library was tried with."""
COMPILERS = ("g++", "c++", "clang++")
NO_COMPILER = (
    "practice cards are compiled when they are first used, and there is no C++ compiler here: "
    "install one (on Debian: sudo apt-get install g++)"
)
_CARDS_FLAGS = (
    "-std=c++17", "-O1", "-shared", "-fPIC", "-w", "-DNDEBUG", "-D_GLIBCXX_USE_CXX11_ABI=1",
    "-DEIGEN_MAX_ALIGN_BYTES=64",
)  # fmt: skip
SOURCES = ("cards.cc", "driver.c")
_LARGEST_SOURCE = 1 << 20
_PATIENCE_S = 300.0
_LOOK_S = 0.1
_LAST_WORDS = 600
"""Characters of what the compiler said that a message shows."""


def environment(cards: PracticeCards, folder: Path, state: Path | None = None) -> dict[str, str]:
    """The variables of a process that is to see these cards, with the built library in `folder`."""
    return {
        PRACTICE: str(cards),
        LIBRARY: str(folder),
        STATE: str(state or _state_folder(cards)),
        COUNT: str(cards.count),
        MEMORY_MIB: str(cards.memory_mib),
        NAME: CARD_NAME,
    }


def begin(cards: PracticeCards, folder: Path) -> None:
    """Have this process and every one started from here on see these cards."""
    os.environ.update(environment(cards, folder))


def end() -> None:
    """Have every process started from here on see this machine's own cards again."""
    for name in (PRACTICE, LIBRARY, STATE, COUNT, MEMORY_MIB, NAME):
        os.environ.pop(name, None)


def is_set_up(cards: PracticeCards, environ: Mapping[str, str] = os.environ) -> bool:
    """Whether a process with these variables sees these cards already, from one that started it."""
    path = library(CARDS_FILE, environ)
    known = (environ.get(PRACTICE), environ.get(COUNT), environ.get(MEMORY_MIB))
    wanted = (str(cards), str(cards.count), str(cards.memory_mib))
    return path is not None and path.is_file() and known == wanted


def built(cache: Path | None = None) -> Path | None:
    """The folder of the library for the installed TensorFlow; None if it must be built first.

    Raises PracticeError if it cannot be built for that TensorFlow.
    """
    folder = folder_in(cache)
    places = (*_bundled(folder.name), folder)
    return next((place for place in places if (place / CARDS_FILE).is_file()), None)


Stop = Callable[[], bool]


def build(cache: Path | None = None, stop: Stop = lambda: False) -> Path:
    """Compile the library, unless it is there already; its folder. It takes about 15 seconds.

    It is asked now and then whether to `stop`. Raises PracticeError if there is no compiler, if it
    fails, or if it was stopped.
    """
    if (found := built(cache)) is not None:
        return found
    folder = folder_in(cache)
    make_private_directory(folder.parent)
    with in_turn(folder.with_suffix(".lock"), _PATIENCE_S):  # no longer than a build takes
        if (folder / CARDS_FILE).is_file():
            return folder
        compiler = next(filter(None, map(shutil.which, COMPILERS)), None)
        if compiler is None:
            raise PracticeError(NO_COMPILER)
        with tempfile.TemporaryDirectory(prefix=".building-", dir=folder.parent) as folder_of_build:
            made = Path(folder_of_build) / folder.name
            made.mkdir()
            _compile(_driver_command(compiler, made), stop)
            _compile(_cards_command(compiler, made), stop)
            _put(made, folder)
    return folder


def _put(made: Path, folder: Path) -> None:
    """Put what was built into its place, unless another process was first."""
    try:
        made.rename(folder)
    except OSError:
        if not (folder / CARDS_FILE).is_file():
            raise


def _bundled(name: str) -> tuple[Path, ...]:
    """Where a wheel has the library of that name, if it brings it (`packaging/wheel.py`)."""
    try:
        return (resource(f"practice/{name}"),)
    except FileNotFoundError:
        return ()


def folder_in(cache: Path | None) -> Path:
    """The folder of the installed TensorFlow's library, built or not. Raises PracticeError."""
    version = _tensorflow_version()
    if not version.startswith(tuple(f"{known}." for known in KNOWN_TENSORFLOW)):
        raise PracticeError(
            f"practice cards are made for TensorFlow {', '.join(KNOWN_TENSORFLOW)}, and this is "
            f"{version}: install that one"
        )
    parts = [read_regular(resource(f"practice/{name}"), _LARGEST_SOURCE) for name in SOURCES]
    key = hashlib.sha256(b"\0".join([*parts, " ".join(_CARDS_FLAGS).encode()])).hexdigest()[:16]
    within = cache or Path(user_cache_path("gpu-studio")) / "practice"
    return within / f"tensorflow-{version}-{key}"


def _tensorflow_version() -> str:
    import importlib.metadata  # which would delay the window's start

    try:
        return importlib.metadata.version("tensorflow")
    except importlib.metadata.PackageNotFoundError:
        raise PracticeError(
            "practice cards need the package tensorflow, which is not installed"
        ) from None


def _tensorflow_folder() -> Path:
    # Where it lies, without importing it.
    found = importlib.util.find_spec("tensorflow")
    if found is None or not found.submodule_search_locations:
        raise PracticeError("practice cards need the package tensorflow, which is not installed")
    return Path(found.submodule_search_locations[0])


def _cards_command(compiler: str, folder: Path) -> list[str]:
    tensorflow = _tensorflow_folder()
    return [
        compiler, *_CARDS_FLAGS, "-isystem", str(tensorflow / "include"),
        str(resource("practice/cards.cc")), "-o", str(folder / CARDS_FILE), f"-L{tensorflow}",
        "-l:libtensorflow_framework.so.2", "-l:libtensorflow_cc.so.2", "-Wl,-s",
    ]  # fmt: skip


def _driver_command(compiler: str, folder: Path) -> list[str]:
    return [
        compiler, "-x", "c", "-O1", "-shared", "-fPIC", str(resource("practice/driver.c")),
        "-o", str(folder / DRIVER_FILE),
    ]  # fmt: skip


def _compile(command: list[str], stop: Stop) -> None:
    with tempfile.TemporaryFile() as words:
        try:
            # In a group of its own, because a compiler has the work done by other processes.
            compiler = subprocess.Popen(
                command, stdout=words, stderr=words, stdin=subprocess.DEVNULL, process_group=0
            )
        except OSError as error:
            raise PracticeError(f"practice cards cannot be compiled: {error}") from error
        code = _waited_for(compiler, stop)
        words.seek(0)
        said = words.read().decode("utf-8", "replace").strip()
    if code:
        raise PracticeError(
            f"practice cards cannot be compiled for this TensorFlow:\n{said[-_LAST_WORDS:]}"
        )


def _waited_for(compiler: subprocess.Popen[bytes], stop: Stop) -> int:
    """The exit code. Raises PracticeError if it was stopped, or took too long."""
    end = time.monotonic() + _PATIENCE_S
    try:
        while True:
            with suppress(subprocess.TimeoutExpired):
                return compiler.wait(_LOOK_S)
            if stop():
                raise PracticeError("compiling the practice cards was stopped")
            if time.monotonic() > end:
                raise PracticeError(
                    f"compiling the practice cards took longer than {_PATIENCE_S:.0f} s: try again "
                    "when the machine is less busy"
                )
    finally:
        if compiler.returncode is None:
            os.killpg(compiler.pid, signal.SIGKILL)
            compiler.wait()


def _state_folder(cards: PracticeCards) -> Path:
    """The folder that all processes of this user with the same cards share."""
    runtime = os.environ.get("XDG_RUNTIME_DIR", "")
    shared = Path(runtime, "gpu-studio") if runtime else Path(user_cache_path("gpu-studio"))
    folder = shared / "practice" / str(cards)
    make_private_directory(folder)
    return folder


def held(state: Path, place: int) -> Mapping[int, tuple[int, int]]:
    """What each live process holds of the card with an index: bytes, and nanoseconds at work."""
    found = {}
    for path in state.glob(f"{place}.*"):
        pid = path.suffix[1:]
        with _opened(path) as descriptor:
            if pid.isdigit() and descriptor is not None and _is_locked(descriptor):
                share = os.pread(descriptor, 16, 0)
                if len(share) == 16:
                    number = int.from_bytes
                    found[int(pid)] = (number(share[:8], "little"), number(share[8:], "little"))
    return found


@contextmanager
def _opened(path: Path) -> Iterator[int | None]:
    try:
        descriptor = open_regular(path)
    except OSError:
        yield None
        return
    try:
        yield descriptor
    finally:
        os.close(descriptor)


def _is_locked(descriptor: int) -> bool:
    """Whether the process that made the file still lives: it holds a lock on it."""
    try:
        fcntl.flock(descriptor, fcntl.LOCK_SH | fcntl.LOCK_NB)
    except OSError:
        return True
    return False
