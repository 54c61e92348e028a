"""A pytest plugin: NVIDIA cards that are not there, for TensorFlow, NVML and CUDA alike.

TensorFlow's are the program's own practice cards, whose memory is given out by TensorFlow's own
allocators; a library in NVML's place agrees with them. To the program they are real cards: nothing
marks them as practice. Figures of speed mean nothing here.
"""

from __future__ import annotations

import fcntl
import mmap
import os
import shutil
import struct
import sys
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path

import nvml_library
import pytest
from nvml_library import LOST, NvmlLibrary
from patience import PATIENCE_S

from gpu_studio.common import practice as variables
from gpu_studio.common.figures import MIB
from gpu_studio.common.practice import PracticeCards
from gpu_studio.hardware import practice

CACHE = Path(sys.prefix) / "cache" / "practice"
"""Outside the homes of the tests: it takes 15 seconds to build, once for a TensorFlow."""
RESERVED_MIB, CONTEXT_MIB = 192, 256
"""What the driver keeps of each card, and what a process takes besides its tensors."""
LOST_BY = (
    "nvmlDeviceGetHandleByIndex_v2",
    "nvmlDeviceGetHandleByPciBusId_v2",
    "nvmlDeviceGetMemoryInfo_v2",
    "nvmlDeviceGetUtilizationRates",
    "nvmlDeviceGetPowerUsage",
)


@dataclass(frozen=True)
class FakeCards:
    """Cards of one test; `state` is the folder where processes note what they hold of each."""

    state: Path
    nvml: NvmlLibrary

    @contextmanager
    def hold(self, card: int, mib: int) -> Iterator[None]:
        """Have another process, this one, hold so much of a card."""
        path = self.state / f"{card}.{os.getpid()}"
        with path.open("w+b") as file:
            fcntl.flock(file, fcntl.LOCK_EX)
            file.truncate(16)
            with mmap.mmap(file.fileno(), 16) as shared:
                struct.pack_into("=q", shared, 0, mib * MIB)
                yield
        path.unlink()

    def lose(self, card: int) -> None:
        """Have the driver answer for a card no more; TensorFlow goes on computing."""
        for function in LOST_BY:
            self.nvml.fail(function, LOST, card)

    def held_mib(self, card: int) -> float:
        """What all processes hold of a card now."""
        return sum(share for share, _ in practice.held(self.state, card).values()) / MIB

    def most_taken_mib(self, card: int) -> float:
        """The most that one process has of a card, or had at its end."""
        files = self.state.glob(f"{card}.*")
        shares = (struct.unpack_from("=q", path.read_bytes())[0] for path in files)
        return max(shares, default=0) / MIB


Make = Callable[..., FakeCards]


@pytest.fixture(scope="session")
def cards_library(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Path]:
    """The folders of the cards' library and of the one in NVML's place.

    Without a compiler every test on cards is skipped.
    """
    if not any(map(shutil.which, practice.COMPILERS)) or nvml_library.compiler() is None:
        pytest.skip(practice.NO_COMPILER)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(practice, "_PATIENCE_S", 3 * PATIENCE_S)
        built = practice.build(CACHE)
    return built, nvml_library.build(tmp_path_factory.mktemp("nvml"))


@contextmanager
def cards_in(
    library: tuple[Path, Path], folder: Path, count: int = 2, memory_mib: int = 4096
) -> Iterator[FakeCards]:
    """Make cards that every process started meanwhile finds; `folder` is for what they note."""
    practice_library, nvml = library
    state = folder / "cards"
    state.mkdir(mode=0o700)
    driver = NvmlLibrary(nvml, folder / "nvml-control", cards=count)
    environment = {
        **practice.environment(PracticeCards(count, memory_mib), practice_library, state),
        **driver.environment,
        f"{variables.PRACTICE}_RESERVED_MIB": str(RESERVED_MIB),
        f"{variables.PRACTICE}_CONTEXT_MIB": str(CONTEXT_MIB),
        f"{variables.PRACTICE}_KEPT": "1",
        variables.NAME: "NVIDIA Test Card",
    }
    del environment[variables.PRACTICE]
    with pytest.MonkeyPatch.context() as patch:
        for name, value in environment.items():
            patch.setenv(name, value)
        yield FakeCards(state, driver)
    driver.close()


@pytest.fixture
def fake_cards(cards_library: tuple[Path, Path], tmp_path: Path) -> Iterator[Make]:
    """Make cards that every process started from here on finds: `fake_cards(2, 4096)`."""
    with ExitStack() as stack:
        yield lambda *count_and_size, **more: stack.enter_context(
            cards_in(cards_library, tmp_path, *count_and_size, **more)
        )


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    """Say in one line how many tests had no cards, and why."""
    skipped = terminalreporter.stats.get("skipped", [])
    without = sum(practice.NO_COMPILER in str(report.longrepr) for report in skipped)
    if without:
        terminalreporter.write_line(
            f"{without} tests on cards were skipped: {practice.NO_COMPILER}"
        )


if __name__ == "__main__":
    practice.build(CACHE)
