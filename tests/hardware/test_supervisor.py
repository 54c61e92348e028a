"""The owner of a sampler, with small programs in its place."""

from __future__ import annotations

import sys
import time

import pytest
from patience import PATIENCE_S

from gpu_studio.contract.samples import Owner, decode
from gpu_studio.hardware.supervision import Supervisor, Watchdog

OPENING = 'print(\'{"sample":"opening","time":1}\', flush=True)'


def supervised(code, **options):
    return Supervisor([sys.executable, "-c", code], Watchdog(**options))


def lines_until(supervisor, count):
    found, end = [], time.monotonic() + PATIENCE_S
    while len(found) < count and time.monotonic() < end:
        found += supervisor.lines(0.2)
    return found


def words(lines):
    return [sample.words for line in lines if isinstance(sample := decode(line), Owner)]


def test_that_lines_are_handed_over_whole():
    code = (
        'import sys\nfor part in (\'{"sample":"ope\', \'ning","time":1}\\n{"sample"\', '
        '\':"opening","time":2}\\n\'):\n'
        "    sys.stdout.write(part); sys.stdout.flush()\nsys.stdin.read()"
    )
    with supervised(code) as supervisor:
        assert [decode(line).time for line in lines_until(supervisor, 2)] == [1.0, 2.0]


@pytest.mark.slow
def test_that_a_program_that_ends_is_started_again_with_its_last_words():
    with supervised(f"{OPENING}\nraise SystemExit('first\\nno luck')") as supervisor:
        found = lines_until(supervisor, 4)

    assert words(found) == [
        "the process that watches the cards ended (no luck): it is asked again in 0.5 s",
        "the process that watches the cards ended (no luck): it is asked again in 1 s",
    ]


@pytest.mark.slow
def test_that_a_program_that_hangs_is_killed():
    with supervised(
        'import sys; print(\'{"sample":"beat"}\', flush=True); sys.stdin.read()', hang_after=0.2
    ) as owner:
        assert owner.lines(PATIENCE_S)
        pid = owner.pid
        found = lines_until(owner, 1)
        assert owner.pid != pid

    assert words(found) == [
        "the NVIDIA driver did not answer for 0.2 s: it is asked again in 0.5 s"
    ]


def test_that_a_program_that_cannot_be_started_blocks_nothing():
    with Supervisor(["/nowhere/python"]) as supervisor:
        assert supervisor.lines(0.1) == []
        assert supervisor.pid is None


@pytest.mark.slow
def test_that_a_new_program_is_asked_what_the_old_one_was():
    code = "import sys; print(sys.stdin.readline(), end='', flush=True)"
    with supervised(code) as supervisor:
        supervisor.request(classes=["host"], rate=2.0)
        found = lines_until(supervisor, 3)

    assert [line for line in found if b"classes" in line] == [
        b'{"classes":["host"],"rate":2.0}'
    ] * 2


@pytest.mark.parametrize(
    "code", ["import sys; sys.stdin.read()", "import signal\nwhile True: signal.pause()"]
)
def test_that_closing_ends_the_program_whatever_it_does(code, monkeypatch):
    monkeypatch.setattr("gpu_studio.hardware.supervision.LONGEST_DYING", 0.3)
    supervisor = supervised(f"{OPENING}\n{code}")
    assert supervisor.lines(PATIENCE_S)
    process = supervisor.process
    supervisor.close()
    supervisor.close()

    assert process.wait(PATIENCE_S) is not None
    assert supervisor.lines(0.05) == []
