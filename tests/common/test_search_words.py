"""Which words of a question count, and what they are found in."""

from __future__ import annotations

import pytest

from gpu_studio.common.search_words import patterns, plain, stem


@pytest.mark.parametrize(
    ("word", "short"),
    [
        *(("slices", "slice"), ("batches", "batch"), ("losses", "loss"), ("boxes", "box")),
        *(("stopped", "stop"), ("running", "run"), ("called", "call"), ("need", "need")),
        *(("loss", "loss"), ("bus", "bus"), ("ring", "ring"), ("is", "is")),
    ],
)
def test_that_usual_endings_are_taken_off_and_no_others(word, short):
    assert stem(word) == short


def test_that_a_word_is_found_at_the_beginning_of_words_only():
    (room,) = patterns("oom")
    assert not room.search("room to zoom")
    (nan,) = patterns("NaN")
    assert nan.search("the loss is no number")
    assert not nan.search("finance")


def test_that_words_that_say_nothing_count_where_there_are_no_others():
    assert [each.pattern for each in patterns("how do I stop it")] == [r"\b(?:stop)"]
    assert [each.pattern for each in patterns("the")] == [r"\b(?:the)"]
    assert patterns("  ") == []


def test_that_a_text_keeps_its_length_so_that_places_in_it_are_those_of_the_text():
    text = "A micro-batch/step: training.batch_size – ÄÖ"
    assert plain(text) == "a micro batch step: training batch size – äö"
    assert len(plain(text)) == len(text)
