"""What the samples add up to."""

from __future__ import annotations

from gpu_studio.contract.samples import (
    CardFacts,
    Cards,
    Fast,
    FastFigures,
    Happened,
    Instance,
    Owner,
    Pcie,
    PcieFigures,
    SamplerStarted,
    Slow,
    SlowFigures,
)
from gpu_studio.hardware.picture import NOT_YET, MachinePicture

CARD = CardFacts(
    card="GPU-1", uuid="GPU-1", name="Card", total_mib=100, why={"serial": "no permission"}
)


def picture_of(*samples):
    picture = MachinePicture()
    for sample in samples:
        picture.apply(sample)
    return picture


def test_that_a_figure_is_found_in_whichever_class_it_came():
    picture = picture_of(
        Cards(time=1.0, cards=[CARD]),
        Fast(
            time=1.0,
            cards=[FastFigures(card="GPU-1", power_w=3.0, why={"memory_used_mib": "lost"})],
        ),
        Slow(time=2.0, cards=[SlowFigures(card="GPU-1", temperature_c=40, throttle=[])]),
        Pcie(time=3.0, cards=[PcieFigures(card="GPU-1", sent_mib_s=1.5)]),
    )
    card = picture.cards["GPU-1"]

    names = ("power_w", "temperature_c", "throttle", "sent_mib_s", "total_mib")
    assert [card.figure(name) for name in names] == [3.0, 40, [], 1.5, 100]
    assert (card.figure("memory_used_mib"), card.why("memory_used_mib")) == (None, "lost")
    assert card.why("serial") == "no permission"
    assert picture.time == 3.0


def test_that_what_was_not_asked_says_so():
    card = picture_of(Cards(time=1.0, cards=[CARD])).cards["GPU-1"]

    assert card.figure("temperature_c") is None
    assert card.why("temperature_c") == NOT_YET


def test_that_the_last_figures_of_a_lost_card_are_no_figures_of_now():
    lost = CardFacts(card="GPU-1", gone="lost", name="Card", total_mib=100)
    picture = picture_of(
        Cards(time=1.0, cards=[CARD]),
        Fast(time=1.0, cards=[FastFigures(card="GPU-1", power_w=3.0)]),
        Cards(time=2.0, cards=[lost]),
    )
    card = picture.cards["GPU-1"]

    assert (card.figure("power_w"), card.why("power_w")) == (None, "lost")
    assert card.figure("total_mib") == 100
    picture.apply(Cards(time=3.0, cards=[CARD]))
    assert picture.cards["GPU-1"].figure("power_w") is None


def test_that_mig_instances_have_figures_of_their_own():
    split = CardFacts(card="GPU-1", instances=[Instance(card="MIG-1", name="1g", total_mib=10)])
    picture = picture_of(
        Cards(time=1.0, cards=[split]),
        Fast(time=1.0, cards=[FastFigures(card="MIG-1", memory_used_mib=4)]),
    )

    assert picture.instances["MIG-1"].figure("memory_used_mib") == 4
    assert picture.instances["MIG-1"].figure("total_mib") == 10


def test_that_figures_of_an_unknown_card_are_passed_over():
    picture = picture_of(Fast(time=1.0, cards=[FastFigures(card="GPU-9", power_w=1.0)]))
    assert picture.cards == {}


def test_that_events_and_notes_are_kept_and_bounded():
    picture = picture_of(
        SamplerStarted(time=0.0, pid=1, gpu_studio="1", simulated="8xH100"),
        *(Happened(time=1.0, card="", kind="xid", code=n, words="") for n in range(2000)),
        Owner(time=2.0, words="again"),
    )

    assert picture.simulated == "8xH100"
    assert (len(picture.events), picture.events[-1].code) == (1000, 1999)
    assert [note.words for note in picture.notes] == ["again"]
