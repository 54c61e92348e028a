"""Warnings of a run that is followed in a terminal."""

from __future__ import annotations

from made_runs import MIB, Script, make_run

from gpu_studio.cli.train.watching import EVERY_SECONDS, Watch
from gpu_studio.runs import events
from gpu_studio.runs.reading.history import History
from gpu_studio.runs.warnings import LINGER_SECONDS


class Lines:
    """A sink that keeps what it is told."""

    def __init__(self) -> None:
        self.lines: list[str] = []

    def message(self, text: str) -> None:
        self.lines.append(text)


def use(history: History, share: float) -> None:
    used = int(share * 1000 * MIB)
    memory = events.DeviceMemory(device="GPU:0", current=used, peak=used, source="allocator", limit=1000 * MIB)
    history.apply(events.Memory(devices=[memory], time=1.0))


def test_that_a_warning_is_told_once_when_it_begins_and_when_it_is_over(runs_dir) -> None:
    sink, history, now = Lines(), History(), [1000.0]
    watch = Watch(make_run(runs_dir, Script(trained=0.1)), sink, lambda: now[0])
    use(history, 0.95)
    history.apply(events.Warned(message="The disk is slow.", seq=3, time=1.0))
    for _ in range(3):
        watch.look(history)
        now[0] += EVERY_SECONDS
    (line,) = sink.lines
    assert line.startswith("warning: GPU:0 uses 95 % of its memory limit. A larger batch may not fit")
    use(history, 0.5)
    now[0] += LINGER_SECONDS
    watch.look(history)
    assert sink.lines[1:] == ["over: GPU:0 uses 95 % of its memory limit."]


def test_that_it_looks_at_most_once_a_second_also_after_the_clock_was_put_back(runs_dir) -> None:
    sink, history, now = Lines(), History(), [1000.0]
    watch = Watch(make_run(runs_dir, Script(trained=0.1)), sink, lambda: now[0])
    watch.look(history)
    use(history, 0.95)
    now[0] += EVERY_SECONDS / 2
    watch.look(history)
    assert sink.lines == []
    now[0] -= 500.0
    watch.look(history)
    assert len(sink.lines) == 1
