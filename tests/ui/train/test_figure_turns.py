"""Which part of the figures beside the plots is shown at which tick."""

from __future__ import annotations

from gpu_studio.ui.train.figure_turns import MOST_TICKS, PROGRESS, READOUT, FigureTurns


def test_that_each_part_of_the_figures_has_ticks_of_its_own():
    turns = FigureTurns()
    shown = [turns.next(drawn=False) for _ in range(9)]
    assert shown == [None, None, PROGRESS, READOUT, None, PROGRESS, READOUT, None, PROGRESS]
    assert turns.taken == 5


def test_that_figures_wait_for_a_tick_without_a_plot_but_not_for_ever():
    turns = FigureTurns()
    shown = [turns.next(drawn=True) for _ in range(MOST_TICKS + 1)]
    assert shown == [*[None] * (MOST_TICKS - 1), PROGRESS, READOUT]
    assert turns.next(drawn=False) is None


def test_that_all_figures_show_what_the_part_shows_that_was_shown_first():
    turns = FigureTurns()
    turns.shown = [(4, 9), (5, 8)]
    assert (turns.record, turns.history) == (4, 8)
    turns.restart()
    assert (turns.record, turns.history) == (-1, -1)
