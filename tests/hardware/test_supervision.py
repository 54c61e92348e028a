"""The rule for when a sampler hangs and is restarted, without a process and without a clock."""

from __future__ import annotations

from gpu_studio.hardware.source import RENEW
from gpu_studio.hardware.supervision import LONGEST, Watchdog, sampler_command

OPENING = b'{"sample":"opening","time":1}'
FAST = b'{"sample":"fast","time":1,"cards":[]}'


def begun() -> Watchdog:
    watchdog = Watchdog()
    watchdog.started(0.0)
    return watchdog


def test_that_five_seconds_without_a_line_are_a_hang():
    watchdog = begun()
    watchdog.heard(10.0, FAST)

    assert not watchdog.is_overdue(15.0)
    assert watchdog.is_overdue(15.1)
    assert watchdog.deadline == 15.0


def test_that_a_driver_that_is_being_opened_has_longer():
    watchdog = begun()
    watchdog.heard(1.0, OPENING)

    assert not watchdog.is_overdue(30.0)
    assert watchdog.is_overdue(31.1)


def test_that_the_wait_doubles_up_to_its_limit():
    watchdog = Watchdog()
    delays = []
    for start in range(10):
        watchdog.started(float(start))
        delays.append(watchdog.ended(start + 0.1, 1).delay)

    assert delays == [0.5, 1.0, 2.0, 4.0, 8.0, 16.0, LONGEST, LONGEST, LONGEST, LONGEST]


def test_that_a_sampler_that_lived_long_is_started_again_soon():
    watchdog = Watchdog()
    for _ in range(8):
        watchdog.started(0.0)
        watchdog.ended(1.0, -11)
    watchdog.started(100.0)

    assert watchdog.ended(200.0, -11).delay == 0.5


def test_that_a_replaced_driver_counts_as_no_failure():
    watchdog = begun()
    for _ in range(8):
        watchdog.ended(1.0, 1)

    restart = watchdog.ended(1.0, RENEW)
    assert restart.delay == 0.5
    assert restart.words == "the NVIDIA driver was replaced: it is asked again in 0.5 s"


def test_that_each_way_to_end_has_its_words():
    told = [
        begun().ended(1.0, code, words).words.partition(":")[0]
        for code, words in ((-11, ""), (1, "no"), (3, ""))
    ]

    assert told == [
        "the process that watches the cards crashed (SIGSEGV)",
        "the process that watches the cards ended (no)",
        "the process that watches the cards ended (exit code 3)",
    ]


def test_that_a_hang_tells_how_long_was_waited():
    watchdog = begun()
    watchdog.heard(1.0, FAST)

    assert watchdog.ended(7.0, None).words.startswith("the NVIDIA driver did not answer for 5 s")


def test_that_the_command_names_what_is_to_be_looked_at(tmp_path):
    command = sampler_command(["fast", "host"], 2.0, tmp_path, python="python3")

    assert command[:4] == ["python3", "-P", "-m", "gpu_studio.hardware.sampler"]
    assert command[4:] == ["--classes", "fast,host", "--rate", "2.0", "--folder", str(tmp_path)]


ASKING = b'{"sample":"asking","time":1,"index":3}'


def test_that_one_that_has_hung_is_started_so_that_it_says_which_card_it_asks():
    watchdog = begun()
    assert watchdog.options == []
    watchdog.heard(1.0, FAST)
    watchdog.ended(7.0, None)
    assert watchdog.options == ["--careful"]


def test_that_a_card_at_which_it_hangs_again_is_left_out_until_somebody_wants_it_tried():
    watchdog = begun()
    for line in (ASKING, FAST, ASKING):
        watchdog.heard(1.0, line)
    assert watchdog.deadline == 6.0
    watchdog.ended(7.0, None)
    watchdog.ended(9.0, None)
    assert watchdog.options == ["--careful", "--leave-out", "3"]
    watchdog.forgive()
    assert watchdog.options == ["--careful"]


def test_that_a_card_that_answered_or_a_crash_leaves_none_out():
    for code, lines in (
        (None, (ASKING, FAST)),
        (-11, (ASKING,)),
        (None, (b'{"sample":"asking" half a line',)),
    ):
        watchdog = begun()
        for line in lines:
            watchdog.heard(1.0, line)
        watchdog.ended(7.0, code)
        assert "--leave-out" not in watchdog.options
