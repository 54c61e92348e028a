"""The shelf of results: what is read of the folder while it changes."""

from __future__ import annotations

import threading

from made_benchmarks import CARDS, made
from patience import PATIENCE_S
from PySide6.QtWidgets import QWidget

from gpu_studio.runs.benchmarks import KeptResult, keep_result, kept_results
from gpu_studio.ui.kit.notice import Notice
from gpu_studio.ui.lab import result_shelf
from gpu_studio.ui.lab.result_shelf import ResultShelf


def test_that_a_reading_that_began_before_a_result_was_kept_does_not_hide_it(
    qtbot, monkeypatch
) -> None:
    window = QWidget()
    qtbot.addWidget(window)
    shelf = ResultShelf(Notice(window), window)
    begun, go_on = threading.Event(), threading.Event()

    def slowly() -> list[KeptResult]:
        found = kept_results()
        begun.set()
        go_on.wait(PATIENCE_S)
        return found

    monkeypatch.setattr(result_shelf, "kept_results", slowly)
    shelf.read()
    begun.wait(PATIENCE_S)
    result = made("compute", CARDS[:1])
    shelf.add(KeptResult(keep_result(result), result))
    go_on.set()
    qtbot.waitUntil(lambda: not shelf.reading.busy)
    assert [each.result for each in shelf.of("compute")] == [result]
    shelf.close()


def test_that_a_deleted_result_is_not_brought_back_by_a_reading(qtbot, monkeypatch) -> None:
    window = QWidget()
    qtbot.addWidget(window)
    shelf = ResultShelf(Notice(window), window)
    result = made("compute", CARDS[:1])
    kept = KeptResult(keep_result(result), result)
    shelf.add(kept)
    begun, go_on = threading.Event(), threading.Event()

    def slowly() -> list[KeptResult]:
        found = kept_results()
        begun.set()
        go_on.wait(PATIENCE_S)
        return found

    monkeypatch.setattr(result_shelf, "kept_results", slowly)
    shelf.read()
    begun.wait(PATIENCE_S)
    shelf.delete(kept)
    go_on.set()
    qtbot.waitUntil(lambda: not shelf.reading.busy)
    assert shelf.of("compute") == []
    shelf.close()


def test_that_two_deleted_results_are_taken_back_one_after_the_other(qtbot) -> None:
    window = QWidget()
    qtbot.addWidget(window)
    notice = Notice(window)
    shelf = ResultShelf(notice, window)
    results = [made("compute", CARDS[:1]), made("launched", CARDS[:1])]
    both = [KeptResult(keep_result(each), each) for each in results]
    for kept in both:
        shelf.add(kept)
        shelf.delete(kept)
    assert "1 result deleted before can be taken back after it." in notice.text
    assert kept_results() == []
    notice.button.click()
    assert [each.benchmark for each in kept_results()] == ["launched"]
    assert notice.isVisibleTo(window)
    assert "is back." in notice.text
    notice.button.click()
    assert sorted(each.benchmark for each in kept_results()) == ["compute", "launched"]
    assert not notice.isVisibleTo(window)
    shelf.close()
