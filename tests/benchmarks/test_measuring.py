"""How benchmarks measure: in turn, by medians, as a ratio against a budget."""

from __future__ import annotations

import io
import runpy
from pathlib import Path

import card_memory
import pytest
from measuring import Budget, Row, compare, in_turn
from rich.console import Console
from workplace import BenchmarkError, workplace

from gpu_studio.plan import MIB, Plan

AT_MOST_HALF_MORE = Budget("at most", 1.5)


def row(measured, reference):
    return Row("a thing", "another", "ms", AT_MOST_HALF_MORE, tuple(measured), tuple(reference))


def test_that_the_two_take_turns_at_going_first():
    order = []
    measured, reference = in_turn(
        lambda: order.append("a") or 1.0, lambda: order.append("b") or 2.0, 3
    )
    assert "".join(order) == "abbaab"
    assert (measured, reference) == ([1.0] * 3, [2.0] * 3)


def test_that_the_ratio_is_of_medians():
    assert row([1, 2, 30], [4, 4, 100]).ratio == 0.5


@pytest.mark.parametrize(
    ("kind", "limit", "ratio", "holds"),
    [
        ("at most", 1.5, 1.5, True),
        ("at most", 1.5, 1.51, False),
        ("at least", 1, 1, True),
        ("at least", 1, 0.99, False),
    ],
)
def test_that_a_budget_holds_up_to_its_limit(kind, limit, ratio, holds):
    assert Budget(kind, limit).holds(ratio) is holds


def test_that_a_row_tells_every_figure():
    plain = compare("a", lambda: 3.0, "b", lambda: 2.0, "s", Budget("at most", 1.0), 2).plain()
    assert plain["measured"] == (3.0, 3.0)
    assert (plain["ratio"], plain["ok"], plain["budget"]) == (
        1.5,
        False,
        {"kind": "at most", "limit": 1.0},
    )


def test_that_the_table_says_what_is_missed_and_by_how_much():
    bench = runpy.run_path(str(Path(__file__).parent / "__main__.py"))
    console = Console(width=160, record=True, file=io.StringIO())
    console.print(bench["table"]([row([300], [100]), row([100], [100])]))
    missed, kept = [line for line in console.export_text().splitlines() if "a thing" in line]
    assert "3.00" in missed
    assert "missed by 100%" in missed
    assert "kept" in kept


def test_that_a_program_that_fails_says_why(tmp_path, monkeypatch):
    monkeypatch.setattr("workplace.PROGRAMS", tmp_path)
    (tmp_path / "broken.py").write_text("raise SystemExit('no such luck')")
    with workplace() as place, pytest.raises(BenchmarkError, match="no such luck"):
        place.program("broken.py")
    assert not place.folder.exists()


def test_that_a_program_works_in_the_workplace_and_answers_in_json(tmp_path, monkeypatch):
    monkeypatch.setattr("workplace.PROGRAMS", tmp_path)
    (tmp_path / "where.py").write_text(
        "import json, os; print('chatter'); print(json.dumps(os.getcwd()))"
    )
    with workplace() as place:
        assert place.program("where.py") == str(place.folder.resolve())


@pytest.mark.parametrize(("foretold", "held", "runs"), [(114, 100, 2), (116, 120, 3)])
def test_that_a_case_that_seems_to_hold_far_less_than_predicted_is_trained_for_longer(
    monkeypatch, foretold, held, runs
):
    """Its fullest step is chance: a run of many steps shows a fuller one than short ones do."""
    trained = []

    def peaks_of(_, plan):
        trained.append(plan.training.epochs)
        return {"GPU:0": (100, 90, 120)[len(trained) - 1] * MIB, "GPU:1": 0}

    monkeypatch.setattr(card_memory, "peaks_of", peaks_of)
    slices = [(["GPU:0"], foretold * MIB), (["GPU:1"], 2 * MIB)]
    plan = card_memory.for_steps(Plan(), card_memory.STEPS)
    with workplace() as place:
        found = card_memory.compared(place, plan, slices, 2)
    assert found == [(["GPU:0"], foretold * MIB, held * MIB)]
    batch, few, many = Plan().training.batch_size, card_memory.STEPS, card_memory.MANY_STEPS
    steps = [each * card_memory.SAMPLES / batch for each in trained]
    assert steps[:2] == [few, few]
    assert all(many <= each < many + card_memory.SAMPLES / batch for each in steps[2:])
    assert len(trained) == runs
