"""The window's sampler with real processes: the simulated machine's, and some that misbehave."""

from __future__ import annotations

import sys

import psutil
import pytest
import quick_sampler

from gpu_studio.contract.samples import Beat, Fast, FastFigures, Host, SamplerStarted, encode
from gpu_studio.hardware.supervision import Watchdog
from gpu_studio.ui.machine.sampler import SamplerClient

pytestmark = pytest.mark.processes


@pytest.fixture
def make(qapp):
    made: list[SamplerClient] = []

    def make_it(*command: str, watchdog: Watchdog | None = None) -> SamplerClient:
        made.append(SamplerClient(command=list(command) or None, watchdog=watchdog))
        return made[-1]

    yield make_it
    for sampler in made:
        sampler.close()


def python(program: str) -> tuple[str, ...]:
    return sys.executable, "-S", "-c", program


def telling(*samples) -> str:
    text = b"".join(encode(sample) for sample in samples).decode()
    return f"import sys; sys.stdout.write({text!r}); sys.stdout.flush(); "


def test_that_nothing_is_started_before_somebody_looks(make) -> None:
    sampler = make()
    sampler.rest()
    assert sampler.pid is None
    assert sampler.status == ""


def test_that_the_simulated_cards_are_seen_and_are_marked(make, qtbot, monkeypatch) -> None:
    monkeypatch.setenv("GPU_STUDIO_SIMULATE", "2xH100")
    sampler = make()
    sampler.look(("fast", "processes"))
    qtbot.waitUntil(lambda: {"cards", "fast", "processes"} <= sampler.picture.seen)
    assert sampler.picture.simulated == "2xH100"
    assert len(sampler.picture.cards) == 2
    assert not {"slow", "host", "pcie"} & sampler.picture.seen
    assert sampler.status.startswith("sampling 1 Hz")


def test_that_after_rest_only_signs_of_life_come_and_nobody_is_told(
    make, qtbot, monkeypatch
) -> None:
    monkeypatch.setenv("GPU_STUDIO_SIMULATE", "H100")
    sampler = make(*quick_sampler.command())
    sampler.look(("fast",))
    qtbot.waitUntil(lambda: "fast" in sampler.picture.seen)
    sampler.rest()
    told: list[None] = []
    sampler.changed.connect(lambda: told.append(None))
    before = sampler.picture.beat
    qtbot.waitUntil(lambda: sampler.picture.beat is not before)
    known = sampler.history.last
    beat = sampler.picture.beat
    qtbot.waitUntil(lambda: sampler.picture.beat is not beat)
    assert told == []
    assert sampler.history.last == known
    assert "nobody looks" in sampler.status


def test_that_closing_leaves_no_process(make, qtbot) -> None:
    sampler = make()
    sampler.look(("host",))
    qtbot.waitUntil(lambda: "started" in sampler.picture.seen)
    pid = sampler.pid
    assert pid is not None
    sampler.close()
    assert not psutil.pid_exists(pid)
    assert sampler.pid is None


def test_that_one_that_dies_is_started_anew_and_the_reason_told(make, qtbot, tmp_path) -> None:
    once = tmp_path / "once"
    program = (
        f"import os, signal; os.path.exists({str(once)!r}) or "
        f"(os.mkdir({str(once)!r}), os.abort()); "
    )
    fast = Fast(time=2.0, cards=[FastFigures(card="a", utilisation_percent=5)])
    sampler = make(*python(program + telling(fast) + "sys.stdin.read()"))
    sampler.look(("fast",))
    qtbot.waitUntil(lambda: bool(sampler.trouble))
    assert "SIGABRT" in sampler.trouble
    assert "SIGABRT" in sampler.status
    qtbot.waitUntil(lambda: "fast" in sampler.picture.seen)
    assert sampler.trouble == ""
    assert len(sampler.picture.notes) == 1


def test_that_one_that_hangs_is_killed_and_told(make, qtbot) -> None:
    watchdog = Watchdog(hang_after=0.05, opening_after=0.05)
    sampler = make(*python("import signal; signal.pause()"), watchdog=watchdog)
    sampler.look(("fast",))
    qtbot.waitUntil(lambda: "did not answer" in sampler.trouble)


def test_that_one_that_cannot_be_started_is_told(make, qtbot) -> None:
    sampler = make("/nowhere/at-all")
    sampler.look(("fast",))
    qtbot.waitUntil(lambda: "could not be started" in sampler.trouble)


def test_that_chatter_between_the_samples_is_passed_over(make, qtbot) -> None:
    program = (
        telling(SamplerStarted(time=1.0, pid=1, gpu_studio="x"))
        + "print('libnvidia says hello', flush=True); "
    )
    beat = telling(Beat(time=3.0, cpu_percent=0.25, memory_mib=20.0, nvml_calls=3))
    sampler = make(*python(program + beat + "sys.stdin.read()"))
    sampler.look(("fast",))
    qtbot.waitUntil(lambda: sampler.picture.beat is not None)
    assert sampler.status == "sampling 1 Hz · 0.2 % of a core"


def test_that_what_comes_together_is_told_once(make, qtbot) -> None:
    samples = [Host(time=float(number), memory_used_mib=number) for number in range(50)]
    sampler = make(*python(telling(*samples) + "sys.stdin.read()"))
    told: list[None] = []
    sampler.changed.connect(lambda: told.append(None))
    sampler.look(("host",))
    qtbot.waitUntil(lambda: sampler.history.last == 49.0 and bool(told))
    assert len(told) < 5
