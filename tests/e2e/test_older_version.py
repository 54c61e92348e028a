"""What an older version wrote is read by this one: plans, runs, queue, settings and drafts.

`tests/samples` has a folder a version, named after its commit.
"""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import msgspec
import pytest
from training_runs import Finished, trained

from gpu_studio.cli import main
from gpu_studio.contract.directory import RunDirectory
from gpu_studio.contract.events import Steps
from gpu_studio.plan import dumps, load, loads
from gpu_studio.runs.lineage import events_of, read_history
from gpu_studio.runs.queue import Queue
from gpu_studio.runs.queue_entry import HELD_BY_HAND
from gpu_studio.runs.resume import choose
from gpu_studio.ui.kit import settings as remembered
from gpu_studio.ui.kit.settings import Settings
from gpu_studio.ui.plan.drafts import Drafts, id_of

SAMPLES = Path(__file__).parents[1] / "samples" / "5bbf41c"
MADE_IN = "/tmp/samples"
TEXTS = frozenset({".toml", ".json", ".jsonl", ".ini"})
PLANS = sorted((SAMPLES / "plans").iterdir())
STRATEGIES_THEN = {
    "none",
    "one_device",
    "mirrored",
    "central_storage",
    "multi_worker",
    "parameter_server",
    "tpu",
    "placed",
}
STOPPED, ENDED = "stopped", "finished"


@pytest.fixture
def older(tmp_path: Path) -> Path:
    """A copy of the samples, whose paths are those of the copy."""
    shutil.copytree(SAMPLES, tmp_path, dirs_exist_ok=True)
    for path in tmp_path.rglob("*"):
        if path.suffix in TEXTS:
            path.write_text(path.read_text().replace(MADE_IN, str(tmp_path)))
    return tmp_path


@pytest.fixture
def runs(older: Path) -> Path:
    """The folder of the older version's runs."""
    return older / "runs"


def asked(capsys: pytest.CaptureFixture[str], runs: Path, *arguments: str) -> str:
    """The output of a command that has to succeed."""
    code = main(["--runs-dir", str(runs), *arguments])
    out, err = capsys.readouterr()
    assert code == 0, err
    return out


def the_runs(runs: Path, kind: str) -> tuple[RunDirectory, RunDirectory]:
    """The stopped run of a plan, and the one that went on from it to the end."""
    first, last = sorted(path for path in runs.glob(f"*-{kind}-????"))
    return RunDirectory(first), RunDirectory(last)


def losses_of(run: RunDirectory) -> dict[int, float | None]:
    """The loss of each step that the run itself trained."""
    return {
        event.first_step + index: loss
        for event in events_of(run)
        if isinstance(event, Steps)
        for index, loss in enumerate(event.losses)
    }


@pytest.mark.parametrize("path", PLANS, ids=lambda path: path.name.partition(".")[0])
def test_that_a_plan_is_read_and_written_back_to_the_letter(path: Path) -> None:
    assert dumps(load(path)) == path.read_text()


def test_that_the_plans_have_every_strategy_and_every_source() -> None:
    plans = [load(path) for path in PLANS]
    assert {plan.distribution.strategy for plan in plans} >= STRATEGIES_THEN
    sources = {
        name
        for plan in plans
        for name in ("name", "file", "folder", "python")
        if getattr(plan.data, name)
    }
    assert sources == {"name", "file", "folder", "python"}


def test_that_the_runs_are_listed_with_what_was_written_about_them(
    runs: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    rows = {row["number"]: row for row in json.loads(asked(capsys, runs, "runs", "list", "--json"))}
    assert [rows[number]["state"] for number in sorted(rows)] == [STOPPED, ENDED, STOPPED, ENDED]
    assert rows[1]["name"] == "the stopped one"
    assert rows[2]["tags"] == ["baseline"]
    assert rows[2]["note"] == "went on to its end"
    assert rows[4]["epoch"] == 6


@pytest.mark.parametrize("number", ["1", "2", "3", "4"])
def test_that_a_run_is_shown_reported_and_exported(
    number: str, runs: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    shown = json.loads(asked(capsys, runs, "runs", "show", number, "--json"))
    assert shown["state"] == (STOPPED if number in "13" else ENDED)
    asked(capsys, runs, "runs", "report", number, "--output", str(tmp_path / "report.html"))
    assert shown["run"] in (tmp_path / "report.html").read_text()


@pytest.mark.parametrize("kind", ["placed-with-dropout", "mirrored"])
def test_that_a_run_that_went_on_has_the_curve_of_the_one_before(kind: str, runs: Path) -> None:
    first, last = the_runs(runs, kind)
    history = read_history(last)
    both = losses_of(first) | losses_of(last)
    assert history.losses.column("loss").tolist() == [both[step] for step in sorted(both)]
    assert history.step == len(both) == history.steps_total
    # That version knew what was in use at each sample, and not the least between two.
    assert all(len(series.used) and not len(series.floor) for series in history.memory.values())


def test_that_the_queue_has_its_entry(
    older: Path, runs: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    queue = Queue(runs)
    [entry] = queue.entries()
    assert (entry.name, entry.base, entry.held) == ("in stages", str(older / "plans"), HELD_BY_HAND)
    assert queue.plan_of(entry) == load(older / "plans" / "placed-named.plan.toml")
    assert entry.id in asked(capsys, runs, "queue", "list")


def test_that_the_settings_are_read(older: Path) -> None:
    kept = Settings(older / "settings" / "window.ini")
    assert kept.get(remembered.THEME) == "dark"
    assert kept.get(remembered.QUIT) == "leave"
    assert kept.get(remembered.NOTIFY) == "no"
    assert kept.get(remembered.RUNS_ORDER) == "started:up"
    assert kept.get(remembered.RUNS_AXIS) == "epoch"
    assert kept.get(remembered.RUNS_SHARE) == "0.4"
    assert kept.get(remembered.RUNS_WIDTHS) == ("run=240", "plan=200")
    assert kept.get(remembered.QUEUE_FOLDED) == "yes"
    assert kept.get(remembered.RECENT_PLANS) == (str(older / "plans" / "placed-named.plan.toml"),)


def test_that_the_window_opens_as_it_was_left(older: Path, open_window, qtbot) -> None:
    window = open_window(remembered=older / "settings" / "window.ini")
    qtbot.waitUntil(lambda: window.document.plan is not None)
    assert window.height() == 760  # as wide as the screen lets it be
    assert window.document.plan.name == "without a file"
    assert window.document.plan.training.epochs == 11
    window.show_page("runs")
    qtbot.waitUntil(lambda: len(window.run_list.page.model.rows) == 4)
    rows = window.run_list.page.model.rows
    assert [row.title.split()[0] for row in rows] == ["#1", "#2", "#3", "#4"]
    assert [row.state for row in rows] == [STOPPED, ENDED, STOPPED, ENDED]


def test_that_the_unsaved_edit_of_a_plan_in_a_file_is_there(
    older: Path, open_window, qtbot
) -> None:
    # The draft's name is made from the path of its plan, which is another here.
    path = older / "plans" / "placed-named.plan.toml"
    drafts = older / "settings" / "drafts"
    [old] = [draft for draft in Drafts(drafts).all() if draft.path]
    assert old.id == id_of(Path(MADE_IN, "plans", path.name))
    (drafts / f"{old.id}.draft.json").unlink()
    before = Drafts(drafts)
    before.write(msgspec.structs.replace(old, id=id_of(path)))
    before.close()
    window = open_window(path, remembered=older / "settings" / "window.ini")
    qtbot.waitUntil(lambda: window.document.plan is not None)
    assert window.document.plan.training.epochs == 9
    assert window.document.dirty
    assert loads(old.base).training.epochs == 1


@pytest.mark.slow
@pytest.mark.parametrize("kind", ["placed-with-dropout", "mirrored"])
def test_that_a_stopped_run_goes_on_to_the_losses_of_the_older_version(
    kind: str, runs: Path
) -> None:
    first, last = the_runs(runs, kind)
    # To the letter on the processor of the samples; 2.2e-7 off with SSE4.1 instead of AVX-512.
    again: Finished = trained(load(first.plan_file), runs, resume=choose(first))
    assert again.code == 0, again.log
    assert again.losses == pytest.approx(losses_of(last), rel=1e-6)
