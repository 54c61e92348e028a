"""A recording shown again."""

from __future__ import annotations

import pytest
from watched_machine import Clock, watched

from gpu_studio.contract.samples import Cards, Fast, Host, SamplerStarted, encode
from gpu_studio.hardware import inventory, simulated
from gpu_studio.hardware.recorder import Recorder
from gpu_studio.hardware.simulated.profiles import profile
from gpu_studio.hardware.simulated.recording import Replay, recorded
from gpu_studio.hardware.source import SimulationError


@pytest.fixture
def recording(tmp_path):
    """Ten seconds of the broken mix, with a line cut at the end."""
    path = tmp_path / "evening.jsonl"
    with watched(profile("broken")) as machine, Recorder(path) as recorder:
        machine.begin()
        machine.run(10.0)
        for sample in machine.samples:
            recorder.write(encode(sample).rstrip())
        recorder.write(b'{"sample":"fast","ti')
    return path


def replayed(path, seconds, wanted=("fast", "host")):
    told, clock = [], Clock()
    replay = Replay(path, told.append, clock)
    replay.wanted = frozenset(wanted)
    end = clock.now + seconds
    while clock.now < end:
        clock.now += replay.step()
    return told


def test_that_a_recording_is_told_again_at_its_pace(recording):
    told = replayed(recording, 5.0)

    figures = [sample.cards for sample in told if isinstance(sample, Fast)]
    assert len(figures) in (5, 6)
    assert (
        figures
        == [sample.cards for sample in recorded(recording) if isinstance(sample, Fast)][
            : len(figures)
        ]
    )
    assert told[0].simulated == "evening.jsonl"


def test_that_only_the_classes_asked_for_are_told(recording):
    told = replayed(recording, 5.0, wanted=["host"])

    assert not any(isinstance(sample, Fast) for sample in told)
    assert any(isinstance(sample, Host) for sample in told)
    assert any(isinstance(sample, Cards) for sample in told)


def test_that_a_recording_starts_again_once_it_is_over(recording):
    told = replayed(recording, 40.0)

    assert sum(isinstance(sample, SamplerStarted) for sample in told) >= 3


def test_that_the_inventory_is_of_the_recorded_cards(recording, monkeypatch):
    monkeypatch.setenv(simulated.VARIABLE, simulated.checked(str(recording)))
    machine = inventory()

    assert machine.simulated
    assert len(machine.cards) == 5
    assert machine.cards[0].used_mib > 0
    assert machine.cards[3].asleep
    assert machine.cards[1].why_unknown.startswith("lost")


@pytest.mark.parametrize("content", [b"", b"hello\n", b'{"event":"started"}\n', b"\x00\xff\n"])
def test_that_another_file_is_refused(tmp_path, content):
    path = tmp_path / "x"
    path.write_bytes(content)

    with pytest.raises(SimulationError, match="is no recording"):
        simulated.checked(str(path))
