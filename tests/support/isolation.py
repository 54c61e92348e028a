"""A pytest plugin: every test has a home and temporary folder of its own, and no network."""

from __future__ import annotations

import os
import shutil
import signal
import stat
import tempfile
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

import network
import pytest

MEMORY = Path("/dev/shm")
"""Where Linux keeps files in memory."""
ENOUGH = 4 << 30
"""So many bytes must be free there: all that the tests write is an eighth of it."""
QUIET = {"TF_CPP_MIN_LOG_LEVEL": "3", "PYTHONFAULTHANDLER": "1"}
UNTRANSLATED = {"LANGUAGE": "C"}
"""Whatever language the user reads: argparse would look for translations 230 times a command, which
takes nearly half of the time in which its parsers are made."""


@dataclass(frozen=True)
class Home:
    """The folders of one test.

    They have short names, because a Unix socket's path ends at 107 bytes. What is made of them is
    kept: a home that nobody has used is the next test's, and most tests take less time than that.
    """

    root: Path

    @classmethod
    def make(cls, parent: str) -> Home:
        """Make the folders, readable by their owner only, in the folder `parent`."""
        home = cls(Path(tempfile.mkdtemp(prefix="gs-", dir=parent)))
        for folder in (home.path, home.temporary, home.runtime):
            folder.mkdir(mode=0o700)
        return home

    @cached_property
    def path(self) -> Path:
        """What `$HOME` is."""
        return self.root / "home"

    @cached_property
    def temporary(self) -> Path:
        """What `$TMPDIR` is."""
        return self.root / "tmp"

    @cached_property
    def runtime(self) -> Path:
        """What `$XDG_RUNTIME_DIR` is."""
        return self.root / "run"

    @cached_property
    def runs(self) -> Path:
        """What `$GPU_STUDIO_RUNS_DIR` is. It is not made: the program makes it."""
        return self.path / "runs"

    @cached_property
    def variables(self) -> Mapping[str, str]:
        """The environment that points a program here."""
        return {
            "HOME": str(self.path),
            "XDG_DATA_HOME": str(self.path / "data"),
            "XDG_CONFIG_HOME": str(self.path / "config"),
            "XDG_CACHE_HOME": str(self.path / "cache"),
            "XDG_STATE_HOME": str(self.path / "state"),
            "XDG_RUNTIME_DIR": str(self.runtime),
            "KERAS_HOME": str(self.path / "keras"),
            "GPU_STUDIO_RUNS_DIR": str(self.runs),
            "TMPDIR": str(self.temporary),
        }

    @property
    def is_untouched(self) -> bool:
        """Whether it is as it was made."""
        folders = (self.path, self.temporary, self.runtime)
        return len(list(self.root.iterdir())) == len(folders) and all(map(_is_new, folders))

    def remove(self) -> None:
        """Remove the folders and all that is in them."""
        shutil.rmtree(self.root, ignore_errors=True)


def _is_new(folder: Path) -> bool:
    try:
        return stat.S_IMODE(folder.lstat().st_mode) == 0o700 and not any(folder.iterdir())
    except OSError:  # gone, or no folder any more
        return False


def pytest_configure(config: pytest.Config) -> None:
    """Shut the network and leave the real home for the whole session.

    That holds for fixtures that outlive a test, too.
    """
    let_ctrl_c_through()
    patch = pytest.MonkeyPatch()
    config.add_cleanup(patch.undo)
    patch.setattr(tempfile, "tempdir", temporary_root(os.environ, MEMORY))
    network.install(patch)
    for name, value in {**QUIET, **UNTRANSLATED}.items():
        patch.setenv(name, value)
    if "QT_QPA_PLATFORM" not in os.environ:
        patch.setenv("QT_QPA_PLATFORM", "offscreen")
    _move_into(_session_home(config), patch)


def let_ctrl_c_through() -> None:
    """Have SIGINT end programs of the tests, as it does in a terminal.

    A shell starts what runs in its background with SIGINT ignored, and that is inherited.
    """
    if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
        signal.signal(signal.SIGINT, signal.default_int_handler)


def pytest_sessionfinish(session: pytest.Session, exitstatus: int) -> None:
    """Give the memory of pytest's own folder back, unless a failure is to be looked at there."""
    is_worker = hasattr(session.config, "workerinput")
    made: pytest.TempPathFactory = session.config._tmp_path_factory  # type: ignore[attr-defined]
    if not is_worker and exitstatus == pytest.ExitCode.OK:
        base = made.getbasetemp()
        if base.is_relative_to(MEMORY):
            shutil.rmtree(base, ignore_errors=True)


def temporary_root(environment: Mapping[str, str], memory: Path) -> str:
    """The folder in which everything that the tests write lies.

    It is in memory where programs can run there and there is room. The program makes sure after
    each change that the disk has it, and on a disk thousands of tests would wait for that.
    """
    if "TMPDIR" not in environment and memory.is_dir() and os.access(memory, os.W_OK):
        disk = os.statvfs(memory)
        if disk.f_bavail * disk.f_frsize >= ENOUGH and not disk.f_flag & os.ST_NOEXEC:
            return str(memory)
    return tempfile.gettempdir()


def _session_home(config: pytest.Config) -> Home:
    home = Home.make(tempfile.gettempdir())
    config.add_cleanup(home.remove)
    return home


def _move_into(home: Home, patch: pytest.MonkeyPatch) -> None:
    for name, value in home.variables.items():
        patch.setenv(name, value)


@pytest.fixture(scope="session")
def real_temporary(tmp_path_factory: pytest.TempPathFactory) -> str:
    """The system's folder for temporary files.

    pytest's own `tmp_path` lies there, and outlives the test.
    """
    return str(tmp_path_factory.getbasetemp() and tempfile.gettempdir())


@pytest.fixture(scope="session")
def spare_homes() -> Iterator[list[Home]]:
    """Homes that nobody has used: to make and remove one takes longer than most tests."""
    homes: list[Home] = []
    yield homes
    for home in homes:
        home.remove()


@pytest.fixture(autouse=True)
def isolated_home(
    request: pytest.FixtureRequest, real_temporary: str, spare_homes: list[Home]
) -> Iterator[Home]:
    """A home that lives as long as the test.

    It is left last: what the test made may still write there.
    """
    # By the home of a slow test its processes are known, so that is nobody else's.
    slow = request.node.get_closest_marker("slow") is not None
    home = Home.make(real_temporary) if slow or not spare_homes else spare_homes.pop()
    with pytest.MonkeyPatch.context() as patch:
        _move_into(home, patch)
        patch.setattr(tempfile, "tempdir", str(home.temporary))
        yield home
    if home.is_untouched and not slow:
        spare_homes.append(home)
    else:
        home.remove()


@pytest.fixture
def runs_dir(isolated_home: Home) -> Path:
    """The folder, empty and there, in which this test's runs are kept."""
    isolated_home.runs.mkdir(mode=0o700)
    return isolated_home.runs
