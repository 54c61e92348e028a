"""However a plan's text or tables are changed, the plan is accepted, or refused with problems."""

from __future__ import annotations

import copy
import datetime
import math
from collections.abc import Callable
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from long_proofs import examples
from plan_strategies import machines

from gpu_studio.plan import (
    Machine,
    Named,
    Plan,
    PlanError,
    dumps,
    loads,
    starter,
    validate,
    with_settings,
)
from gpu_studio.plan.tables import from_tables, to_tables

TEXT = dumps(
    with_settings(
        starter(Machine(cpu_cores=4)),
        [
            "training.schedule={ name = 'cosine', warmup_epochs = 2 }",
            "training.options={ global_clipnorm = 1.0 }",
            "training.early_stopping.patience=2",
            "training.metrics=['auto', { name = 'sparse_top_k_categorical_accuracy', k = 3 }]",
            "distribution.placed.layers={ a = 'GPU:0', b = ['GPU:1', 'GPU:2'] }",
        ],
    )
)
LINES = TEXT.splitlines(keepends=True)
LETTERS = st.sampled_from("\"'[]{}=.,#\n \\-+_0e1x\0\x7f\t\r") | st.characters()
ODD_VALUES = st.sampled_from(
    [
        "",
        "nan",
        "-inf",
        "1e999",
        "9" * 30,
        "9" * 5000,
        "0x10",
        "true",
        "[]",
        "{}",
        '""',
        '"\\u0000"',
        "2020-01-01",
        "[[",
    ]
)
ANY_VALUE = st.recursive(
    st.none()
    | st.booleans()
    | st.integers()
    | st.integers(10**30, 10**40)
    | st.floats()
    | st.text(max_size=8)
    | st.sampled_from(
        [math.nan, math.inf, "GPU:0", "CPU:0", "placed", "mlp", "auto", datetime.date(2026, 1, 1)]
    ),
    lambda inner: (
        st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=8), inner, max_size=3)
    ),
    max_leaves=5,
)


@st.composite
def mutated_texts(draw: st.DrawFn) -> str:
    """The text of a plan after up to three blows to its letters or lines."""
    text = TEXT
    for _ in range(draw(st.integers(1, 3))):
        text = draw(st.sampled_from([letters_changed, lines_changed, value_changed, cut_off]))(
            draw, text
        )
    return text


def letters_changed(draw: st.DrawFn, text: str) -> str:
    at, length = draw(st.integers(0, len(text))), draw(st.integers(0, 4))
    return text[:at] + draw(st.text(LETTERS, max_size=4)) + text[at + length :]


def lines_changed(draw: st.DrawFn, text: str) -> str:
    lines = text.splitlines(keepends=True) or [""]
    at = draw(st.integers(0, len(lines) - 1))
    return "".join(
        lines[:at]
        + draw(st.lists(st.sampled_from(LINES), max_size=2))
        + lines[at + draw(st.integers(0, 2)) :]
    )


def value_changed(draw: st.DrawFn, text: str) -> str:
    lines = text.splitlines(keepends=True) or [""]
    at = draw(st.integers(0, len(lines) - 1))
    key = lines[at].partition("=")[0]
    return "".join([*lines[:at], f"{key}= {draw(ODD_VALUES)}\n", *lines[at + 1 :]])


def cut_off(draw: st.DrawFn, text: str) -> str:
    return text[: draw(st.integers(0, len(text)))]


@st.composite
def mutated_tables(draw: st.DrawFn) -> dict[str, Any]:
    """A plan's tables with up to three values taken away, renamed or replaced by anything."""
    tables = copy.deepcopy(TABLES)
    for _ in range(draw(st.integers(1, 3))):
        table = draw(st.sampled_from(list(all_tables(tables))))
        if not table:
            continue
        key = draw(st.sampled_from(sorted(table)))
        value = table.pop(key)
        change = draw(st.integers(0, 2))
        if change:
            table[key if change == 1 else key + draw(st.text(max_size=3))] = (
                draw(ANY_VALUE) if change == 1 else value
            )
    return tables


def all_tables(value: Any):
    """Every table in a value, itself first."""
    if isinstance(value, dict):
        yield value
    for inner in (
        value.values() if isinstance(value, dict) else value if isinstance(value, list) else ()
    ):
        yield from all_tables(inner)


TABLES = to_tables(loads(TEXT))


def accepted_or_refused(read: Callable[[], Plan], machine: Machine) -> None:
    """What must hold: a plan that can be judged and written, or problems that can be printed."""
    plan, refusal = judged(read)
    if plan is None:
        lines = str(refusal).splitlines()
        assert len(lines) > 1, "at least one problem, each on a line of its own"
        assert all(line.isprintable() for line in lines), "no letter that a terminal would obey"
    else:
        problems = validate(plan, machine) + validate(plan)
        assert all(str(problem).isprintable() for problem in problems)
        assert loads(dumps(plan)) == plan


def judged(read: Callable[[], Plan]) -> tuple[Plan | None, PlanError | None]:
    try:
        return read(), None
    except PlanError as error:
        return None, error


@settings(max_examples=examples(200))
@given(mutated_texts(), machines())
def test_that_a_mutated_text_is_accepted_or_refused(text, machine):
    accepted_or_refused(lambda: loads(text), machine)


@pytest.mark.slow
@settings(max_examples=examples(1200))
@given(mutated_texts(), machines())
def test_that_many_mutated_texts_are_accepted_or_refused(text, machine):
    accepted_or_refused(lambda: loads(text), machine)


@pytest.mark.slow
@settings(max_examples=examples(1200))
@given(mutated_tables(), machines())
def test_that_many_mutated_tables_are_accepted_or_refused(tables, machine):
    accepted_or_refused(lambda: from_tables(tables, "tables"), machine)


KEYS = st.sampled_from(
    [
        "version",
        "name",
        "devices",
        "devices.carve",
        "model.name",
        "model.options.hidden",
        "training.schedule.name",
    ]
) | st.text(max_size=12)


@settings(max_examples=examples(200))
@given(
    st.lists(
        st.text(max_size=20) | st.builds("{}={}".format, KEYS, ODD_VALUES | st.text(max_size=12)),
        max_size=3,
    )
)
def test_that_any_setting_is_accepted_or_refused(changes):
    accepted_or_refused(lambda: with_settings(loads(TEXT), changes), Machine())


def test_that_the_plan_that_is_mutated_is_itself_accepted_but_for_its_placed_table():
    assert [problem.field for problem in validate(loads(TEXT))] == ["distribution.placed"]


def test_that_a_schedule_of_the_mutated_plan_is_there_to_be_mutated():
    assert loads(TEXT).training.schedule == Named("cosine", {"warmup_epochs": 2})
