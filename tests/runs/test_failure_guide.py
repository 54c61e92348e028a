"""Which part of the guide is about which failure, warning, and run that is lost."""

from __future__ import annotations

from types import SimpleNamespace

import pytest

from gpu_studio.common.guide import guide
from gpu_studio.runs import diagnosis
from gpu_studio.runs.failure_guide import PAGE, place_of_failure
from gpu_studio.runs.warnings import WarningFacts, card_lost, disk_is_full, throttled

CARD = SimpleNamespace(label="GPU:1", lost="not answering", held_by=("heat",), held=())


def test_that_each_end_without_a_word_has_a_part_of_its_own() -> None:
    told = [trace.message.format(what="a thing", where=", called from f") for trace in
            diagnosis.TRACES]  # fmt: skip
    told += [diagnosis.DELETED.message, diagnosis.WITHOUT_A_WORD.message]
    told += [ended.message for code in (3, -9, -11)
             if (ended := diagnosis.from_exit_code(code))]  # fmt: skip
    places = {message: place_of_failure(message) for message in told}
    assert len(places) > 15
    assert [message for message, place in places.items() if place == PAGE] == []
    assert [place for place in places.values() if guide().section(place) is None] == []


@pytest.mark.parametrize(
    ("message", "kind", "place"),
    [
        ("Whatever TensorFlow said.", "out_of_memory", "out-of-memory-on-a-device"),
        ("In worker 1: Whatever it said.", "device_lost", "a-card-failed"),
        ("Training ended with KeyError: 'x'", "", "anything-else"),
        ("Training ended with ValueError: a kind of a later version", "melted", "anything-else"),
        ("The disk of worker 1 takes no more (x). It trains on, and keeps y", "", "a-full-disk"),
        ("GPU:0 uses 97 % of its memory limit.", "", "warnings-while-a-run-trains"),
    ],
)
def test_that_the_kind_says_which_part_and_the_words_where_there_is_none(
    message: str, kind: str, place: str
) -> None:
    assert place_of_failure(message, kind) == f"{PAGE}#{place}"


def test_that_what_is_nowhere_in_the_guide_has_its_page() -> None:
    assert place_of_failure("Something that no version has said so far.") == PAGE
    assert place_of_failure("It is, as if " * 100_000) == PAGE


def test_that_warnings_of_cards_and_disks_stand_in_the_guide() -> None:
    facts = WarningFacts(None, [CARD], 0.0, disk_full=True)  # type: ignore[arg-type]
    found = [each for rule in (card_lost, disk_is_full, throttled) for each in rule(facts)]
    assert len(found) == 3
    assert {place_of_failure(each.text) for each in found} == {
        f"{PAGE}#warnings-while-a-run-trains"
    }
