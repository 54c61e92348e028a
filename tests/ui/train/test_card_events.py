"""What befell the cards: when their clocks were held down and by what, and the driver's errors."""

from __future__ import annotations

from gpu_studio.contract.samples import Happened, Slow, SlowFigures
from gpu_studio.ui.train.card_record import LONGEST_SILENCE, CardEvents

BOTH = {"a": None, "b": None}


def slow(time, **throttle):
    return Slow(
        time=time,
        cards=[SlowFigures(card=card, throttle=reasons) for card, reasons in throttle.items()],
    )


def held(events, cards=BOTH):
    return [(each.reason, each.start, each.end, each.cards) for each in events.together(cards)]


def test_that_a_while_lasts_from_the_first_word_of_it_to_the_first_without():
    events = CardEvents()
    events.add(
        [
            slow(0.0, a=[]),
            slow(4.0, a=["power cap"]),
            slow(8.0, a=["power cap"]),
            slow(12.0, a=[]),
            slow(16.0, a=[]),
        ]
    )
    assert held(events) == [("power cap", 4.0, 12.0, ("a",))]


def test_that_cards_held_down_at_once_and_by_the_same_are_told_together():
    events = CardEvents()
    events.add(
        [
            slow(0.0, a=["power cap"], b=["heat"]),
            slow(4.0, a=["power cap"], b=["power cap"]),
            slow(8.0, a=[], b=[]),
        ]
    )
    assert held(events) == [("heat", 0.0, 4.0, ("b",)), ("power cap", 0.0, 8.0, ("a", "b"))]
    assert held(events, {"b": None}) == [
        ("heat", 0.0, 4.0, ("b",)),
        ("power cap", 4.0, 8.0, ("b",)),
    ]
    assert held(events, {}) == []


def test_that_what_somebody_chose_and_what_is_not_known_is_no_throttling():
    events = CardEvents()
    events.add([slow(0.0, a=["idle", "application clocks"], b=None)])
    assert (held(events), events.revision) == ([], 0)


def test_that_a_gap_in_the_recording_ends_a_while_and_nothing_is_made_up_for_it():
    events = CardEvents()
    events.add(
        [slow(0.0, a=["heat"]), slow(4.0, a=["heat"]), slow(10.0 + LONGEST_SILENCE, a=["heat"])]
    )
    assert held(events) == [("heat", 0.0, 4.0, ("a",)), ("heat", 40.0, 40.0, ("a",))]


def test_that_errors_are_kept_in_their_order_and_each_changes_the_revision():
    events = CardEvents()
    told = [
        Happened(time=float(code), card="a", kind="xid", code=code, words=f"XID {code}")
        for code in (13, 79)
    ]
    events.add(told)
    assert list(events.happened) == told
    assert events.revision == 2
