"""The live display of a run in a terminal."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from rich.console import Group, RenderableType
from rich.live import Live
from rich.progress_bar import ProgressBar
from rich.table import Table
from rich.text import Text

from gpu_studio.cli.command import console
from gpu_studio.common.figures import UNKNOWN, grouped, metric, share, size, throughput
from gpu_studio.contract import WorkerState
from gpu_studio.runs.reading.history import History
from gpu_studio.runs.reading.series import MemorySeries
from gpu_studio.runs.reading.settled_eta import SettledEta
from gpu_studio.runs.reading.workers import cells, straggler_words

_BAR_WIDTH = 40
_COUNTED = {"allocator": "", "host": " (all logical CPUs)", "variables": " (variables)"}


class Display:
    """Draws one run as it goes on. The time left is the one that the window tells: it settles."""

    def __init__(self) -> None:
        self._eta = SettledEta()

    def block(self, history: History) -> RenderableType:
        """Draw what changes while `history`'s run trains.

        Progress, loss, pace, time left, memory of each device.
        """
        self._eta.follow(history)
        rows = _progress(history, self._eta.words), _figures(history), _memory(history)
        return Group(*rows, *_workers(history.workers.states))


class LiveDisplay:
    """The display of one run at the foot of the terminal; other lines are written above it."""

    def __init__(self) -> None:
        self._display = Display()
        self._console = console()
        self._live = Live(console=self._console, auto_refresh=False, transient=True)
        self._live.start()

    def refresh(self, history: History) -> None:
        """Redraw the display."""
        self._live.update(self._display.block(history), refresh=True)

    def close(self) -> None:
        """Remove the display."""
        self._live.stop()

    def write(self, line: str) -> None:
        """Write a line above the display."""
        self._console.print(line)


def _progress(history: History, left: str) -> Table:
    table = Table.grid(padding=(0, 2))
    epochs = grouped(history.epochs_total) if history.epochs_total else UNKNOWN
    epoch = f"epoch {grouped(history.epoch)}/{epochs}"
    table.add_row(epoch, _bar(history.epoch_progress), share(history.epoch_progress), "")
    text = "" if left == UNKNOWN or history.state == "stopping" else f"{left} left"
    table.add_row(history.state, _bar(history.progress), share(history.progress), text)
    return table


def _bar(part: float | None) -> ProgressBar:
    return ProgressBar(total=1.0, completed=part or 0.0, width=_BAR_WIDTH)


def _figures(history: History) -> Text:
    loss = UNKNOWN if history.loss is None else metric(history.loss)
    figures = [f"loss {loss}", throughput(history.samples_per_second)]
    if history.input_share is not None:
        figures.append(f"{share(history.input_share)} waiting for data")
    return Text(" · ".join(figures))


def _workers(states: Sequence[WorkerState]) -> Iterator[RenderableType]:
    """A row for each worker, and whom the others wait for; nothing of a run of one process."""
    if not states:
        return
    table = Table.grid(padding=(0, 2))
    for state in states:
        table.add_row(*cells(state, states))
    yield table
    if said := straggler_words(states):
        yield Text(said)


def _memory(history: History) -> Table:
    table = Table.grid(padding=(0, 2))
    for memory in history.memory.values():
        table.add_row(*_memory_row(memory))
    return table


def _memory_row(memory: MemorySeries) -> tuple[str, str, str]:
    latest = memory.latest
    current = size(latest.used if latest else None)
    limit = f" of {size(memory.limit)}" if memory.limit else ""
    return (
        memory.device,
        f"{current}{limit}{_COUNTED.get(memory.source, '')}",
        f"peak {size(memory.peak)}",
    )
