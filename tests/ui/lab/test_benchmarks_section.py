"""The benchmarks half of the Lab page, with processes that say made figures."""

from __future__ import annotations

import csv
import io
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import msgspec
import pytest
from cut_text import cut_text
from made_benchmarks import CARDS, MACHINE, ROWS, made, row, saying
from PySide6.QtCore import Qt
from PySide6.QtGui import QGuiApplication, QImage
from PySide6.QtWidgets import QApplication, QFileDialog, QWidget

from gpu_studio.lab.benchmarks import BENCHMARKS, BenchmarkResult
from gpu_studio.plan import AbsolutePlan, Carve, DeviceSettings, Machine, Plan
from gpu_studio.runs.benchmarks import benchmarks_folder, keep_result, kept_results
from gpu_studio.ui.kit.action_set import ActionSet
from gpu_studio.ui.kit.notice import Notice
from gpu_studio.ui.lab import benchmarks_section
from gpu_studio.ui.lab.benchmarks_section import Around, BenchmarksSection
from gpu_studio.ui.lab.lab_page import LabPage
from gpu_studio.ui.lab.results_side import OF_MACHINE, OF_PLAN
from gpu_studio.ui.window.actions.lab_actions import BENCHMARK
from gpu_studio.ui.window.wiring import bind, of_benchmarks

HERE = Machine(cpu_cores=2, cpu_name="a CPU")
PLAN = AbsolutePlan(Plan(name="Four", devices=DeviceSettings(carve=(Carve("CPU:0", (0,) * 4),))))


@dataclass
class Surroundings:
    """What the section is told of the rest of the window."""

    machine: Machine | None = HERE
    plan: AbsolutePlan | None = PLAN
    training: bool = False
    command: list[str] = field(default_factory=list)


@dataclass
class Bench:
    """The page with its one half, and what it says and is told."""

    page: LabPage
    section: BenchmarksSection
    notice: Notice
    actions: ActionSet
    around: Surroundings

    @property
    def view(self):
        return self.section.view

    @property
    def side(self):
        return self.section.view.right

    def entry(self, name: str):
        return self.page.list.line_at(("benchmarks", name))


Make = Callable[..., Bench]


@pytest.fixture
def make(theme, settings, qtbot) -> Make:
    def bench(*results: BenchmarkResult, **around: Any) -> Bench:
        for each in results:
            keep_result(each)
        told = Surroundings(**around)
        window = QWidget()
        qtbot.addWidget(window)
        actions, notice = ActionSet(window, theme, BENCHMARK), Notice(window)
        asked = Around(lambda: told.machine, lambda: told.plan, lambda: told.training)
        section = BenchmarksSection(theme, settings, actions, notice, asked, told.command or None)
        page = LabPage(theme, settings, (section,), window)
        bind(actions, of_benchmarks(SimpleNamespace(benchmarks=section)))

        def allow() -> None:
            for spec in BENCHMARK:
                actions.allow(spec.id, section.why_not(spec.id))

        section.permissions_changed.connect(allow)
        window.resize(1200, 700)
        page.resize(1200, 700)
        window.show()
        made_bench = Bench(page, section, notice, actions, told)
        qtbot.addWidget(page, before_close_func=lambda _: section.close_parts())
        if results:
            qtbot.waitUntil(lambda: any(section.shelf.of(each.benchmark) for each in results))
        return made_bench

    return bench


def two(name: str = "compute") -> tuple[BenchmarkResult, BenchmarkResult]:
    """A result, and a later one of which one row is twice as fast."""
    before = made(name, CARDS[:1], begun=1.7e9)
    first, *others = before.rows
    faster = msgspec.structs.replace(first, seconds=tuple(each / 2 for each in first.seconds))
    machine = before.machine | {"driver": "560"}
    after = msgspec.structs.replace(before, begun=1.8e9, rows=(faster, *others), machine=machine)
    return before, after


# What is shown


def test_that_what_was_not_measured_says_so_and_how_it_is(make):
    bench = make()
    assert bench.entry("compute").figure == "not measured"
    assert bench.view.nothing.title.text() == "Not measured yet"
    assert bench.view.verdict.words.text().startswith("How fast does each device")
    assert not bench.side.measure.isHidden()
    assert bench.side.measure.isEnabled()
    assert bench.section.why_not("save_result_csv")


@pytest.mark.parametrize("name", ["compute", "launched", "together", "copies", "all-reduce"])
def test_that_a_kept_result_has_its_figure_verdict_picture_rows_and_machine(make, name):
    result = made(name)
    bench = make(result)
    bench.page.choose("benchmarks", name)
    assert bench.entry(name).figure
    assert bench.entry(name).figure != "not measured"
    assert bench.view.verdict.headline.text()
    assert bench.view.picture.picture is not None
    assert bench.view.rows.rows.rows == result.rows
    assert bench.side.facts.facts["GPU 0 to 3"] == "NVIDIA H100"
    assert bench.side.facts.facts["TensorFlow"] == "2.21.0"
    assert "workstation-7 · 4 cards" in bench.page.caption.text()
    assert bench.view.verdict.property("tone") == "good"


def test_that_a_kind_without_a_picture_shows_its_rows(make):
    rows = (row("matmul", "CPU:0", name="a", asked="CPU:0", seconds=(1.0,)),)
    bench = make(BenchmarkResult("place", 1.0, {}, rows))
    bench.page.choose("benchmarks", "place")
    assert bench.view.picture.isHidden()
    assert bench.view.rows.rows.rows == rows
    assert "NO_PICTURE" not in bench.section.why_not("copy_result_rows")
    assert bench.section.why_not("save_result_png") == benchmarks_section.NO_PICTURE


def test_that_a_wrong_result_and_a_broken_off_one_are_told(make):
    wrong = made("compute", CARDS[:1])
    bad = msgspec.structs.replace(wrong.rows[0], error=0.5)
    broken = made("copies", complete=False, why_not_complete="the device is gone")
    bench = make(msgspec.structs.replace(wrong, rows=(bad,)), broken)
    assert bench.view.verdict.property("tone") == "bad"
    assert "WRONG RESULT" in bench.view.verdict.words.text()
    bench.page.choose("benchmarks", "copies")
    assert bench.view.verdict.property("tone") == "warning"
    assert "the device is gone" in bench.view.verdict.words.text()
    assert bench.side.results.text(bench.side.results.rows[0], 0).endswith(", part")


def test_that_files_that_cannot_be_read_are_listed_with_their_sentence(make, qtbot):
    keep_result(made("compute"))
    cut = keep_result(made("compute", begun=1.75e9))
    cut.write_bytes(cut.read_bytes()[:-50])
    later = keep_result(made("copies"))
    later.write_text('{"version": 99}')
    zero = keep_result(made("launched"))
    zero.write_text(zero.read_text().replace("0.0098,", "0,"))
    bench = make()
    qtbot.waitUntil(lambda: bench.entry("compute").tone == "bad")
    assert bench.view.verdict.headline.text() == "This result cannot be read."
    assert "measure again" in bench.view.verdict.words.text()
    assert bench.side.results.text(bench.side.results.rows[0], 1) == "unreadable"
    bench.side.table.choose_row(1)
    assert bench.view.picture.picture is not None
    bench.page.choose("benchmarks", "copies")
    assert "is of version 99" in bench.view.verdict.words.text()
    bench.page.choose("benchmarks", "launched")
    assert "took a time that is none" in bench.view.verdict.words.text()
    assert bench.section.why_not("delete_result") == ""


def test_that_an_earlier_result_is_shown_when_it_is_chosen(make, qtbot):
    before, after = two()
    bench = make(before, after)
    assert bench.view.rows.rows.rows == after.rows
    bench.side.table.choose_row(1)
    assert bench.view.rows.rows.rows == before.rows
    bench.page.choose("benchmarks", "copies")
    bench.page.choose("benchmarks", "compute")
    assert bench.view.rows.rows.rows == before.rows
    assert bench.side.table.currentIndex().row() == 1


# Measuring


def test_that_measuring_shows_each_row_as_it_comes_and_keeps_the_result(make, qtbot, tmp_path):
    rows = made("launched", ("CPU:0",)).rows
    command, held = saying(tmp_path, rows)
    bench = make(command=command)
    bench.page.choose("benchmarks", "launched")
    qtbot.mouseClick(bench.side.measure, Qt.MouseButton.LeftButton)
    assert bench.entry("launched").running
    qtbot.waitUntil(lambda: len(bench.view.rows.rows.rows) == 1)
    assert bench.entry("launched").figure == "1 measured"
    assert bench.view.verdict.headline.text() == "Measuring: matmul"
    assert bench.side.measure.isHidden()
    assert not bench.side.cancel.isHidden()
    assert bench.section.why_not("save_result_csv")
    bench.page.choose("benchmarks", "compute")
    assert "Launched against done is being measured" in bench.side.why_not.text()
    assert bench.side.measure.isHidden()
    held.unlink()
    qtbot.waitUntil(lambda: not bench.section.jobs.measuring)
    assert bench.notice.text == "Launched against done was measured."
    bench.notice.button.click()
    assert bench.page.chosen == ("benchmarks", "launched")
    assert bench.entry("launched").figure == "900 µs / 490 ms"
    (kept,) = kept_results()
    assert kept.result.rows == rows
    assert kept.result.complete
    assert bench.view.rows.rows.rows == rows


def test_that_nothing_is_drawn_while_the_page_is_hidden_and_all_is_there_when_it_is_seen(
    make, qtbot, tmp_path, monkeypatch
):
    command, held = saying(tmp_path, made("compute", ("CPU:0",)).rows[:3])
    bench = make(command=command)
    bench.page.hide()
    drawn = []
    show = bench.view.show_benchmark
    monkeypatch.setattr(bench.view, "show_benchmark", lambda one: (drawn.append(one), show(one)))
    bench.actions["measure"].trigger()
    qtbot.waitUntil(lambda: len(bench.section.jobs.rows) == 3)
    assert drawn == []
    bench.page.show()
    assert len(bench.view.rows.rows.rows) == 3
    bench.page.hide()
    held.unlink()
    qtbot.waitUntil(lambda: not bench.section.jobs.measuring)
    drawn.clear()
    bench.page.show()
    qtbot.waitUntil(lambda: bench.side.facts.isVisible() and bool(drawn))
    assert drawn[-1].kept is not None


def test_that_cancelling_keeps_what_was_measured(make, qtbot, tmp_path):
    command, _held = saying(tmp_path, made("compute", ("CPU:0",)).rows[:2])
    bench = make(command=command)
    bench.actions["measure"].trigger()
    qtbot.waitUntil(lambda: len(bench.section.jobs.rows) == 2)
    qtbot.mouseClick(bench.side.cancel, Qt.MouseButton.LeftButton)
    assert bench.side.why_not.text() == "Cancelling…"
    qtbot.waitUntil(lambda: not bench.section.jobs.measuring)
    (kept,) = kept_results()
    assert (len(kept.result.rows), kept.result.complete) == (2, False)
    assert "it was cancelled" in bench.view.verdict.words.text()


def test_that_closing_ends_the_process_and_keeps_what_was_measured(make, qtbot, tmp_path):
    command, _held = saying(tmp_path, made("compute", ("CPU:0",)).rows[:3])
    bench = make(command=command)
    bench.actions["measure"].trigger()
    qtbot.waitUntil(lambda: len(bench.section.jobs.rows) == 3)
    bench.section.close_parts()
    (kept,) = kept_results()
    assert len(kept.result.rows) == 3


def test_that_nothing_measured_says_why(make, qtbot):
    bench = make(command=["/bin/sh", "-c", "echo no TensorFlow here >&2; exit 3"])
    bench.actions["measure"].trigger()
    qtbot.waitUntil(lambda: not bench.section.jobs.measuring)
    assert "Nothing was measured" in bench.notice.text
    assert "no TensorFlow here" in bench.notice.text
    assert kept_results() == []
    assert bench.view.nothing.title.text() == "Not measured yet"


def test_that_a_result_that_cannot_be_written_is_shown_and_written_later(make, qtbot, tmp_path):
    rows = made("launched", ("CPU:0",)).rows
    command, held = saying(tmp_path, rows)
    held.unlink()
    folder = benchmarks_folder()
    folder.parent.mkdir(parents=True)
    folder.write_text("a file is in the way")
    bench = make(command=command)
    bench.page.choose("benchmarks", "launched")
    bench.actions["measure"].trigger()
    qtbot.waitUntil(lambda: "could not be written" in bench.notice.text)
    assert bench.view.rows.rows.rows == rows
    folder.unlink()
    bench.notice.button.click()
    (kept,) = kept_results()
    assert kept.result.rows == rows
    assert [each.path for each in bench.section.shelf.of("launched")] == [kept.path]


@pytest.mark.parametrize(
    ("machine", "said"),
    [
        (Machine(simulated=True), "Simulated cards compute nothing"),
        (Machine(practice="1 × 2 GiB"), "Practice cards compute on the CPU"),
        (None, "The machine is being looked at"),
    ],
    ids=["simulated", "practice", "unknown"],
)
def test_that_where_nothing_can_be_measured_a_sentence_stands_for_the_button(make, machine, said):
    bench = make(machine=machine)
    assert said in bench.side.why_not.text()
    assert bench.side.measure.isHidden()
    assert not bench.actions["measure"].isEnabled()
    bench.around.machine = HERE
    bench.section.look_again()
    assert not bench.side.measure.isHidden()
    assert bench.actions["measure"].isEnabled()


def test_that_the_devices_are_those_of_the_machine_or_of_the_open_plan(make, settings, qtbot):
    bench = make()
    side = bench.side.devices
    assert [side.itemText(place) for place in range(side.count())] == [
        OF_MACHINE,
        OF_PLAN,
    ]
    plan, _ = bench.section.plan_to_measure()
    assert plan.devices == DeviceSettings()
    side.setFocus()
    qtbot.keyClick(side, Qt.Key.Key_Down)
    side.textActivated.emit(side.currentText())
    plan, _ = bench.section.plan_to_measure()
    assert plan.devices == PLAN.devices
    again = make(plan=None)
    assert again.side.devices.count() == 1
    again.page.choose("benchmarks", "input")
    assert again.section.why_not("measure")


def test_that_data_are_measured_of_the_open_plan_only(make):
    bench = make()
    bench.page.choose("benchmarks", "input")
    assert bench.side.devices.count() == 1
    assert bench.section.plan_to_measure()[0] is PLAN


def test_that_a_run_that_trains_is_told_before_measuring(make):
    bench = make(training=True)
    assert bench.side.why_not.text() == benchmarks_section.TRAINING
    assert not bench.side.measure.isHidden()


# Comparing, deleting, files


def test_that_two_results_are_compared_and_noise_is_called_that(make, qtbot):
    bench = make(*two())
    bench.actions["compare_results"].trigger()
    (menu,) = [
        each for each in bench.view.findChildren(QWidget) if each.objectName() == "comparisons"
    ]
    menu.actions()[0].trigger()
    card = bench.view.rows
    assert card.comparing
    assert card.said.text().startswith("1 of 6 measurements differ by more than the noise")
    assert "driver: unknown, then 560" in card.said.text()
    words = [card.changes.text(each, 2) for each in card.changes.rows]
    assert words == ["2.00 ×", *["within the noise"] * 5]
    menu.close()
    qtbot.mouseClick(card.done, Qt.MouseButton.LeftButton)
    assert not card.comparing


def test_that_a_result_in_a_file_is_compared_and_another_kind_is_refused(make, qtbot, tmp_path):
    before, after = two()
    bench = make(after)
    other = keep_result(before, tmp_path / "from elsewhere")
    bench.section.compare_with_file(other)
    qtbot.waitUntil(lambda: bench.view.rows.comparing)
    bench.section.compare_with_file(keep_result(made("copies"), tmp_path / "from elsewhere"))
    qtbot.waitUntil(lambda: "compare two of one" in bench.notice.text)
    other.write_text("nonsense")
    bench.section.compare_with_file(other)
    qtbot.waitUntil(lambda: "no whole result" in bench.notice.text)
    bench.section.compare_with_file(tmp_path / "missing")
    qtbot.waitUntil(lambda: "missing" in bench.notice.text)


def test_that_a_comparison_ends_with_the_result_that_was_compared(make, qtbot, tmp_path):
    bench = make(*two())
    bench.section.compare_with_file(keep_result(two()[0], tmp_path))
    qtbot.waitUntil(lambda: bench.view.rows.comparing)
    bench.section.look_again()
    assert bench.view.rows.comparing
    bench.side.table.choose_row(1)
    assert not bench.view.rows.comparing


def test_that_a_deleted_result_comes_back(make, qtbot):
    bench = make(*two())
    bench.side.table.setFocus()
    qtbot.keyClick(bench.side.table, Qt.Key.Key_Delete)
    assert len(kept_results()) == 1
    assert len(bench.side.results.rows) == 1
    assert "was deleted" in bench.notice.text
    bench.notice.button.click()
    qtbot.waitUntil(lambda: len(bench.side.results.rows) == 2)
    assert len(kept_results()) == 2
    for _ in range(2):
        bench.actions["delete_result"].trigger()
    assert bench.entry("compute").figure == "not measured"
    assert bench.section.why_not("delete_result")


def test_that_a_result_that_cannot_be_deleted_says_why(make):
    bench = make(made("compute"))
    (benchmarks_folder() / ".trash").symlink_to(Path.home())
    bench.actions["delete_result"].trigger()
    assert "cannot be deleted" in bench.notice.text
    assert len(kept_results()) == 1


def test_that_rows_and_picture_are_copied(make):
    bench = make(made("copies"))
    bench.page.choose("benchmarks", "copies")
    bench.actions["copy_result_rows"].trigger()
    lines = QGuiApplication.clipboard().text().splitlines()
    assert len(lines) == 1 + len(made("copies").rows)
    bench.actions["copy_result_picture"].trigger()
    assert not QGuiApplication.clipboard().image().isNull()
    assert "clipboard" in bench.notice.text


@pytest.mark.parametrize("kind", ["png", "svg", "csv"])
def test_that_files_are_asked_for_and_written(make, qtbot, tmp_path, kind):
    bench = make(made("copies"))
    bench.page.choose("benchmarks", "copies")
    bench.actions[f"save_result_{kind}"].trigger()
    (dialog,) = bench.view.findChildren(QFileDialog)
    assert dialog.selectedFiles()[0].endswith(f"copies.{kind}")
    path = tmp_path / f"written.{kind}"
    with qtbot.waitSignal(bench.section.files.reported):
        dialog.fileSelected.emit(str(path))
    dialog.reject()
    data = path.read_bytes()
    if kind == "csv":
        lines = list(csv.DictReader(io.StringIO(data.decode())))
        assert [each["devices"] for each in lines[:1]] == ["host GPU:0"]
    elif kind == "svg":
        assert b"Copies \xc2\xb7 workstation-7 \xc2\xb7 4 \xc3\x97 NVIDIA H100" in data
    else:
        assert not QImage.fromData(data, "png").isNull()


def test_that_a_file_that_cannot_be_written_is_explained(make, qtbot, tmp_path):
    bench = make(made("copies"))
    bench.page.choose("benchmarks", "copies")
    with qtbot.waitSignal(bench.section.files.reported) as told:
        bench.section.files.save(made("copies"), "csv", tmp_path / "missing" / "a.csv")
    assert "another place" in told.args[0]
    assert told.args[1] == "bad"


# Placed by hand


def test_that_operations_are_measured_as_they_are_placed(make, qtbot, tmp_path):
    rows = [
        row("matmul", "CPU:0", name="product_0", asked="CPU:0", seconds=(0.1,), flops=1e6),
        row("matmul", "CPU:0", name="product_1", asked="CPU:1", seconds=(0.1,), flops=1e6),
    ]
    command, held = saying(tmp_path, rows)
    held.unlink()
    bench = make(command=command)
    bench.page.choose("benchmarks", "place")
    hand = bench.view.by_hand
    assert not hand.isHidden()
    assert bench.view.rows.isHidden()
    assert hand.board.lanes == ("CPU:0", "CPU:1", "")
    bench.actions["measure"].trigger()
    qtbot.waitUntil(lambda: not bench.section.jobs.measuring)
    model = bench.view.rows.rows
    assert model.headers[:3] == ("Operation", "Asked for", "Executed on")
    words = [[model.text(each, column) for column in range(3)] for each in model.rows]
    assert words[1] == ["product_1 = matmul", "CPU:1", "CPU:0"]
    assert "product_1, matmul on CPU:1, executed on CPU:0" in hand.board.accessibleDescription()
    bench.page.choose("benchmarks", "compute")
    assert hand.isHidden()
    assert model.headers[0] == "What"


def test_that_an_operation_too_few_is_told_before_measuring(make):
    bench = make()
    bench.page.choose("benchmarks", "place")
    for name in ("product_0", "product_1", "total"):
        bench.view.by_hand.board.remove_asked.emit(name)
    assert bench.section.why_not("measure") == "There is no operation: add one."
    assert bench.side.measure.isHidden()


def test_that_what_tensorflow_refused_is_told_of_each_operation(make):
    refused = row("relu", name="b", asked="GPU:3", reported="Unable", why_not="There is no GPU:3.")
    refused = msgspec.structs.replace(refused, devices=())
    bench = make(BenchmarkResult("place", 1.0, {}, (refused,)))
    bench.page.choose("benchmarks", "place")
    assert bench.entry("place").figure == "refused"
    assert bench.view.verdict.property("tone") == "warning"
    model = bench.view.rows.rows
    assert model.text(model.rows[0], 2) == "nothing"
    assert model.text(model.rows[0], 5) == "There is no GPU:3."


# In the smallest window


@pytest.mark.parametrize("name", [*BENCHMARKS])
def test_that_nothing_is_cut_in_the_smallest_window(make, dressed, name):
    placed = row("matmul", "CPU:0", name="product_0", asked="CPU:0", seconds=(0.1,), flops=1e6)
    rows = {"place": (placed,), "input": (row("read", size=64, seconds=(0.1,), samples=64.0),)}
    result = made(name) if name in ROWS else BenchmarkResult(name, 1.7e9, MACHINE, rows[name])
    bench = make(result)
    bench.page.resize(940, 590)
    bench.page.choose("benchmarks", name)
    QApplication.processEvents()
    bench.page.grab()
    assert cut_text(bench.page) == []
    assert bench.page.minimumSizeHint().width() <= 940
    assert bench.page.minimumSizeHint().height() <= 590


def test_that_a_picture_has_most_of_the_height_whatever_was_shown_before(make):
    bench = make(made("launched", CARDS[:1]), made("copies"), made("compute"))
    bench.page.choose("benchmarks", "launched")
    QApplication.processEvents()
    low = bench.view.picture.height()
    bench.page.choose("benchmarks", "copies")
    QApplication.processEvents()
    assert bench.view.picture.height() > low
    assert bench.view.picture.height() > bench.view.rows.height()
