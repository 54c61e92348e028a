"""The window on runs with planted pipes, links and deep files."""

from __future__ import annotations

import hostile_runs
from made_runs import Script, make_run
from window_pages import with_runs

SPOILT = (
    ("trainer.lock", "pipe"),
    ("events.jsonl", "pipe"),
    ("resume.json", "deep value"),
    ("labels.json", "pipe"),
)


def test_that_the_window_lists_every_run_and_stands_still_for_none(
    open_window, runs, qtbot
) -> None:
    script = Script(ending="completed", epochs=1, trained=1, steps=10)
    sound, *odd = (make_run(runs, script) for _ in range(1 + len(SPOILT)))
    for run, (file, kind) in zip(odd, SPOILT, strict=True):
        hostile_runs.put(run.path / file, kind)
    window = with_runs(open_window(), qtbot, 1 + len(SPOILT))
    page = window.run_list.page
    states = {row.id: row.state_words for row in page.model.rows}
    assert states[sound.id] == "finished"
    unreadable = [words for words in states.values() if words.startswith("unreadable")]
    assert unreadable == ["unreadable · events.jsonl: this is no file, but a pipe"]
    for run in odd:
        page.select(run.id)
        qtbot.waitUntil(lambda: not page.outcome.reader.waiting)
        window.show_run(run)
        qtbot.waitUntil(lambda run=run: window.train_page.current_run == run)
