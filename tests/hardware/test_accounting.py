"""What a recording comes to: each card's energy, idling, throttling and peaks."""

from __future__ import annotations

import resource
from pathlib import Path

import made_recordings as made
import pytest
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st
from msgspec.structs import replace
from watched_machine import watched

from gpu_studio.contract import samples
from gpu_studio.contract.samples import CardFacts, Cards, Fast, FastFigures, Slow, SlowFigures
from gpu_studio.hardware.accounting import LONGEST_LINE, MOST_CUT, account
from gpu_studio.hardware.recorder import Recorder
from gpu_studio.hardware.simulated.profiles import profile

NOW = 1.7e9
MIB = 1024 * 1024
CARD = "GPU-1"
NOT_SUPPORTED = "not supported by this card"


@pytest.fixture
def recording(tmp_path):
    return tmp_path / "hardware.jsonl"


def write(path, *told):
    path.write_bytes(b"".join(map(samples.encode, told)))
    return path


def fast(second, card=CARD, **figures):
    return Fast(time=NOW + second, cards=[FastFigures(card=card, **figures)])


def slow(second, card=CARD, **figures):
    return Slow(time=NOW + second, cards=[SlowFigures(card=card, **figures)])


def test_that_what_a_simulated_machine_tells_is_added_up(recording):
    machine = profile("8xH100")
    with watched(machine) as watching, Recorder(recording) as recorder:
        watching.begin()
        watching.run(60.0)
        for sample in watching.samples:
            recorder.write(samples.encode(sample).rstrip())
        told = watching.samples
    totals = account(recording)
    assert totals.driver
    assert len(totals.cards) == len(machine.cards) == 8
    for key, card in totals.cards.items():
        counters = [
            one.energy_j
            for each in told
            if isinstance(each, Slow)
            for one in each.cards
            if one.card == key
        ]
        used = [
            one.memory_used_mib
            for each in told
            if isinstance(each, Fast)
            for one in each.cards
            if one.card == key
        ]
        assert card.name == "NVIDIA H100 80GB HBM3"
        assert card.joules_from == "counter"
        assert card.joules == pytest.approx(counters[-1] - counters[0], rel=0.15)
        assert card.energy_seconds == pytest.approx(card.seconds, abs=1.0)
        assert card.seconds == pytest.approx(60.0, abs=2.0)
        assert card.peak_used == max(used) * MIB
        assert card.peak_celsius > 20
        assert not set(card.why) - {"throttled"}


def test_that_a_card_is_idle_only_while_the_run_trains(recording):
    busy = [2 if 10 <= second < 20 or second >= 30 else 90 for second in range(41)]
    write(
        recording,
        *(fast(second, utilisation_percent=percent) for second, percent in enumerate(busy)),
    )
    assert account(recording).cards[CARD].idle_seconds == pytest.approx(10 + 11)
    card = account(recording, [(NOW, NOW + 15), (NOW + 22, NOW + 32)]).cards[CARD]
    assert card.idle_seconds == pytest.approx(6 + 3)
    assert card.busy_percent == pytest.approx((16 * 90 + 9 * 2) / 25)


@pytest.mark.parametrize("off", [400 * 86_400.0, -86_400.0])
def test_that_a_clock_that_is_set_changes_nothing_that_is_added_up(recording, off):
    told = [
        fast(second, utilisation_percent=50 if second < 30 else 2, power_w=100.0)
        for second in range(41)
    ]
    told = [replace(each, steady=each.time - NOW + 500.0) for each in told]
    before = account(write(recording, *told), [(NOW, NOW + 35)]).cards[CARD]
    assert before.joules == pytest.approx(4000.0)
    late = [replace(each, time=each.time + off * (place >= 17)) for place, each in enumerate(told)]
    assert account(write(recording, *late), [(NOW, NOW + 35)]).cards[CARD] == before


@given(st.lists(st.integers(0, 100), min_size=2, max_size=60))
@example([90, 4, 5])
@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_that_idle_and_busy_seconds_are_all_that_were_sampled(recording, percents):
    write(
        recording,
        *(fast(second, utilisation_percent=percent) for second, percent in enumerate(percents)),
    )
    card = account(recording).cards[CARD]
    assert card.seconds == len(percents) - 1
    assert card.idle_seconds == sum(percent < 5 for percent in percents[1:])
    assert card.busy_percent == pytest.approx(sum(percents[1:]) / card.seconds)


def test_that_what_held_the_clocks_is_counted_by_reason(recording):
    held = {0: ["idle"], 5: ["power cap", "thermal"], 10: ["power cap"], 15: [], 20: ["thermal"]}
    told = [slow(second, throttle=reasons) for second, reasons in held.items()]
    write(
        recording,
        *sorted([*told, *(fast(second) for second in range(23))], key=lambda sample: sample.time),
    )
    card = account(recording).cards[CARD]
    assert card.throttled == {"power cap": pytest.approx(10.0), "thermal": pytest.approx(7.0)}
    assert card.throttled_seconds == pytest.approx(12.0)


def test_that_a_reason_is_not_held_on_to_through_a_gap(recording):
    told = [slow(0, throttle=["thermal"]), *(fast(second) for second in (1, 2, 100, 101))]
    write(recording, *told)
    card = account(recording).cards[CARD]
    assert card.throttled == {"thermal": pytest.approx(2.0)}
    assert (card.seconds, card.missing_seconds) == (2.0, 98.0)


def test_that_a_figure_nobody_can_tell_says_why_and_is_no_nought(recording):
    why = dict.fromkeys(("utilisation_percent", "power_w"), NOT_SUPPORTED)
    told = [fast(second, memory_used_mib=100 + second, why=why) for second in range(5)]
    write(recording, *told, slow(2, temperature_c=40, why={"energy_j": "driver too old"}))
    card = account(recording).cards[CARD]
    assert (card.joules, card.idle_seconds, card.busy_percent, card.throttled) == (
        None,
        None,
        None,
        None,
    )
    assert (card.peak_used, card.peak_celsius) == (104 * MIB, 40)
    assert card.why == {
        "joules": "driver too old", "idle_seconds": NOT_SUPPORTED, "busy_percent": NOT_SUPPORTED,
        "throttled": "not recorded", "throttled_seconds": "not recorded",
    }  # fmt: skip


def test_that_a_machine_without_cards_says_why(recording):
    write(
        recording,
        Cards(time=NOW, cards=[], why="no NVIDIA driver is loaded"),
        samples.Host(time=NOW, cpu_percent=1),
    )
    assert account(recording).why == "no NVIDIA driver is loaded"
    assert account(recording).cards == {}


def test_that_a_run_without_a_recording_has_no_totals(tmp_path):
    assert account(tmp_path / "hardware.jsonl") is None


def test_that_instances_have_totals_of_their_own(recording):
    facts = made.cards("mig")
    write(
        recording,
        Cards(time=NOW, cards=facts),
        *(made.fast(facts, NOW + second, second) for second in range(10)),
    )
    totals = account(recording)
    parts = [part for card in facts for part in card.instances]
    assert parts
    for part in parts:
        assert totals.cards[part.card].name == part.name
        assert totals.cards[part.card].idle_seconds is None
        assert totals.cards[part.card].why["idle_seconds"] == NOT_SUPPORTED


@given(st.data())
@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], max_examples=60)
def test_that_a_recording_cut_or_spoilt_anywhere_is_read_as_far_as_it_goes(recording, data):
    told = [
        Cards(time=NOW, cards=[CardFacts(card=CARD, name="A")]),
        *(fast(n, power_w=100.0) for n in range(20)),
    ]
    whole = b"".join(map(samples.encode, told))
    begin = data.draw(st.integers(0, len(whole)))
    rubbish = data.draw(st.binary(max_size=30))
    recording.write_bytes(whole[:begin] + rubbish)
    totals = account(recording)
    assert all((card.joules or 0) <= 1900.1 for card in totals.cards.values())


def test_that_a_line_longer_than_any_sample_is_passed_over_without_being_kept(recording):
    write(recording, fast(0, power_w=10.0))
    with recording.open("ab") as file:
        file.write(b'{"sample":"fast","time":')
        file.truncate(file.tell() + 16 * LONGEST_LINE)
    with recording.open("ab") as file:
        file.write(b"\n" + samples.encode(fast(1, power_w=10.0)))
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    assert account(recording).cards[CARD].joules == pytest.approx(10.0)
    grown = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before
    assert grown * 1024 < 4 * LONGEST_LINE


def test_that_nothing_is_read_behind_what_goes_on_without_an_end(recording):
    write(recording, fast(0, power_w=10.0), fast(1, power_w=10.0))
    with recording.open("ab") as file:
        file.truncate(file.tell() + (MOST_CUT + 2) * LONGEST_LINE)
    with recording.open("ab") as file:
        file.write(b"\n" + samples.encode(fast(2, power_w=10.0)))
    assert account(recording).cards[CARD].joules == pytest.approx(10.0)


def test_that_the_end_of_such_a_line_is_no_line_of_its_own(recording):
    write(recording, fast(0, power_w=10.0), fast(1, power_w=10.0))
    with recording.open("ab") as file:
        file.write(b"x" * LONGEST_LINE + samples.encode(fast(2, power_w=10.0)))
    assert account(recording).cards[CARD].joules == pytest.approx(10.0)


def test_that_a_recording_that_cannot_be_read_is_an_error(tmp_path: Path):
    with pytest.raises(OSError):
        account(tmp_path)


def test_that_when_a_card_was_lost_first_and_why_is_kept_though_it_came_back(recording):
    there = CardFacts(card=CARD, name="A")
    gone = CardFacts(card=CARD, name="A", gone="lost: it fell off the bus")
    asleep = CardFacts(card="B", gone="asleep", asleep=True)
    write(
        recording,
        *(
            Cards(time=NOW + second, cards=[facts, asleep])
            for second, facts in enumerate((there, gone, there, gone))
        ),
    )
    cards = account(recording).cards
    assert (cards[CARD].lost_at, cards[CARD].lost) == (NOW + 1, "lost: it fell off the bus")
    assert cards["B"].lost_at is None
