from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st
from run_rows import run_row

from gpu_studio.runs.reading.epochs import BestValue
from gpu_studio.ui.runs.run_rows import (
    SORT_KEYS,
    Order,
    RunFilter,
    Term,
    arranged,
    known_tags,
    parse,
)

ROWS = [
    run_row(
        "a", ("best", "to-show"), "the one to keep", plan="digits on four", strategy="mirrored"
    ),
    run_row("b", ("baseline",), plan="digits, one device", strategy="none", state="running"),
    run_row("c", plan="resnet20", state="failed", reason="out of memory on GPU:1", model="cnn"),
    run_row("d", ("best",), plan="old", state="lost", reason="the trainer ended without a word"),
    run_row("e", plan="halted", state="stopped", reason="stopped_now"),
    run_row("f", plan="patient", reason="early_stopping"),
]


def found(text: str, **asked) -> str:
    wanted = RunFilter(parse(text), **asked)
    return "".join(row.id for row in ROWS if wanted.fits(row))


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("", "abcdef"),
        ("digits", "ab"),
        ("DIGITS device", "b"),
        ("keep", "a"),
        ("mirrored", "acdef"),
        ("strategy:none", "b"),
        ("state:failed", "c"),
        ("state:stopped", "e"),
        ("state:finished", "af"),
        ("tag:best", "ad"),
        ("tag:best state:lost", "d"),
        ('"on four"', "a"),
        ('tag:"to-show"', "a"),
        ("-tag:best", "bcef"),
        ("model:cnn", "c"),
        ("GPU:1", "c"),
        ("note:one", "a"),
        ("nothing:here", ""),
    ],
)
def test_that_words_and_fields_find_what_they_say(text: str, expected: str) -> None:
    assert found(text) == expected


def test_that_a_number_is_sought_in_names_not_in_the_times_of_all_ids() -> None:
    two = run_row("20261130T224528Z-sweep-2-652d", plan="sweep 2")
    three = run_row("20261130T224612Z-sweep-3-0e1f", plan="sweep 3")

    def fitting(text: str) -> list[str]:
        wanted = RunFilter(parse(text))
        return [row.summary.plan for row in (two, three) if wanted.fits(row)]

    assert fitting("sweep 2") == ["sweep 2"]
    assert fitting("652d") == ["sweep 2"]
    assert fitting("20261130") == ["sweep 2", "sweep 3"]
    assert fitting(three.id) == ["sweep 3"]
    assert fitting("-20261130T2245") == ["sweep 3"]


def test_that_half_a_quotation_is_what_stands_there_so_far() -> None:
    assert parse('tag:"to') == (Term("to", "tag"),)
    assert parse("tag:") == (Term("tag:"),)
    assert parse('""') == ()


def test_that_chips_and_tags_narrow_down_too() -> None:
    assert found("", chip="live") == "b"
    assert found("", chip="finished") == "af"
    assert found("", chip="stopped") == "e"
    assert found("", chip="failed") == "cd"
    assert found("", tags=frozenset({"best"})) == "ad"
    assert found("old", tags=frozenset({"best"})) == "d"


@given(st.text(max_size=40))
def test_that_whatever_is_typed_is_a_question(text: str) -> None:
    wanted = RunFilter(parse(text))
    assert all(wanted.fits(row) in (True, False) for row in ROWS)
    assert bool(wanted) or found(text) == "abcdef"


def test_that_tags_are_offered_the_most_frequent_first() -> None:
    assert known_tags(ROWS) == ["best", "baseline", "to-show"]


@given(
    st.lists(st.sampled_from(ROWS), unique_by=lambda row: row.id),
    st.sampled_from(sorted(SORT_KEYS)),
    st.booleans(),
)
def test_that_any_order_keeps_live_runs_on_top_and_all_of_them(
    rows, column: str, down: bool
) -> None:
    order = Order(column, down)
    ordered = arranged(rows, order)
    assert sorted(row.id for row in ordered) == sorted(row.id for row in rows)
    assert [row.live for row in ordered] == sorted((row.live for row in ordered), reverse=True)
    assert Order.read(str(order)) == order


def test_that_what_is_not_known_comes_last_whichever_way() -> None:
    rows = [run_row("a", joules=2.0), run_row("b"), run_row("c", joules=1.0)]
    assert [row.id for row in arranged(rows, Order("energy", descending=True))] == ["a", "c", "b"]
    assert [row.id for row in arranged(rows, Order("energy", descending=False))] == ["c", "a", "b"]


def test_that_the_best_accuracy_is_the_greatest_and_the_best_loss_the_least() -> None:
    losses = [
        run_row(name, best=BestValue("val_loss", value, 1))
        for name, value in (("a", 0.3), ("b", 0.1))
    ]
    accuracies = [
        run_row(name, best=BestValue("val_accuracy", value, 1))
        for name, value in (("a", 0.3), ("b", 0.1))
    ]
    assert arranged(losses, Order("best"))[0].id == "b"
    assert arranged(accuracies, Order("best"))[0].id == "a"


@pytest.mark.parametrize("text", ["", "started", "nonsense:up", "best:sideways"])
def test_that_an_order_that_nobody_knows_is_the_newest_first(text: str) -> None:
    assert Order.read(text) == Order("started", descending=True)
