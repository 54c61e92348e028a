"""The cards of a run as they were of late, read from a recording that goes on."""

from __future__ import annotations

from pathlib import Path

import pytest

from gpu_studio.contract import events, samples
from gpu_studio.contract.samples import CardFacts, Cards, Fast, FastFigures, Slow, SlowFigures
from gpu_studio.runs.reading.history import History
from gpu_studio.runs.warnings import concerns_of
from gpu_studio.runs.warnings_cards import LAST_BYTES, CardWatch

UUIDS = ("GPU-aaaa", "GPU-bbbb")
DEVICES = events.Devices(
    logical=[
        events.LogicalDevice(name=f"GPU:{place}", physical=f"GPU:{place}", uuid=uuid)
        for place, uuid in enumerate(UUIDS)
    ],
    replicas=["GPU:0"],
    strategy="mirrored",
)


def cards() -> Cards:
    return Cards(
        time=0.0,
        cards=[CardFacts(card=uuid, uuid=uuid, index=place) for place, uuid in enumerate(UUIDS)],
    )


def fast(time: float, *percent: int | None) -> Fast:
    figures = [
        FastFigures(card=uuid, utilisation_percent=one)
        for uuid, one in zip(UUIDS, percent, strict=True)
    ]
    return Fast(time=time, cards=figures)


def slow(time: float, *reasons: str) -> Slow:
    return Slow(time=time, cards=[SlowFigures(card=UUIDS[1], throttle=list(reasons))])


def watch(*told: samples.AnySample) -> CardWatch:
    made = CardWatch(Path("/nowhere"))
    made.take([cards(), *told])
    return made


def test_that_utilisation_is_the_mean_of_the_last_twenty_seconds() -> None:
    made = watch(
        *(fast(second, 0, 100) for second in range(100)),
        *(fast(100 + second, 50, 80) for second in range(21)),
    )
    first, second = made.sights(DEVICES, 120.0)
    assert (first.label, first.utilisation, first.trains) == ("GPU:0", 50.0, True)
    assert (second.label, second.utilisation, second.trains) == ("GPU:1", 80.0, False)


@pytest.mark.parametrize(
    "told",
    [
        [fast(second, None, 1) for second in range(20)],
        [fast(second, 5, 1) for second in range(10)],
        [fast(0, 5, 1), fast(19, 5, 1)],
    ],
    ids=["not supported", "not long enough", "too few"],
)
def test_that_what_was_not_measured_all_the_while_is_not_known(told) -> None:
    assert watch(*told).sights(DEVICES, 20.0)[0].utilisation is None


def test_that_a_recording_that_stopped_says_nothing_of_now() -> None:
    made = watch(
        *(fast(second, 5, 90) for second in range(30)),
        slow(28, "power limit"),
        slow(29, "power limit"),
    )
    assert [sight.utilisation for sight in made.sights(DEVICES, 90.0)] == [None, None]
    assert made.sights(DEVICES, 90.0)[1].held_by == ()


@pytest.mark.parametrize(
    ("reasons", "held_by"),
    [
        (
            [("power limit",), ("power limit", "temperature (driver)")],
            ("power limit", "temperature (driver)"),
        ),
        ([("power limit",), ()], ()),
        ([("idle",), ("sync boost",)], ()),
        ([("power limit",)], ()),
    ],
)
def test_that_clocks_are_held_down_if_each_look_found_a_reason_that_nobody_chose(
    reasons, held_by
) -> None:
    made = watch(*(slow(5.0 * place, *words) for place, words in enumerate(reasons)))
    assert made.sights(DEVICES, 8.0)[1].held_by == held_by


@pytest.mark.slow
def test_that_a_long_recording_is_read_from_near_its_end_and_knows_its_cards_all_the_same(
    tmp_path,
) -> None:
    path = tmp_path / "hardware.jsonl"
    made = CardWatch(path)
    made.read()
    lines = [cards(), *(fast(float(second), 10, 90) for second in range(4000))]
    path.write_bytes(b"".join(map(samples.encode, lines)))
    assert path.stat().st_size > 2 * LAST_BYTES
    made.read()
    assert [sight.utilisation for sight in made.sights(DEVICES, 3999.0)] == [10.0, 90.0]
    with path.open("ab") as file:
        file.write(
            b"garbage\n"
            + b"".join(samples.encode(fast(4000.0 + second, 70, 90)) for second in range(21))
        )
    made.read()
    assert made.sights(DEVICES, 4020.0)[0].utilisation == 70.0


def test_that_without_cards_or_a_recording_there_is_nothing_to_see(tmp_path) -> None:
    assert CardWatch(tmp_path).sights(DEVICES, 1.0) == ()
    made = CardWatch(tmp_path)
    made.read()
    assert made.sights(None, 1.0) == ()


def test_that_a_card_that_answers_no_more_is_seen_as_lost_until_it_answers_again() -> None:
    gone = cards()
    lost = CardFacts(card=UUIDS[1], uuid=UUIDS[1], gone="lost: it fell off the bus")
    made = watch(Cards(time=1.0, cards=[gone.cards[0], lost]))
    assert [sight.lost for sight in made.sights(DEVICES, 2.0)] == ["", "lost: it fell off the bus"]
    history = History()
    history.apply(DEVICES)
    [concern] = concerns_of(history, made.sights(DEVICES, 2.0), now=2.0)
    assert concern.text == "The card of GPU:1 is lost: it fell off the bus."
    asleep = CardFacts(card=UUIDS[1], uuid=UUIDS[1], gone="asleep", asleep=True)
    for later in (asleep, gone.cards[1]):
        made.take([Cards(time=3.0, cards=[gone.cards[0], later])])
        assert [sight.lost for sight in made.sights(DEVICES, 4.0)] == ["", ""]
