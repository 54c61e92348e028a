"""Make everything ready for `make run`, `make test` and the others.

`prepare.py run|window|check|test`.

Only Python's own library is used, because nothing else is there yet. When all is ready already it
says nothing.
"""

from __future__ import annotations

import fcntl
import os
import shutil
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import debian
from environment import Environment, SetupError
from needs import Missing, missing

ROOT = Path(__file__).resolve().parents[2]
DRIVER = Path("/proc/driver/nvidia/version")
TERMINAL = "Or train in the terminal, without a window: make run DISPLAY= WAYLAND_DISPLAY="


@dataclass(frozen=True)
class Purpose:
    """What it takes for one use: a file of locked requirements, and groups of system libraries."""

    lock: str
    groups: tuple[str, ...] = ()
    instead: str = ""  # what can be had without the groups
    welcome: tuple[str, ...] = ()  # groups that can be done without


def purpose(name: str) -> Purpose:
    """What it takes to `run`, to open a `window`, to `check` or to `test`.

    To `run` takes the libraries of a window only where there is a display.
    """
    if name == "run":
        return Purpose("runtime", _groups_of_display(), TERMINAL)
    return {
        "window": Purpose("runtime", ("qt", "x11")),
        "check": Purpose("dev"),
        "test": Purpose("dev", ("qt", "x11", "display"), welcome=("compiler", "desktop", "slurm")),
    }[name]


def main(words: Sequence[str]) -> int:
    """Prepare for the purpose named by the only word; 0 if all is ready."""
    try:
        prepare(purpose(words[0]))
    except SetupError as error:
        say(str(error))
        return 1
    except OSError as error:
        say(
            f"the set-up could not go on: {error}. It writes to {ROOT / '.venv'}, "
            "and must be allowed to."
        )
        return 1
    except KeyboardInterrupt:
        return 130
    return 0


def prepare(wanted: Purpose) -> None:
    """Install what is missing, system libraries first.

    Raises `SetupError` with what a person must do.
    """
    environment = Environment(ROOT)
    locks = [wanted.lock, *(["cuda"] if wants_cuda() else [])]
    with alone(ROOT / ".venv.lock"):
        check_system(wanted)
        environment.make(_wanted_version())
        if lacking := environment.lacks(locks):
            say(
                f"installing {_words(lacking)} into {environment.folder} (the "
                "first time takes some minutes)"
            )
            environment.fill([lock for lock in locks if lock in lacking])
            say("ready")


def say(text: str) -> None:
    """Tell the person at the terminal."""
    sys.stderr.write(f"GPU Studio: {text}\n")
    sys.stderr.flush()


def check_system(wanted: Purpose) -> None:
    """Install missing system packages where that is allowed.

    Raises SetupError if some stay missing.
    """
    lacking = missing(wanted.groups)
    if (packages := _packages(missing((*wanted.groups, *wanted.welcome)))) and debian.may_install():
        say(f"installing {' '.join(packages)}")
        debian.install(packages)
        lacking = missing(wanted.groups)
    if lacking:
        _tell(lacking, wanted.instead)


def _tell(lacking: Sequence[Missing], instead: str) -> None:
    names = ", ".join(item.name for item in lacking)
    if not debian.is_here():
        say(
            f"this system has not: {names}. It goes on, but without these windows or tests may "
            "fail; install them."
        )
        return
    how = f"Install them, then try again:\n  {debian.command(_packages(lacking))}"
    raise SetupError(f"these are missing: {names}. " + "\n".join(filter(None, (how, instead))))


def _packages(lacking: Sequence[Missing]) -> list[str]:
    return sorted({item.package for item in lacking})


def _groups_of_display() -> tuple[str, ...]:
    wayland = ("wayland",) if os.environ.get("WAYLAND_DISPLAY") else ()
    x11 = ("x11",) if os.environ.get("DISPLAY") else ()
    return ("qt", *wayland, *x11) if wayland or x11 else ()


def wants_cuda() -> bool:
    """TensorFlow's CUDA libraries are several GiB.

    Only where there is a driver to use them, or as $CUDA says.
    """
    said = os.environ.get("CUDA", "auto")
    if said in ("yes", "no"):
        return said == "yes"
    return DRIVER.exists() or shutil.which("nvidia-smi") is not None


def _wanted_version() -> tuple[int, int] | None:
    return sys.version_info[:2] if os.environ.get("PYTHON") else None


def _words(lacking: Sequence[str]) -> str:
    known = {"project": "GPU Studio itself"}
    return " and ".join(
        known.get(name, f"the packages of packaging/locks/{name}.txt") for name in lacking
    )


@contextmanager
def alone(path: Path) -> Iterator[None]:
    """Wait until no other set-up of this tree is at work.

    The system frees the lock of one that dies.
    """
    with path.open("w") as file:
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            say("another set-up is at work here; waiting for it")
            fcntl.flock(file, fcntl.LOCK_EX)
        except OSError:
            say(
                "this file system has no locks; start no second set-up here before this one is done"
            )
        yield


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
