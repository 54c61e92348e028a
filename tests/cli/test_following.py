"""Following a run: the effect of Ctrl+C, and the warnings printed meanwhile."""

from __future__ import annotations

from types import SimpleNamespace

import pytest
from made_runs import MIB, Script, make_run
from small_disks import SmallDisk

from gpu_studio.cli import following
from gpu_studio.cli.following import EVERY_SECONDS, Watch
from gpu_studio.contract import events
from gpu_studio.runs.reading.history import History
from gpu_studio.runs.warnings import LINGER_SECONDS


@pytest.mark.parametrize(
    ("problem", "leaves"), [("", False), ("Process 7 was sent SIGKILL, but has not ended.", True)]
)
def test_that_a_run_that_cannot_be_ended_is_followed_no_longer(monkeypatch, problem, leaves):
    ladder = SimpleNamespace(stage="stuck", problem=problem, said=problem, advance=lambda: "stuck")
    monkeypatch.setattr(following, "StopLadder", lambda run, **_: ladder)
    told: list[str] = []
    reaction = following.StopRun(SimpleNamespace(), told.append)
    reaction.interrupted()
    reaction.tick()
    assert reaction.leave is leaves
    assert told[1:] == ([problem] if problem else [])


class Lines:
    """A sink that keeps what it is told."""

    def __init__(self) -> None:
        self.lines: list[str] = []

    def message(self, text: str) -> None:
        self.lines.append(text)


def use(history: History, share: float) -> None:
    used = int(share * 1000 * MIB)
    memory = events.DeviceMemory(
        device="GPU:0", current=used, peak=used, source="allocator", limit=1000 * MIB
    )
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
    assert line.startswith(
        "warning: GPU:0 uses 95 % of its memory limit. A larger batch may not fit"
    )
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


@pytest.mark.parametrize("off", [86_400.0, -86_400.0])
def test_that_a_run_that_trains_is_quiet_by_no_clock_that_was_set_and_one_that_hangs_by_any(
    runs_dir, off
) -> None:
    sink, history, now = Lines(), History(), [0.0]
    history.apply(events.StateChanged(state="running", time=1000.0, elapsed=1.0))
    for second in range(2, 50):
        now[0] = 999.0 + second + (off if second > 20 else 0.0)
        history.apply(
            events.Steps(
                epoch=1,
                first_step=second,
                losses=[0.5],
                samples=8,
                seconds=1.0,
                time=now[0],
                elapsed=second,
            )
        )
    watch = Watch(make_run(runs_dir, Script(trained=0.1)), sink, lambda: now[0])
    watch.look(history)
    assert sink.lines == []
    now[0] += 60.0
    watch.look(history)
    (line,) = sink.lines
    assert line.startswith("warning: No step has ended for 60 s; a call usually takes 1 s.")


def test_that_a_full_disk_is_told_to_whoever_follows_the_run(small_disk: SmallDisk) -> None:
    """The trainer cannot tell of it: what it tells is what there is no room for."""
    sink, now = Lines(), [1000.0]
    watch = Watch(make_run(small_disk.path, Script(trained=0.1)), sink, lambda: now[0])
    small_disk.fill()
    watch.look(History())
    (line,) = sink.lines
    assert line.startswith(
        "warning: The disk that holds this run is full: it trains on, and waits for space"
    )
    small_disk.clear()
    now[0] += LINGER_SECONDS + 1
    watch.look(History())
    assert sink.lines[1].startswith("over: The disk")
