"""What is written into a folder that others may write into, too."""

from __future__ import annotations

import os
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

import pytest

from gpu_studio.common.safe_files import NotRegularError
from gpu_studio.contract.directory import RunDirectory, send
from gpu_studio.contract.files import append_line, last_lines, read_json, write_private
from gpu_studio.contract.lock import take
from gpu_studio.runs import end_reports
from gpu_studio.runs.labels import Labels, write_labels
from gpu_studio.runs.results import evaluations
from gpu_studio.runs.results.evaluations import Evaluation
from gpu_studio.trainer.telemetry import EventWriter

EVALUATION = Evaluation(
    checkpoint="c", split="test", metrics={}, samples=1, seconds=1.0, device="CPU:0", time=1.0
)
WRITES: dict[str, Callable[[RunDirectory], object]] = {
    "commands.jsonl": lambda run: send(run, "checkpoint"),
    "evaluations.jsonl": lambda run: evaluations.keep(run, EVALUATION),
    "end-told": end_reports.mark_followed,
    "trainer.lock": lambda run: take(run.lock_file),
    "events.jsonl": lambda run: EventWriter(run.events_file),
}


@pytest.fixture
def run(tmp_path: Path) -> RunDirectory:
    return RunDirectory.create(tmp_path, "x")


@pytest.mark.parametrize("name", WRITES)
@pytest.mark.parametrize("there", [True, False])
def test_that_no_link_in_a_run_is_written_through(
    tmp_path: Path, run: RunDirectory, name: str, there: bool
) -> None:
    victim = tmp_path / "victim"
    if there:
        victim.write_text("mine")
    (run.path / name).symlink_to(victim)
    with suppress(NotRegularError):
        WRITES[name](run)
    assert (victim.read_text() if there else victim.exists()) == ("mine" if there else False)


def test_that_a_link_is_replaced_by_what_is_put_in_its_place(
    tmp_path: Path, run: RunDirectory
) -> None:
    victim = tmp_path / "victim"
    victim.write_text("mine")
    (run.path / "labels.json").symlink_to(victim)
    write_labels(run, Labels(("a",)))
    assert victim.read_text() == "mine"
    assert not (run.path / "labels.json").is_symlink()


def test_that_no_name_under_which_something_is_written_can_be_foreseen(tmp_path: Path) -> None:
    victim = tmp_path / "victim"
    victim.write_text("mine")
    (tmp_path / f".x.{os.getpid()}.tmp").symlink_to(victim)
    write_private(tmp_path / "x", b"new")
    assert (victim.read_text(), (tmp_path / "x").read_text()) == ("mine", "new")
    assert (tmp_path / "x").stat().st_mode & 0o777 == 0o600


def test_that_nothing_is_left_of_what_could_not_be_written(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("os.fsync", _refuse)
    with pytest.raises(OSError, match="no room"):
        write_private(tmp_path / "x", b"new")
    assert list(tmp_path.iterdir()) == []


def _refuse(_descriptor: int) -> None:
    raise OSError("no room")


@pytest.mark.parametrize("held", [b"", b"{", b"[" * 100_000, b"\xff", b"1e999", b"9" * 5000])
def test_that_whatever_is_wrong_with_a_file_of_json_is_one_kind_of_error(
    tmp_path: Path, held: bytes
) -> None:
    from gpu_studio.runs.results.prediction import _decoder

    (tmp_path / "x").write_bytes(held)
    with pytest.raises(OSError, match="cannot be made out"):
        read_json(tmp_path / "x", _decoder.decode)


def test_that_the_last_lines_of_a_file_of_any_length_are_read_at_once(tmp_path: Path) -> None:
    with (tmp_path / "x").open("wb") as file:
        file.truncate(1 << 40)
    append_line(tmp_path / "x", b"end\n")
    assert last_lines(tmp_path / "x", 100)[-1] == b"end"
